// SPDX-License-Identifier: Apache-2.0
//
// Steps whose outputs follow from their state, and so from how often they were computed: a job that is lost
// or computed twice, or a state that is left behind, shows in each output from then on.
#pragma once

#include <cstdint>

namespace moves {

struct In {
    std::uint64_t seen;
};
struct State {
    std::uint64_t total = 1;
    std::uint32_t jobs = 0;
    std::uint32_t words[40] = {};
};
struct Out {
    std::uint64_t value;
};

inline void step(const In& /*in*/, State& state, Out& out) {
    state.total = state.total * 6364136223846793005ULL + state.jobs;
    state.words[state.jobs % 40] ^= static_cast<std::uint32_t>(state.total >> 32);
    ++state.jobs;
    out.value = (state.total >> 32) ^ state.words[(state.jobs * 7) % 40];
}

// Gives on what it read, so that the record of its outputs shows the channel.
inline void relay(const In& in, State& state, Out& out) {
    ++state.jobs;
    out.value = in.seen;
}

// Asks for the second mode from its tenth job on, for the first from its twentieth on, and so on.
struct Asking {
    std::uint32_t wanted;
};
struct NoInput {};
inline void pilot(const NoInput& /*in*/, State& state, Asking& out) {
    ++state.jobs;
    out.wanted = state.jobs / 10 % 2 + 1;
}

}  // namespace moves
