// SPDX-License-Identifier: Apache-2.0
//
// Verdicts and response times of many task sets of one size at once.
#pragma once

#include <cstddef>

#include "rta/task_set.hpp"

namespace consort::engine {

// Everywhere here `sets` sets lie one after another, in row-major arrays of which `first` is the first row.
// Task 0 of a row is the most urgent; there are neither levels nor distances.

// One response time for each task, or -1 where it exceeds the deadline (or is not found). Tasks after the
// first -1 of a set are computed all the same. Bad values throw std::invalid_argument that names the set.
void responses(std::size_t sets, const TaskSet& first, bool preemptive, Time* out);

struct VectorUnit;

// Decides for each set if every task meets its deadline under fixed priorities. Stops at the first that does
// not. `unit` (rta/lanes.hpp), if not null, analyses many sets at once where they allow it; the verdicts are
// the same.
void schedulable(std::size_t sets, const TaskSet& first, bool preemptive, const VectorUnit* unit, bool* out);

// Decides for each set if EDF meets every deadline.
void edf_schedulable(std::size_t sets, const TaskSet& first, bool preemptive, bool* out);

}  // namespace consort::engine
