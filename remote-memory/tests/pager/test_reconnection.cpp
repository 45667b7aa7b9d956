// SPDX-License-Identifier: Apache-2.0
//
// Connections that are cut and made again, to the same segment of the same server or not at all.
#include <cstring>
#include <random>

#include "remote_support.hpp"

namespace {

using namespace remote_test;

class Cut : public Remote {
  protected:
    void SetUp() override {
        Remote::SetUp();
        std::string why;
        if (!can_page(Faults::in_thread, why)) {
            GTEST_SKIP() << why;
        }
        start();
        ServerOptions wanted;
        wanted.bytes = 64 * mib;
        later.start(wanted, key, true);
    }
    [[nodiscard]] SegmentOptions lasting(const std::string& where) const {
        SegmentOptions made = options(where, 4 * mib);
        made.reconnect = std::chrono::seconds(60);
        return made;
    }
    static void fill(const Segment& segment, char with = 'x') {
        std::memset(segment.data(), with, segment.bytes());
    }
    static bool is_filled(const Segment& segment, char with = 'x') {
        const auto* bytes = static_cast<const char*>(segment.data());
        return std::all_of(bytes, bytes + segment.bytes(), [with](char c) { return c == with; });
    }

    ServerProcess later;
};

// Each way of a link is cut after any number of bytes, again and again: requests, batches and answers end
// anywhere, and what was done before the cut is done again.
class AnyMoment : public Cut, public testing::WithParamInterface<std::tuple<Faults, bool>> {};
TEST_P(AnyMoment, NothingIsLost) {
    std::string why;
    if (!can_page(std::get<0>(GetParam()), why)) {
        GTEST_SKIP() << why;
    }
    std::atomic<bool> armed{false};
    std::mt19937 random(1);
    // The first bytes are the attach; the link's thread alone asks.
    std::uint64_t next = 100'000;
    const auto spoil = [&](std::uint64_t before, char*, std::size_t& length) {
        if (!armed || before + length < next) {
            return true;
        }
        length = next > before ? static_cast<std::size_t>(next - before) : 0;
        next = random() % 400'000;
        return false;
    };
    const Link link(tcp(), spoil, spoil);
    SegmentOptions wanted = lasting(link.address());
    std::tie(wanted.faults, wanted.encrypt) = GetParam();
    const Segment segment(wanted);
    armed = true;
    auto* words = static_cast<std::uint32_t*>(segment.data());
    const std::size_t count = segment.bytes() / sizeof *words;
    std::vector<std::uint32_t> array(count, 0);
    std::mt19937 chosen(7);
    for (int i = 0; i < 3000; ++i) {
        const std::size_t at = chosen() % count;
        if (chosen() % 2 == 0) {
            array[at] = words[at] = chosen();
        } else {
            ASSERT_EQ(words[at], array[at]) << i;
        }
    }
    EXPECT_TRUE(std::equal(array.begin(), array.end(), words));
    EXPECT_GT(segment.counters().reconnected, 5U);
    EXPECT_FALSE(segment.lost());
}
INSTANTIATE_TEST_SUITE_P(All, AnyMoment,
                         testing::Combine(testing::Values(Faults::in_thread, Faults::handler),
                                          testing::Bool()),
                         [](const auto& info) {
                             const bool in_thread = std::get<0>(info.param) == Faults::in_thread;
                             return std::string(in_thread ? "InThread" : "Handler") +
                                    (std::get<1>(info.param) ? "Encrypted" : "Plain");
                         });

TEST_F(Cut, AServerThatStandsStillAndGoesOn) {
    SegmentOptions wanted = lasting(tcp());
    wanted.patience = std::chrono::milliseconds(200);
    const Segment segment(wanted);
    fill(segment);
    ::kill(server, SIGSTOP);
    std::thread goes_on([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(700));
        ::kill(server, SIGCONT);
    });
    EXPECT_TRUE(is_filled(segment));
    goes_on.join();
    fill(segment, 'y');
    EXPECT_TRUE(is_filled(segment, 'y'));
    EXPECT_GT(segment.counters().reconnected, 0U);
}

