// SPDX-License-Identifier: Apache-2.0
//
// A state of 4 MiB, of which each job touches a few pages: four times what the cache of the tests has.
#pragma once

#include <array>
#include <cstdint>

namespace paged {

struct In {
    std::uint32_t key;
};
struct State {
    std::array<std::uint32_t, (4U << 20U) / 4U> counts;
};
struct Out {
    std::uint32_t sum;
};

// Two places far from each other are counted up; their sum goes out.
inline void step(const In& in, State& state, Out& out) noexcept {
    std::uint32_t& one = state.counts[in.key % state.counts.size()];
    std::uint32_t& other = state.counts[(in.key * 2654435761U) % state.counts.size()];
    one += in.key + 1;
    other += 1;
    out.sum = one + other;
}

}  // namespace paged
