// SPDX-License-Identifier: Apache-2.0
//
// The proportion of random task sets that are schedulable, over utilisation: Figure 7 of spm-centric-os and
// its variations.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "spm/bound.hpp"

namespace consort::engine::spm {

// A program that tasks are made of.
struct Program {
    Time scratchpad;  // execution time from scratchpad
    Time contended;   // from contended main memory
    Time load;        // how long the DMA takes to load it, set-up included
    Time unload;
};

enum class Curve : std::uint8_t {
    literal,
    corrected,
    round_robin,
    // Preemptive fixed priorities from main memory: response-time analysis of Joseph and Pandya.
    contended,
};

struct Sweep {
    std::vector<Program> programs;
    std::vector<double> utilisations;
    std::vector<Curve> curves;
    Time slot = 0;        // of TDMA; 0: as long as the longest operation of the set at hand
    Time other_slot = 0;  // of the other cores; 0: as `slot`
    int cores = 2;
    Time period_low = 0;
    Time period_high = 0;
    Time switch_scratchpad = 0;  // added to each execution after the set is made …
    Time switch_contended = 0;
    bool by_contended = false;  // whose execution times make up the utilisation
    bool keep_last = true;      // the task that passes the utilisation stays in the set
    std::uint64_t sets = 1000;  // a point
    std::uint64_t seed = 1;
    int threads = 1;
};

// schedulable[curve][point]: how many of `sets`. All curves judge the same sets; rate-monotonic priorities.
std::vector<std::vector<std::uint64_t>> sweep(const Sweep& sweep);

}  // namespace consort::engine::spm
