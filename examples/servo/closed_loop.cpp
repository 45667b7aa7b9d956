// SPDX-License-Identifier: Apache-2.0
// The controller's step around the nonlinear plant, as a shared library: closed_loop.py calls it, and gives
// it every number.
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "step.hpp"

namespace {

struct Parameters {  // closed_loop.py has the same list
    double inertia_base, inertia_crank, crank_ratio, viscous_friction, gravity_torque, coulomb_friction,
        friction_speed;
    double torque_time_constant, torque_limit;
    double sample_period;
    double encoder_step;  // rad, 0 for an ideal sensor
    std::int64_t substeps;
};

struct Summary {
    double state_peak;    // largest state, as a fraction of full scale
    double command_peak;  // N m
    std::int64_t saturations;
};

struct Plant {
    double angle, speed, torque;
};

Plant derivative(const Parameters& p, const Plant& s, double command) {
    const double crank = std::sin(s.angle) + p.crank_ratio / 2 * std::sin(2 * s.angle);
    const double slope = std::cos(s.angle) + p.crank_ratio * std::cos(2 * s.angle);
    const double inertia = p.inertia_base + p.inertia_crank * crank * crank;
    const double load = p.inertia_crank * crank * slope * s.speed * s.speed + p.viscous_friction * s.speed +
                        p.gravity_torque * std::sin(s.angle) +
                        p.coulomb_friction * std::tanh(s.speed / p.friction_speed);
    return {s.speed, (s.torque - load) / inertia, (command - s.torque) / p.torque_time_constant};
}

Plant moved(const Plant& s, double h, const Plant& d) {
    return {s.angle + h * d.angle, s.speed + h * d.speed, s.torque + h * d.torque};
}

Plant advance(const Parameters& p, Plant s, double command) {
    const double h = p.sample_period / static_cast<double>(p.substeps);
    for (std::int64_t i = 0; i < p.substeps; ++i) {
        const Plant a = derivative(p, s, command);
        const Plant b = derivative(p, moved(s, h / 2, a), command);
        const Plant c = derivative(p, moved(s, h / 2, b), command);
        const Plant d = derivative(p, moved(s, h, c), command);
        s = moved(moved(moved(moved(s, h / 6, a), h / 3, b), h / 3, c), h / 6, d);
    }
    return s;
}

// Largest state of the internal model as a fraction of full scale.
template <class Number>
double peak(const servo::States<Number>& s, double full_scale) {
    double most = std::abs(static_cast<double>(s.integrator));
    for (int k = 0; k < servo::harmonics; ++k) {
        most =
            std::max({most, std::abs(static_cast<double>(s.x1[k])), std::abs(static_cast<double>(s.x2[k]))});
    }
    return most / full_scale;
}

struct Float32 {
    servo::StateF32 state{};
    double operator()(double reference, double position) {
        servo::OutF32 out;
        servo::step_f32({static_cast<float>(reference), static_cast<float>(position)}, state, out);
        return static_cast<double>(out.command);
    }
    double state_peak() const { return peak(state, 1.0); }
};

struct Float64 {
    servo::StateF64 state{};
    double operator()(double reference, double position) {
        servo::OutF64 out;
        servo::step_f64({reference, position}, state, out);
        return out.command;
    }
    double state_peak() const { return peak(state, 1.0); }
};

struct Fixed {
    servo::StateQ31 state{};
    double operator()(double reference, double position) {
        using C = servo::coefficients::Q31;
        const auto angle = [](double value) {
            return static_cast<std::int32_t>(std::lrint(value / C::angle_full_scale * 0x1p31));
        };
        servo::OutQ31 out;
        servo::step_q31({angle(reference), angle(position)}, state, out);
        return out.command * (C::command_full_scale * 0x1p-31);
    }
    double state_peak() const { return peak(state, 0x1p31); }
};

// The same gains without the internal model: the baseline.
struct ProportionalDerivative {
    double filter = 0.0;
    double operator()(double reference, double position) {
        using C = servo::coefficients::F64;
        const double error = reference - position;
        const double change = error - filter;
        filter += C::filter * change;
        return std::clamp(C::proportional * error + C::derivative * change, -C::command_limit,
                          C::command_limit);
    }
    double state_peak() const { return 0.0; }
};

template <class Controller>
void run(const Parameters& p, std::int64_t samples, const double* reference, double* error, double* command,
         Summary& summary) {
    Controller controller;
    Plant plant{reference[0], 0.0, 0.0};
    double applied = 0.0;  // one sample late: the round trip to the worker
    for (std::int64_t i = 0; i < samples; ++i) {
        error[i] = reference[i] - plant.angle;
        const double position =
            p.encoder_step > 0 ? std::nearbyint(plant.angle / p.encoder_step) * p.encoder_step : plant.angle;
        command[i] = controller(reference[i], position);
        plant = advance(p, plant, applied);
        applied = command[i];
        const double state = controller.state_peak();
        summary.state_peak = std::max(summary.state_peak, state);
        summary.command_peak = std::max(summary.command_peak, std::abs(applied));
        // Just short of full scale, since the largest Q31 value is; floating point has no range to leave, but
        // the same limit counts.
        if (state >= 1.0 - 0x1p-30 || std::abs(applied) >= p.torque_limit * (1.0 - 0x1p-20))
            ++summary.saturations;
    }
}

}  // namespace

extern "C" int servo_closed_loop(int controller, const Parameters* p, std::int64_t samples,
                                 const double* reference, double* error, double* command, Summary* summary) {
    *summary = {};
    switch (controller) {
        case 0:
            run<ProportionalDerivative>(*p, samples, reference, error, command, *summary);
            return 0;
        case 1:
            run<Float64>(*p, samples, reference, error, command, *summary);
            return 0;
        case 2:
            run<Float32>(*p, samples, reference, error, command, *summary);
            return 0;
        case 3:
            run<Fixed>(*p, samples, reference, error, command, *summary);
            return 0;
        default:
            return 1;
    }
}

// One sample of the plant alone, for a check against plant.py.
extern "C" void servo_plant(const Parameters* p, double command, double* angle_speed_torque) {
    double* s = angle_speed_torque;
    const Plant next = advance(*p, {s[0], s[1], s[2]}, command);
    s[0] = next.angle;
    s[1] = next.speed;
    s[2] = next.torque;
}
