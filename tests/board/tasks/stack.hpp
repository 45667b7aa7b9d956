// SPDX-License-Identifier: Apache-2.0
//
// Steps that take much of the stack, or as much as nobody knows.
#pragma once

#include <cstdint>

struct Numbers {
    struct In {
        std::uint32_t seed;
    };
    struct State {
        std::uint32_t value = 1;
    };
    struct Out {
        std::uint32_t value;
    };
};

struct large : Numbers {
    static void step(const In& in, State& state, Out& out) noexcept {
        volatile std::uint32_t kept[20000];
        kept[state.value % 20000] = in.seed;
        state.value += kept[in.seed % 20000];
        out.value = state.value;
    }
};

struct recursive : Numbers {
    [[gnu::noinline]] static std::uint32_t deeper(std::uint32_t depth) noexcept {
        volatile std::uint32_t kept[8] = {depth};
        return depth == 0 ? 1 : deeper(depth - 1) + kept[depth % 8];
    }
    // Each job goes deeper by 8 calls.
    static void step(const In& /*in*/, State& state, Out& out) noexcept {
        state.value += 8;
        out.value = deeper(state.value);
    }
};

struct pointed : Numbers {
    static std::uint32_t one(std::uint32_t x) noexcept { return x + 1; }
    static std::uint32_t two(std::uint32_t x) noexcept { return 2 * x; }
    static void step(const In& in, State& state, Out& out) noexcept {
        using Function = std::uint32_t (*)(std::uint32_t) noexcept;
        static constexpr Function functions[] = {one, two};
        const Function* volatile table = functions;
        out.value = table[in.seed % 2](state.value);
    }
};

struct counted : Numbers {
    // As long as the value says, which the compiler does not know.
    static void step(const In& in, State& state, Out& out) noexcept {
        auto* kept = static_cast<volatile std::uint32_t*>(__builtin_alloca(4 * (1 + state.value % 16)));
        kept[0] = in.seed;
        state.value += 1;
        out.value = kept[0];
    }
};
