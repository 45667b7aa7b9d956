// SPDX-License-Identifier: Apache-2.0
//
// A step whose outputs depend on everything that it ever read.
#pragma once

#include <cstdint>

namespace let {

struct In {
    std::uint32_t a;
    std::uint32_t b;
};
struct State {
    std::uint64_t sum;
    std::uint64_t jobs;
};
struct Out {
    std::uint32_t value;
};

inline void step(const In& in, State& state, Out& out) noexcept {
    state.sum = state.sum * 6364136223846793005U + in.a * std::uint64_t{31} + in.b + state.jobs;
    ++state.jobs;
    out.value = static_cast<std::uint32_t>(state.sum >> 32U);
}

}  // namespace let
