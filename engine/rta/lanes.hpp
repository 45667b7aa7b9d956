// SPDX-License-Identifier: Apache-2.0
//
// Response-time analysis of many task sets at once, one in each lane of a vector unit.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "rta/bulk.hpp"

namespace consort::engine {

// One figure of a task in all lanes. So many lanes hide how long each step of the arithmetic takes.
struct alignas(64) LaneRow {
    std::array<double, 64> lane;
};

// The figures of the tasks of `LaneRow` sets, one row a task; `jobs` is for use by the analysis.
struct LaneRows {
    std::size_t n;
    const LaneRow* execution;
    const LaneRow* period;
    const LaneRow* inverse;  // of the period
    const LaneRow* deadline;
    LaneRow* jobs;
};

struct VectorUnit {
    const char* name;
    void (*verdicts)(const LaneRows& rows, bool* out);
};

// The vector units of this processor that the analysis is written for, the widest one first; maybe none.
[[nodiscard]] std::vector<VectorUnit> vector_units();

// Verdicts under preemptive fixed priorities without jitter and blocking, by the arithmetic of doubles, which
// is exact here: all values are whole and below 2^52.
class Lanes {
  public:
    static constexpr std::size_t width = sizeof(LaneRow) / sizeof(double);

    // `n`: tasks of a set.
    Lanes(std::size_t n, const VectorUnit& unit);

    // Writes whether `first` and the sets after it, `width` in all, meet their deadlines; the sets have no
    // jitter and no blocking. False, and nothing is written, where values are out of range or too large for
    // this way, or a deadline exceeds its period.
    bool schedulable(const TaskSet& first, bool* out);

  private:
    std::size_t n_;
    VectorUnit unit_;
    std::vector<LaneRow> execution_, period_, inverse_, deadline_, jobs_;
};

}  // namespace consort::engine
