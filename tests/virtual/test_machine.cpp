// SPDX-License-Identifier: Apache-2.0
//
// The machine in virtual time by itself: schedules that can be checked by hand, data, refusals.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "consort/virtual/fiber.hpp"
#include "consort/virtual/machine.hpp"
#include "consort/virtual/ordered.hpp"

namespace {

using namespace consort::virtual_time;
using consort::Doing;
using consort::Job;
using consort::Operation;
using consort::Ticks;
using consort::app::plan::Wait;

consort::app::plan::Task periodic(std::uint32_t core, Time period, Time execution, std::uint32_t rank) {
    consort::app::plan::Task task = plain_row();
    task.core = core;
    task.period = period;
    task.deadline = task.give_up = period;
    task.bcet = task.wcet = execution;
    task.rank = task.threshold = rank;
    return task;
}

System one_core(Policy policy, Time context_switch = 0) {
    System system;
    system.cores.push_back({});
    system.cores[0].policy = policy;
    system.cores[0].context_switch = context_switch;
    return system;
}

using Piece = std::tuple<Time, Time, std::uint32_t, Doing>;

std::vector<Piece> pieces(const Trace& trace) {
    std::vector<Piece> found;
    for (const consort::Slice& s : trace.slices) {
        found.emplace_back(s.begin, s.end, s.task, s.doing);
    }
    std::sort(found.begin(), found.end());
    return found;
}

Trace run(const System& system, Time duration) {
    Machine machine;
    Trace trace;
    Settings settings;
    settings.duration = duration;
    static_cast<void>(machine.run(system, settings, &trace));
    return trace;
}

TEST(Machine, PreemptsOnOneStack) {
    System system = one_core(Policy::fixed_priority);
    system.tasks.push_back(periodic(0, 20, 10, 2));
    system.tasks.push_back(periodic(0, 8, 2, 0));
    system.tasks.push_back(periodic(0, 20, 3, 1));
    system.tasks[1].offset = 3;
    system.tasks[2].offset = 2;
    // Task 2 preempts task 0, task 1 preempts task 2.
    EXPECT_EQ(pieces(run(system, 10)), (std::vector<Piece>{{0, 2, 0, Doing::execute},
                                                           {2, 3, 2, Doing::execute},
                                                           {3, 5, 1, Doing::execute},
                                                           {5, 7, 2, Doing::execute},
                                                           {7, 15, 0, Doing::execute}}));
}

TEST(Machine, SwitchesAreNotInterrupted) {
    System system = one_core(Policy::fixed_priority, 2);
    system.tasks.push_back(periodic(0, 20, 4, 1));
    system.tasks.push_back(periodic(0, 20, 1, 0));
    system.tasks[1].offset = 1;
    EXPECT_EQ(pieces(run(system, 5)), (std::vector<Piece>{{0, 2, 0, Doing::context_switch},
                                                          {2, 4, 1, Doing::context_switch},
                                                          {4, 5, 1, Doing::execute},
                                                          {5, 7, 0, Doing::context_switch},
                                                          {7, 11, 0, Doing::execute}}));
}

TEST(Machine, SendsWaitsReceives) {
    System system = one_core(Policy::fixed_priority);
    system.cores.push_back({});
    system.cores[1].policy = Policy::worker;
    for (const bool spins : {false, true}) {
        system.cores[0].wait = spins ? Wait::spin : Wait::sleep;
        system.tasks.clear();
        consort::app::plan::Task task = periodic(0, 40, 5, 0);
        task.worker = 1;
        task.send = 1;
        task.receive = 2;
        task.request = 3;
        task.response = 4;
        system.tasks.push_back(task);
        system.tasks.push_back(periodic(0, 40, 20, 1));
        const Trace trace = run(system, 1);
        const Job& job =
            *std::find_if(trace.jobs.begin(), trace.jobs.end(), [](const Job& j) { return j.task == 0; });
        const auto at = [](Time t) { return static_cast<Ticks>(t + origin); };
        EXPECT_EQ(job.sent, at(1));
        EXPECT_EQ(job.worker_receive, at(4));
        EXPECT_EQ(job.worker_send, at(9));
        EXPECT_EQ(job.received, at(13));
        EXPECT_EQ(job.finish, at(15));
        EXPECT_EQ(trace.jobs.back().finish, at(spins ? 35 : 23));
    }
}

TEST(Machine, RunsAgainTheSame) {
    Machine machine;
    System system = one_core(Policy::edf, 1);
    for (const Time period : {7, 11, 13}) {
        system.tasks.push_back(periodic(0, period, 3, 0));
        system.tasks.back().jitter = 5;
        system.tasks.back().bcet = 1;
    }
    Settings settings;
    settings.duration = 1000;
    Trace first;
    Trace second;
    const Outcome a = machine.run(system, settings, &first);
    const Outcome b = machine.run(system, settings, &second);
    EXPECT_EQ(a.jobs, b.jobs);
    EXPECT_EQ(pieces(first), pieces(second));
    EXPECT_GT(a.jobs, 200U);
}

TEST(Machine, SkipsWhatCannotBeServed) {
    System system = one_core(Policy::fixed_priority);
    system.tasks.push_back(periodic(0, 10, 1, 1));
    system.tasks[0].skips = true;
    system.tasks.push_back(periodic(0, 100, 35, 0));
    const Trace trace = run(system, 50);
    std::vector<std::uint32_t> unserved;
    for (const Job& job : trace.jobs) {
        if ((job.status & consort::job_status::unserved) != 0) {
            EXPECT_EQ(job.start, 0U);
            EXPECT_EQ(job.finish, 0U);
            unserved.push_back(job.seq);
        }
    }
    // Due at 0, 10 and 20; at 35 only the one due at 30 can be begun in time.
    EXPECT_EQ(unserved, (std::vector<std::uint32_t>{0, 1, 2}));
}

// Steps with a state, over data that flows through channels: what a task computes depends on everything it
// ever read.
class Flow : public Observer {
  public:
    explicit Flow(const System& system)
        : blocks(system.channels.size(), {0}), state(system.tasks.size(), 1) {}

