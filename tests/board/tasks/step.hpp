// SPDX-License-Identifier: Apache-2.0
//
// Steps that compute for a known number of rounds, with integers and floating point, so that a register that
// a preemption does not restore changes their outputs.
#pragma once

#include <cstdint>

template <std::uint32_t rounds>
struct Mixer {
    struct In {
        std::uint32_t seed;
    };
    struct State {
        std::uint32_t value = 1;
        float sum = 0;
        std::uint32_t jobs = 0;
    };
    struct Out {
        std::uint32_t value;
        float sum;
        std::uint32_t jobs;
    };
    static void step(const In& in, State& state, Out& out) noexcept {
        float sum = state.sum;
        std::uint32_t x = state.value ^ in.seed;
        for (std::uint32_t i = 0; i < rounds; ++i) {
            x = x * 1664525U + 1013904223U;
            sum = sum * 0.5F + static_cast<float>(x >> 16U);
        }
        state = {x, sum, state.jobs + 1};
        out = {state.value, state.sum, state.jobs};
    }
};

struct fast : Mixer<2000> {};
struct middle : Mixer<10000> {};
struct slow : Mixer<60000> {};
