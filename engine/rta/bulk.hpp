// SPDX-License-Identifier: Apache-2.0
//
// Verdicts and response times of many task sets of one size at once.
#pragma once

#include <cstddef>

#include "rta/task_set.hpp"

namespace consort::engine {

// Row-major arrays of `sets` rows and `n` columns; task 0 of a row is the most urgent. j and b may be null.
struct TaskSets {
    std::size_t sets = 0;
    std::size_t n = 0;
    const Time* c = nullptr;
    const Time* t = nullptr;
    const Time* d = nullptr;
    const Time* j = nullptr;
    const Time* b = nullptr;

    [[nodiscard]] TaskSet row(std::size_t s) const {
        const auto at = [&](const Time* field) { return field == nullptr ? nullptr : field + s * n; };
        return {n, at(c), at(t), at(d), at(j), at(b), nullptr};
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
