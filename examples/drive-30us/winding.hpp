// SPDX-License-Identifier: Apache-2.0
// The plant: the current through resistance and inductance, exact for a voltage that is held over the step.
#pragma once

#include <cmath>

#include "current.hpp"

namespace drive_30us::winding {

struct In {
    float voltage;  // V
};
struct State {
    double current;  // A
};
struct Out {
    float current;  // A
};

inline void step(const In& in, State& state, Out& out) noexcept {
    const double resistance = static_cast<double>(current::resistance);
    const double decay = std::exp(-resistance / static_cast<double>(current::inductance) *
                                  static_cast<double>(current::period));
    state.current = decay * state.current + (1 - decay) * static_cast<double>(in.voltage) / resistance;
    out.current = static_cast<float>(state.current);
}

}  // namespace drive_30us::winding
