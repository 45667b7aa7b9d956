// SPDX-License-Identifier: Apache-2.0
// Data between the parts of the drive. SI units throughout.
#pragma once

#include <cstdint>

namespace drive {

// From the HMI: where the arm is to go.
struct SetPoint {
    float angle;  // rad
    std::uint32_t number;
};

// From the encoder and the accelerometer.
struct Measured {
    float angle;      // rad
    float vibration;  // m/s^2
};

// From the condition monitor.
struct Health {
    std::uint32_t windows;   // spectra so far
    std::uint32_t peak_bin;  // of the largest amplitude but the mean's; bins are 20 kHz / 512 apart
    float peak;              // its amplitude, m/s^2
    float rms;               // of the window, m/s^2
};

inline constexpr float alarm = 5.0F;  // m/s^2: a larger peak stops the arm

}  // namespace drive
