// SPDX-License-Identifier: Apache-2.0
//
// A stand-in on a bare core: it executes instructions for as long as it is asked to. How long those take is
// measured once, by the core's own clock; what preempts a job later does not count. A process in a board's
// time declares it instead.
#pragma once

#include <cstdint>

#include "consort/app/stand_in.hpp"
#include "consort/bare/program.hpp"

namespace consort::bare {

using app::StandInIn;
using app::StandInOut;
using app::StandInState;

template <class P>
concept DeclaresTime = requires {
    P::spend(Ticks{});
};

class Spending {
  public:
    // Before the first job, with interrupts disabled.
    template <class P = ThisPort>
    [[gnu::cold]] static void measure() noexcept {
        if constexpr (DeclaresTime<P>) {
            return;
        }
        for (loops_ = most_loops;; loops_ /= 2) {
            const Ticks begin = ThisPort::now();
            for (std::uint32_t i = 0; i < measured; ++i) {
                spend(loops_);
            }
            // A tick more than was seen: better a little early than above the WCET.
            const Ticks ticks = ThisPort::now() - begin + 1;
            const auto ns =
                static_cast<std::uint32_t>(ticks) * (1'000'000'000U / ThisPort::ticks_per_second());
            block_ns_ = ns / measured + 1;
            if (block_ns_ <= most_ns) {
                return;
            }
        }
    }

    template <class P = ThisPort>
    static void execute_for(std::uint64_t ns) noexcept {
        if constexpr (DeclaresTime<P>) {
            P::spend(ns);
            return;
        }
        for (; ns >= block_ns_; ns -= block_ns_) {
            spend(loops_);
        }
        // No 64-bit division: small processors have none.
        const std::uint32_t rest = static_cast<std::uint32_t>(ns) * loops_ / block_ns_;
        spend(rest > own_loops ? rest - own_loops : 0);
    }

  private:
    static constexpr std::uint32_t most_loops = 4096;
    static constexpr std::uint32_t measured = 4;
    // Of a block, so that its product with `most_loops` fits into 32 bits.
    static constexpr std::uint32_t most_ns = (1U << 20U) - 1;
    // What a job executes besides, in loops.
    static constexpr std::uint32_t own_loops = 64;

    [[gnu::noinline]] static void spend(std::uint32_t loops) noexcept {
        while (loops != 0) {
            --loops;
            asm volatile("" : "+r"(loops));
        }
    }

    static inline std::uint32_t loops_ = most_loops;
    static inline std::uint32_t block_ns_ = most_ns;
};

inline void stand_in_step(const StandInIn& in, StandInState& state, StandInOut& out) noexcept {
    Spending::execute_for(in.execution_ns);
    ++state.jobs;
    out.job = in.job;
}

}  // namespace consort::bare