using CutDeath = Cut;

TEST_F(CutDeath, AServerThatBeginsAnewEmptyIsRefused) {
    EXPECT_EXIT(
        {
            const Segment segment(lasting(tcp()));
            fill(segment);
            ::kill(server, SIGKILL);
            later.go(port);
            ::_exit(is_filled(segment) ? 8 : 9);
        },
        testing::KilledBySignal(SIGBUS), "no such segment: the server began anew.*; SIGBUS at 0x");
}

TEST_F(CutDeath, AServerThatStaysAwayIsGivenUp) {
    EXPECT_EXIT(
        {
            SegmentOptions wanted = lasting(tcp());
            wanted.reconnect = std::chrono::milliseconds(500);
            const Segment segment(wanted);
            fill(segment);
            ::kill(server, SIGKILL);
            ::_exit(is_filled(segment) ? 8 : 9);
        },
        testing::KilledBySignal(SIGBUS), "closed the connection or died; SIGBUS at 0x");
}

// The client's part, played.
class Played : public Cut {
  protected:
    [[nodiscard]] std::unique_ptr<Connection> attached(ClientAttach& wanted,
                                                       Outcome expected = Outcome::good) const {
        auto made = std::make_unique<Connection>(connect_to(tcp()), std::chrono::microseconds(0),
                                                 std::chrono::milliseconds(60'000));
        EXPECT_EQ(attach_raw(*made, key, wanted), expected);
        return made;
    }
    static Outcome store(Connection& connection, char filled) {
        std::vector<std::byte> page(page_bytes, static_cast<std::byte>(filled));
        const StoredPage stored{0, page_crc(page.data())};
        Header request{};
        request.operation = Operation::store;
        request.count = 1;
        Header answer{};
        return connection.ask(request, &stored, sizeof stored, page.data(), page.size(), Operation::stored,
                              answer, nullptr, 0);
    }
    static char fetch(Connection& connection) {
        std::vector<char> page(page_bytes);
        Header request{};
        request.operation = Operation::fetch;
        request.count = 1;
        Header answer{};
        EXPECT_EQ(connection.ask(request, nullptr, 0, nullptr, 0, Operation::fetched, answer, page.data(),
                                 page.size()),
                  Outcome::good);
        return page[0];
    }
    static ClientAttach kept(std::uint32_t milliseconds) {
        ClientAttach made;
        made.bytes = 40 * mib;
        made.keep_ms = milliseconds;
        return made;
    }
};

// A page that was sent over a connection before a cut comes to the server after newer pages came over the
// next one: it is dropped.
TEST_F(Played, AnOldStoreThatComesLate) {
    ClientAttach wanted = kept(60'000);
    const auto fetches = attached(wanted);
    wanted.role = Role::stores;
    const auto old = attached(wanted);
    EXPECT_EQ(store(*old, 'a'), Outcome::good);
    const auto next = attached(wanted);
    EXPECT_EQ(store(*next, 'b'), Outcome::good);
    EXPECT_NE(store(*old, 'a'), Outcome::good);
    EXPECT_EQ(fetch(*fetches), 'b');
}

TEST_F(Played, ASegmentIsKeptForItsClient) {
    ClientAttach wanted = kept(60'000);
    EXPECT_EQ(store(*attached(wanted), 'a'), Outcome::good);
    // All connections are cut now. Nobody else gets the room.
    ClientAttach other = kept(0);
    static_cast<void>(attached(other, Outcome::refused));
    const auto again = attached(wanted);
    EXPECT_EQ(fetch(*again), 'a');
    // A detach gives the room back at once.
    Header request{};
    request.operation = Operation::detach;
    Header answer{};
    EXPECT_EQ(again->ask(request, nullptr, 0, nullptr, 0, Operation::detached, answer, nullptr, 0),
              Outcome::good);
    for (int tries = 0; tries < 2000; ++tries) {
        Connection next(connect_to(tcp()), std::chrono::microseconds(0), std::chrono::milliseconds(60'000));
        if (attach_raw(next, key, other) == Outcome::good) {
            return;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    FAIL() << "the room was not given back";
}

TEST_F(Played, ASegmentIsNotKeptForEver) {
    ClientAttach wanted = kept(50);
    EXPECT_EQ(store(*attached(wanted), 'a'), Outcome::good);
    for (int tries = 0; tries < 2000; ++tries) {
        {
            ClientAttach same = wanted;
            Connection next(connect_to(tcp()), std::chrono::microseconds(0),
                            std::chrono::milliseconds(60'000));
            if (attach_raw(next, key, same) != Outcome::good) {
                EXPECT_EQ(next.refusal(), Refusal::unknown_segment);
                return;
            }
        }
        // It was there still, and is kept anew from the end of that connection on.
        std::this_thread::sleep_for(std::chrono::milliseconds(100) * (tries + 1));
    }
    FAIL() << "the segment was not given up";
}

// A program that ends gives its room back although its segment would be kept.
TEST_F(Cut, ADetachedSegmentIsNotKept) {
    for (int i = 0; i < 4; ++i) {
        for (int tries = 0;; ++tries) {
            try {
                SegmentOptions wanted = lasting(tcp());
                wanted.bytes = 60 * mib;
                const Segment segment(wanted);
                break;
            } catch (const std::invalid_argument& error) {
                ASSERT_LT(tries, 2000) << error.what();
                std::this_thread::sleep_for(std::chrono::milliseconds(5));
            }
        }
    }
}

// The segment ends while its pages are on their way home, and its server has the room for the next.
TEST_F(Cut, ASegmentEndsUnderLoad) {
    for (int i = 0; i < 12; ++i) {
        SegmentOptions wanted = lasting(tcp());
        wanted.bytes = 20 * mib;  // three of them fit
        wanted.faults = i % 2 == 0 ? Faults::in_thread : Faults::handler;
        wanted.encrypt = i % 3 == 0;
        std::string why;
        if (!can_page(wanted.faults, why)) {
            continue;
        }
        for (int tries = 0;; ++tries) {
            try {
                Segment segment(wanted);
                segment.prefetch({0, 1, 2, 3, 1000, 1001});
                std::memset(segment.data(), 'x', 4 * mib);
                ASSERT_EQ(static_cast<const char*>(segment.data())[0], 'x');
                break;
            } catch (const std::invalid_argument& error) {
                ASSERT_LT(tries, 2000) << error.what();
                std::this_thread::sleep_for(std::chrono::milliseconds(5));
            }
        }
    }
}

// A server without memory refuses; its other clients go on.
TEST_F(Cut, AServerThatIsOutOfMemory) {
    ServerProcess poor;
    ServerOptions offered;
    offered.bytes = 4096 * mib;
    // Room for the threads of a few connections, not for a segment.
    poor.start(offered, key, false, 600 * mib);
    const Segment segment(options(poor.address(), 4 * mib));
    fill(segment);
    EXPECT_THROW(Segment(options(poor.address(), 2048 * mib)), std::invalid_argument);
    EXPECT_TRUE(is_filled(segment));
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they end a program without memory
// A client without address space says so, and its server keeps nothing for it.
TEST_F(CutDeath, AClientThatIsOutOfMemory) {
    const auto body = [&] {
        const rlimit most{512 * mib, 512 * mib};
        ::setrlimit(RLIMIT_AS, &most);
        try {
            const Segment segment(options(tcp(), 40 * mib));
            const rlimit less{1, 1};
            ::setrlimit(RLIMIT_AS, &less);
            const Segment more(options(tcp(), 8 * mib));
            ::_exit(9);
        } catch (const std::bad_alloc&) {
            ::_exit(0);
        } catch (const std::system_error&) {
            ::_exit(0);
        }
    };
    EXPECT_EXIT(body(), testing::ExitedWithCode(0), "");
}
#endif

}  // namespace
