// SPDX-License-Identifier: Apache-2.0
// The plant: the current through resistance and inductance, exact for a voltage that is held over the step.
#pragma once

#include "current.hpp"

namespace drive_30us::winding {

// e^x for |x| below a tenth, to the last bit or two: a bare core has no C library, and those of others
// differ.
constexpr double exponential(double x) noexcept {
    double sum = 1;
    for (double n = 12; n > 0; n -= 1) {
        sum = 1 + x / n * sum;
    }
    return sum;
}

inline constexpr double resistance = static_cast<double>(current::resistance);
inline constexpr double decay = exponential(-resistance / static_cast<double>(current::inductance) *
                                            static_cast<double>(current::period));

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
    state.current = decay * state.current + (1 - decay) * static_cast<double>(in.voltage) / resistance;
    out.current = static_cast<float>(state.current);
}

}  // namespace drive_30us::winding
