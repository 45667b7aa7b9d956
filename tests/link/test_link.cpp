// SPDX-License-Identifier: Apache-2.0
//
// The link between sides that keep the protocol: contents, order, scatter and gather, several transactions in
// flight, back-pressure, wrap-around, errors, time-outs, events, restarts.

#include <gtest/gtest.h>

#include <vector>

#include "joined.hpp"

namespace {

using consort::Status;
using consort::Ticks;
using consort::link::Completing;
using consort::link::Completion;
using consort::link::Direction;
using consort::link::Engine;
using consort::link::Outcome;
using consort::link::Piece;
using consort::link::Posting;
using consort::link::Ring;
using consort::test::Joined;
using consort::test::ScriptedDma;

static_assert(consort::link::TransferQueue<consort::link::Host<4>>);
static_assert(consort::link::Dma<ScriptedDma>);

template <std::uint32_t N, std::uint32_t Queues = 1>
using OneEngine = Engine<ScriptedDma, Queues, N>;

template <std::uint32_t N>
Posting post(Joined<N>& link, Direction direction, const std::vector<Piece>& pieces, std::uint32_t tag,
             Completing completing = Completing::by_status) {
    return link.host.try_post(direction, pieces.data(), static_cast<std::uint32_t>(pieces.size()), tag,
                              completing);
}

struct PortOfSteps {
    static inline Ticks tick = 0;
    static Ticks now() noexcept { return tick++; }
    static Ticks ticks_per_second() noexcept { return 1000; }
    static void relax() noexcept {}
    static void clean(const void*, std::size_t) noexcept {}
    static void invalidate(const void*, std::size_t) noexcept {}
    static std::uint32_t core_id() noexcept { return 0; }
};

TEST(Link, MovesInBothDirections) {
    Joined<4> link;
    OneEngine<4> engine(link.dma);
    ASSERT_TRUE(engine.attach(0, link.ring, link.near.window(), link.far.window()));
    link.near.fill(1);
    Completion done{};
    EXPECT_EQ(link.host.poll(done), Status::would_block) << "nothing was posted";
    ASSERT_EQ(post(link, Direction::to_peer, {{16, 100, 50}}, 7), Posting::ok);
    EXPECT_EQ(link.host.poll(done), Status::would_block) << "under way";
    EXPECT_EQ(link.host.in_flight(), 1U);
    link.drain(engine);
    ASSERT_EQ(link.host.poll(done), Status::ok);
    EXPECT_EQ(done.tag, 7U);
    EXPECT_EQ(done.outcome, Outcome::moved);
    EXPECT_EQ(done.bytes, 50U);
    EXPECT_EQ(link.host.in_flight(), 0U);
    EXPECT_TRUE(link.far.holds(1, 100, 50, 16));

    link.far.fill(2);
    ASSERT_EQ(post(link, Direction::from_peer, {{200, 300, 64}}, 8), Posting::ok);
    link.drain(engine);
    ASSERT_EQ(link.host.poll(done), Status::ok);
    EXPECT_TRUE(link.near.holds(2, 200, 64, 300));
    EXPECT_EQ(link.host.poll(done), Status::would_block) << "each completion once";
}

TEST(Link, GathersAndScattersMorePiecesThanOneTransferOfTheDma) {
    Joined<8> link;
    OneEngine<8> engine(link.dma);
    ASSERT_TRUE(engine.attach(0, link.ring, link.near.window(), link.far.window()));
    link.near.fill(3);
    std::vector<Piece> pieces;
    for (std::uint32_t i = 0; i < 8; ++i) {
        pieces.push_back({i * 500, (7 - i) * 400, 10 * i});  // the first one moves nothing
    }
    ASSERT_EQ(post(link, Direction::to_peer, pieces, 1), Posting::ok);
    link.drain(engine);
    Completion done{};
    ASSERT_EQ(link.host.poll(done), Status::ok);
    EXPECT_EQ(done.bytes, 280U);
    EXPECT_EQ(link.dma.started, 3U) << "three pieces in each transfer of the DMA";
    for (const Piece& piece : pieces) {
        EXPECT_TRUE(link.far.holds(3, piece.remote, piece.bytes, piece.local)) << piece.local;
    }
}

TEST(Link, KeepsSeveralInFlightAndPushesBackWhenTheRingIsFull) {
    Joined<4> link;
    OneEngine<4> engine(link.dma);
    ASSERT_TRUE(engine.attach(0, link.ring, link.near.window(), link.far.window()));
    for (std::uint32_t tag = 0; tag < 4; ++tag) {
        EXPECT_EQ(post(link, Direction::to_peer, {{0, 0, 8}}, tag), Posting::ok);
    }
    EXPECT_EQ(link.host.in_flight(), 4U);
    EXPECT_EQ(post(link, Direction::to_peer, {{0, 0, 8}}, 4), Posting::full);
    link.drain(engine);
    EXPECT_EQ(post(link, Direction::to_peer, {{0, 0, 8}}, 4), Posting::full) << "complete, but not reaped";
    Completion done{};
    ASSERT_EQ(link.host.poll(done), Status::ok);
    EXPECT_EQ(done.tag, 0U);
    EXPECT_EQ(post(link, Direction::to_peer, {{0, 0, 8}, {8, 8, 8}}, 4), Posting::full) << "room for one";
    EXPECT_EQ(post(link, Direction::to_peer, {{0, 0, 8}}, 4), Posting::ok);
    link.drain(engine);
    for (std::uint32_t tag = 1; tag < 5; ++tag) {
        ASSERT_EQ(link.host.poll(done), Status::ok);
        EXPECT_EQ(done.tag, tag) << "in the order of posting";
    }
}

TEST(Link, WrapsAroundTheRingAndAroundItsCounters) {
    Joined<4> link;
    // Close to the end of 32 bits.
    link.ring.host.posted.store(0xfffffff0U);
    link.ring.engine.completed.store(0xfffffff0U);
    consort::link::Host<4> host(link.ring, link.near.window(), link.size);
    OneEngine<4> engine(link.dma);
    ASSERT_TRUE(engine.attach(0, link.ring, link.near.window(), link.far.window()));
    for (std::uint32_t round = 0; round < 40; ++round) {
        link.near.fill(round);
        const Piece pieces[3] = {{round, 0, 10}, {round + 10, 10, 10}, {round + 20, 20, 10}};
        ASSERT_EQ(host.try_post(Direction::to_peer, pieces, 3, round, Completing::by_status), Posting::ok);
        link.drain(engine);
        Completion done{};
        ASSERT_EQ(host.poll(done), Status::ok);
        EXPECT_EQ(done.tag, round);
        EXPECT_TRUE(link.far.holds(round, 0, 30, round));
    }
}

TEST(Link, RefusesWhatCanNeverBePosted) {
    Joined<4> link;
    EXPECT_EQ(post(link, Direction::to_peer, {}, 0), Posting::refused);
    EXPECT_EQ(post(link, Direction::to_peer, std::vector<Piece>(5, Piece{0, 0, 1}), 0), Posting::refused);
    EXPECT_EQ(post(link, Direction::to_peer, {{4096, 0, 1}}, 0), Posting::refused);
    EXPECT_EQ(post(link, Direction::to_peer, {{0, 4000, 97}}, 0), Posting::refused);
    EXPECT_EQ(post(link, Direction::to_peer, {{0xffffffffU, 0, 2}}, 0), Posting::refused);
    EXPECT_EQ(post(link, Direction::to_peer, {{1, 0, 0xffffffffU}}, 0), Posting::refused);
    EXPECT_EQ(post(link, Direction::to_peer, {{0, 0, 1}, {0, 4096, 1}}, 0), Posting::refused);
    EXPECT_EQ(link.host.in_flight(), 0U);
    EXPECT_EQ(link.ring.host.posted.load(), 0U);
    EXPECT_EQ(post(link, Direction::to_peer, {{4096, 4096, 0}}, 0), Posting::ok) << "nothing at the end";
}

TEST(Link, CompletesWithTheDmasErrorAndGoesOn) {
    Joined<4> link;
    OneEngine<4> engine(link.dma);
    ASSERT_TRUE(engine.attach(0, link.ring, link.near.window(), link.far.window()));
    link.dma.failing = true;
    ASSERT_EQ(post(link, Direction::to_peer, {{0, 0, 8}}, 1), Posting::ok);
    link.drain(engine);
    link.dma.failing = false;
    ASSERT_EQ(post(link, Direction::to_peer, {{0, 0, 8}}, 2), Posting::ok);
    link.drain(engine);
    Completion done{};
    ASSERT_EQ(link.host.poll(done), Status::ok);
    EXPECT_EQ(done.outcome, Outcome::dma_error);
    EXPECT_EQ(done.bytes, 0U);
    ASSERT_EQ(link.host.poll(done), Status::ok);
    EXPECT_EQ(done.outcome, Outcome::moved);
    EXPECT_EQ(done.tag, 2U);
}

TEST(Link, StopsADmaThatTakesTooLong) {
    Joined<4> link;
    OneEngine<4> engine(link.dma, 10);
    ASSERT_TRUE(engine.attach(0, link.ring, link.near.window(), link.far.window()));
    link.dma.delay = 1'000'000;
    ASSERT_EQ(post(link, Direction::to_peer, {{0, 0, 8}}, 1), Posting::ok);
    Completion done{};
    for (Ticks now = 5; now < 15; ++now) {
        EXPECT_TRUE(engine.step(now));
        EXPECT_EQ(link.host.poll(done), Status::would_block) << now;
    }
    EXPECT_TRUE(engine.step(15));
    ASSERT_EQ(link.host.poll(done), Status::ok);
    EXPECT_EQ(done.outcome, Outcome::timed_out);
    EXPECT_EQ(link.dma.aborted, 1U);
}

TEST(Link, AHostThatGivesUpWaitingStillHasTheTransactionInFlight) {
    Joined<2> link;
    OneEngine<2> engine(link.dma);
    ASSERT_TRUE(engine.attach(0, link.ring, link.near.window(), link.far.window()));
    ASSERT_EQ(post(link, Direction::to_peer, {{0, 0, 8}}, 1), Posting::ok);
    Completion done{};
    PortOfSteps::tick = 0;
    EXPECT_EQ(link.host.poll_until<PortOfSteps>(5, done), Status::timeout);
    EXPECT_EQ(link.host.in_flight(), 1U);
    link.drain(engine);
    EXPECT_EQ(link.host.poll_until<PortOfSteps>(0, done), Status::ok) << "tries at least once";
    EXPECT_EQ(done.tag, 1U);
}

struct Count {
    std::vector<std::uint32_t>* events;
    void operator()(std::uint32_t queue) noexcept { events->push_back(queue); }
};

TEST(Link, RaisesAnEventOnlyForTransactionsThatAskForOne) {
    Joined<4> link;
    std::vector<std::uint32_t> events;
    using Counting = Engine<ScriptedDma, 3, 4, consort::access::Coherent, Count>;
    Counting engine(link.dma, Counting::unlimited, Count{&events});
    ASSERT_TRUE(engine.attach(2, link.ring, link.near.window(), link.far.window()));
    EXPECT_FALSE(engine.attach(3, link.ring, link.near.window(), link.far.window()));
    ASSERT_EQ(post(link, Direction::to_peer, {{0, 0, 8}, {8, 8, 8}}, 1, Completing::by_status), Posting::ok);
    link.drain(engine);
    EXPECT_TRUE(events.empty());
    ASSERT_EQ(post(link, Direction::to_peer, {{0, 0, 8}, {8, 8, 8}}, 2, Completing::by_event), Posting::ok);
    link.drain(engine);
    EXPECT_EQ(events, std::vector<std::uint32_t>{2});
    Completion done{};
    EXPECT_EQ(link.host.poll(done), Status::ok) << "the status word is written in both cases";
    EXPECT_EQ(link.host.poll(done), Status::ok);
}

TEST(Link, ServesItsQueuesInTurn) {
    Joined<4> one;
    Joined<4> two;
    OneEngine<4, 2> engine(one.dma);
    ASSERT_TRUE(engine.attach(0, one.ring, one.near.window(), one.far.window()));
    ASSERT_TRUE(engine.attach(1, two.ring, two.near.window(), two.far.window()));
    for (std::uint32_t tag = 0; tag < 4; ++tag) {
        ASSERT_EQ(post(one, Direction::to_peer, {{0, 0, 8}}, tag), Posting::ok);
        ASSERT_EQ(post(two, Direction::to_peer, {{0, 0, 8}}, tag), Posting::ok);
    }
    for (std::uint32_t round = 1; round <= 4; ++round) {
        for (int steps = 0; steps < 4; ++steps) {
            EXPECT_TRUE(engine.step(0));
        }
        EXPECT_EQ(one.ring.engine.completed.load(), round);
        EXPECT_EQ(two.ring.engine.completed.load(), round);
    }
    EXPECT_FALSE(engine.step(0));
}

TEST(Link, ARestartedHostSkipsWhatItsFormerSelfPosted) {
    Joined<4> link;
    OneEngine<4> engine(link.dma);
    ASSERT_TRUE(engine.attach(0, link.ring, link.near.window(), link.far.window()));
    ASSERT_EQ(post(link, Direction::to_peer, {{0, 0, 8}, {0, 0, 8}}, 1), Posting::ok);
    ASSERT_EQ(post(link, Direction::to_peer, {{0, 0, 8}}, 2), Posting::ok);
    Joined<4>::Host heir(link.ring, link.near.window(), link.size);
    const Piece piece{0, 0, 8};
    ASSERT_EQ(heir.try_post(Direction::to_peer, &piece, 1, 3, Completing::by_status), Posting::ok);
    EXPECT_EQ(heir.try_post(Direction::to_peer, &piece, 1, 4, Completing::by_status), Posting::full)
        << "the former host's descriptors take up room until they are complete";
    EXPECT_EQ(heir.in_flight(), 1U);
    Completion done{};
    engine.step(0);
    engine.step(0);
    EXPECT_EQ(heir.poll(done), Status::would_block) << "that was the former host's";
    link.drain(engine);
    ASSERT_EQ(heir.poll(done), Status::ok);
    EXPECT_EQ(done.tag, 3U);
    EXPECT_EQ(heir.poll(done), Status::would_block);
}

TEST(Link, ARestartedEngineRepeatsWhatWasNotComplete) {
    Joined<4> link;
    link.near.fill(9);
    {
        OneEngine<4> engine(link.dma);
        ASSERT_TRUE(engine.attach(0, link.ring, link.near.window(), link.far.window()));
        ASSERT_EQ(post(link, Direction::to_peer, {{0, 0, 8}}, 1), Posting::ok);
        ASSERT_EQ(post(link, Direction::to_peer, {{8, 8, 8}, {16, 16, 8}}, 2), Posting::ok);
        engine.step(0);
        engine.step(0);
        engine.step(0);  // the second one is under way when the engine ends
    }
    const std::uint32_t epoch = link.host.peer_epoch();
    OneEngine<4> engine(link.dma);
    ASSERT_TRUE(engine.attach(0, link.ring, link.near.window(), link.far.window()));
    EXPECT_EQ(link.host.peer_epoch(), epoch + 1);
    ASSERT_TRUE(engine.step(0));
    EXPECT_FALSE(engine.attach(0, link.ring, link.near.window(), link.far.window())) << "in mid-transaction";
    link.drain(engine);
    Completion done{};
    for (std::uint32_t tag = 1; tag <= 2; ++tag) {
        ASSERT_EQ(link.host.poll(done), Status::ok);
        EXPECT_EQ(done.tag, tag);
        EXPECT_EQ(done.outcome, Outcome::moved);
    }
    EXPECT_TRUE(link.far.holds(9, 0, 24, 0));
}

}  // namespace
