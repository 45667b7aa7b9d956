// SPDX-License-Identifier: Apache-2.0
//
// Exact integer time of the analyses and the simulator.
//
// A tick is whatever the caller divides its times by (Python divides picoseconds by their greatest common
// divisor). Sums and products that leave 63 bits throw std::overflow_error; nothing wraps silently.
#pragma once

#include <cstdint>
#include <stdexcept>

namespace consort::engine {

using Time = std::int64_t;

[[noreturn]] inline void throw_overflow() {
    throw std::overflow_error("a time left the range of 63 bits: give the times in larger units");
}

[[nodiscard]] inline Time add(Time a, Time b) {
    Time sum = 0;
    if (__builtin_add_overflow(a, b, &sum)) {
        throw_overflow();
    }
    return sum;
}

[[nodiscard]] inline Time mul(Time a, Time b) {
    Time product = 0;
    if (__builtin_mul_overflow(a, b, &product)) {
        throw_overflow();
    }
    return product;
}

// Rounded up; a >= 0, b > 0.
[[nodiscard]] constexpr Time ceil_div(Time a, Time b) {
    // Most spans that an analysis asks about are within a period, and a division takes ten times as long.
    if (a <= b) {
        return a > 0 ? 1 : 0;
    }
    return a / b + (a % b != 0 ? 1 : 0);
}

// Rounded down; b > 0.
[[nodiscard]] constexpr Time floor_div(Time a, Time b) {
    return a / b - (a % b < 0 ? 1 : 0);
}

}  // namespace consort::engine
