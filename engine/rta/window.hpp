// SPDX-License-Identifier: Apache-2.0
//
// The busy windows of fixed priorities: what a window of a length holds, and when it ends.
#pragma once

#include <optional>

#include "rta/fixed_priority.hpp"

namespace consort::engine {

// Steps that a search may still take.
struct Budget {
    Time left;
    [[nodiscard]] bool take() { return left-- > 0; }
};

// The least fixed point of `next` not below `from`, which must not exceed it; none if it exceeds `stop`.
template <class Next>
[[nodiscard]] std::optional<Time> fixed_point(Time from, Time stop, Budget& budget, bool& exhausted,
                                              Next next) {
    Time length = from;
    while (length <= stop) {
        if (!budget.take()) {
            exhausted = true;
            return std::nullopt;
        }
        const Time found = next(length);
        if (found == length) {
            return length;
        }
        length = found;
    }
    return std::nullopt;
}

struct Window {
    const TaskSet& set;
    std::size_t i;
    bool closed;  // a release at the very end counts
    Supply supply;
    bool begins;  // it ends when a job begins, and not when all its work is done

    // `own` and all jobs of interfering tasks that are released within `length`.
    [[nodiscard]] Time demand(Time own, Time length) const {
        Time sum = own;
        for (std::size_t k = 0; k < set.n; ++k) {
            if (set.interferes(k, i)) {
                sum = add(sum, mul(jobs_in(set, k, length, closed), set.c[k]));
            }
        }
        return sum;
    }

    // When at the latest that is done, or what comes after it begins.
    [[nodiscard]] Time end(Time own, Time length) const {
        const Time work = demand(own, length);
        return begins && closed ? supply.time_after(work) : supply.time_for(work);
    }

    [[nodiscard]] std::optional<Time> fixed_point(Time own, Time from, Time stop, Budget& budget,
                                                  bool& exhausted) const {
        return engine::fixed_point(from, stop, budget, exhausted,
                                   [&](Time length) { return end(own, length); });
    }
};

// Jobs of task i in its longest busy window (the last has this index + 1), or none if that is not found.
[[nodiscard]] std::optional<Time> jobs_in_busy_window(const TaskSet& set, std::size_t i, Time blocking,
                                                      const Supply& supply, Budget& budget);

}  // namespace consort::engine