    void read(std::uint32_t task, std::uint32_t /*seq*/, std::uint32_t channel,
              std::uint64_t sequence) override {
        input_[task] = input_[task] * 31 + blocks[channel].at(sequence) + channel;
    }
    void compute(std::uint32_t task, std::uint32_t seq) override {
        state[task] = state[task] * 6364136223846793005U + input_[task] + seq;
        input_[task] = 0;
        output_[{task, seq}] = state[task];
    }
    void write(std::uint32_t task, std::uint32_t seq, std::uint32_t channel,
               std::uint64_t sequence) override {
        ASSERT_EQ(blocks[channel].size(), sequence);
        blocks[channel].push_back(output_.at({task, seq}));
    }

    std::vector<std::vector<std::uint64_t>> blocks;  // by channel; block 0: nothing is there yet
    std::vector<std::uint64_t> state;

  private:
    std::map<std::uint32_t, std::uint64_t> input_;
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> output_;
};

// The same steps in logical order: by instants, what becomes visible before what reads.
std::vector<std::vector<std::uint64_t>> in_logical_order(const System& system, Time duration) {
    Flow flow(system);
    std::vector<std::vector<std::pair<Time, std::uint64_t>>> visible(system.channels.size());
    std::set<std::tuple<Time, std::uint32_t, std::uint32_t>> releases;
    for (std::uint32_t t = 0; t < system.tasks.size(); ++t) {
        const auto& rule = system.tasks[t];
        std::uint32_t seq = 0;
        for (Time at = rule.offset; at < duration; at += rule.period) {
            releases.insert({at, t, seq++});
        }
    }
    for (const auto& [at, task, seq] : releases) {
        for (std::uint32_t c = 0; c < system.channels.size(); ++c) {
            const auto& readers = system.channels[c].readers;
            if (std::find(readers.begin(), readers.end(), task) != readers.end()) {
                const Time now = at;
                flow.read(task, seq, c,
                          static_cast<std::uint64_t>(
                              std::count_if(visible[c].begin(), visible[c].end(),
                                            [now](const auto& v) { return v.first <= now; })));
            }
        }
        flow.compute(task, seq);
        for (std::uint32_t c = 0; c < system.channels.size(); ++c) {
            if (system.channels[c].writer == task) {
                visible[c].emplace_back(at + system.tasks[task].deadline, 0);
                flow.write(task, seq, c, visible[c].size());
            }
        }
    }
    return flow.blocks;
}

TEST(Data, UnderLetIsThatOfTheStepsInLogicalOrder) {
    std::mt19937 random(7);
    const auto between = [&random](int low, int high) {
        return std::uniform_int_distribution<int>(low, high)(random);
    };
    int compared = 0;
    for (int n = 0; n < 300; ++n) {
        System system;
        system.cores.resize(static_cast<std::size_t>(between(1, 3)));
        for (Core& core : system.cores) {
            core.policy = static_cast<Policy>(between(0, 2));
        }
        const int tasks = between(2, 6);
        for (int t = 0; t < tasks; ++t) {
            const Time period = between(5, 20);
            const auto core =
                static_cast<std::uint32_t>(between(0, static_cast<int>(system.cores.size()) - 1));
            system.tasks.push_back(periodic(core, period, between(1, 2), between(0, 3)));
            system.tasks.back().offset = between(0, 10);
        }
        for (int c = between(1, 6); c != 0; --c) {
            Channel channel;
            channel.let = true;
            channel.writer = static_cast<std::uint32_t>(between(0, tasks - 1));
            channel.readers.push_back(static_cast<std::uint32_t>(between(0, tasks - 1)));
            system.channels.push_back(channel);
        }
        Flow flow(system);
        Machine machine;
        Settings settings;
        settings.duration = 300;
        const Outcome outcome = machine.run(system, settings, nullptr, &flow);
        if (outcome.misses == 0) {
            ++compared;
            EXPECT_EQ(flow.blocks, in_logical_order(system, 300)) << "system " << n;
        }
    }
    EXPECT_GT(compared, 100);
}

void refused(const System& system, const std::string& what) {
    try {
        static_cast<void>(run(system, 10));
        ADD_FAILURE() << "not refused: " << what;
    } catch (const std::invalid_argument& e) {
        EXPECT_EQ(e.what(), what);
    }
}

TEST(Machine, RefusesWhatItCannotRun) {
    System system = one_core(Policy::fixed_priority);
    system.tasks.push_back(periodic(1, 10, 1, 1));
    refused(system, "task 0: there is no such core");
    system.tasks[0] = periodic(0, 0, 1, 1);
    refused(system, "task 0: period and deadline must be above 0");
    system.tasks[0] = periodic(0, 10, 1, 1);
    system.tasks[0].worker = 0;
    refused(system, "task 0: an offloaded task needs a worker's core");
    system.cores[0].policy = Policy::three_phase;
    system.cores[0].slot = 3;
    refused(system, "core 0: there is no such DMA");
    system.dmas.push_back({});
    system.tasks[0].worker = consort::app::plan::none;
    system.tasks[0].bcet = 0;
    refused(system, "task 0: in virtual time a three-phase task's execution time must be above 0");
    system.tasks[0].bcet = 1;
    system.tasks.push_back(system.tasks[0]);
    refused(system, "task 1: three-phase tasks of one core need distinct ranks");
    system.tasks.pop_back();
    system.channels.push_back({0, {3}, false});
    refused(system, "channel 0: there is no such reader");
}

TEST(Machine, SaysThatATimeLeftItsRange) {
    System system = one_core(Policy::fixed_priority);
    for (std::uint32_t i = 0; i < 8; ++i) {
        system.tasks.push_back(periodic(0, 10, (Time{1} << 60) - 1, i));
    }
    EXPECT_THROW(static_cast<void>(run(system, 10)), std::overflow_error);
}

TEST(Machine, SaysThatAThreePhaseCoreIsOverloaded) {
    System system;
    system.cores.push_back({});
    system.cores[0].policy = Policy::three_phase;
    system.cores[0].slot = 1;
    system.dmas.push_back({});
    system.tasks.push_back(periodic(0, 1, 100, 1));
    EXPECT_THROW(static_cast<void>(run(system, 200)), std::overflow_error);
}

TEST(Ordered, IsAPriorityQueueOfItems) {
    using Queue = Ordered<int>;
    constexpr std::uint32_t items = 40;
    std::vector<Queue::Cell> cells(items);
    Queue queue(cells.data(), items);
    std::set<std::pair<int, std::uint32_t>> model;
    std::map<std::uint32_t, int> keys;
    std::mt19937 random(1);
    for (int step = 0; step < 200'000; ++step) {
        const std::uint32_t item = random() % items;
        if (keys.contains(item)) {
            model.erase({keys[item], item});
            keys.erase(item);
        }
        if (random() % 3 == 0) {
            queue.remove(item);
        } else {
            const int key = static_cast<int>(random() % 50);
            queue.set(item, key);
            keys[item] = key;
            model.insert({key, item});
        }
        ASSERT_EQ(queue.empty(), model.empty());
        ASSERT_EQ(queue.contains(item), keys.contains(item));
        if (!model.empty()) {
            ASSERT_EQ(queue.top(), model.begin()->second);
            ASSERT_EQ(queue.top_key(), model.begin()->first);
        }
    }
}

TEST(Draws, AreTheSameOnProcessorsOf32Bits) {
    std::mt19937_64 random(3);
    for (int i = 0; i < 100'000; ++i) {
        const std::uint64_t a = random() >> (random() % 64);
        const std::uint64_t b = random() >> (random() % 64);
        ASSERT_EQ(consort::app::upper_product_by_halves(a, b), consort::app::upper_product(a, b));
    }
    const std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
    EXPECT_EQ(consort::app::upper_product_by_halves(most, most), most - 1);
}

TEST(Fiber, KeepsWhatItsCallerAndItselfHold) {
    struct Shared {
        Fiber fiber;
        double sum = 0;
    } shared;
    for (int again = 0; again < 3; ++again) {
        shared.sum = 0;
        shared.fiber.start(
            [](void* argument) {
                auto& s = *static_cast<Shared*>(argument);
                double mine = 0.5;
                for (;;) {
                    s.sum += mine;
                    mine *= 2;
                    s.fiber.yield();
                }
            },
            &shared);
        double mine = 0;
        for (int i = 0; i < 20; ++i) {
            shared.fiber.resume();
            mine += 1.25;
            ASSERT_EQ(shared.sum, 0.5 * ((1 << (i + 1)) - 1));
        }
        EXPECT_EQ(mine, 25);
    }
}

}  // namespace
