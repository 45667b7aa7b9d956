// SPDX-License-Identifier: Apache-2.0
//
// The jobs of `consort bench board`: one that computes for long, and a more urgent one that preempts it. Each
// reads the core's counter first. Both compute in floating point, so that a preemption has its context to
// keep.
#pragma once

#include <cstdint>

#if !__STDC_HOSTED__
#include "consort/bare/this_core.hpp"
#endif

namespace bench::board {

struct In {};
struct State {
    float value = 1.0F;
};
struct Out {
    std::uint32_t counter;  // of the core, its lower half; 0 on a processor that is not a board's
    float value;
};

// The core's counter in as few instructions as there are.
template <class Core>
std::uint32_t counter() noexcept {
    if constexpr (requires { Core::counter(); }) {
        return Core::counter();
    } else {
        return static_cast<std::uint32_t>(Core::now());
    }
}

template <int rounds>
void compute(State& state, Out& out) noexcept {
#if __STDC_HOSTED__
    out.counter = 0;
#else
    out.counter = counter<consort::bare::ThisPort>();
    // Nothing of what follows comes before it.
    asm volatile("" : "+m"(state), "+m"(out) : : "memory");
#endif
    for (int i = 0; i < rounds; ++i) {
        state.value = state.value * 0.5F + 1.0F;
    }
    out.value = state.value;
}

inline void urgent(const In& /*in*/, State& state, Out& out) noexcept {
    compute<4>(state, out);
}
inline void longer(const In& /*in*/, State& state, Out& out) noexcept {
    compute<4000>(state, out);
}
inline void last(const In& /*in*/, State& state, Out& out) noexcept {
    compute<1>(state, out);
}

}  // namespace bench::board
