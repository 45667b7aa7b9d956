// SPDX-License-Identifier: Apache-2.0
//
// Worst-case response times under preemptive EDF on one core of tasks whose jobs are due at known moments:
// offset + k * period of one clock. Each beginning of a busy window in a common period is looked at, and in
// it each job of the task. docs/explanation/analyses.md, theorem 25.
#pragma once

#include "rta/offsets.hpp"

namespace consort::engine {

// `offsets`: of each task, or `no_offset`; that of task i is known. Below a load of 1 (of the supply) only.
[[nodiscard]] OffsetResponse edf_offset_response(const TaskSet& set, const Time* offsets, std::size_t i,
                                                 const OffsetSearch& search);

}  // namespace consort::engine
