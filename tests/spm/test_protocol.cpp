// SPDX-License-Identifier: Apache-2.0
//
// The kernel against the analysis engine's exact protocol: the same events at the same instants.
#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>
#include <string>
#include <tuple>
#include <vector>

#include "fewer.hpp"
#include "simulated.hpp"
#include "spm/bound.hpp"
#include "spm/random.hpp"
#include "spm/replay.hpp"

namespace {

namespace engine = consort::engine::spm;
using consort::engine::Time;
using consort::test::fewer;
using engine::Arrivals;
using engine::Random;
using namespace simulated;

// (load, start, finish, unload end, task, release) of each job, in the order of the unloads.
using Row = std::tuple<Time, Time, Time, Time, std::size_t, Time>;

struct Load {
    std::vector<engine::Task> tasks;
    std::vector<Arrivals> arrivals;
};

Time release_of(const Load& load, std::size_t task, std::uint32_t job) {
    Time at = load.arrivals[task].offset;
    for (std::uint32_t k = 0; k < job; ++k) {
        at += load.tasks[task].period + (k < Arrivals::given ? load.arrivals[task].extra_gap[k] : Time{0});
    }
    return at;
}

std::vector<Row> reference(const Load& load, auto grant, Time until, Time shift) {
    std::vector<Row> rows;
    engine::replay(load.tasks, load.arrivals, grant, until, [&](const engine::JobRecord& j) {
        rows.emplace_back(j.load + shift, j.start + shift, j.finish + shift, j.unload_end + shift, j.task,
                          j.due + shift);
        return true;
    });
    return rows;
}

std::vector<Row> of_core(const Board& board, std::uint32_t core) {
    std::vector<Row> rows;
    for (const JobRecord& j : board.jobs) {
        if (j.core == core) {
            rows.emplace_back(j.load, j.start, j.finish, j.end, j.task, j.release);
        }
    }
    return rows;
}

Load random_load(Random& random, Time slot, Time round) {
    Load load;
    const Time n = random.between(1, 6);
    for (Time i = 0; i < n; ++i) {
        const Time execution =
            1 + static_cast<Time>(random.log_uniform(0.1, 30.0) * static_cast<double>(slot));
        const Time period = execution + random.between(round, 12 * round) + random.below(30 * round);
        Arrivals arrivals;
        arrivals.offset = random.below(6 * round);
        for (std::size_t k = 0; k < Arrivals::given; ++k) {
            arrivals.extra_gap[k] = random.chance(0.5) ? 0 : random.below(4 * round);
            arrivals.shortened[k] = random.chance(0.5) ? 0 : random.below(execution);
        }
        arrivals.silent = random.chance(0.05);
        load.tasks.push_back({execution, period, period, 1 + random.below(slot), 1 + random.below(slot)});
        load.arrivals.push_back(arrivals);
    }
    return load;
}

Behaviour behaviour_of(const std::vector<Load>& loads) {
    Behaviour behaviour;
    behaviour.execution = [&loads](std::uint32_t core, std::uint32_t task, std::uint32_t job) {
        const Load& load = loads[core];
        const Time cut = job < Arrivals::given ? load.arrivals[task].shortened[job] : 0;
        return static_cast<Ticks>(load.tasks[task].execution - cut);
    };
    return behaviour;
}

void request_all(Machine& machine, const std::vector<Load>& loads, Time until,
                 const std::vector<Time>& shift) {
    for (std::uint32_t c = 0; c < loads.size(); ++c) {
        for (std::uint32_t t = 0; t < loads[c].tasks.size(); ++t) {
            for (std::uint32_t j = 0; !loads[c].arrivals[t].silent; ++j) {
                const Time at = release_of(loads[c], t, j);
                if (at >= until) {
                    break;
                }
                machine.request(static_cast<Ticks>(at + shift[c]), c, t);
            }
        }
    }
}

std::vector<std::vector<Task>> tables_of(const std::vector<Load>& loads) {
    std::vector<std::vector<Task>> tables;
    for (const Load& load : loads) {
        std::vector<Task>& table = tables.emplace_back();
        for (const engine::Task& task : load.tasks) {
            table.push_back(sporadic(static_cast<Ticks>(task.period), static_cast<Ticks>(task.deadline)));
        }
    }
    return tables;
}

TEST(Protocol, SameScheduleAsTheEngineUnderTdma) {
    Random random(20261121);
    std::size_t jobs = 0;
    std::size_t wasted = 0;
    for (int set = 0; set < fewer(2000); ++set) {
        const auto cores = static_cast<std::uint32_t>(random.between(1, 4));
        const Time slot = random.between(2, 20);
        const Time round = slot * cores;
        const Time until = 60 * round;
        std::vector<Load> loads;
        std::vector<Time> shift;
        for (std::uint32_t c = 0; c < cores; ++c) {
            loads.push_back(random_load(random, slot, round));
            shift.push_back(static_cast<Time>(c) * slot);
        }
        Schedule schedule;
        Behaviour behaviour = behaviour_of(loads);
        // Shorter than its slot: charged a whole one all the same.
        behaviour.transfer = [&random, slot](std::uint32_t, const Transfer&) {
            return static_cast<Ticks>(random.between(1, slot));
        };
        Machine machine(tables_of(loads), equal_slots(cores, static_cast<Ticks>(slot)), schedule, behaviour);
        request_all(machine, loads, until, shift);
        machine.run_until_empty(1'000'000);
        ASSERT_EQ(machine.board.count(Kind::release_lost), 0U);
        ASSERT_TRUE(machine.kernel->empty());
        for (std::uint32_t c = 0; c < cores; ++c) {
            ASSERT_EQ(of_core(machine.board, c),
                      reference(loads[c], engine::TdmaGrant{{round, slot}}, until, shift[c]))
                << "set " << set << " core " << c;
        }
        jobs += machine.board.jobs.size();
        wasted += machine.board.count(Kind::slot_wasted);
    }
    EXPECT_GT(jobs, fewer(30'000U));
    EXPECT_GT(wasted, fewer(30'000U));
}

// Round robin: every delay by other cores is at most what the analysis allows, and with the delays that were
// seen the engine makes the same schedule.
TEST(Protocol, SameScheduleAsTheEngineUnderRoundRobin) {
    Random random(7);
    std::size_t delayed = 0;
    for (int set = 0; set < 1000; ++set) {
        const auto cores = static_cast<std::uint32_t>(random.between(1, 4));
        const Time slot = random.between(2, 20);
        const Time round = slot * cores;
        const Time until = 60 * round;
        std::vector<Load> loads;
        for (std::uint32_t c = 0; c < cores; ++c) {
            loads.push_back(random_load(random, slot, round));
        }
        Schedule schedule;
        schedule.arbitration = Arbitration::round_robin;
        Behaviour behaviour = behaviour_of(loads);
        // The kernel starts the transfer just after it emitted which one it is.
        Machine* running = nullptr;
        behaviour.transfer = [&](std::uint32_t, const Transfer&) {
            const Event& begun = running->board.events.back();
            const engine::Task& task = loads[begun.core].tasks[begun.task];
            return static_cast<Ticks>(begun.kind == Kind::load_begin ? task.load : task.unload);
        };
        Machine machine(tables_of(loads), equal_slots(cores, static_cast<Ticks>(slot)), schedule, behaviour);
        running = &machine;
        request_all(machine, loads, until, std::vector<Time>(cores, 0));
        machine.run_until_empty(1'000'000);
        ASSERT_TRUE(machine.kernel->empty());
        for (std::uint32_t c = 0; c < cores; ++c) {
            // Replays with no delay, and corrects each operation's to what the kernel did, one after another.
            std::vector<Time> began;
            for (const Event& e : machine.board.events) {
                if (e.core == c && (e.kind == Kind::load_begin || e.kind == Kind::unload_begin)) {
                    began.push_back(static_cast<Time>(e.at));
                }
            }
            struct Seen {
                const std::vector<Time>* began;
                std::vector<Time>* delays;
                std::size_t next = 0;
                Time operator()(Time wanted) {
                    if (next == began->size()) {
                        return wanted;  // the comparison below fails
                    }
                    delays->push_back((*began)[next] - wanted);
                    return (*began)[next++];
                }
                [[nodiscard]] Time load(const engine::Task& task) const { return task.load; }
                [[nodiscard]] Time unload(const engine::Task& task) const { return task.unload; }
            };
            std::vector<Time> delays;
            ASSERT_EQ(of_core(machine.board, c), reference(loads[c], Seen{&began, &delays}, until, 0))
                << "set " << set << " core " << c;
            for (const Time delay : delays) {
                ASSERT_GE(delay, 0) << "set " << set;
                ASSERT_LE(delay, round - slot) << "set " << set;
                delayed += delay > 0 ? 1 : 0;
            }
        }
    }
    EXPECT_GT(delayed, 1000U);
}

// Schedules that exceed the bound as printed. Times in tenths of a slot.
struct Counterexample {
    const char* name;
    std::uint32_t cores;
    std::vector<std::pair<Time, Time>> tasks;  // execution, period = deadline
    std::vector<Arrivals> arrivals;
    Time until;
    std::size_t victim;
    Time printed;
    Time response;
};

constexpr Time once = 1'000'000;  // a gap that leaves one job

std::ostream& operator<<(std::ostream& out, const Counterexample& example) {
    return out << example.name;
}

const std::vector<Counterexample> counterexamples{
    {"FourCores",
     4,
     {{160, 350}, {10, 390}, {10, 510}, {10, 1140}},
     {{1, {0, once}, {}}, {81, {once}, {}}, {81, {once}, {}}, {1, {once}, {}}},
     1000,
     2,
     480,
     529},
    {"TwoCores",
     2,
     {{180, 351}, {10, 380}, {10, 430}, {80, 770}, {51, 800}},
     {{21, {8, once}, {}}, {121, {once}, {}}, {121, {once}, {}}, {21, {once}, {}}, {1, {once}, {}}},
     1000,
     2,
     421,
     489},
    // No lower-priority task at all: the task's own former job pushes it on.
    {"ThreeCoresLowest",
     3,
     {{530, 1850}, {760, 2170}, {320, 2240}, {490, 2270}},
     {{31, {0, 0, 0, 263}, {}}, {31, {0, 0, 0, 30, 10, 1618}, {}}, {31, {}, {}}, {31, {}, {0, 0, 0, 238}}},
     5620,
     3,
     2250,
     2339},
    {"TwoCoresLowest",
     2,
     {{630, 1440}, {230, 1670}, {480, 1720}, {290, 1740}},
     {{421, {0, 20}, {}}, {680, {1, 0, 0, 19, 0, 1}, {0, 0, 45}}, {421, {}, {}}, {401, {0, 0, 776, 11}, {}}},
     5120,
     3,
     1740,
     2049},
};

class Counterexamples : public testing::TestWithParam<Counterexample> {};

TEST_P(Counterexamples, ExceedThePrintedBoundAndStayWithinTheCorrectedOne) {
    const Counterexample& example = GetParam();
    constexpr Time slot = 10;
    const engine::Tdma tdma{slot * example.cores, slot};
    Load load;
    for (const auto& [execution, period] : example.tasks) {
        load.tasks.push_back({execution, period, period});
    }
    load.arrivals = example.arrivals;
    const std::vector<Load> loads{load};
    std::vector<std::vector<Task>> tables = tables_of(loads);
    tables.resize(example.cores);  // the others' slots pass unused
    Machine machine(tables, equal_slots(example.cores, slot), Schedule{}, behaviour_of(loads));
    request_all(machine, loads, example.until, {0});
    machine.run(100'000);
    ASSERT_TRUE(machine.kernel->empty());
    ASSERT_EQ(machine.board.count(Kind::early_request), 0U);
    std::vector<Time> worst(load.tasks.size());
    for (const JobRecord& job : machine.board.jobs) {
        worst[job.task] = std::max(worst[job.task], static_cast<Time>(job.end - job.release));
    }

    engine::Options options;
    options.method = engine::Method::literal;
    const std::vector<engine::Bound> printed = engine::bounds(load.tasks, tdma, options);
    ASSERT_EQ(printed.size(), load.tasks.size()) << "the printed bound accepts the set";
    EXPECT_EQ(printed[example.victim].response, example.printed);
    EXPECT_EQ(worst[example.victim], example.response);
    EXPECT_GT(worst[example.victim], load.tasks[example.victim].deadline);
    EXPECT_GE(machine.board.count(Kind::deadline_missed), 1U);

    // The corrected bound refuses the set, so for its lower tasks there is no promise to keep. Where tasks
    // come once, the same schedule is also one of a set with longer periods, which has bounds.
    options.method = engine::Method::corrected;
    EXPECT_FALSE(engine::schedulable(load.tasks, tdma, options));
    std::vector<engine::Task> relaxed = load.tasks;
    bool room = false;
    for (std::size_t t = 0; t < relaxed.size(); ++t) {
        if (example.arrivals[t].extra_gap[0] == once) {
            relaxed[t].period = relaxed[t].deadline = once;
            room = true;
        }
    }
    options.limit_factor = 16;
    const std::vector<engine::Bound> corrected = engine::bounds(relaxed, tdma, options);
    ASSERT_EQ(corrected.size(), room ? relaxed.size() : corrected.size());
    ASSERT_FALSE(corrected.empty());
    for (std::size_t t = 0; t < corrected.size(); ++t) {
        ASSERT_TRUE(corrected[t].response);
        EXPECT_LE(worst[t], *corrected[t].response) << t;
    }
}

INSTANTIATE_TEST_SUITE_P(Paper, Counterexamples, testing::ValuesIn(counterexamples),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
