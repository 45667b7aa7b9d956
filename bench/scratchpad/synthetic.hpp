// SPDX-License-Identifier: Apache-2.0
//
// The four access patterns of spm-centric-os, Figure 5: good locality, misses of instructions, of data, of
// both.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "consort/spm/step.hpp"
#include "mix.hpp"

namespace synthetic {

inline constexpr std::size_t functions = 1024;

template <std::size_t... n>
constexpr std::array<std::uint32_t (*)(std::uint32_t) noexcept, sizeof...(n)> table_of(
    std::index_sequence<n...>) {
    return {&mix<n>...};
}
inline constexpr auto mixes = table_of(std::make_index_sequence<functions>{});

struct In {
    std::uint32_t seed;
};
struct Out {
    std::uint32_t value;
};

template <bool many_functions, std::size_t words>
struct Pattern {
    using Constants = Permutation<words>;
    using In = synthetic::In;
    using State = consort::spm::Empty;
    using Out = synthetic::Out;
    static constexpr std::size_t turns = 4096;
    static Constants constants() { return permutation<words>(); }
    static void step(const Constants& c, const In& in, State& /*state*/, Out& out) noexcept {
        std::uint32_t x = in.seed;
        std::uint32_t at = in.seed % words;
        for (std::size_t i = 0; i < turns; ++i) {
            at = c.next[at];
            x = mixes[many_functions ? i % functions : i % 4](x ^ at);
        }
        out.value = x;
    }
};

struct Locality : Pattern<false, 512> {
    static constexpr const char* name = "good locality";
};
struct Instructions : Pattern<true, 512> {
    static constexpr const char* name = "instruction misses";
};
struct Data : Pattern<false, 32768> {
    static constexpr const char* name = "data misses";
};
struct Both : Pattern<true, 32768> {
    static constexpr const char* name = "instruction and data misses";
};

}  // namespace synthetic
