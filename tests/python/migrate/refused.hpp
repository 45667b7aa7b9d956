// SPDX-License-Identifier: Apache-2.0
// Steps that have no bound, or do what no step may; and some that look so and are taken.
#pragma once

#include <cmath>
#include <cstdint>

#include "consort/migrate/safepoint.hpp"

namespace refused {

struct In {
    std::uint32_t number;
};
struct State {
    std::uint32_t jobs;
};
struct Out {
    std::uint32_t value;
};

[[gnu::noinline]] inline std::uint32_t twice(std::uint32_t n) {
    consort::safepoint();
    return n < 2 ? n : twice(n - 1) + twice(n - 2);
}
inline void recursion(const In& in, State&, Out& out) {
    out.value = twice(in.number);
}

[[gnu::noinline]] inline std::uint32_t stops(std::uint32_t n) {
    consort::safepoint();
    return n + 1;
}
[[gnu::noinline]] inline std::uint32_t goes(std::uint32_t n) {
    return n * 3;
}
inline std::uint32_t (*volatile chosen[2])(std::uint32_t) = {stops, goes};
inline void indirect(const In& in, State&, Out& out) {
    out.value = chosen[in.number & 1U](in.number);
}

[[gnu::noinline]] inline std::uint32_t adds(std::uint32_t n) {
    return n + 7;
}
inline std::uint32_t (*volatile harmless[2])(std::uint32_t) = {adds, goes};
inline void indirect_below(const In& in, State&, Out& out) {
    out.value = harmless[in.number & 1U](in.number);
    consort::safepoint();
    out.value += harmless[~in.number & 1U](in.number);
}

inline void growth(const In& in, State&, Out& out) {
#if defined(__wasm__)
    out.value = static_cast<std::uint32_t>(__builtin_wasm_memory_grow(0, in.number));
#endif
    consort::safepoint();
}

[[gnu::noinline]] inline std::uint32_t last(std::uint32_t n) {
    auto* array = static_cast<volatile std::uint8_t*>(__builtin_alloca(n));
    array[n - 1] = 3;
    consort::safepoint();
    return array[n - 1];
}
inline void variable(const In& in, State&, Out& out) {
    out.value = last(in.number + 1);
}

inline void library(const In& in, State&, Out& out) {
    consort::safepoint();
    out.value = static_cast<std::uint32_t>(std::sin(static_cast<double>(in.number)) * 100);
}

inline void nowhere(const In& in, State&, Out& out) {
    out.value = in.number;
}

// Three functions stand above a safepoint, each with variables that live across it.
[[gnu::noinline]] inline std::uint32_t third(std::uint32_t n, float weight) {
    std::uint32_t sum = n;
    for (std::uint32_t i = 0; i < 3; ++i) {
        consort::safepoint();
        sum += static_cast<std::uint32_t>(weight * static_cast<float>(sum % 97)) + i;
    }
    return sum;
}
[[gnu::noinline]] inline std::uint32_t second(std::uint32_t n, double scale) {
    const std::uint32_t before = n * 5 + 1;
    const std::uint32_t found = third(n, static_cast<float>(scale));
    consort::safepoint();
    return found * before + third(found % 11, 0.5F) + static_cast<std::uint32_t>(scale * 10);
}
inline void deep(const In& in, State& state, Out& out) {
    std::uint32_t total = 0;
    for (std::uint32_t i = 0; i < 4; ++i) {
        total += second(in.number + i, 0.25 * i) + third(i, 1.5F);
    }
    out.value = total + state.jobs++;
}

// Writes outside of its memory where the input says so.
inline void outside(const In& in, State& state, Out& out) {
    consort::safepoint();
    auto* at = reinterpret_cast<volatile std::uint32_t*>(static_cast<std::uintptr_t>(in.number));
    if (in.number != 0) {
        *at = 1;
    }
    out.value = ++state.jobs;
}

}  // namespace refused
