// SPDX-License-Identifier: Apache-2.0
//
// Whole simulations: a system split into cores that have to do with one another, many runs, many sets, all
// offsets.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/record.hpp"

namespace consort::engine::sim {

struct Outcome {
    std::vector<Figures> figures;  // by task
    Time stopped = never;          // when a task with the policy `stop` ended the run
    // For cores that are not three-phase: the instant from which no job is under way, nothing is computed for
    // one and no message is on its way; by task the number of the first job that was not released.
    Time idle = 0;
    std::vector<std::uint64_t> next_jobs;
};

// One run. With a trace every job and every stretch of execution is recorded.
[[nodiscard]] Outcome run(const System& system, const Settings& settings, Trace* trace = nullptr,
                          Progress* progress = nullptr);

// Many sets of tasks of one core, all of one shape: times are sets x tasks, row by row; the first column has
// the highest priority.
struct Bulk {
    Policy policy = Policy::preemptive;
    std::size_t sets = 0;
    std::size_t tasks = 0;
    std::span<const Time> periods;
    std::span<const Time> executions;
    std::span<const Time> deadlines;
    std::span<const Time> offsets;  // may be empty: all 0
    Time slot = 0;                  // three-phase
    Time round = 0;
    // Beyond `settings.duration`, if not 0: this many longest periods of each set.
    Settings settings;
    Time periods_each = 0;
};
// Results are sets x tasks, misses and jobs in the same order.
struct BulkOutcome {
    std::vector<Time> max_response;
    std::vector<std::uint64_t> misses;
    std::uint64_t jobs = 0;
};
[[nodiscard]] BulkOutcome run_bulk(const Bulk& bulk);

// Every combination of release offsets on a grid: of each task 0, step, 2 * step … below its period, those of
// the tasks in `fixed` as they are.
struct Exploration {
    std::vector<Time> max_response;
    std::vector<std::vector<Time>> offsets;  // by task: all tasks' offsets in its worst run
    std::uint64_t runs = 0;
};
[[nodiscard]] Exploration explore(const System& system, const Settings& settings, Time step,
                                  std::uint32_t fixed, Progress* progress = nullptr);
[[nodiscard]] std::uint64_t combinations(const System& system, Time step, std::uint32_t fixed);

}  // namespace consort::engine::sim
