// The step of the task `controller`: plain data in, plain data out. It must not block or allocate.
#pragma once

namespace controller {

struct In {
    float reference;
    float position;
};
// What it keeps from job to job. A fresh state is State{}.
struct State {
    float integral;
};
struct Out {
    float command;
};

inline void step(const In& in, State& state, Out& out) noexcept {
    const float error = in.reference - in.position;
    state.integral += 0.01F * error;
    out.command = 4.0F * error + 2.0F * state.integral;
}

}  // namespace controller
