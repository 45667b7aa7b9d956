// SPDX-License-Identifier: Apache-2.0
//
// Steps that lie on one another: each computes for longer than it takes until the next one preempts it, and
// has more on the stack than what the executive does around it.
#pragma once

#include <cstdint>

struct nested {
    struct In {
        std::uint32_t seed;
    };
    struct State {
        std::uint32_t value = 1;
    };
    struct Out {
        std::uint32_t value;
    };
    static void step(const In& in, State& state, Out& out) noexcept {
        volatile std::uint32_t kept[128];
        std::uint32_t x = state.value ^ in.seed;
        for (std::uint32_t i = 0; i < 20000; ++i) {
            x = x * 1664525U + 1013904223U;
            kept[x >> 25U] = x;
        }
        state.value = x ^ kept[x & 127U];
        out.value = state.value;
    }
};
