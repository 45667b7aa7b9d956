// SPDX-License-Identifier: Apache-2.0
//
// The step of the executive's benchmark: a filter of 64 coefficients over the samples of the last jobs, a
// fraction of a microsecond. The executive and the hand-written loop call the same one.
#pragma once

#include <cstddef>
#include <cstdint>

namespace filter {

struct In {
    float sample;
};
struct State {
    float samples[64];
    std::uint32_t next;
};
struct Out {
    float value;
};

inline void step(const In& in, State& state, Out& out) noexcept {
    constexpr std::uint32_t length = 64;
    state.samples[state.next] = in.sample;
    state.next = (state.next + 1) % length;
    float sum = 0;
    for (std::uint32_t i = 0; i < length; ++i) {
        sum += static_cast<float>(i + 1) * state.samples[(state.next + i) % length];
    }
    out.value = sum / static_cast<float>(length);
}

}  // namespace filter
