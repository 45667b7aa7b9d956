// SPDX-License-Identifier: Apache-2.0
//
// Both sides of a shared region with a link between them, on one thread: what was written last is read,
// nothing else is moved, a side that dies and one that lies have their outcome, and no `acquire` takes longer
// than its bound.

#include "fewer.hpp"
#include "shared.hpp"

namespace {

using consort::Ticks;
using consort::dsm::acquire_bound;
using consort::dsm::AcquireCosts;
using consort::dsm::Outcome;
using consort::dsm::page_bytes;
using consort::dsm::Right;
using consort::test::fewer;
using consort::test::Shared;
using consort::test::SteppedPort;

// Neither side blocks on this thread: it tries, and the others go on between.
template <class Side, class World>
Outcome acquire(Side& side, World& world, Right use) {
    for (int i = 0; i < 1000; ++i) {
        const Outcome outcome = side.template acquire<SteppedPort>(use, 0);
        if (outcome != Outcome::timeout) {
            return outcome;
        }
        world.settle();
    }
    return Outcome::timeout;
}

std::byte value_of(std::uint32_t write, std::uint32_t at) {
    return static_cast<std::byte>(write * 37U + at);
}

TEST(SharedRegion, TheLastWriteIsRead) {
    Shared<> world;
    ASSERT_EQ(acquire(*world.host, world, Right::write), Outcome::ok);
    world.near[100] = std::byte{7};
    world.host->touch(100, 1);
    world.host->release();
    ASSERT_EQ(acquire(*world.peer, world, Right::write), Outcome::ok);
    EXPECT_EQ(world.far[100], std::byte{7});
    world.far[5000] = std::byte{9};
    world.peer->touch(5000, 1);
    EXPECT_EQ(world.host->acquire<SteppedPort>(Right::read, 0), Outcome::timeout) << "the peer writes";
    world.peer->release();
    ASSERT_EQ(acquire(*world.host, world, Right::read), Outcome::ok);
    EXPECT_EQ(world.near[5000], std::byte{9});
    EXPECT_EQ(world.host->moved().bytes_in, 64U) << "one line";
    EXPECT_EQ(world.host->moved().bytes_out, world.bytes)
        << "all of it once: what the peer had was not known";
    ASSERT_EQ(acquire(*world.peer, world, Right::read), Outcome::ok) << "both read";
}

TEST(SharedRegion, OnlyWhatChangedIsMoved) {
    Shared<> world;
    std::uint64_t before = 0;
    for (std::uint32_t round = 0; round < 20; ++round) {
        ASSERT_EQ(acquire(*world.host, world, Right::write), Outcome::ok);
        world.host->touch(64 * round, 64);
        world.host->release();
        ASSERT_EQ(acquire(*world.peer, world, Right::read), Outcome::ok);
        world.peer->release();
        const std::uint64_t out = world.host->moved().bytes_out;
        EXPECT_EQ(out - before, round == 0 ? world.bytes : 64U);
        before = out;
    }
    EXPECT_EQ(world.host->moved().bytes_in, 0U) << "the peer changed nothing";
}

TEST(SharedRegion, FalseSharingIsReported) {
    for (const std::uint32_t line : {0U, 5U}) {
        Shared<> world;
        for (int round = 0; round < 10; ++round) {
            ASSERT_EQ(acquire(*world.host, world, Right::write), Outcome::ok);
            world.host->touch(0, 64);
            world.host->release();
            ASSERT_EQ(acquire(*world.peer, world, Right::write), Outcome::ok);
            world.peer->touch(64 * line, 64);
            world.peer->release();
        }
        ASSERT_EQ(acquire(*world.host, world, Right::read), Outcome::ok);
        // The first time all of the page was sent.
        EXPECT_EQ(world.host->moved().falsely_shared, line == 0 ? 0U : 9U);
    }
}

// Random uses by both sides, with a copy of what each byte should be; sides die, the link is slow.
struct Random {
    std::mt19937 random;
    Shared<> world;
    std::vector<std::byte> expected = std::vector<std::byte>(Shared<>::bytes);
    std::array<Right, 2> uses{};
    std::uint32_t writes = 0;

    explicit Random(std::uint32_t seed) : random(seed), world({seed % 5, (1 + seed % 64) * 64}) {}

