// SPDX-License-Identifier: Apache-2.0
//
// Cause-effect chains under logical execution time: every job reads when it is released and writes when its
// interval ends, so all moments are known, and the latencies are found by following each job of a common
// period. docs/explanation/analyses.md, theorem 13.
#pragma once

#include <optional>
#include <vector>

#include "rta/task_set.hpp"

namespace consort::engine {

struct LetLatencies {
    // From a stimulus just missed to the first output that has seen it: approached, not reached.
    Time reaction = 0;
    // From a read of the first task to the end of the last output made from it.
    Time age = 0;
    // From a read of the first task to when such an output is written.
    Time age_when_written = 0;
    Time least_reaction = 0;
    // From a read of the first task to the first output made from it, of those reads that are not replaced on
    // the way.
    Time passage = 0;
    // When the jobs of the worst reaction read, one for each task; the stimulus comes after the read before
    // the first.
    std::vector<Time> reads;
};

// `chain`: its tasks in order, with their periods; `d` is from a job's reading to its writing. `offsets`:
// when the first of them reads.
//
// Nothing if a common period holds more than `most` jobs of the first or last task, or leaves 63 bits. Throws
// std::invalid_argument for values out of range.
[[nodiscard]] std::optional<LetLatencies> let_latencies(const TaskSet& chain, const Time* offsets, Time most);

}  // namespace consort::engine
