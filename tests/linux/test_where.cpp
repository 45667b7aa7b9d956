// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "consort/linux/executive/stuck_steps.hpp"
#include "consort/linux/executive/where.hpp"
#include "made_plan.hpp"

using namespace consort::linux_port;
using Policy = consort::app::plan::Policy;

// A run that its time bound ends says which core it waited for.
TEST(Where, ARunThatDoesNotEndNamesTheCoresItWaitsFor) {
    const plan::Core core = core_of(Policy::fixed_priority);
    RunConfig config = MadePlan{{{core, core_of(Policy::worker), core}}, {{task_of(0, 1)}}}.config();
    config.cores[0].name = "master";
    config.cores[1].name = "worker";
    config.cores[2].name = "unused";
    config.tasks[0].name = "servo";
    SharedRun shared(config);
    EXPECT_EQ(unfinished(config, shared), "core master did not get ready; core worker did not get ready");
    shared.cores[0].ready.store(1);
    EXPECT_EQ(unfinished(config, shared), "core worker did not get ready");
    shared.cores[1].ready.store(1);
    shared.run[0].start.store(1);
    EXPECT_EQ(unfinished(config, shared), "core master has jobs left and is in none");
    shared.tasks[0].began.store(1);
    shared.tasks[0].job.store(17);
    EXPECT_EQ(unfinished(config, shared), "core master is in job 17 of task servo");
    shared.cores[0].finished.store(1);
    EXPECT_EQ(unfinished(config, shared), "");
}

// A core that ends is in a task, also where that is an offloaded one which it computes itself.
TEST(Where, AMasterEndsInTheStepThatItComputesForItsWorker) {
    const RunConfig config = MadePlan{
        {{core_of(Policy::fixed_priority), core_of(Policy::worker)}},
        {{task_of(0, 1), task_of(0, 1),
          task_of(0)}}}.config();
    SharedRun shared(config);
    using consort::Event;
    EXPECT_EQ(task_at(config, shared, 0), Event::none);
    shared.tasks[1].began.store(1);
    EXPECT_EQ(task_at(config, shared, 0), 1) << "in its job";
    EXPECT_EQ(task_at(config, shared, 1), Event::none) << "the worker has not begun";
    shared.tasks[0].fault.store(11);
    shared.cores[1].deaths.store(1);
    EXPECT_EQ(task_at(config, shared, 1), 0) << "of which the worker died";
    EXPECT_EQ(task_at(config, shared, 0), 1) << "and not the master";
    shared.tasks[2].began.store(1);
    EXPECT_EQ(task_at(config, shared, 0), 2) << "it may only be waiting for the other";
    shared.tasks[2].fault.store(11);
    EXPECT_EQ(task_at(config, shared, 0), 2);
    // Whoever ended it knows best.
    shared.cores[0].over_budget.store(1 + 1);
    EXPECT_EQ(task_at(config, shared, 0), 1);
}

// The last job that a core has begun has the processor: that one does not end, not the one that it preempted.
TEST(Where, TheStepThatDoesNotEndIsTheOneThatHasTheProcessor) {
    MadePlan plan{{{core_of(Policy::fixed_priority), core_of(Policy::worker)}},
                  {{task_of(0), task_of(0), task_of(0, 1)}}};
    plan.run.duration *= 1000;
    RunConfig config = plan.config();
    config.tasks[0].name = "preempted";
    for (TaskConfig& task : config.tasks) {
        task.budget_ns = 1'000'000'000U;
    }
    SharedRun shared(config);
    StuckSteps stuck(config, shared);
    const auto seconds = [](std::uint64_t s) { return Clock::from_ns(s * 1'000'000'000U) + 1; };
    const auto look = [&](std::uint16_t core, consort::Ticks now) {
        stuck.look(now);
        return stuck.on(core, 1, now);
    };
    shared.run[0].start.store(1);
    shared.tasks[0].began.store(seconds(10));
    shared.tasks[1].began.store(seconds(11));
    shared.tasks[2].began.store(seconds(10));  // waits for its worker
    EXPECT_FALSE(look(0, seconds(11)));
    EXPECT_FALSE(look(0, seconds(12))) << "a suspect";
    ASSERT_TRUE(look(0, seconds(14)));
    const auto again = look(0, seconds(15));
    ASSERT_TRUE(again);
    EXPECT_EQ(again->task, 1);
    EXPECT_FALSE(again->after_end);
    // The next job is another one.
    shared.tasks[1].began.store(seconds(15));
    EXPECT_FALSE(look(0, seconds(17)));
    // A worker by what it serves. After the run's end its deadline is all that it has.
    shared.cores[1].serving.store(1 + 2);
    shared.cores[1].serving_since.store(seconds(20));
    config.tasks[2].budget_ns = 100'000'000'000U;
    EXPECT_FALSE(look(1, seconds(24)));
    EXPECT_FALSE(look(1, seconds(28)));
    shared.stop();
    EXPECT_FALSE(look(1, seconds(29)));
    EXPECT_FALSE(look(1, seconds(30)));
    const auto found = look(1, seconds(32));
    ASSERT_TRUE(found);
    EXPECT_EQ(found->task, 2);
    EXPECT_TRUE(found->after_end);
}
