// SPDX-License-Identifier: Apache-2.0
//
// The link against a side that does not keep the protocol: no access outside of a window, and every attempt
// ends with a status.

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "joined.hpp"

namespace {

using consort::Status;
using consort::link::Completing;
using consort::link::Completion;
using consort::link::Descriptor;
using consort::link::Direction;
using consort::link::Engine;
using consort::link::Outcome;
using consort::link::Piece;
using consort::link::Posting;
using consort::link::Ring;
using consort::link::StatusEntry;
using consort::test::Joined;
using consort::test::ScriptedDma;

using Small = Engine<ScriptedDma, 1, 4>;

// An engine's answer to descriptors that no sound host posts.
Outcome answer(const std::vector<Descriptor>& chain) {
    Joined<4> link;
    Small engine(link.dma);
    EXPECT_TRUE(engine.attach(0, link.ring, link.near.window(), link.far.window()));
    std::uint32_t number = 0;
    for (const Descriptor& d : chain) {
        link.ring.descriptors.at[number++].put(d);
    }
    link.ring.host.posted.store(number);
    link.drain(engine);
    EXPECT_EQ(link.ring.engine.completed.load(), number);
    StatusEntry entry{};
    link.ring.completions.at[number - 1].get(entry);
    if (entry.outcome != static_cast<std::uint32_t>(Outcome::moved)) {
        EXPECT_EQ(link.dma.started, 0U) << "nothing was moved";
        EXPECT_EQ(entry.bytes, 0U);
    }
    return static_cast<Outcome>(entry.outcome);
}

TEST(LinkTrust, AnEngineMovesNothingOfADescriptorThatIsWrong) {
    constexpr std::uint32_t last = Descriptor::last;
    EXPECT_EQ(answer({{0, 0, 8, last}}), Outcome::moved);
    EXPECT_EQ(answer({{4096, 0, 1, last}}), Outcome::out_of_window);
    EXPECT_EQ(answer({{0, 4096, 1, last}}), Outcome::out_of_window);
    EXPECT_EQ(answer({{0xffffffffU, 0, 2, last}}), Outcome::out_of_window);
    EXPECT_EQ(answer({{8, 8, 0xfffffff8U, last}}), Outcome::out_of_window);
    EXPECT_EQ(answer({{0, 0, 8, 0}, {0, 5000, 8, last}}), Outcome::out_of_window)
        << "also not the good piece";
    EXPECT_EQ(answer({{0, 0, 8, last | 8U}}), Outcome::malformed);
    EXPECT_EQ(answer({{0, 0, 8, 0}}), Outcome::malformed) << "no end";
    EXPECT_EQ(answer({{0, 0, 8, 0}, {0, 0, 8, 0}, {0, 0, 8, 0}, {0, 0, 8, 0}}), Outcome::malformed);
    EXPECT_EQ(answer({{0, 0, 8, 0}, {0, 0, 8, last | Descriptor::from_peer}}), Outcome::malformed)
        << "two directions";
    EXPECT_EQ(answer({{0, 0, 0xffffffffU, 0}, {0, 0, 1, last}}), Outcome::malformed) << "4 GiB in all";
}

TEST(LinkTrust, AnEngineRefusesADoorbellThatTheHostCannotReach) {
    Joined<4> link;
    Small engine(link.dma);
    ASSERT_TRUE(engine.attach(0, link.ring, link.near.window(), link.far.window()));
    for (const std::uint32_t posted : {5U, 1000U, 0xffffffffU}) {
        link.ring.host.posted.store(posted);
        EXPECT_FALSE(engine.step(0)) << posted;
        EXPECT_FALSE(engine.step(0)) << posted;
        EXPECT_EQ(engine.faults(0), 1U) << "counted once while it lasts";
    }
    EXPECT_EQ(link.ring.engine.faults.load(), 1U);
    EXPECT_EQ(link.dma.started, 0U);
    link.ring.host.posted.store(0);
    EXPECT_FALSE(engine.step(0));
    const Piece piece{0, 0, 8};
    ASSERT_EQ(link.host.try_post(Direction::to_peer, &piece, 1, 1, Completing::by_status), Posting::ok);
    EXPECT_TRUE(engine.step(0)) << "it is served again";
}

TEST(LinkTrust, AHostRefusesAStatusThatTheEngineCannotProduce) {
    const auto answers = [](std::uint32_t completed, const StatusEntry& entry) {
        Joined<4> link;
        const Piece pieces[2] = {{0, 0, 8}, {8, 8, 8}};
        EXPECT_EQ(link.host.try_post(Direction::to_peer, pieces, 2, 1, Completing::by_status), Posting::ok);
        link.ring.completions.at[1].put(entry);
        link.ring.engine.completed.store(completed);
        Completion done{99, Outcome::moved, 99};
        const Status status = link.host.poll(done);
        EXPECT_TRUE(status == Status::ok || done.tag == 99) << "untouched";
        return status;
    };
    EXPECT_EQ(answers(2, {1, 16, 0, 0}), Status::ok);
    EXPECT_EQ(answers(2, {1, 7, 3, 0}), Status::ok) << "failed after 7 bytes";
    EXPECT_EQ(answers(1, {1, 16, 0, 0}), Status::would_block) << "half of a transaction";
    EXPECT_EQ(answers(3, {1, 16, 0, 0}), Status::peer_fault) << "more than was posted";
    EXPECT_EQ(answers(0xffffffffU, {1, 16, 0, 0}), Status::peer_fault);
    EXPECT_EQ(answers(2, {0, 16, 0, 0}), Status::peer_fault) << "of another transaction";
    EXPECT_EQ(answers(2, {1, 16, 5, 0}), Status::peer_fault) << "no such outcome";
    EXPECT_EQ(answers(2, {1, 17, 0, 0}), Status::peer_fault) << "more bytes than there were";
    EXPECT_EQ(answers(2, {1, 15, 0, 0}), Status::peer_fault) << "all moved, but not all";
}

TEST(LinkTrust, AHostThatTakesOverARingOfNonsenseSaysSo) {
    Joined<4> link;
    link.ring.host.posted.store(3);
    link.ring.engine.completed.store(1000);
    Joined<4>::Host host(link.ring, link.near.window(), link.size);
    Completion done{};
    EXPECT_EQ(host.poll(done), Status::peer_fault);
}

// Nothing outside of the windows is touched, whatever a host writes into the ring: AddressSanitizer and the
// borders beside the windows say so.
TEST(LinkTrust, AnEngineStaysInsideOfTheWindowsWhateverIsInTheRing) {
    std::mt19937 random(1);
    const auto some = [&] {
        const std::uint32_t choice = static_cast<std::uint32_t>(random());
        const std::uint32_t value = static_cast<std::uint32_t>(random());
        return choice % 3 == 0 ? value : choice % 3 == 1 ? value % 64 : 0U - value % 64;
    };
    struct {
        std::byte before[64];
        std::byte inside[64];
        std::byte after[64];
    } near{}, far{};
    for (int round = 0; round < 20'000; ++round) {
        Ring<4>::Shared ring{};
        ScriptedDma dma;
        Small engine(dma);
        ASSERT_TRUE(engine.attach(0, ring, {near.inside, 64}, {far.inside, 64}));
        for (auto& cell : ring.descriptors.at) {
            const std::uint32_t control = random() % 4 == 0 ? some() : random() % 8;
            cell.put(Descriptor{some(), some(), some(), control});
        }
        ring.host.posted.store(random() % 8 == 0 ? some() : random() % 5);
        int steps = 0;
        while (engine.step(0)) {
            ASSERT_LT(++steps, 100) << "a bounded number of steps for what is posted";
        }
    }
    for (const auto& edge : {near.before, near.after, far.before, far.after}) {
        for (int i = 0; i < 64; ++i) {
            ASSERT_EQ(edge[i], std::byte{0});
        }
    }
}

}  // namespace
