// SPDX-License-Identifier: Apache-2.0
//
// The four access patterns of spm-centric-os, Figure 5, small enough for a partition and without any address
// in them: good locality, more code than the MPC5777M's instruction cache, more data than its data cache,
// both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "../scratchpad/mix.hpp"
#include "consort/spm/step.hpp"

namespace patterns {

// The same number of calls, to `functions` functions.
template <std::uint32_t functions, std::size_t words>
struct Pattern {
    using Constants = synthetic::Permutation<words>;
    struct In {
        std::uint32_t seed;
    };
    using State = consort::spm::Empty;
    struct Out {
        std::uint32_t value;
    };
    static constexpr std::uint32_t calls = 4096;

    static Constants constants() { return synthetic::permutation<words>(); }
    static void step(const Constants& c, const In& in, State& /*state*/, Out& out) noexcept {
        std::uint32_t x = in.seed;
        std::uint32_t at = in.seed % words;
        const auto turn = [&]<std::uint32_t... n>(std::integer_sequence<std::uint32_t, n...>) {
            ((at = c.next[at], x = synthetic::mix<n % functions>(x ^ at)), ...);
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
