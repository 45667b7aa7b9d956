// SPDX-License-Identifier: Apache-2.0
//
// Cause-effect chains under logical execution time: every job reads when it is released and writes when its
// interval ends, so all moments are known, and the latencies are found by following each job of a common
// period. docs/explanation/analyses.md, theorem 13.
#pragma once

#include <optional>
#include <vector>

#include "time.hpp"

namespace consort::engine {

struct LetTask {
    Time period = 0;
    Time offset = 0;
    Time interval = 0;  // from reading to writing
};

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

// Nothing if a common period holds more than `most` jobs of the first or last task, or leaves 63 bits. Throws
// std::invalid_argument for values out of range.
[[nodiscard]] std::optional<LetLatencies> let_latencies(const std::vector<LetTask>& chain, Time most);

}  // namespace consort::engine
