// SPDX-License-Identifier: Apache-2.0
// The step's promises about its types, and object code of every arithmetic; compiled only, for hosted and
// bare targets.
#include "../../examples/servo/dense.hpp"
#include "../../examples/servo/step.hpp"

static_assert(__is_trivially_copyable(servo::In) && __is_standard_layout(servo::In) &&
              __is_aggregate(servo::In));
static_assert(__is_trivially_copyable(servo::Out) && __is_standard_layout(servo::Out) &&
              __is_aggregate(servo::Out));
static_assert(__is_trivially_copyable(servo::StateF32) && __is_standard_layout(servo::StateF32));
static_assert(__is_trivially_copyable(servo::StateF64) && __is_standard_layout(servo::StateF64));
static_assert(__is_trivially_copyable(servo::StateQ31) && __is_standard_layout(servo::StateQ31));
static_assert(sizeof(servo::In) == 8 && sizeof(servo::Out) == 4);
static_assert(sizeof(servo::State) == (2 * servo::harmonics + 2) * 4 &&
              sizeof(servo::StateQ31) == sizeof(servo::State));

void run_f32(const servo::InF32& i, servo::StateF32& s, servo::OutF32& o) {
    servo::step_f32(i, s, o);
}
void run_f64(const servo::InF64& i, servo::StateF64& s, servo::OutF64& o) {
    servo::step_f64(i, s, o);
}
void run_q31(const servo::InQ31& i, servo::StateQ31& s, servo::OutQ31& o) {
    servo::step_q31(i, s, o);
}
void run_default(const servo::In& i, servo::State& s, servo::Out& o) {
    servo::step(i, s, o);
}
void run_dense(const servo::InF32& i, servo::DenseStateF32& s, servo::OutF32& o) {
    servo::dense_step_f32(i, s, o);
}
void reset(servo::State& s) {
    s = servo::State{};
}
