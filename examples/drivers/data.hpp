// SPDX-License-Identifier: Apache-2.0
//
// What travels between the controller, the operator's panel and the amplifier.
#pragma once

#include <cstdint>

namespace drivers {

struct Wish {
    float angle;
    std::uint32_t number;
};
struct Report {
    float angle;
    float torque;
    // Of the wish that it answers.
    std::uint32_t number;
};
struct Angle {
    float angle;
    std::uint32_t number;
};
struct Torque {
    float torque;
    // Of the angle that it answers.
    std::uint32_t number;
};

}  // namespace drivers
