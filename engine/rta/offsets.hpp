// SPDX-License-Identifier: Apache-2.0
//
// Worst-case response times under fixed priorities on one core of tasks whose jobs are due at known moments:
// offset + k * period of one clock. Each beginning of a busy window in a common period is looked at.
// docs/explanation/analyses.md, theorem 17.
#pragma once

#include <optional>
#include <vector>

#include "rta/fixed_priority.hpp"

namespace consort::engine {

// The offset of a task whose moments are not known: a sporadic one.
inline constexpr Time no_offset = -1;

struct OffsetResponse {
    Verdict verdict = Verdict::bounded;  // too_long: more windows than `most_windows`, or steps than allowed
    Time bound = 0;                      // from when the job is due
    Time begin = 0;                      // of the worst job's window, from when the job is due
    Time earlier = 0;                    // jobs of its own task before it in the window
    Time blocking = 0;
    std::vector<Time> jobs;  // of each other task in the window
    Time windows = 0;        // looked at
};

struct OffsetSearch {
    Search search{};
    Time most_windows = 200'000;
};

// The longest busy window of some tasks, whatever their offsets: as if all came at once, as late as they may.
// Half of what a time can be where that takes too many steps.
[[nodiscard]] Time longest_window(const TaskSet& set, const std::vector<bool>& counted, Time blocking,
                                  const Search& search);

// When in a window that begins at that moment of the common clock the first job of task k is due that can
// come in it: at least -jitter, and that for a task whose moments are not known.
[[nodiscard]] Time first_due(const TaskSet& set, std::size_t k, Time offset, Time begin);

// The moments of a common period at which a job of a counted task comes at the latest, in order: where busy
// windows need to be looked at.
struct WindowBegins {
    std::vector<Time> moments;
    Time clock = 1;  // the common period
};

// None where there are more than `most`. `counted`: the tasks whose moments are known and of interest.
[[nodiscard]] std::optional<WindowBegins> window_begins(const TaskSet& set, const Time* offsets,
                                                        const std::vector<bool>& counted, Time most);

// `offsets`: of each task, or `no_offset`.
[[nodiscard]] OffsetResponse offset_response(const TaskSet& set, const Time* offsets, std::size_t i,
                                             const OffsetSearch& search);

}  // namespace consort::engine
