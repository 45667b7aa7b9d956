// SPDX-License-Identifier: Apache-2.0
//
// The executive in virtual time beside the engine's simulator: every job, every stretch of time on a core,
// every block read and written.
#pragma once

#include <string>

#include "random_modes.hpp"
#include "random_systems.hpp"
#include "sim/in_virtual_time.hpp"

namespace virtual_tests {

struct Comparison {
    std::string difference;  // empty: none
    std::uint64_t jobs = 0;
    std::uint64_t slices = 0;
    std::uint64_t operations = 0;
    std::uint64_t preemptions = 0;
    std::uint64_t misses = 0;
    std::uint64_t unserved = 0;
    std::uint64_t held = 0;
    std::uint64_t fallbacks = 0;
    std::uint64_t late_answers = 0;
    std::uint64_t stops = 0;
    std::vector<consort::app::ModeChanged> changes;  // of a system with modes
};

[[nodiscard]] Comparison compare(consort::virtual_time::Machine& machine, const Case& c);
[[nodiscard]] Comparison compare(consort::virtual_time::Machine& machine, const ModeCase& c);
// The case in a form to read.
[[nodiscard]] std::string to_string(const Case& c);
[[nodiscard]] std::string to_string(const ModeCase& c);

}  // namespace virtual_tests
