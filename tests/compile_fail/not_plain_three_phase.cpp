// SPDX-License-Identifier: Apache-2.0
// expect: must be trivially copyable: no virtual functions
#include <vector>

#include "consort/spm/step.hpp"

struct In {
    float reference;
};
struct State {
    float integral;
#ifndef MENDED
    std::vector<float> history;
#endif
};
struct Out {
    float torque;
};
void step(const In& in, State& state, Out& out) noexcept;

void test(const consort::spm::Partition& parts) {
    consort::spm::ThreePhase<&step>::run(parts);
}
