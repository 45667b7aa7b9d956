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

// A core that polls looks at its clock only where it is asked to: here, in a stand-in, so that what is more
// urgent preempts it.
extern "C" void consort_preemption_point() noexcept;

class Spending {
  public:
    // Before the first job, with interrupts disabled. `turns`: whether it hands the processor to the
    // emulator's other cores after each block, of which so many, `polling`, take a turn also when idle.
    template <class P = ThisPort>
    [[gnu::cold]] static void measure(bool turns, std::uint32_t polling) noexcept {
        turns_ = turns;
        between_ = (polls<> ? point_loops : block_loops) + (turns ? (polling + 1) * turn_loops : 0);
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
            spend(loops_ - between_);
            // The core that stops the board for processes beside it is not held up for long.
            if (turns_) {
                ThisPort::relax();
            }
            preemption_point();
        }
        // No 64-bit division: small processors have none.
        const std::uint32_t rest = static_cast<std::uint32_t>(ns) * loops_ / block_ns_;
        spend(rest > own_loops ? rest - own_loops : 0);
    }

  private:
    static constexpr std::uint32_t most_loops = 1024;
    static constexpr std::uint32_t measured = 16;
    // Of a block, so that its product with `most_loops` fits into 32 bits.
    static constexpr std::uint32_t most_ns = (1U << 20U) - 1;
    // What is executed besides for each block; where it polls; by a core in its turn; and for a job: in
    // loops.
    static constexpr std::uint32_t block_loops = 6;
    static constexpr std::uint32_t point_loops = 24;
    static constexpr std::uint32_t turn_loops = 18;
    static constexpr std::uint32_t own_loops = 64;

    template <class Timer = CoreTimer>
    static constexpr bool polls = requires {
        requires Timer::polls;
    };
    template <class Timer = CoreTimer>
    static void preemption_point() noexcept {
        if constexpr (polls<Timer>) {
            consort_preemption_point();
        }
    }
    [[gnu::noinline]] static void spend(std::uint32_t loops) noexcept {
        while (loops != 0) {
            --loops;
            asm volatile("" : "+r"(loops));
        }
    }

    static inline std::uint32_t loops_ = most_loops;
    static inline std::uint32_t block_ns_ = most_ns;
    static inline std::uint32_t between_ = 0;
    static inline bool turns_ = false;
};

inline void stand_in_step(const StandInIn& in, StandInState& state, StandInOut& out) noexcept {
    Spending::execute_for(in.execution_ns);
    ++state.jobs;
    out.job = in.job;
}

}  // namespace consort::bare
