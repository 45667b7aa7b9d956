// SPDX-License-Identifier: Apache-2.0
//
// Data between the controller, the operator's panel and the amplifier.
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
    // The number of the wish that it answers.
    std::uint32_t number;
};
struct Angle {
    float angle;
    std::uint32_t number;
};
struct Torque {
    float torque;
    // The number of the angle that it answers.
    std::uint32_t number;
};

}  // namespace drivers
