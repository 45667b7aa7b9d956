// SPDX-License-Identifier: Apache-2.0
//
// The time that a core gives to its tasks: all of it, or a budget in each period (a hypervisor's partition).
// docs/explanation/analyses.md, theorem 18.
#pragma once

#include "time.hpp"

namespace consort::engine {

struct Supply {
    Time period = 0;  // 0: the whole core
    Time budget = 0;
    // The longest time without any, from the worst moment on: period - budget where the budget comes at the
    // same place of each period (TDMA), twice that where it comes anywhere in it (periodic server).
    Time gap = 0;

    [[nodiscard]] bool whole() const { return period == 0; }

    // When at the latest that much work is done, of what is asked for from 0 on.
    [[nodiscard]] Time time_for(Time work) const {
        if (whole() || work == 0) {
            return work;
        }
        const Time full = (work - 1) / budget;
        return add(add(gap, mul(full, period)), (work - 1) % budget + 1);
    }

    // When at the latest the work after that begins.
    [[nodiscard]] Time time_after(Time work) const { return whole() ? work : time_for(add(work, 1)) - 1; }
};

}  // namespace consort::engine
