// SPDX-License-Identifier: Apache-2.0
//
// A proportional controller. It sees neither sockets nor lines.
#pragma once

#include "data.hpp"

namespace drivers::control {

struct In {
    Wish wish;
    Angle measured;
};
struct State {};
struct Out {
    Torque torque;
    Report report;
};

// A device that has nothing new leaves the value of the job before.
inline void step(const In& in, State& /*state*/, Out& out) noexcept {
    out.torque = {0.5F * (in.wish.angle - in.measured.angle), in.measured.number};
    out.report = {in.measured.angle, out.torque.torque, in.wish.number};
}

}  // namespace drivers::control
