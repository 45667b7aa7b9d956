// SPDX-License-Identifier: Apache-2.0
//
// Three-phase tasks of one core, and how that core reaches the one application DMA.
#pragma once

#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "time.hpp"

namespace consort::engine::spm {

// In priority order, the most urgent first. `execution` includes context switches; 0 < execution,
// 0 < deadline <= period.
struct Task {
    Time execution;
    Time period;
    Time deadline;
    // How long the DMA takes to load and to unload the task; used where operations are not charged a whole
    // slot. 0: as long as a slot.
    Time load = 0;
    Time unload = 0;
    // A job comes at most so much later than it is due; deadlines and responses count from when it is due.
    Time jitter = 0;
};

// TDMA of the application DMA, seen from one core: its own slot of `slot` begins every `round`. With M cores
// and equal slots (the paper) round = M * slot; cores may also have slots of unlike length, each sized for
// its own largest footprint. One load or one unload fits a slot.
struct Tdma {
    Time round;
    Time slot;
};

// Times from here on could leave 63 bits in sums of an analysis.
inline constexpr Time largest_time = Time{1} << 50;
inline constexpr std::size_t largest_set = 512;

inline void check(std::span<const Task> tasks, Tdma tdma) {
    const auto refuse = [](const std::string& what) { throw std::invalid_argument(what); };
    if (tdma.slot <= 0 || tdma.round < tdma.slot || tdma.round > largest_time) {
        refuse("0 < slot <= round < 2^50 is needed; slot is " + std::to_string(tdma.slot) + ", round " +
               std::to_string(tdma.round));
    }
    if (tasks.size() > largest_set) {
        refuse("at most " + std::to_string(largest_set) + " tasks a core");
    }
    for (std::size_t i = 0; i < tasks.size(); ++i) {
        const Task& t = tasks[i];
        if (t.execution <= 0 || t.deadline <= 0 || t.deadline > t.period || t.period > largest_time ||
            t.execution > largest_time || t.jitter < 0 || t.jitter > largest_time || t.load < 0 ||
            t.load > tdma.slot || t.unload < 0 || t.unload > tdma.slot) {
            refuse("task " + std::to_string(i) +
                   ": 0 < execution, 0 < deadline <= period < 2^50, 0 <= jitter < 2^50 and load, unload <= "
                   "slot are needed; execution " +
                   std::to_string(t.execution) + ", deadline " + std::to_string(t.deadline) + ", period " +
                   std::to_string(t.period) + ", load " + std::to_string(t.load) + ", unload " +
                   std::to_string(t.unload) + ", jitter " + std::to_string(t.jitter));
        }
    }
}

}  // namespace consort::engine::spm
