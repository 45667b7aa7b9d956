// SPDX-License-Identifier: Apache-2.0
// expect: a step is a function void(const In&, State&, Out&)
// errors: 2
#include "consort/offload/job.hpp"

struct In {
    float reference;
};
struct State {
    float integral;
};
struct Out {
    float torque;
};

// A step must not change its input: the master may need it again.
#ifdef MENDED
void step(const In& in, State& state, Out& out);
#else
void step(In& in, State& state, Out& out);
#endif

void test(const In& in, State& state, Out& out) {
    consort::offload::Task<&step>::step(in, state, out);
}
