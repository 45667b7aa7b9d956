// SPDX-License-Identifier: Apache-2.0
// The servo controller: the set-point smoothed to a motion that the arm can follow, and the controller of
// examples/servo around it. What the accelerometer saw goes on to the condition monitor.
#pragma once

#include "../servo/step.hpp"
#include "data.hpp"

namespace drive::control {

struct In {
    SetPoint target;
    Measured measured;
};
struct State {
    float stages[3];  // rad: three equal low-passes in a row have a smooth speed and acceleration
    servo::StateF32 controller;
};
struct Out {
    float torque;  // N m
    float sample;  // m/s^2
};

inline constexpr float smoothing = 50e-6F / 20e-3F;  // period over time constant

inline void step(const In& in, State& state, Out& out) {
    float input = in.target.angle;
    for (float& stage : state.stages) {
        stage += smoothing * (input - stage);
        input = stage;
    }
    servo::OutF32 command{};
    servo::step_f32({input, in.measured.angle}, state.controller, command);
    out.torque = command.command;
    out.sample = in.measured.vibration;
}

}  // namespace drive::control
