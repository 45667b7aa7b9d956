// SPDX-License-Identifier: Apache-2.0
// Functions by addition, multiplication and division alone: every processor rounds these alike, so the plant
// gives the same bits everywhere. The functions of a C library differ from one library to the next, and a
// bare core has none.
#pragma once

#include <cstdint>

namespace drive::portable {

inline constexpr double pi = 3.141592653589793;

// Within 1e-13 for |x| below 1000, within 1e-10 below 1e6.
inline double sine(double x) {
    const double turns = x / pi;
    const auto half = static_cast<std::int64_t>(turns < 0 ? turns - 0.5 : turns + 0.5);
    // In two parts, as pi has more digits than a double.
    const double rest =
        (x - static_cast<double>(half) * pi) - static_cast<double>(half) * 1.2246467991473532e-16;
    const double square = rest * rest;
    double sum = 1.0;
    for (double n = 20; n > 1; n -= 2) {
        sum = 1.0 - square / (n * (n + 1)) * sum;
    }
    return (half & 1) != 0 ? -rest * sum : rest * sum;
}
inline double cosine(double x) {
    return sine(x + pi / 2);
}

// Within 1e-13.
inline double hyperbolic_tangent(double x) {
    if (x > 20 || x < -20) {
        return x > 0 ? 1.0 : -1.0;
    }
    // e^2x is the 64th power of e^(x/32).
    const double small = x / 32;
    double power = 1.0;
    for (double n = 10; n > 0; n -= 1) {
        power = 1.0 + small / n * power;
    }
    for (int i = 0; i < 6; ++i) {
        power *= power;
    }
    return (power - 1.0) / (power + 1.0);
}

}  // namespace drive::portable
