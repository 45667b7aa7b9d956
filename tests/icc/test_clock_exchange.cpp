// SPDX-License-Identifier: Apache-2.0
//
// ClockExchange between clocks that stand and run differently, over messages that take as long as they like:
// what is said of an error holds.

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <random>

#include "consort/icc/clock_exchange.hpp"

namespace {

using consort::ClockReading;
using consort::Ticks;
using Exchange = consort::ClockExchange<consort::access::Coherent>;

// A clock: how it stands at true time 0, and its ticks in 10^6 of true time.
struct Clock {
    Ticks at_zero;
    std::uint64_t rate;
    [[nodiscard]] Ticks at(std::uint64_t time) const { return at_zero + time * rate / 1'000'000; }
};

// One processor after the other, each step with a delay: true time passes in both directions' waits alone.
struct World {
    Exchange::Shared shared{};
    Exchange::Asker asker{shared};
    Exchange::Reference reference{shared};
    std::uint64_t time = 0;
    Clock own;
    Clock theirs;
    std::mt19937_64 random;
    std::uint64_t longest;

    std::uint64_t delay() { return std::uniform_int_distribution<std::uint64_t>(0, longest)(random); }
    bool read(ClockReading& best, std::uint32_t rounds) {
        return asker.read(
            best, rounds, [this] { return own.at(time); },
            [this] {
                time += delay();
                if (reference.asked()) {
                    time += delay();
                    reference.answer(theirs.at(time));
                }
                time += delay();
                return true;
            });
    }
};

// By how much `theirs` is ahead of what the reading says it is, at one instant.
std::int64_t error(const World& world, const ClockReading& reading) {
    const auto offset = static_cast<std::int64_t>(reading.theirs - reading.own);
    const auto truth = static_cast<std::int64_t>(world.theirs.at(world.time) - world.own.at(world.time));
    return truth - offset;
}

TEST(ClockExchange, TheErrorIsWithinHalfOfTheRoundTrip) {
    std::mt19937_64 random(1);
    for (int n = 0; n < 2'000; ++n) {
        World world{.own = {random(), 1'000'000},
                    .theirs = {random(), 1'000'000},
                    .random = std::mt19937_64(random()),
                    .longest = random() % 1000};
        ClockReading best;
        ASSERT_TRUE(world.read(best, 16));
        EXPECT_LE(std::abs(error(world, best)), static_cast<std::int64_t>((best.round_trip + 1) / 2));
        EXPECT_LE(best.round_trip, 3 * world.longest);
    }
}

TEST(ClockExchange, AClockThatGainsIsSeenToGain) {
    std::mt19937_64 random(2);
    int seen = 0;
    for (int n = 0; n < 500; ++n) {
        // Up to 200 parts in a million apart, in either direction.
        World world{.own = {random(), 999'900 + random() % 200},
                    .theirs = {random(), 999'900 + random() % 200},
                    .random = std::mt19937_64(random()),
                    .longest = 300};
        ClockReading begin;
        ClockReading end;
        ASSERT_TRUE(world.read(begin, 16));
        const std::uint64_t before = world.time;
        world.time += 100'000'000;
        ASSERT_TRUE(world.read(end, 16));
        const std::uint64_t passed = world.time - before;
        const auto gained = static_cast<std::int64_t>((end.own - end.theirs) - (begin.own - begin.theirs));
        const auto truth =
            static_cast<std::int64_t>(world.own.at(before + passed) - world.own.at(before)) -
            static_cast<std::int64_t>(world.theirs.at(before + passed) - world.theirs.at(before));
        // The time that passes while they ask, at most 16 * 900, is too short to gain more than three.
        const auto known = static_cast<std::int64_t>(begin.round_trip / 2 + end.round_trip / 2 + 2 + 6);
        EXPECT_LE(std::abs(gained - truth), known);
        seen += std::abs(truth) > known ? 1 : 0;
    }
    EXPECT_GT(seen, 400) << "most gain more than the exchange is unsure of";
}

TEST(ClockExchange, WhoWaitsMayGiveUp) {
    Exchange::Shared shared{};
    Exchange::Asker asker(shared);
    Ticks answer = 7;
    int waited = 0;
    EXPECT_FALSE(asker.ask(answer, [&] { return ++waited < 3; }));
    EXPECT_EQ(waited, 3);
    EXPECT_EQ(answer, 7U);
    // The question is still there, and its answer is none to the next one.
    Exchange::Reference reference(shared);
    ASSERT_TRUE(reference.asked());
    reference.answer(1);
    Exchange::Asker again(shared);
    EXPECT_TRUE(again.ask(answer, [&] {
        if (reference.asked()) {
            reference.answer(0x1'0000'0002);
        }
        return true;
    }));
    EXPECT_EQ(answer, 0x1'0000'0002U);
}

}  // namespace
