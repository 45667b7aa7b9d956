// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "consort/linux/executive/worker_wait.hpp"
#include "made_plan.hpp"

using namespace consort::linux_port;

namespace {

// Two masters and a worker (core 2) that serves a task of each.
RunConfig two_masters(std::uint32_t sleep_one_in) {
    const plan::Core master = core_of(plan::Policy::fixed_priority);
    RunConfig config = MadePlan{
        {{master, master, core_of(plan::Policy::worker)}},
        {{task_of(0, 2),
          task_of(1, 2)}}}.config();
    config.cores[2].sleep_one_in = sleep_one_in;
    return config;
}

bool idle_within(WorkerWait& waits, int polls) {
    for (int i = 0; i < polls; ++i) {
        if (waits.idle()) {
            return true;
        }
    }
    return false;
}

}  // namespace

// Spinning there, it would starve what the masters still need to attach.
TEST(WorkerWait, GivesItsProcessorAwayBeforeTheRunAndAfterIt) {
    const RunConfig config = two_masters(12);
    SharedRun shared(config);
    WorkerWait waits(config, shared, 2, 0);
    EXPECT_TRUE(waits.idle());
    shared.run[0].start.store(1);
    EXPECT_FALSE(idle_within(waits, 10'000));
    shared.cores[0].finished.store(1);
    EXPECT_FALSE(idle_within(waits, 10'000)) << "the other master may still ask";
    shared.cores[1].finished.store(1);
    EXPECT_TRUE(idle_within(waits, 10'000));
}

TEST(WorkerWait, GivesItsProcessorAwayWhenTheRunIsStopped) {
    const RunConfig config = two_masters(12);
    SharedRun shared(config);
    WorkerWait waits(config, shared, 2, 0);
    shared.run[0].start.store(1);
    EXPECT_FALSE(idle_within(waits, 10'000));
    shared.stop();
    EXPECT_TRUE(idle_within(waits, 10'000));
}

TEST(WorkerWait, RestsAfterSomeAnswersAndAfterSomeTime) {
    const RunConfig config = two_masters(3);
    SharedRun shared(config);
    const consort::Ticks begin = 1'000;
    WorkerWait waits(config, shared, 2, begin);
    EXPECT_FALSE(waits.rests(begin));
    EXPECT_FALSE(waits.rests(begin));
    EXPECT_TRUE(waits.rests(begin));
    EXPECT_FALSE(waits.rests(begin));
    const RunConfig seldom = two_masters(1'000);
    WorkerWait rare(seldom, shared, 2, begin);
    const consort::Ticks interval = Clock::from_ns(WorkerWait::rest_interval_ns);
    EXPECT_FALSE(rare.rests(begin));
    EXPECT_TRUE(rare.rests(begin + interval));
    EXPECT_FALSE(rare.rests(begin + interval + interval / 2));
    EXPECT_TRUE(rare.rests(begin + 2 * interval));
    const RunConfig never = two_masters(0);
    WorkerWait restless(never, shared, 2, begin);
    EXPECT_FALSE(restless.rests(begin + 100 * interval));
}
