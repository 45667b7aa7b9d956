// SPDX-License-Identifier: Apache-2.0
//
// A source and what reads it by channels of each kind.
#pragma once

#include <cstdint>

#include "consort/task/values.hpp"

namespace flow {

struct Sample {
    float value;
    std::uint32_t number;
};

struct source {
    struct In {
        std::uint32_t seed;
    };
    struct State {
        std::uint32_t value = 1;
        std::uint32_t jobs = 0;
    };
    struct Out {
        Sample sample;
        Sample kept;
        Sample mail;
        std::uint32_t stream;
    };
    static void step(const In& in, State& state, Out& out) noexcept {
        state.value = (state.value ^ in.seed) * 1664525U + 1013904223U;
        const Sample made{static_cast<float>(state.value >> 8U) * 0.5F, ++state.jobs};
        out = {made, made, made, state.jobs};
    }
};

// Each job's blocks of a snapshot, a double buffer and a mailbox.
struct reader {
    struct In {
        Sample newest;
        Sample kept;
        Sample mail;
    };
    struct State {
        float sum = 0;
    };
    struct Out {
        float sum;
        std::uint32_t newest;
        std::uint32_t kept;
        std::uint32_t mail;
    };
    static void step(const In& in, State& state, Out& out) noexcept {
        state.sum = 0.5F * state.sum + in.newest.value;
        out = {state.sum, in.newest.number, in.kept.number, in.mail.number};
    }
};

struct collector {
    struct In {
        consort::Batch<std::uint32_t, 8> taken;
    };
    struct State {
        std::uint32_t sum = 0;
    };
    struct Out {
        std::uint32_t count;
        std::uint32_t sum;
    };
    static void step(const In& in, State& state, Out& out) noexcept {
        for (std::uint32_t i = 0; i < in.taken.count; ++i) {
            state.sum += in.taken.items[i];
        }
        out = {in.taken.count, state.sum};
    }
};

}  // namespace flow
