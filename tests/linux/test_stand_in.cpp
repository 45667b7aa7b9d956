// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "consort/linux/executive/stand_in.hpp"

using namespace consort::linux_port;

namespace {

// A thread's clock on a processor on which each reading and each piece of work takes so long, the first
// reading of a job by so much longer.
struct Processor {
    std::uint64_t reading;
    std::uint64_t piece;
    std::uint64_t cold = 0;
    std::uint64_t now = 0;

    // Half of a reading is before the value is taken, and half after it.
    std::uint64_t read(std::uint64_t more = 0) {
        now += more + reading / 2;
        const std::uint64_t value = now;
        now += reading - reading / 2;
        return value;
    }
    // The processor time that a stand-in of `ns` has in all.
    std::uint64_t time_of(std::uint64_t ns) {
        const auto clock = [this] { return read(); };
        const auto work = [this] { now += piece; };
        const Pace pace = pace_of(clock, work);
        std::uint64_t more = cold;
        const std::uint64_t begin = now;
        if (ns > pace.round + 3 * pace.reading) {
            const auto first = [&] { return read(std::exchange(more, 0)); };
            work_for(
                ns, pace, begin, [this] { return now; }, first, work);
            now += cold;
        }
        return now - begin;
    }
};

}  // namespace

TEST(StandIn, IsNeverLongerThanItsTimeOnAnyProcessor) {
    for (const std::uint64_t reading : {2U, 50U, 300U, 700U, 5'000U, 40'000U}) {
        for (const std::uint64_t piece : {1U, 90U, 400U, 3'000U, 25'000U}) {
            for (std::uint64_t ns = 1; ns < 10'000'000; ns += ns / 3 + 7) {
                // What is left is too little for another round.
                Processor processor{reading, piece};
                const std::uint64_t took = processor.time_of(ns);
                EXPECT_LE(took, ns) << reading << ", " << piece;
                EXPECT_GT(took + 6 * reading + 2 * piece, ns) << reading << ", " << piece;
                Processor forgot{reading, piece, 5 * reading};
                EXPECT_LE(forgot.time_of(ns), std::max(ns, 11 * reading)) << reading << ", " << piece;
            }
        }
    }
}

// A thread's clock that goes too slowly makes it no longer, and what stops the thread no shorter.
TEST(StandIn, IsNeverLongerByTheRateOfItsThreadsClock) {
    for (const std::uint64_t stop : {0U, 300'000U}) {
        Processor processor{100, 100};
        std::uint64_t stood = 0;
        const auto clock = [&] { return processor.read() - stood - (processor.now - stood) / 10'000; };
        int pieces = 0;
        const auto work = [&] {
            processor.now += 100;
            if (++pieces == 5) {
                processor.now += stop;
                stood += stop;
            }
        };
        const std::uint64_t begin = processor.now;
        const auto wall = [&] { return processor.now; };
        work_for(100'000'000, Pace{100, 200}, begin, wall, clock, work);
        const std::uint64_t took = processor.now - begin - stop;
        EXPECT_LE(took, 100'000'000U);
        EXPECT_GT(took, 99'990'000U);
    }
}

// An interrupt that the kernel charges to the thread is not the stand-in's doing, and ends it no sooner.
TEST(StandIn, WorksOnAfterAnInterrupt) {
    Processor processor{100, 100};
    const auto clock = [&] { return processor.read(); };
    int pieces = 0;
    const auto work = [&] { processor.now += ++pieces == 5 ? 20'000 : 100; };
    const std::uint64_t begin = processor.now;
    const auto wall = [&] { return processor.now; };
    work_for(100'000, Pace{100, 200}, begin, wall, clock, work);
    EXPECT_LE(processor.now - begin, 100'000U);
    EXPECT_GT(processor.now - begin, 99'000U);
}
