// SPDX-License-Identifier: Apache-2.0
// The current controller of a motor's winding: proportional and integral, its integral held at the limits of
// the voltage.
#pragma once

#include <algorithm>

namespace drive_30us::current {

inline constexpr float period = 50e-6F;                        // s
inline constexpr float resistance = 0.5F, inductance = 1e-3F;  // ohm, H
inline constexpr float supply = 24.0F;                         // V
inline constexpr float bandwidth = 2000.0F;                    // rad/s, of the closed loop
inline constexpr float proportional = bandwidth * inductance;  // V/A: its zero is on the winding's pole
inline constexpr float integral = bandwidth * resistance;      // V/(A s)

struct In {
    float reference, measured;  // A
};
struct State {
    float sum;  // V
};
struct Out {
    float voltage;  // V
};

inline void step(const In& in, State& state, Out& out) noexcept {
    const float error = in.reference - in.measured;
    state.sum = std::clamp(state.sum + integral * period * error, -supply, supply);
    out.voltage = std::clamp(proportional * error + state.sum, -supply, supply);
}

}  // namespace drive_30us::current
