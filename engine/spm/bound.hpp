// SPDX-License-Identifier: Apache-2.0
//
// Response-time bounds of three-phase tasks under TDMA of one DMA (spm-centric-os, section V).
//
// docs/explanation/three-phase.md derives them and proves the corrected one.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "spm/task.hpp"

namespace consort::engine::spm {

enum class Method : std::uint8_t {
    // As printed, with absent lower-priority tasks read as zero. Unsound for four tasks and more: for
    // comparison
    // only.
    literal,
    // Any task may be in flight when the busy period begins.
    corrected,
    // As corrected, for a work-conserving round robin over the cores instead of TDMA, each operation as long
    // as it
    // takes: `round` is the sum of the longest operations of all cores, `slot` the longest of this core.
    round_robin,
};

// The lengths that the lemmas give, in the units (rounds, slots) that they are proved in. The defaults are
// the proven ones; a campaign lowers them one at a time to see that it would notice.
struct Lemmas {
    int interval_rounds = 2;   // an interval's DMA work after an I/O-bound interval …
    int interval_slots = 1;    // … and what a CPU-bound one adds (the wasted slot)
    int threshold_rounds = 2;  // Lemma 1: longer executions can waste a slot
    int extra_waste = 1;       // the interval before the first may waste one too
    int final_rounds = 2;      // the final interval after the execution …
    int final_slots = 1;
    int final_short_rounds = 3;  // … or of a short execution
    int final_short_slots = 1;
    int blocking_rounds = 1;   // u's load began this long before x's
    int blocking_slots = 0;    // lowers the blocking interval (mutants only)
    int window_slots = 1;      // the window of interference ends this long before H does
    bool early_return = true;  // a task in flight may be released again sooner than a period later
    // Jitter (mutants only): of the interfering jobs in the window; of the job itself; in how late a task in
    // flight may have started.
    bool window_jitter = true;
    bool own_jitter = true;
    bool start_jitter = true;
};

// How a bound came about, for the explanation. Times in ticks.
struct Worst {
    static constexpr int none = -1;
    int running = none;     // u: executing when the busy period begins
    int loading = none;     // x: loaded or loading then
    Time blocking = 0;      // B
    Time interference = 0;  // H
    Time final = 0;         // F
    Time window = 0;        // W, in which higher-priority jobs are released
    Time shift = 0;         // how long before its job was due the task's own one in flight let H begin
    Time jitter = 0;        // how late the job comes, where none of its task was in flight
};

struct Bound {
    // Absent when the iteration left `limit`: no bound below it exists.
    std::optional<Time> response;
    Worst worst;
};

struct Options {
    Method method = Method::corrected;
    Lemmas lemmas{};
    // Lower-priority tasks may miss their deadlines: two jobs of one may be in flight.
    bool lower_may_overrun = false;
    // Iteration of a task ends above factor * deadline; 1 answers "schedulable?" fastest.
    Time limit_factor = 1;
};

// Bounds in priority order. Ends after the first task whose bound is above its deadline: the bounds of those
// below it rest on its deadline being met, so they are absent from the result.
[[nodiscard]] std::vector<Bound> bounds(std::span<const Task> tasks, Tdma tdma, const Options& options = {});

// True if every task's bound is at most its deadline. `each`: computes each bound, as responses() does, for
// comparison; else larger and smaller bounds decide wherever they can.
[[nodiscard]] bool schedulable(std::span<const Task> tasks, Tdma tdma, const Options& options = {},
                               bool each = false);

// The bounds without explanation into `response` (as long as `tasks`); returns how many leading tasks meet
// their deadlines. The entry after those holds the first value found above the deadline; entries behind it
// are not set.
std::size_t responses(std::span<const Task> tasks, Tdma tdma, const Options& options,
                      std::span<Time> response);

// How many jobs of each task above i the worst window holds, for the explanation.
[[nodiscard]] std::vector<Time> interferers(std::span<const Task> tasks, std::size_t i, Tdma tdma,
                                            const Options& options, const Worst& worst);

}  // namespace consort::engine::spm
