// SPDX-License-Identifier: Apache-2.0
//
// Shared by the two programs: the message, the channels, and the names of both.
#pragma once

#include <cstddef>
#include <cstdint>

#include "consort/icc.hpp"

struct Sample {
    std::uint32_t number;
#ifdef EXAMPLE_OTHER_LAYOUT
    double position;  // a program that was compiled with another idea of a sample is refused
#else
    float position;
#endif
    float velocity;
};
struct Setpoint {
    float position;
    std::uint32_t after_sample;
};

// Each sample is read before the next is written; of the set-points only the latest counts.
using Samples = consort::Mailbox<Sample>;
using Setpoints = consort::Snapshot<Setpoint, 1>;

inline constexpr std::size_t region_bytes = 16384;
inline constexpr std::uint32_t sample_count = 10000;
inline constexpr consort::Ticks patience_seconds = 10;
