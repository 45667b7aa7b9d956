// SPDX-License-Identifier: Apache-2.0
//
// A fault affects nobody else, and is reported.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <vector>

#include "simulated.hpp"

namespace {

using namespace simulated;

constexpr Ticks slot = 10;

Task periodic(Ticks period, Ticks budget = 0) {
    Task task;
    task.plan.period = task.plan.deadline = static_cast<consort::app::Time>(period);
    task.plan.wcet = static_cast<consort::app::Time>(budget);
    task.plan.on_overrun = budget != 0 ? OnOverrun::report : OnOverrun::unwatched;
    return task;
}

Behaviour steady(Ticks execution) {
    Behaviour behaviour;
    behaviour.execution = [execution](std::uint32_t, std::uint32_t, std::uint32_t) { return execution; };
    return behaviour;
}

std::vector<JobRecord> jobs_of(const Board& board, std::uint32_t core, std::uint32_t task) {
    std::vector<JobRecord> jobs;
    for (const JobRecord& job : board.jobs) {
        if (job.core == core && job.task == task) {
            jobs.push_back(job);
        }
    }
    return jobs;
}

std::size_t count(const Board& board, Kind kind, std::uint32_t core, std::uint32_t task) {
    std::size_t n = 0;
    for (const Event& e : board.events) {
        n += e.kind == kind && e.core == core && e.task == task ? 1 : 0;
    }
    return n;
}

TEST(Faults, NoneInAQuietRun) {
    Machine machine({{periodic(200, 20)}, {periodic(100, 20)}}, equal_slots(2, slot), {}, steady(15));
    machine.run(10'000);
    EXPECT_EQ(jobs_of(machine.board, 0, 0).size(), 50U);
    EXPECT_EQ(jobs_of(machine.board, 1, 0).size(), 100U);
    for (const Event& e : machine.board.events) {
        EXPECT_TRUE(e.kind <= Kind::slot_wasted) << to_string(e.kind);
    }
}

// A job loaded while its predecessor's data is still in the other partition would work on old data.
TEST(Faults, ATaskThatKeepsDataHasOneJobInFlight) {
    for (const bool keeps : {false, true}) {
        std::uint32_t counter = 0;
        Task task = periodic(30);
        if (keeps) {
            task.image.size.data = sizeof counter;
            task.image.data = reinterpret_cast<std::byte*>(&counter);
        }
        Behaviour behaviour = steady(45);
        behaviour.compute = [keeps](std::uint32_t, std::uint32_t, std::uint32_t, const Partition& parts) {
            if (keeps) {
                std::uint32_t value = 0;
                std::memcpy(&value, parts.data, sizeof value);
                ++value;
                std::memcpy(parts.data, &value, sizeof value);
            }
        };
        Machine machine({{task}, {}}, equal_slots(2, slot), {}, behaviour);
        machine.run(5'000);
        std::size_t together = 0;
        const std::vector<JobRecord>& jobs = machine.board.jobs;
        for (std::size_t i = 1; i < jobs.size(); ++i) {
            together += jobs[i].load < jobs[i - 1].end ? 1 : 0;
        }
        EXPECT_EQ(together > 0, !keeps);
        EXPECT_EQ(counter, keeps ? jobs.size() : 0U);
    }
}

TEST(Faults, SlotOverrunIsAbortedAndRepeatedAndOtherCoresDoNotNotice) {
    const std::vector<std::vector<Task>> tables{{periodic(200)}, {periodic(100)}};
    Machine quiet(tables, equal_slots(2, slot), {}, steady(15));
    quiet.run(3'000);
    Behaviour behaviour = steady(15);
    std::uint32_t slow = 0;
    Machine* running = nullptr;
    behaviour.transfer = [&](std::uint32_t, const Transfer&) {
        const Event& begun = running->board.events.back();
        // Every third transfer of core 0 hangs.
        const bool hangs = begun.core == 0 && begun.kind <= Kind::unload_begin && ++slow % 3 == 0;
        return hangs ? Ticks{1000} : Ticks{9};
    };
    Machine machine(tables, equal_slots(2, slot), {}, behaviour);
    running = &machine;
    machine.run(3'000);
    EXPECT_GT(count(machine.board, Kind::slot_overrun, 0, 0), 3U);
    EXPECT_EQ(machine.board.count(Kind::transfer_failed), 0U);
    EXPECT_EQ(jobs_of(machine.board, 0, 0).size(), jobs_of(quiet.board, 0, 0).size());
    const auto expected = jobs_of(quiet.board, 1, 0);
    const auto found = jobs_of(machine.board, 1, 0);
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
        EXPECT_EQ(found[i].end, expected[i].end);
    }
}

// Round robin has no slots: what takes longer than a slot's length is ended all the same, or nobody else had
// the DMA until it is over.
TEST(Faults, ATransferThatHangsEndsAfterItsSlotsLengthUnderRoundRobin) {
    Schedule schedule;
    schedule.arbitration = Arbitration::round_robin;
    Behaviour behaviour = steady(15);
    std::uint32_t slow = 0;
    Machine* running = nullptr;
    behaviour.transfer = [&](std::uint32_t, const Transfer&) {
        const Event& begun = running->board.events.back();
        const bool hangs = begun.core == 0 && begun.kind <= Kind::unload_begin && ++slow % 3 == 0;
        return hangs ? Ticks{1000} : Ticks{9};
    };
    Machine machine({{periodic(200)}, {periodic(100)}}, equal_slots(2, slot), schedule, behaviour);
    running = &machine;
    machine.run(3'000);
    const std::size_t ended = count(machine.board, Kind::slot_overrun, 0, 0);
    EXPECT_GT(ended, 3U);
    EXPECT_EQ(machine.board.count(Kind::slot_overrun), ended);
    EXPECT_EQ(jobs_of(machine.board, 0, 0).size(), 15U);
    EXPECT_EQ(jobs_of(machine.board, 1, 0).size(), 30U);
}

TEST(Faults, ATransferThatFailsForGoodStopsItsTaskOnly) {
    // Two tasks on the core; the first one's loads fail from the fifth on.
    const std::vector<std::vector<Task>> tables{{periodic(200), periodic(200)}};
    Behaviour behaviour = steady(15);
    Machine* running = nullptr;
    bool broken = false;
    behaviour.transfer_error = [&](std::uint32_t) {
        const Event& begun = running->board.events.back();
        broken = broken || (begun.kind == Kind::load_begin && begun.task == 0 && begun.job == 4);
        return broken && (begun.task == 0 || begun.kind == Kind::dma_error);
    };
    Machine machine(tables, equal_slots(1, slot), {}, behaviour);
    running = &machine;
    machine.run(4'000);
    EXPECT_EQ(count(machine.board, Kind::dma_error, 0, 0), 2U) << "once, and once repeated";
    EXPECT_EQ(count(machine.board, Kind::transfer_failed, 0, 0), 1U);
    EXPECT_TRUE(machine.kernel->stopped(0, 0));
    EXPECT_FALSE(machine.kernel->stopped(0, 1));
    EXPECT_EQ(jobs_of(machine.board, 0, 0).size(), 4U);
    EXPECT_EQ(jobs_of(machine.board, 0, 1).size(), 20U);
    EXPECT_EQ(count(machine.board, Kind::deadline_missed, 0, 1), 0U);
}

TEST(Faults, ADmaThatDoesNotStopHoldsEverythingUntilItHas) {
    Behaviour behaviour = steady(15);
    behaviour.can_abort = false;
    behaviour.transfer = [](std::uint32_t n, const Transfer&) { return n == 4 ? Ticks{75} : Ticks{5}; };
    Machine machine({{periodic(200)}, {periodic(200)}}, equal_slots(2, slot), {}, behaviour);
    machine.run(5'000);
    EXPECT_EQ(machine.board.count(Kind::dma_stuck), 1U);
    EXPECT_EQ(machine.board.count(Kind::slot_missed), 7U) << "from the end of its slot, 65 ticks";
    EXPECT_EQ(machine.board.jobs.size(), 50U);
}

TEST(Faults, ExecutionOverrun) {
    for (const OnOverrun policy : {OnOverrun::report, OnOverrun::stop_job, OnOverrun::stop_task}) {
        Task hanging = periodic(200, 30);
        hanging.plan.on_overrun = policy;
        std::uint32_t kept = 0;
        hanging.image.size.data = sizeof kept;
        hanging.image.data = reinterpret_cast<std::byte*>(&kept);
        Behaviour behaviour;
        behaviour.execution = [](std::uint32_t, std::uint32_t task, std::uint32_t job) {
            return task == 0 && job == 2 ? Ticks{90} : Ticks{20};
        };
        behaviour.compute = [](std::uint32_t, std::uint32_t task, std::uint32_t job, const Partition& parts) {
            if (task == 0) {
                std::memcpy(parts.data, &job, sizeof job);
            }
        };
        Machine machine({{hanging, periodic(200, 30)}, {periodic(100)}}, equal_slots(2, slot), {}, behaviour);
        machine.run(2'000);
        EXPECT_EQ(machine.board.count(Kind::execution_overrun), 1U);
        const auto jobs = jobs_of(machine.board, 0, 0);
        ASSERT_EQ(jobs.size(), policy == OnOverrun::stop_task ? 3U : 10U);
        if (policy == OnOverrun::report) {
            EXPECT_EQ(jobs[2].outcome, Outcome::done);
            EXPECT_EQ(jobs[2].finish - jobs[2].start, 90U);
        } else {
            EXPECT_EQ(jobs[2].outcome, Outcome::stopped);
            EXPECT_LE(jobs[2].finish - jobs[2].start, 30U + slot) << "found within a slot";
        }
        EXPECT_EQ(kept, policy == OnOverrun::stop_task ? 1U : 9U) << "a stopped job leaves no data";
        EXPECT_EQ(jobs_of(machine.board, 0, 1).size(), 10U);
        EXPECT_EQ(count(machine.board, Kind::deadline_missed, 0, 1), 0U);
    }
}

TEST(Faults, AJobThatFaultsStopsItsTaskOnly) {
    Behaviour behaviour = steady(20);
    behaviour.outcome = [](std::uint32_t core, std::uint32_t task, std::uint32_t job) {
        return core == 0 && task == 0 && job == 3 ? Outcome::fault : Outcome::done;
    };
    Machine machine({{periodic(200), periodic(200)}, {periodic(200)}}, equal_slots(2, slot), {}, behaviour);
    machine.run(4'000);
    EXPECT_EQ(count(machine.board, Kind::job_fault, 0, 0), 1U);
    EXPECT_EQ(jobs_of(machine.board, 0, 0).size(), 4U);
    EXPECT_EQ(jobs_of(machine.board, 0, 1).size(), 20U);
    EXPECT_EQ(jobs_of(machine.board, 1, 0).size(), 20U);
    EXPECT_EQ(machine.board.count(Kind::deadline_missed), 0U);
}

// Released at 0 and alone: loaded 0-10, executed 10-25, unloaded 30-40.
TEST(Faults, TheBoundaryOfEachWatchdog) {
    for (const Ticks deadline : {Ticks{39}, Ticks{40}}) {
        for (const Ticks budget : {Ticks{14}, Ticks{15}}) {
            Task task = periodic(200, budget);
            task.plan.deadline = static_cast<consort::app::Time>(deadline);
            Machine machine({{task}}, equal_slots(1, slot), {}, steady(15));
            machine.run(199);
            ASSERT_EQ(machine.board.jobs.size(), 1U);
            EXPECT_EQ(machine.board.jobs[0].end, 40U);
            EXPECT_EQ(machine.board.count(Kind::deadline_missed), deadline == 39 ? 1U : 0U);
            EXPECT_EQ(machine.board.count(Kind::execution_overrun), budget == 14 ? 1U : 0U);
        }
    }
}

// While one job is unloaded, the next one runs over its budget: found in that very slot.
TEST(Faults, ExecutionIsWatchedDuringAnUnload) {
    Task task = periodic(1000, 12);
    Behaviour behaviour;
    behaviour.execution = [](std::uint32_t, std::uint32_t t, std::uint32_t) {
        return t == 0 ? Ticks{10} : Ticks{50};
    };
    Machine machine({{task, task}}, equal_slots(1, 20), {}, behaviour);
    // Loads 0-20, 20-40; executions 20-30, 40-90; the unload 40-60 is under way when the second passes 52.
    machine.run(999);
    for (const Event& e : machine.board.events) {
        if (e.kind == Kind::execution_overrun) {
            EXPECT_EQ(e.at, 60U);
            EXPECT_EQ(e.task, 1U);
        }
    }
    EXPECT_EQ(machine.board.count(Kind::execution_overrun), 1U);
}

TEST(Faults, MissedDeadline) {
    // Overloaded for a while: job 1 of the first task takes long.
    for (const OnLate policy : {OnLate::report, OnLate::drop, OnLate::stop_task}) {
        Task low = periodic(100);
        low.plan.on_late = policy;
        Behaviour behaviour;
        behaviour.execution = [](std::uint32_t, std::uint32_t task, std::uint32_t job) {
            return task == 0 && job == 1 ? Ticks{430} : Ticks{10};
        };
        Machine machine({{periodic(200), low}}, equal_slots(1, slot), {}, behaviour);
        machine.run(3'000);
        EXPECT_GT(count(machine.board, Kind::deadline_missed, 0, 1), 0U);
        const std::size_t dropped = count(machine.board, Kind::job_dropped, 0, 1);
        const std::size_t done = jobs_of(machine.board, 0, 1).size();
        EXPECT_EQ(dropped > 0, policy == OnLate::drop);
        EXPECT_EQ(machine.kernel->stopped(0, 1), policy == OnLate::stop_task);
        if (policy == OnLate::drop) {
            EXPECT_EQ(dropped + done, 30U);
        } else if (policy == OnLate::report) {
            EXPECT_EQ(done, 30U);
        } else {
            EXPECT_LT(done, 10U);
        }
    }
}

TEST(Faults, ALateIoCoreMissesSlotsAndSaysSo) {
    Schedule schedule;
    schedule.tolerance = 3;
    Machine machine({{periodic(200)}, {periodic(200)}}, equal_slots(2, slot), schedule, steady(15));
    machine.run(2'000, [](Ticks at) {
        if (at == 400 || at == 800) {
            return Ticks{3};  // within tolerance
        }
        return at == 600 ? Ticks{25} : Ticks{0};
    });
    // The slots at 600 and 610 wholly, the one at 620 begun 5 late.
    EXPECT_EQ(machine.board.count(Kind::slot_missed), 3U);
    // Each at its own instant, not when the I/O core was called again.
    std::vector<Ticks> missed;
    for (const Event& event : machine.board.events) {
        if (event.kind == Kind::slot_missed) {
            missed.push_back(event.at);
        }
    }
    EXPECT_EQ(missed, (std::vector<Ticks>{600, 610, 620}));
    EXPECT_EQ(machine.board.jobs.size(), 20U);
    EXPECT_EQ(machine.board.count(Kind::deadline_missed), 0U);
}

TEST(Faults, ALateIoCoreLosesNothingWhileThereIsNothingToDo) {
    Schedule schedule;
    schedule.tolerance = 3;
    Machine machine({{periodic(200)}, {periodic(200)}}, equal_slots(2, slot), schedule, steady(15));
    // Everything is over by 60; asleep from 100 to the releases at 200, then through a load of core 1.
    machine.run(1'000, [](Ticks at) { return at == 100 ? Ticks{95} : at == 610 ? Ticks{8} : Ticks{0}; });
    EXPECT_EQ(machine.board.count(Kind::slot_missed), 1U);
    ASSERT_EQ(machine.board.jobs.size(), 10U);
    EXPECT_EQ(machine.board.jobs[2].load, 200U);
}

TEST(Faults, HowLongTheIoCoreMaySleep) {
    Machine machine({{periodic(200), sporadic(300, 300)}, {periodic(300)}}, equal_slots(2, slot), {},
                    steady(15));
    machine.request(130, 0, 1);
    std::map<Ticks, Ticks> quiet;
    machine.run(990, [&](Ticks at) {
        quiet[at] = machine.kernel->quiet_until(at);
        return Ticks{0};
    });
    // Asked before the slot that begins then. The first jobs end at 50 and at 60.
    EXPECT_EQ(quiet[20], 20U);
    EXPECT_EQ(quiet[60], 60U);
    EXPECT_EQ(quiet[70], 200U);
    EXPECT_EQ(quiet[140], 140U) << "the sporadic job";
    EXPECT_EQ(quiet[200], 200U);
    EXPECT_EQ(quiet[280], 300U);
    machine.kernel->close();
    ASSERT_TRUE(machine.kernel->empty());
    EXPECT_EQ(machine.kernel->quiet_until(1'000), never);
}

TEST(Faults, SporadicTasksCannotComeMoreOftenThanTheySaid) {
    Machine machine({{sporadic(100, 100)}}, equal_slots(1, slot), {}, steady(5));
    for (Ticks at = 0; at < 60; at += 20) {
        machine.request(at, 0, 0);
    }
    machine.run(1'000);
    EXPECT_EQ(machine.board.count(Kind::early_request), 2U);
    ASSERT_EQ(machine.board.jobs.size(), 3U);
    for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(machine.board.jobs[i].release, 100 * i);
        EXPECT_GE(machine.board.jobs[i].load, 100 * i);
    }
}

TEST(Faults, ABacklogIsKeptAndThenCounted) {
    Behaviour behaviour = steady(1'000'000);
    Machine machine({{periodic(50)}}, equal_slots(1, slot), {}, behaviour);
    machine.run(5000);
    // Two in flight, 64 kept.
    EXPECT_EQ(machine.board.count(Kind::release), 66U);
    EXPECT_EQ(machine.board.count(Kind::release_lost), 101U - 66U);
}

TEST(Faults, ACoreThatReportsWhatCannotBeIsLeftAlone) {
    Machine machine({{periodic(200)}, {periodic(200)}}, equal_slots(2, slot), {}, steady(15));
    machine.run(500);
    machine.shared(0).core.finished.store(77);
    machine.run(2'000);
    EXPECT_EQ(machine.board.count(Kind::core_fault), 1U);
    EXPECT_LT(jobs_of(machine.board, 0, 0).size(), 4U);
    EXPECT_EQ(jobs_of(machine.board, 1, 0).size(), 10U);
}

// The same run twice gives the same events: nothing but virtual time goes in.
TEST(Faults, ARunIsRepeatable) {
    const auto events = [] {
        Machine machine({{periodic(170, 30), periodic(230)}, {periodic(110)}}, equal_slots(2, slot), {},
                        steady(37));
        machine.run(20'000);
        return machine.board.events;
    };
    EXPECT_EQ(events(), events());
}

}  // namespace
