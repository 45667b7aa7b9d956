// SPDX-License-Identifier: Apache-2.0
//
// The simulator's refusals.
#pragma once

#include <stdexcept>
#include <string>

#include "time.hpp"

namespace consort::engine::sim {

// A sum of a few of these stays within 63 bits; what a run adds up is checked as it goes.
inline constexpr Time largest_time = Time{1} << 60;

inline void require(bool holds, const std::string& where, const char* what) {
    if (!holds) {
        throw std::invalid_argument(where + ": " + what);
    }
}

}  // namespace consort::engine::sim