    template <class Side>
    void go_on(Side& side, std::array<std::byte, Shared<>::window>& memory, int which) {
        if (uses[which] != Right::none) {
            if (random() % 2 == 0) {
                side.release();
                uses[which] = Right::none;
            } else if (uses[which] == Right::write) {
                const std::uint32_t at = random() % Shared<>::bytes;
                const std::uint32_t most = std::min<std::uint32_t>(300, Shared<>::bytes - at);
                const std::uint32_t bytes = random() % most + 1;
                writes += 1;
                for (std::uint32_t i = at; i < at + bytes && i < Shared<>::bytes; ++i) {
                    memory[i] = expected[i] = value_of(writes, i);
                }
                side.touch(at, std::min(bytes, Shared<>::bytes - at));
            }
            return;
        }
        const Right use = random() % 2 == 0 ? Right::read : Right::write;
        const Outcome outcome = side.template acquire<SteppedPort>(use, 0);
        if (outcome == Outcome::ok) {
            uses[which] = use;
            ASSERT_FALSE(uses[1 - which] == Right::write ||
                         (use == Right::write && uses[1 - which] != Right::none));
            ASSERT_EQ(std::memcmp(memory.data(), expected.data(), expected.size()), 0);
        } else {
            ASSERT_EQ(outcome, Outcome::timeout);
        }
    }

    void run(int steps, bool dying) {
        for (int i = 0; i < steps && !::testing::Test::HasFatalFailure(); ++i) {
            world.dma.delay = 1 + random() % 4;
            switch (random() % 5) {
                case 0:
                    go_on(*world.host, world.near, 0);
                    break;
                case 1:
                    go_on(*world.peer, world.far, 1);
                    break;
                case 2:
                    world.engine.step(0);
                    break;
                case 3:
                    world.host->serve();
                    break;
                default:
                    world.peer->serve();
            }
            // A peer whose changes are all with the host dies: nothing is lost.
            if (dying && random() % 50 == 0 && uses[1] == Right::none &&
                world.peer->token().right() != Right::write && world.host->token().right() != Right::none) {
                world.begin_peer();
            }
        }
    }
};

TEST(SharedRegion, ReadsTheNewestBytesWhateverTheOrderOfSteps) {
    for (std::uint32_t seed = 0; seed < 60; ++seed) {
        Random world(seed);
        world.run(4000, false);
        ASSERT_FALSE(HasFatalFailure()) << "seed " << seed;
        EXPECT_GT(world.world.host->counts().asked, 10U);
        EXPECT_GT(world.world.peer->counts().asked, 10U);
    }
}

TEST(SharedRegion, APeerWithoutChangesMayDie) {
    std::uint64_t restarts = 0;
    for (std::uint32_t seed = 100; seed < 160; ++seed) {
        Random world(seed);
        world.run(4000, true);
        ASSERT_FALSE(HasFatalFailure()) << "seed " << seed;
        restarts += world.world.host->counts().restarts;
    }
    EXPECT_GT(restarts, 100U);
}

TEST(SharedRegion, ChangesThatDiedWithAPeerAreSaidToBeLost) {
    Shared<> world;
    world.near[8] = std::byte{3};
    world.host->touch(8, 1);
    ASSERT_EQ(acquire(*world.peer, world, Right::write), Outcome::ok);
    world.far[8] = std::byte{4};
    world.begin_peer();
    EXPECT_EQ(world.host->acquire<SteppedPort>(Right::read, 0), Outcome::lost);
    EXPECT_EQ(world.host->acquire<SteppedPort>(Right::read, 0), Outcome::lost) << "until somebody decides";
    world.host->take_over();
    ASSERT_EQ(acquire(*world.host, world, Right::read), Outcome::ok);
    EXPECT_EQ(world.near[8], std::byte{3});
    world.host->release();
    ASSERT_EQ(acquire(*world.peer, world, Right::read), Outcome::ok);
    EXPECT_EQ(world.far[8], std::byte{3}) << "the peer's own copy is not believed";
}

TEST(SharedRegion, AHostThatBeginsAnewFetchesWhatThePeerHas) {
    Shared<> world;
    ASSERT_EQ(acquire(*world.peer, world, Right::write), Outcome::ok);
    world.far[77] = std::byte{5};
    world.peer->touch(77, 1);
    world.peer->release();
    world.near.fill(std::byte{0xee});
    world.begin_host(Right::none);
    ASSERT_EQ(acquire(*world.host, world, Right::read), Outcome::ok);
    EXPECT_EQ(world.near[77], std::byte{5});
    EXPECT_EQ(world.near[78], std::byte{0}) << "all of it";
}

TEST(SharedRegion, ALinkThatFailsIsAFault) {
    Shared<> world;
    world.dma.failing = true;
    EXPECT_EQ(acquire(*world.peer, world, Right::read), Outcome::timeout);
    EXPECT_EQ(world.host->acquire<SteppedPort>(Right::write, 0), Outcome::fault);
}

TEST(SharedRegion, MorePiecesThanTheRingHasAreAFault) {
    for (const std::uint32_t batch : {8U, 16U}) {
        Shared<consort::test::ScriptedDma, 8> world({0, 64, batch});
        const Outcome outcome = acquire(*world.peer, world, Right::read);
        EXPECT_EQ(outcome, batch == 8 ? Outcome::ok : Outcome::timeout);
        EXPECT_EQ(world.host->faulty(), batch != 8);
    }
}

TEST(SharedRegion, AWordThatNobodyWritesIsAFault) {
    for (const std::uint32_t wrong : {3U, 77U}) {
        Shared<> world;
        Shared<>::Host::Mail::Writer forger(world.to_host);
        // As if from the peer that is there.
        static_cast<void>(world.host->serve());
        ASSERT_EQ(forger.try_write({wrong == 3U ? 1U : 5U, wrong, world.to_host.reader.epoch.load(),
                                    world.to_host.writer.epoch.load(), 0, 0}),
                  consort::Status::ok);
        EXPECT_EQ(world.host->acquire<SteppedPort>(Right::write, 0), Outcome::fault);
    }
}

// Moves a page in a fixed time of a clock that the test moves.
struct TimedDma {
    static constexpr Ticks page = 8;
    Ticks* now = nullptr;
    Ticks done = 0;
    consort::spm::Transfer transfer{};
    bool busy = false;

