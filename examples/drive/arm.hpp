// SPDX-License-Identifier: Apache-2.0
// The plant: motor, slider-crank mechanism and what is machined, advanced by 50 us a step. The equations are
// those of examples/servo (controller.yaml); a process force and a bearing's tone disturb it.
#pragma once

#include <cstdint>

#include "data.hpp"
#include "portable.hpp"

namespace drive::arm {

struct In {
    float torque;  // N m, commanded
};
struct State {
    double angle;   // rad
    double speed;   // rad/s
    double torque;  // N m
    std::uint64_t step;
};
struct Out {
    Measured measured;
};

inline constexpr double period = 50e-6;                                      // s
inline constexpr double inertia_base = 2.0e-3, inertia_crank = 1.5e-3;       // kg m^2
inline constexpr double crank_ratio = 0.3, viscous_friction = 0.01;          // 1, N m s/rad
inline constexpr double gravity = 0.5, coulomb = 0.1, friction_speed = 0.5;  // N m, N m, rad/s
inline constexpr double lag = 0.2e-3;                                        // s, of the current loop
inline constexpr double force = 0.3, force_period = 0.2;                     // N m, s
inline constexpr double tone = 0.8, tone_hertz = 1250.0;                     // m/s^2: bin 32 of 512
inline constexpr double circle = 6.283185307179586;

namespace detail {

inline State derivative(const State& s, double command, double time) {
    const double sine = portable::sine(s.angle);
    const double cosine = portable::cosine(s.angle);
    const double crank = sine + crank_ratio * sine * cosine;
    const double slope = cosine + crank_ratio * (cosine * cosine - sine * sine);
    const double inertia = inertia_base + inertia_crank * crank * crank;
    const double load = inertia_crank * crank * slope * s.speed * s.speed + viscous_friction * s.speed +
                        gravity * sine + coulomb * portable::hyperbolic_tangent(s.speed / friction_speed) +
                        force * portable::sine(circle * time / force_period);
    return {s.speed, (s.torque - load) / inertia, (command - s.torque) / lag, 0};
}

inline State moved(const State& s, double by, const State& d) {
    return {s.angle + by * d.angle, s.speed + by * d.speed, s.torque + by * d.torque, s.step};
}

}  // namespace detail

// Classical Runge-Kutta of fourth order; the command is held over the step.
inline void step(const In& in, State& state, Out& out) {
    using detail::derivative;
    using detail::moved;
    const double command = static_cast<double>(in.torque);
    const double now = static_cast<double>(state.step) * period;
    const State a = derivative(state, command, now);
    const State b = derivative(moved(state, period / 2, a), command, now + period / 2);
    const State c = derivative(moved(state, period / 2, b), command, now + period / 2);
    const State d = derivative(moved(state, period, c), command, now + period);
    State next = moved(state, period / 6, a);
    next = moved(next, period / 3, b);
    next = moved(next, period / 3, c);
    next = moved(next, period / 6, d);
    next.step = state.step + 1;
    const double vibration =
        tone * portable::sine(circle * tone_hertz * now) + 2.0 * (next.speed - state.speed);
    state = next;
    out.measured = {static_cast<float>(state.angle), static_cast<float>(vibration)};
}

}  // namespace drive::arm
