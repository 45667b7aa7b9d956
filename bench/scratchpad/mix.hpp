// SPDX-License-Identifier: Apache-2.0
//
// The parts of the access patterns of spm-centric-os, Figure 5, for any memory: code that is fetched anew and
// data that lies far apart.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

namespace synthetic {

// Distinct code for each n, about a hundred instructions, none of it shared.
template <std::uint32_t n>
[[gnu::noinline]] std::uint32_t mix(std::uint32_t x) noexcept {
    const auto round = [&x]<std::size_t... i>(std::index_sequence<i...>) {
        ((x = (x ^ (x >> (1 + (n + i) % 13))) * (2654435761U + 2 * (n * 16 + static_cast<std::uint32_t>(i)))),
         ...);
    };
    round(std::make_index_sequence<16>{});
    return x;
}

template <std::size_t words>
struct Permutation {
    std::uint32_t next[words];
};

// One cycle through all words; far jumps, so that neither lines nor prefetching help.
template <std::size_t words>
Permutation<words> permutation() {
    static_assert((words & (words - 1)) == 0, "a power of two");
    Permutation<words> p{};
    // A full-period generator modulo a power of two visits each word once.
    for (std::size_t i = 0; i < words; ++i) {
        p.next[i] = static_cast<std::uint32_t>((i * 1664525U + 1013904223U) % words);
    }
    return p;
}

}  // namespace synthetic
