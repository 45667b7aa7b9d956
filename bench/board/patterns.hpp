// SPDX-License-Identifier: Apache-2.0
//
// The four access patterns of spm-centric-os, Figure 5, small enough for a partition and without any address
// in them: good locality, more code than the MPC5777M's instruction cache, more data than its data cache,
// both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "consort/spm/step.hpp"

namespace patterns {

// Distinct code for each n, a quarter of a KiB or more, none of it shared.
template <std::uint32_t n>
[[gnu::noinline]] std::uint32_t mix(std::uint32_t x) noexcept {
    const auto round = [&x]<std::size_t... i>(std::index_sequence<i...>) {
        ((x = (x ^ (x >> (1 + (n + i) % 13))) * (2654435761U + 2 * (n * 16 + static_cast<std::uint32_t>(i)))),
         ...);
    };
    round(std::make_index_sequence<16>{});
    return x;
}

// The same number of calls, to `functions` functions.
template <std::uint32_t functions, std::size_t words>
struct Pattern {
    // One cycle through all words; far jumps, so that neither lines nor prefetching help.
    struct Constants {
        std::uint32_t next[words];
    };
    struct In {
        std::uint32_t seed;
    };
    using State = consort::spm::Empty;
    struct Out {
        std::uint32_t value;
    };
    static constexpr std::uint32_t calls = 4096;

    static Constants constants() {
        static_assert((words & (words - 1)) == 0, "a power of two");
        Constants c{};
        for (std::size_t i = 0; i < words; ++i) {
            c.next[i] = static_cast<std::uint32_t>((i * 1664525U + 1013904223U) % words);
        }
        return c;
    }
    static void step(const Constants& c, const In& in, State& /*state*/, Out& out) noexcept {
        std::uint32_t x = in.seed;
        std::uint32_t at = in.seed % words;
        const auto turn = [&]<std::uint32_t... n>(std::integer_sequence<std::uint32_t, n...>) {
            ((at = c.next[at], x = mix<n % functions>(x ^ at)), ...);
        };
        constexpr std::uint32_t in_a_row = 64;
        for (std::uint32_t i = 0; i < calls; i += in_a_row) {
            turn(std::make_integer_sequence<std::uint32_t, in_a_row>{});
        }
        out.value = x;
    }
};

using Locality = Pattern<4, 512>;
using Instructions = Pattern<64, 512>;
using Data = Pattern<4, 4096>;
using Both = Pattern<64, 4096>;

}  // namespace patterns
