// SPDX-License-Identifier: Apache-2.0
//
// Verdicts and response times of many task sets of one size at once.
#pragma once

#include <cstddef>

#include "rta/task_set.hpp"

namespace consort::engine {

// Row-major arrays of `sets` rows; task 0 of a row is the most urgent. `first`, of row 0, has neither levels
// nor distances.
struct TaskSets {
    std::size_t sets = 0;
    TaskSet first;

    [[nodiscard]] TaskSet row(std::size_t s) const {
        const auto at = [&](const Time* field) { return field == nullptr ? nullptr : field + s * first.n; };
        return {first.n, at(first.c), at(first.t), at(first.d), at(first.j), at(first.b)};
    }
};

// One response time for each task, or -1 where it exceeds the deadline (or is not found). Tasks after the
// first -1 of a set are computed all the same. Bad values throw std::invalid_argument that names the set.
void responses(const TaskSets& all, bool preemptive, Time* out);

struct VectorUnit;

// Decides for each set if every task meets its deadline under fixed priorities. Stops at the first that does
// not. `unit` (rta/lanes.hpp), if not null, analyses many sets at once where they allow it; the verdicts are
// the same.
void schedulable(const TaskSets& all, bool preemptive, const VectorUnit* unit, bool* out);

// Decides for each set if EDF meets every deadline.
void edf_schedulable(const TaskSets& all, bool preemptive, bool* out);

}  // namespace consort::engine
