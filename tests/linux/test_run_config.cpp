// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <vector>

#include "consort/linux/executive/config.hpp"
#include "made_plan.hpp"

using namespace consort::linux_port;

namespace {

// A master and a worker in two modes. Three tasks, of which the second mode has two, in another order.
RunConfig two_modes() {
    const plan::Core master = core_of(plan::Policy::fixed_priority);
    plan::Core asleep = master;
    asleep.wait = plan::Wait::sleep;
    const plan::Core worker = core_of(plan::Policy::worker);
    std::vector<plan::Task> one(3, task_of(0, 1));
    for (std::uint32_t i = 0; i < 3; ++i) {
        one[i].rank = one[i].worker_rank = i;
    }
    std::vector<plan::Task> two = one;
    two[0].rank = two[0].worker_rank = 1;
    two[1].rank = two[1].worker_rank = 0;
    two[1].deadline *= 2;
    two[2] = {};
    two[2].worker = plan::none;
    two[2].rests = true;
    return MadePlan{{{master, worker}, {asleep, worker}}, {one, two}}.config();
}

}  // namespace

TEST(RunConfig, AWorkerServesByTheOrderOfTheMode) {
    const RunConfig config = two_modes();
    EXPECT_EQ(config.served_by(1, 0), (std::vector<std::uint16_t>{0, 1, 2}));
    EXPECT_EQ(config.served_by(1, 1), (std::vector<std::uint16_t>{1, 0, 2})) << "the one that rests last";
    EXPECT_TRUE(config.served_by(0, 0).empty());
}

TEST(RunConfig, APassOverRowsEndsWithTheLastOne) {
    const RowSteps steps{{1, 4}};
    EXPECT_EQ(steps.in(1), 4U);
    EXPECT_EQ(RowSteps{}.in(1), 1U);
    // Of three rows, and of ten: the row after each is the next job's, or the first one again.
    const auto next = [](std::uint64_t row, std::uint64_t count, std::uint32_t step) {
        return row + 1 + RowSteps::left_out(row + 1, count, step);
    };
    EXPECT_EQ(next(0, 3, 4), 3U);
    EXPECT_EQ(next(0, 10, 4), 4U);
    EXPECT_EQ(next(8, 10, 4), 10U) << "the second pass begins at its first row";
    EXPECT_EQ(next(10, 10, 4), 14U);
    EXPECT_EQ(next(9, 10, 1), 10U);
}

TEST(RunConfig, ACoreIsInEachModeAsThePlanHasItThere) {
    RunConfig config = two_modes();
    EXPECT_FALSE(config.waits_asleep(0, 0));
    EXPECT_TRUE(config.waits_asleep(1, 0));
    EXPECT_EQ(config.level(0, 0, 0), 3) << "the kernel's priorities count up from the least urgent";
    EXPECT_EQ(config.level(0, 0, 2), 1);
    EXPECT_EQ(config.level(1, 0, 0), 2);
    EXPECT_EQ(config.longest_deadline(1), 2'000'000'000);
    config.shared = true;
    EXPECT_TRUE(config.waits_asleep(0, 0)) << "it would keep the others from the processor";
}
