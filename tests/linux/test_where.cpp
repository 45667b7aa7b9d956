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
