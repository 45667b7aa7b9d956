// SPDX-License-Identifier: Apache-2.0
//
// A step whose state remembers every input: one that was lost, doubled or swapped shows in all later outputs.
#pragma once

#include <cstdint>

namespace digest {

struct In {
    std::uint32_t row;
    std::int32_t value;
};

struct State {
    std::uint64_t hash;
    std::uint32_t count;
    std::uint32_t seen;  // bit k: the input k rows before `last` was seen
    std::uint32_t last;
    float level;
};

struct Out {
    std::uint64_t hash;
    std::uint32_t count;
    std::uint32_t seen;
    std::uint32_t row;
    float level;
};

inline void step(const In& in, State& state, Out& out) {
    const std::uint64_t input = std::uint64_t{in.row} << 32U | static_cast<std::uint32_t>(in.value);
    state.hash = (state.hash ^ input) * 0x100000001b3U + 1;
    const std::uint32_t rows = in.row - state.last;
    state.seen = (state.count != 0 && rows < 32 ? state.seen << rows : 0U) | 1U;
    state.last = in.row;
    state.count += 1;
    state.level += 0.25F * (static_cast<float>(in.value) - state.level);
    out = {state.hash, state.count, state.seen, in.row, state.level};
}

// The same, so that two unlike tasks are compiled into one program.
inline void slow_step(const In& in, State& state, Out& out) noexcept {
    step(in, state, out);
}

}  // namespace digest
