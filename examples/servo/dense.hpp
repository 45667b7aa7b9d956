// SPDX-License-Identifier: Apache-2.0
// The same controller as a dense 41 x 41 product, the form that a code generator gives that knows nothing
// of the structure: for comparison only. Its results differ from step_f32 in rounding.
#pragma once

#include "step.hpp"

namespace servo {

inline constexpr int dense_states = 2 * harmonics + 1;

struct DenseStateF32 {
    float x[dense_states];
    float filter;
};

struct DenseModel {
    float a[dense_states][dense_states];
    float b[dense_states];
    float c[dense_states];
};

constexpr DenseModel make_dense_model() {
    using C = coefficients::F64;
    DenseModel m{};
    m.a[0][0] = 1.0F;
    m.b[0] = static_cast<float>(C::integrator_input);
    m.c[0] = static_cast<float>(C::integrator_output);
    for (int k = 0; k < harmonics; ++k) {
        const int i = 2 * k + 1;
        const double eps = C::eps[k];
        m.a[i][i] = 1.0F;
        m.a[i][i + 1] = static_cast<float>(eps);
        m.a[i + 1][i] = static_cast<float>(-eps);
        m.a[i + 1][i + 1] = static_cast<float>(1.0 - eps * eps);
        m.b[i] = static_cast<float>(C::input[k]);
        m.b[i + 1] = static_cast<float>(-eps * C::input[k]);
        m.c[i] = static_cast<float>(C::output_1[k]);
        m.c[i + 1] = static_cast<float>(C::output_2[k]);
    }
    return m;
}

inline constexpr DenseModel dense_model = make_dense_model();

inline void dense_step_f32(const InF32& in, DenseStateF32& state, OutF32& out) {
    using C = coefficients::F32;
    const DenseModel& m = dense_model;
    const float error = in.reference - in.position;
    const float change = error - state.filter;
    float command = C::proportional * error + C::derivative * change;
    float next[dense_states];
    for (int i = 0; i < dense_states; ++i) {
        float sum = m.b[i] * error;
        for (int j = 0; j < dense_states; ++j) sum += m.a[i][j] * state.x[j];
        next[i] = sum;
        command += m.c[i] * state.x[i];
    }
    for (int i = 0; i < dense_states; ++i) state.x[i] = next[i];
    state.filter += C::filter * change;
    out.command = detail::clamp(command, -C::command_limit, C::command_limit);
}

}  // namespace servo
