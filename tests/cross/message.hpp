// SPDX-License-Identifier: Apache-2.0
//
// A message as a control application sends it: every kind of member, and a double after an odd number of
// words, whose offset is 8 for every instruction set but i386, where it is 4.
#pragma once

#include <cstdint>

namespace cross {

enum class Mode : std::uint8_t { off, hold, track };

struct Gains {
    float proportional;
    float integral;
};

struct Message {
    std::uint32_t number;
    double angle;
    float setpoint[3];
    Gains gains[2];
    std::uint64_t time;
    std::int16_t trim;
    Mode mode;
    bool valid;
};

}  // namespace cross