    void start(const consort::spm::Transfer& next) noexcept {
        transfer = next;
        done = *now + transfer.count + (transfer.bytes() + page_bytes - 1) / page_bytes * page;
        busy = true;
    }
    [[nodiscard]] consort::spm::DmaState state() noexcept {
        if (busy && *now >= done) {
            busy = false;
            for (std::uint32_t i = 0; i < transfer.count; ++i) {
                std::memcpy(transfer.segment[i].to, transfer.segment[i].from, transfer.segment[i].bytes);
            }
        }
        return busy ? consort::spm::DmaState::busy : consort::spm::DmaState::idle;
    }
    void abort() noexcept { busy = false; }
};

// A tick each: every side that uses nothing looks, the engine steps. Both sides use the region at random.
TEST(SharedRegion, NoAcquireTakesLongerThanItsBound) {
    constexpr Ticks hold = 40;
    constexpr Ticks look = 7;
    Ticks longest = 0;
    Ticks smallest_bound = ~Ticks{0};
    for (std::uint32_t seed = 0; seed < fewer(200U); ++seed) {
        std::mt19937 random(seed);
        Ticks now = 0;
        Shared<TimedDma> world({0, page_bytes});
        world.dma.now = &now;
        // In the first grant everything is sent.
        const AcquireCosts costs{hold, look, 1, 3, 2, TimedDma::page, world.pages, world.bytes, 64};
        const Ticks bound = acquire_bound(costs);
        smallest_bound = std::min(bound, smallest_bound);
        struct User {
            enum { idle, waiting, using_it } state = idle;
            Ticks since = 0, until = 0, next_look = 0;
            Right use = Right::read;
        };
        std::array<User, 2> users;
        const auto go_on = [&](auto& side, User& user) {
            if (user.state == User::using_it) {
                if (now >= user.until) {
                    if (user.use == Right::write) {
                        side.touch(random() % world.bytes, 1 + random() % 600);
                    }
                    side.release();
                    user = {User::idle, 0, now + random() % 60, now + 1 + random() % look, Right::read};
                }
                return;
            }
            if (user.state == User::idle) {
                if (now < user.until) {
                    if (now >= user.next_look) {
                        side.serve();
                        user.next_look = now + 1 + random() % look;
                    }
                    return;
                }
                user = {User::waiting, now, 0, 0, random() % 2 == 0 ? Right::read : Right::write};
            }
            // As `acquire` does, without ending its wait.
            if (side.try_acquire(user.use)) {
                longest = std::max(longest, now - user.since);
                ASSERT_LE(now - user.since, bound) << "seed " << seed << " at " << now;
                user.state = User::using_it;
                user.until = now + 1 + random() % (hold - 1);
            }
        };
        for (; now < 30'000 && !HasFatalFailure(); ++now) {
            go_on(*world.host, users[0]);
            go_on(*world.peer, users[1]);
            world.engine.step(now);
        }
    }
    EXPECT_GT(longest * 3, smallest_bound)
        << "the bound is of some use: " << longest << " of " << smallest_bound;
}

}  // namespace
