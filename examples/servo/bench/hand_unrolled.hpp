// SPDX-License-Identifier: Apache-2.0
// The float32 step as one would unroll it by hand for 20 harmonics, in two ways: plain statements, and
// four-wide vectors. Both do the operations of servo::step_f32 in its order, so that outputs agree to the
// bit; step_bench.cpp checks it.
#pragma once

#include <cstring>

#include "../step.hpp"

namespace servo::bench {

static_assert(harmonics == 20, "unrolled for 20 harmonics");

using C = coefficients::F32;

inline void hand_unrolled_f32(const InF32& in, StateF32& s, OutF32& out) {
    const float e = in.reference - in.position;
    const float d = e - s.filter;
    const float pid = (C::proportional * e + C::derivative * d) + C::integrator_output * s.integrator;
#define TERM(K) (C::output_1[K] * s.x1[K] + C::output_2[K] * s.x2[K])
    const float lane0 = (((TERM(0) + TERM(4)) + TERM(8)) + TERM(12)) + TERM(16);
    const float lane1 = (((TERM(1) + TERM(5)) + TERM(9)) + TERM(13)) + TERM(17);
    const float lane2 = (((TERM(2) + TERM(6)) + TERM(10)) + TERM(14)) + TERM(18);
    const float lane3 = (((TERM(3) + TERM(7)) + TERM(11)) + TERM(15)) + TERM(19);
#undef TERM
    const float command = pid + ((lane0 + lane1) + (lane2 + lane3));
    s.filter += C::filter * d;
    s.integrator += C::integrator_input * e;
#define UPDATE(K)                                                \
    s.x1[K] = (s.x1[K] + C::eps[K] * s.x2[K]) + C::input[K] * e; \
    s.x2[K] = s.x2[K] - C::eps[K] * s.x1[K];
    UPDATE(0)
    UPDATE(1)
    UPDATE(2)
    UPDATE(3)
    UPDATE(4)
    UPDATE(5)
    UPDATE(6)
    UPDATE(7)
    UPDATE(8)
    UPDATE(9)
    UPDATE(10)
    UPDATE(11)
    UPDATE(12)
    UPDATE(13)
    UPDATE(14)
    UPDATE(15)
    UPDATE(16)
    UPDATE(17)
    UPDATE(18)
    UPDATE(19)
#undef UPDATE
    out.command = command < -C::command_limit ? -C::command_limit
                                              : (command > C::command_limit ? C::command_limit : command);
}

using Four = float __attribute__((vector_size(16)));

inline Four load(const float* from) {
    Four value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

inline void hand_vectorised_f32(const InF32& in, StateF32& s, OutF32& out) {
    const float e = in.reference - in.position;
    const float d = e - s.filter;
    const float pid = (C::proportional * e + C::derivative * d) + C::integrator_output * s.integrator;
    s.filter += C::filter * d;
    s.integrator += C::integrator_input * e;
    const Four error = {e, e, e, e};
    Four lanes = {};
#define GROUP(K)                                                          \
    {                                                                     \
        Four x1 = load(s.x1 + K);                                         \
        Four x2 = load(s.x2 + K);                                         \
        const Four eps = load(C::eps + K);                                \
        lanes += load(C::output_1 + K) * x1 + load(C::output_2 + K) * x2; \
        x1 = (x1 + eps * x2) + load(C::input + K) * error;                \
        x2 = x2 - eps * x1;                                               \
        std::memcpy(s.x1 + K, &x1, sizeof x1);                            \
        std::memcpy(s.x2 + K, &x2, sizeof x2);                            \
    }
    GROUP(0)
    GROUP(4)
    GROUP(8)
    GROUP(12)
    GROUP(16)
#undef GROUP
    const float command = pid + ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3]));
    out.command = command < -C::command_limit ? -C::command_limit
                                              : (command > C::command_limit ? C::command_limit : command);
}

}  // namespace servo::bench
