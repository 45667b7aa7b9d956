// SPDX-License-Identifier: Apache-2.0
// The human-machine interface: what the operator chose becomes a set-point, unless the drive is not well.
#pragma once

#include "data.hpp"

namespace drive::hmi {

struct In {
    float chosen;  // rad
    Health health;
};
struct State {
    std::uint32_t number;
};
struct Out {
    SetPoint target;
};

inline void step(const In& in, State& state, Out& out) {
    out.target = {in.health.peak > alarm ? 0.0F : in.chosen, ++state.number};
}

}  // namespace drive::hmi
