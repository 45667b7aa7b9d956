// SPDX-License-Identifier: Apache-2.0
//
// The kernel on threads of this machine. Nothing here asserts how long anything took: a loaded machine may
// miss slots and deadlines, and says so; it may not lose or mix up anything.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "consort/linux/spm_machine.hpp"
#include "consort/linux/spm_udp.hpp"

namespace {

using namespace consort::spm;
using consort::linux_port::Clock;
using consort::linux_port::JobFunction;
using consort::linux_port::SpmMachine;
using consort::linux_port::SpmOptions;
using consort::linux_port::SpmRun;
using consort::linux_port::SpmStep;
using consort::linux_port::TooFewProcessors;

constexpr std::uint64_t us = 1000;

consort::Ticks ticks(std::uint64_t ns) {
    return Clock::from_ns(ns);
}

struct Table {
    std::uint32_t word[2048];
};
struct Number {
    std::uint32_t value;
};
struct Counter {
    std::uint32_t jobs;
    std::uint32_t sum;
};
struct Result {
    std::uint32_t jobs;
    std::uint32_t sum;
    std::uint32_t in;
};

// Sums its table, and all sums so far: any byte that is moved wrongly shows.
void sum_step(const Table& table, const Number& in, Counter& state, Result& out) noexcept {
    for (const std::uint32_t word : table.word) {
        state.sum = state.sum * 31 + word;
    }
    ++state.jobs;
    out = {state.jobs, state.sum, in.value};
}
using Sum = ThreePhase<&sum_step>;

SpmOptions options() {
    SpmOptions o;
    o.slot = ticks(200 * us);
    o.share_processors = true;
    o.realtime = false;
    o.records = 1U << 16U;
    return o;
}

SpmStep task_of(const Table& table, Counter& state, std::uint64_t period_ns) {
    SpmStep t;
    t.name = "sum";
    t.plan.period = t.plan.deadline = static_cast<consort::app::Time>(ticks(period_ns));
    t.image.size = Sum::footprint;
    t.image.code = reinterpret_cast<const std::byte*>(&table);
    t.image.data = reinterpret_cast<std::byte*>(&state);
    t.job = &Sum::run;
    return t;
}

std::size_t count(const SpmRun& run, Kind kind, std::uint32_t task) {
    std::size_t n = 0;
    for (const Event& e : run.events) {
        n += e.kind == kind && e.task == task ? 1 : 0;
    }
    return n;
}

std::size_t count(const SpmRun& run, std::uint32_t core, std::uint32_t task, Kind kind) {
    std::size_t n = 0;
    for (const Event& e : run.events) {
        n += e.kind == kind && e.core == core && e.task == task ? 1 : 0;
    }
    return n;
}

std::size_t jobs_of(const SpmRun& run, std::uint32_t core, std::uint32_t task) {
    std::size_t n = 0;
    for (const JobRecord& j : run.jobs) {
        n += j.core == core && j.task == task && j.outcome == Outcome::done ? 1 : 0;
    }
    return n;
}

// False where a job's results may be home though it is not recorded as done: a task whose copies were too
// slow, twice, is stopped and loses its last job; and the end of a run does not wait for ever, so an unload
// may be half done then.
bool each_is_whole(const SpmRun& run, std::uint32_t core, std::uint32_t task) {
    return count(run, core, task, Kind::task_stopped) == 0 &&
           count(run, core, task, Kind::unload_begin) == count(run, core, task, Kind::unload_end);
}

// Repeats it until it says that enough was done: slots that a loaded machine misses are not attempts.
template <class Attempt>
void until_enough(std::uint64_t ms, Attempt attempt) {
    for (int n = 0; n < 100; ++n) {
        if (attempt(ticks(ms * 1000 * us)) || testing::Test::HasFailure()) {
            return;
        }
    }
    FAIL() << "nothing of what is to be seen has happened in all that time";
}

bool moves_everything_whole(SpmOptions o, consort::Ticks duration) {
    Table table{};
    for (std::uint32_t i = 0; i < 2048; ++i) {
        table.word[i] = i * 2654435761U;
    }
    Counter state[2][2] = {};
    Result last[2][2] = {};
    std::uint32_t delivered[2][2] = {};
    Number in{42};
    SpmMachine machine({{task_of(table, state[0][0], 3000 * us), task_of(table, state[0][1], 5000 * us)},
                        {task_of(table, state[1][0], 4000 * us), task_of(table, state[1][1], 7000 * us)}},
                       std::move(o));
    machine.connect(
        [&in](std::uint32_t, std::uint32_t) { return reinterpret_cast<const std::byte*>(&in); },
        [&last](std::uint32_t c, std::uint32_t t) { return reinterpret_cast<std::byte*>(&last[c][t]); },
        [&](std::uint32_t c, std::uint32_t t) {
            ++delivered[c][t];
            EXPECT_EQ(last[c][t].jobs, delivered[c][t]);
        });
    const SpmRun run = machine.run(duration);
    EXPECT_EQ(run.records_lost, 0U);
    bool each = true;
    for (std::uint32_t c = 0; c < 2; ++c) {
        for (std::uint32_t t = 0; t < 2; ++t) {
            if (jobs_of(run, c, t) == 0 || !each_is_whole(run, c, t)) {
                each = false;
                continue;
            }
            Counter expected{};
            Result out{};
            for (std::size_t j = 0; j < jobs_of(run, c, t); ++j) {
                sum_step(table, in, expected, out);
            }
            EXPECT_EQ(std::memcmp(&state[c][t], &expected, sizeof expected), 0);
            EXPECT_EQ(std::memcmp(&last[c][t], &out, sizeof out), 0);
        }
    }
    // The protocol's order holds, whatever the machine did.
    for (std::uint32_t c = 0; c < 2; ++c) {
        const JobRecord* before = nullptr;
        for (const JobRecord& j : run.jobs) {
            EXPECT_TRUE(j.release <= j.load && j.load <= j.ready && j.ready <= j.start &&
                        j.start <= j.finish && j.finish <= j.unload && j.unload <= j.end);
            if (j.core == c) {
                EXPECT_TRUE(before == nullptr ||
                            (before->load < j.load && before->finish <= j.start && before->end <= j.unload));
                before = &j;
            }
        }
    }
    return each;
}

TEST(LinuxMachine, MovesEverythingWholeUnderTdma) {
    until_enough(300, [](consort::Ticks time) { return moves_everything_whole(options(), time); });
}

TEST(LinuxMachine, MovesEverythingWholeUnderRoundRobin) {
    SpmOptions o = options();
    o.arbitration = Arbitration::round_robin;
    o.slot = ticks(1'000'000 * us);  // an operation is never too long
    until_enough(300, [&o](consort::Ticks time) { return moves_everything_whole(o, time); });
}

// Else Linux takes the processors away from its cores.
TEST(LinuxMachine, SleepsWhileNothingIsDue) {
    Table table{};
    Number in{1};
    Result out{};
    until_enough(500, [&](consort::Ticks time) {
        Counter state{};
        SpmMachine machine({{task_of(table, state, 50'000 * us)}}, options());
        machine.connect([&](std::uint32_t, std::uint32_t) { return reinterpret_cast<const std::byte*>(&in); },
                        [&](std::uint32_t, std::uint32_t) { return reinterpret_cast<std::byte*>(&out); });
        const SpmRun run = machine.run(time);
        return jobs_of(run, 0, 0) > 0 && run.io_rests > 0 && run.core_rests > 0;
    });
}

TEST(LinuxMachine, ATransferThatDoesNotFitItsSlotStopsItsTaskOnly) {
    static std::byte image[64U << 20U];
    Table table{};
    SpmStep large;
    large.name = "large";
    large.plan.period = large.plan.deadline = static_cast<consort::app::Time>(ticks(5000 * us));
    large.image.size.code = sizeof image;
    large.image.code = image;
    large.job = [](const Partition&) {};
    Number in{1};
    Result out{};
    until_enough(200, [&](consort::Ticks time) {
        Counter state{};
        SpmMachine machine({{large, task_of(table, state, 5000 * us)}}, options());
        machine.connect([&](std::uint32_t, std::uint32_t) { return reinterpret_cast<const std::byte*>(&in); },
                        [&](std::uint32_t, std::uint32_t) { return reinterpret_cast<std::byte*>(&out); });
        const SpmRun run = machine.run(time);
        EXPECT_LE(count(run, Kind::task_stopped, 0), 1U);
        EXPECT_EQ(jobs_of(run, 0, 0), 0U);
        // Where the machine stands still, a transfer that fits does not end in its slot, either.
        if (count(run, Kind::slot_overrun, 1) > 0) {
            return false;
        }
        EXPECT_EQ(count(run, Kind::task_stopped, 1), 0U);
        return count(run, Kind::slot_overrun, 0) >= 2 && count(run, Kind::task_stopped, 0) == 1 &&
               jobs_of(run, 0, 1) > 0;
    });
}

TEST(LinuxMachine, AJobThatWritesPastItsPartitionIsStopped) {
    Table table{};
    Number in{1};
    Result out{};
    until_enough(100, [&](consort::Ticks time) {
        Counter state{};
        SpmStep wild = task_of(table, state, 5000 * us);
        wild.job = [](const Partition& parts) {
            // Its partition is the largest, so it ends at the guard.
            *const_cast<volatile std::byte*>(parts.code + layout_of(Sum::footprint).bytes) = std::byte{1};
        };
        Counter other{};
        SpmMachine machine({{wild, task_of(table, other, 5000 * us)}}, options());
        machine.connect([&](std::uint32_t, std::uint32_t) { return reinterpret_cast<const std::byte*>(&in); },
                        [&](std::uint32_t, std::uint32_t) { return reinterpret_cast<std::byte*>(&out); });
        const SpmRun run = machine.run(time);
        EXPECT_LE(count(run, Kind::job_fault, 0), 1U);
        EXPECT_EQ(count(run, Kind::task_stopped, 0), count(run, Kind::job_fault, 0));
        EXPECT_EQ(state.jobs, 0U);
        if (!each_is_whole(run, 0, 1)) {
            return false;
        }
        EXPECT_EQ(other.jobs, jobs_of(run, 0, 1));
        return count(run, Kind::job_fault, 0) == 1 && other.jobs > 0;
    });
}

#ifndef CONSORT_TEST_TSAN  // it holds signals back until the thread makes a system call, which a hung job
                           // never does
TEST(LinuxMachine, AJobThatHangsIsStopped) {
    Table table{};
    Number in{1};
    Result out{};
    until_enough(200, [&](consort::Ticks time) {
        Counter state{};
        SpmStep hung = task_of(table, state, 5000 * us);
        hung.plan.wcet = static_cast<consort::app::Time>(ticks(500 * us));
        hung.plan.on_overrun = consort::app::plan::OnOverrun::stop_task;
        hung.job = [](const Partition& parts) {
            for (;;) {
                (void)*const_cast<const volatile std::byte*>(parts.code);
            }
        };
        Counter other{};
        SpmMachine machine({{hung, task_of(table, other, 5000 * us)}}, options());
        machine.connect([&](std::uint32_t, std::uint32_t) { return reinterpret_cast<const std::byte*>(&in); },
                        [&](std::uint32_t, std::uint32_t) { return reinterpret_cast<std::byte*>(&out); });
        const SpmRun run = machine.run(time);
        EXPECT_LE(count(run, Kind::execution_overrun, 0), 1U);
        EXPECT_EQ(count(run, Kind::task_stopped, 0), count(run, Kind::execution_overrun, 0));
        if (!each_is_whole(run, 0, 1)) {
            return false;
        }
        EXPECT_EQ(other.jobs, jobs_of(run, 0, 1));
        return count(run, Kind::execution_overrun, 0) == 1 && other.jobs > 0;
    });
}
#endif

TEST(LinuxMachine, TooFewProcessorsIsSaidWithWhatWouldDo) {
    try {
        (void)consort::linux_port::spm_processors(4000, false);
        FAIL();
    } catch (const TooFewProcessors& e) {
        const std::string text = e.what();
        EXPECT_NE(text.find("4001 processors"), std::string::npos) << text;
        EXPECT_NE(text.find("this process may use"), std::string::npos) << text;
    }
    const auto shared = consort::linux_port::spm_processors(4000, true);
    EXPECT_EQ(shared.cpus.size(), 4001U);
}

// The schedule of one core out of several, on two processors.
TEST(LinuxMachine, ACoreWithoutTasksKeepsItsSlotsAndNeedsNoProcessor) {
    Table table{};
    Counter state{};
    SpmOptions o = options();
    o.slots = {ticks(150 * us), ticks(200 * us), ticks(350 * us)};
    Number in{1};
    Result out{};
    until_enough(60, [&](consort::Ticks time) {
        state = {};
        SpmMachine machine({{}, {task_of(table, state, 5000 * us)}, {}}, o);
        machine.connect([&](std::uint32_t, std::uint32_t) { return reinterpret_cast<const std::byte*>(&in); },
                        [&](std::uint32_t, std::uint32_t) { return reinterpret_cast<std::byte*>(&out); });
        const SpmRun run = machine.run(time);
        EXPECT_EQ(run.cpus.size(), 2U);
        if (!each_is_whole(run, 1, 0)) {
            return false;
        }
        EXPECT_EQ(state.jobs, jobs_of(run, 1, 0));
        for (const JobRecord& j : run.jobs) {
            EXPECT_EQ(j.core, 1U);
            // An operation begins in a slot of core 1, and ends at the end of it.
            EXPECT_GE(j.ready - j.load, ticks(200 * us) / 2);
            const consort::Ticks turn = ticks(150 * us) + ticks(200 * us) + ticks(350 * us);
            for (const consort::Ticks begin : {j.load, j.unload}) {
                const consort::Ticks into = (begin - run.start) % turn;
                EXPECT_TRUE(into >= ticks(150 * us) && into < ticks(350 * us));
            }
        }
        return state.jobs > 0;
    });
    o.slots.pop_back();
    EXPECT_THROW(SpmMachine({{}, {task_of(table, state, 5000 * us)}, {}}, o), std::invalid_argument);
    EXPECT_THROW(SpmMachine({{}, {}}, options()), std::invalid_argument);
}

TEST(UdpDevice, TakesDatagramsThatHaveAFlowAndFit) {
    using consort::linux_port::UdpDevice;
    using consort::linux_port::UdpSocket;
    static_assert(IoDevice<UdpDevice>);
    UdpSocket node;
    UdpDevice device(node.port(), 8);
    Message in{};
    EXPECT_FALSE(device.receive(in));
    const std::byte data[9] = {std::byte{0x34}, std::byte{0x12}, {}, {}, std::byte{7}};
    for (const std::size_t bytes : {3U, 5U, 9U, 8U}) {
        ASSERT_TRUE(node.send(device.port(), data, bytes));
    }
    // Without a flow, whole, too long, whole.
    for (const std::uint32_t bytes : {5U, 8U}) {
        ASSERT_TRUE(device.receive(in));
        EXPECT_EQ(in.flow, 0x1234U);
        EXPECT_EQ(in.bytes, bytes);
        EXPECT_EQ(in.payload[4], std::byte{7});
        Message again{};
        ASSERT_TRUE(device.receive(again));
        EXPECT_EQ(again.bytes, bytes) << "it stays until it is released";
        device.release();
    }
    EXPECT_FALSE(device.receive(in));
    EXPECT_EQ(device.refused(), 2U);
    ASSERT_TRUE(device.send({0x1234, 9, data}));
    std::byte back[16] = {};
    EXPECT_EQ(node.receive(back, sizeof back), 9);
    EXPECT_EQ(std::memcmp(back, data, sizeof data), 0);
}

TEST(LinuxMachine, RefusesWhatIsNoTask) {
    EXPECT_THROW(SpmMachine({}, options()), std::invalid_argument);
    SpmOptions without = options();
    without.slot = 0;
    Table table{};
    Counter state{};
    EXPECT_THROW(SpmMachine({{task_of(table, state, 1000 * us)}}, without), std::invalid_argument);
    SpmStep idle = task_of(table, state, 1000 * us);
    idle.job = nullptr;
    EXPECT_THROW(SpmMachine({{idle}}, options()), std::invalid_argument);
}

}  // namespace
