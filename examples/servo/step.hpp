// SPDX-License-Identifier: Apache-2.0
// The servo controller's step: an internal model (one integrator and an oscillator for each harmonic of the
// motion's period) with a proportional and derivative part, in float32, float64 and fixed point. A reset
// state is State{}.
//
// Freestanding: no heap, no library calls. Every floating-point result is defined to the bit as long as each
// product is rounded before it is added: compile with -ffp-contract=off (GCC's default fuses where the
// processor can, Cortex-M4F and AArch64 among them), and never with -ffast-math. The pragma below
// says so to Clang; GCC has none for C++.
#pragma once

#include <cstdint>

#include "generated/coefficients.hpp"

#if defined(__FAST_MATH__)
#error "servo/step.hpp: golden outputs are compared to the bit; compile without -ffast-math"
#endif

namespace servo {

inline constexpr int harmonics = coefficients::harmonics;

struct InF32 {
    float reference;  // rad
    float position;   // rad
};
struct OutF32 {
    float command;  // torque, N m
};
struct InF64 {
    double reference;
    double position;
};
struct OutF64 {
    double command;
};
// Fixed point, as a converter or encoder interface would deliver it: 2^31 stands for
// coefficients::Q31::angle_full_scale rad and, in the output, for command_full_scale N m.
struct InQ31 {
    std::int32_t reference;
    std::int32_t position;
};
struct OutQ31 {
    std::int32_t command;
};

// States are fractions of their full scales, so that the same design fits all three arithmetics. The filter's
// state is the low-passed error: derivative and filter share one state.
template <class Number>
struct States {
    Number x1[harmonics];  // oscillators
    Number x2[harmonics];
    Number integrator;
    Number filter;
};
using StateF32 = States<float>;
using StateF64 = States<double>;
using StateQ31 = States<std::int32_t>;

namespace detail {

template <class Number>
constexpr Number clamp(Number value, Number low, Number high) {
    return value < low ? low : (value > high ? high : value);
}

// One group of oscillators: adds their outputs to the lanes, then moves them on. Leapfrog: x2 uses the new
// x1, hence determinant one for any rounding of eps, and no drift of the amplitude. The group works on local
// arrays, one short loop a statement, because compilers then use vector registers at -O2.
template <int Lanes, class C, class Number>
[[gnu::always_inline]] inline void advance_group(States<Number>& state, Number error, int k, Number* lanes) {
#if defined(__clang__)
#pragma clang fp contract(off)
#endif
    Number x1[Lanes];
    Number x2[Lanes];
    for (int j = 0; j < Lanes; ++j) x1[j] = state.x1[k + j];
    for (int j = 0; j < Lanes; ++j) x2[j] = state.x2[k + j];
    for (int j = 0; j < Lanes; ++j) lanes[j] += C::output_1[k + j] * x1[j] + C::output_2[k + j] * x2[j];
    for (int j = 0; j < Lanes; ++j) x1[j] = (x1[j] + C::eps[k + j] * x2[j]) + C::input[k + j] * error;
    for (int j = 0; j < Lanes; ++j) x2[j] = x2[j] - C::eps[k + j] * x1[j];
    for (int j = 0; j < Lanes; ++j) state.x1[k + j] = x1[j];
    for (int j = 0; j < Lanes; ++j) state.x2[k + j] = x2[j];
}

// Moves all oscillators on and returns the sum of their outputs before that, in four interleaved lanes that
// are added pairwise at the end. The order is part of the definition: golden outputs are compared to the bit.
template <class C, class Number>
inline Number advance_oscillators(States<Number>& state, Number error) {
    constexpr int whole = harmonics / 4 * 4;
    Number lanes[4] = {};
    for (int k = 0; k < whole; k += 4) advance_group<4, C>(state, error, k, lanes);
    if constexpr (whole < harmonics) advance_group<harmonics - whole, C>(state, error, whole, lanes);
    return (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
}

// The output is that of the states before the update, as the design assumes.
template <class C, class Number>
inline Number step(Number reference, Number position, States<Number>& state) {
#if defined(__clang__)
#pragma clang fp contract(off)
#endif
    const Number error = reference - position;
    const Number change = error - state.filter;
    const Number rest =
        (C::proportional * error + C::derivative * change) + C::integrator_output * state.integrator;
    state.filter += C::filter * change;
    state.integrator += C::integrator_input * error;
    const Number command = rest + advance_oscillators<C>(state, error);
    return clamp(command, -C::command_limit, C::command_limit);
}

// Product of a coefficient and a Q1.31 value (or a difference of two), 64 bits wide, rounded to nearest, ties
// upwards.
constexpr std::int64_t multiply(coefficients::Scaled c, std::int64_t value) {
    return (c.mantissa * value + (std::int64_t{1} << (c.shift - 1))) >> c.shift;
}

constexpr std::int32_t saturate(std::int64_t value) {
    return static_cast<std::int32_t>(clamp<std::int64_t>(value, INT32_MIN, INT32_MAX));
}

// Unrolled by the compiler's template engine, so that every shift is an immediate: a variable 64-bit shift
// costs several instructions on a 32-bit processor.
template <int K = 0>
[[gnu::always_inline]] inline std::int64_t oscillate(StateQ31& state, std::int32_t error) {
    if constexpr (K < harmonics) {
        using C = coefficients::Q31;
        const std::int64_t output =
            multiply(C::output_1[K], state.x1[K]) + multiply(C::output_2[K], state.x2[K]);
        state.x1[K] = saturate(state.x1[K] + multiply(C::eps[K], state.x2[K]) + multiply(C::input[K], error));
        state.x2[K] = saturate(state.x2[K] - multiply(C::eps[K], state.x1[K]));
        return output + oscillate<K + 1>(state, error);
    } else {
        return 0;
    }
}

}  // namespace detail

inline void step_f32(const InF32& in, StateF32& state, OutF32& out) {
    out.command = detail::step<coefficients::F32, float>(in.reference, in.position, state);
}

inline void step_f64(const InF64& in, StateF64& state, OutF64& out) {
    out.command = detail::step<coefficients::F64, double>(in.reference, in.position, state);
}

// The difference of the angles is taken before it is scaled to the error's range and saturated: two angles
// far from zero may be close to each other.
inline void step_q31(const InQ31& in, StateQ31& state, OutQ31& out) {
    using C = coefficients::Q31;
    const std::int64_t difference = std::int64_t{in.reference} - in.position;
    const std::int32_t error = detail::saturate(difference << C::angle_shift);
    const std::int64_t change = std::int64_t{error} - state.filter;
    const std::int64_t command = detail::multiply(C::proportional, error) +
                                 detail::multiply(C::derivative, change) +
                                 detail::multiply(C::integrator_output, state.integrator);

    state.filter = detail::saturate(state.filter + detail::multiply(C::filter, change));
    state.integrator = detail::saturate(state.integrator + detail::multiply(C::integrator_input, error));
    out.command = detail::saturate(command + detail::oscillate(state, error));
}

// The application's own names: float32.
using In = InF32;
using State = StateF32;
using Out = OutF32;

inline void step(const In& in, State& state, Out& out) {
    step_f32(in, state, out);
}

}  // namespace servo
