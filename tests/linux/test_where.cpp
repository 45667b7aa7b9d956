// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "consort/linux/executive/where.hpp"

using namespace consort::linux_port;

// A run that its time bound ends says which core it waited for.
TEST(Where, ARunThatDoesNotEndNamesTheCoresItWaitsFor) {
    RunConfig config;
    config.cores.resize(3);
    config.cores[0].name = "master";
    config.cores[1].name = "worker";
    config.cores[1].policy = CorePolicy::worker;
    config.cores[2].name = "unused";
    config.tasks.resize(1);
    config.tasks[0].name = "servo";
    config.tasks[0].worker = 1;
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
    RunConfig config;
    config.cores.resize(2);
    config.cores[1].policy = CorePolicy::worker;
    config.tasks.resize(3);
    config.tasks[0].worker = 1;
    config.tasks[1].worker = 1;
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
