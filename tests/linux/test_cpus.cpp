// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <stdexcept>

#include "consort/linux/cpus.hpp"
#include "temporary.hpp"

using namespace consort::linux_port;

TEST(CpuListText, ReadsTheKernelsForm) {
    EXPECT_EQ(parse_cpu_list("0-2,8,10-11\n"), (CpuList{0, 1, 2, 8, 10, 11}));
    EXPECT_EQ(parse_cpu_list(""), CpuList{});
    EXPECT_EQ(parse_cpu_list("\n"), CpuList{});
}

TEST(CpuListText, RefusesWhatIsNoList) {
    for (const char* text : {"a", "1-", "-1", "3-1", "1;2", "1 2", "99999999"}) {
        EXPECT_THROW(parse_cpu_list(text), std::invalid_argument) << text;
    }
}

TEST(PickCpus, PrefersIsolatedOnes) {
    EXPECT_EQ(pick_cpus(2, {{0, 1, 2, 3}, {2, 3}, {}}).cpus, (CpuList{2, 3}));
    EXPECT_TRUE(pick_cpus(2, {{0, 1, 2, 3}, {2, 3}, {}}).notes.empty());
}

TEST(PickCpus, TakesCpu0Last) {
    EXPECT_EQ(pick_cpus(2, {{0, 1, 2}, {}, {}}).cpus, (CpuList{1, 2}));
    EXPECT_EQ(pick_cpus(2, {{0, 1}, {}, {}}).cpus, (CpuList{1, 0}));
}

TEST(PickCpus, TakesOneThreadOfEachCoreFirst) {
    const CpuTopology smt{{0, 1, 2, 3}, {}, {{0, {0, 2}}, {1, {1, 3}}, {2, {0, 2}}, {3, {1, 3}}}};
    EXPECT_EQ(pick_cpus(2, smt).cpus, (CpuList{1, 2}));
    const CpuChoice three = pick_cpus(3, smt);
    EXPECT_EQ(three.cpus, (CpuList{1, 2, 3}));
    EXPECT_NE(three.notes.front().find("shares a core"), std::string::npos);
}

TEST(PickCpus, SaysWhenThereAreTooFew) {
    const CpuChoice choice = pick_cpus(2, {{5}, {5}, {}});
    EXPECT_EQ(choice.cpus, CpuList{5});
    ASSERT_EQ(choice.notes.size(), 1U);
    EXPECT_NE(choice.notes[0].find("2 processors wanted, 1 usable"), std::string::npos);
}

TEST(Topology, IsReadFromTheTree) {
    const int cpu = available_cpus().front();
    const Temporary folder;
    folder.write("online", "0-63\n");
    folder.write("isolated", "");
    folder.write("cpu" + std::to_string(cpu) + "/topology/thread_siblings_list",
                 std::to_string(cpu) + ",77\n");
    const CpuTopology topology = read_topology(folder.path);
    EXPECT_EQ(topology.usable, available_cpus());
    EXPECT_TRUE(topology.isolated.empty());
    EXPECT_EQ(topology.siblings.at(cpu), (CpuList{cpu, 77}));
}

TEST(Topology, LeavesTheAffinityAsItWas) {
    const CpuList before = available_cpus();
    read_topology();
    EXPECT_EQ(available_cpus(), before);
}

// A control group may have fewer processors than the machine, and isolated ones among them.
TEST(Topology, HasIsolatedProcessorsThatTheMaskLacks) {
    const CpuList before = available_cpus();
    if (before.size() < 2) {
        GTEST_SKIP() << "one processor to isolate, and one to stay on";
    }
    const CpuList others(before.begin(), before.end() - 1);
    const Temporary folder;
    folder.write("online", "0-63\n");
    folder.write("isolated", std::to_string(before.back()) + "\n");
    ASSERT_TRUE(set_affinity(others));
    const CpuTopology topology = read_topology(folder.path);
    EXPECT_EQ(topology.usable, before);
    EXPECT_EQ(available_cpus(), others) << "the mask is left as it was";
    set_affinity(before);
}
