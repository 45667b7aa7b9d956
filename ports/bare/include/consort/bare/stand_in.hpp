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

// A core that polls looks at its clock, and for answers, only where it is asked to: here, in a stand-in, so
// that what is more urgent preempts it. Of how many jobs it has looked for answers.
extern "C" std::uint32_t consort_preemption_point() noexcept;

class Spending {
  public:
    // Before the first job, with interrupts disabled. `turns`: whether it hands the processor to the
    // emulator's other cores after each block, and goes by the clock.
    template <class P = ThisPort>
    [[gnu::cold]] static void measure(bool turns) noexcept {
        turns_ = turns;
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
            const auto ns = static_cast<std::uint32_t>(ticks) * ns_per_tick();
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
        if (turns_) {
            execute_by_clock(ns);
            return;
        }
        std::uint32_t besides = between;
        for (; ns >= block_ns_; ns -= block_ns_) {
            if (besides >= loops_) {
                besides -= loops_;
                continue;
            }
            spend(loops_ - besides);
            besides = between + preemption_point();
        }
        const std::uint32_t rest = loops_of(static_cast<std::uint32_t>(ns));
        const std::uint32_t own = own_loops + besides - between;
        spend(rest > own ? rest - own : 0);
    }
    // In how many loops so much time passes, at most a block's. No 64-bit division: small processors have
    // none.
    [[nodiscard]] static std::uint32_t loops_of(std::uint32_t ns) noexcept { return ns * loops_ / block_ns_; }

  private:
    static constexpr std::uint32_t most_loops = 1024;
    static constexpr std::uint32_t measured = 16;
    // The length of a block, limited so that its product with `most_loops` fits into 32 bits.
    static constexpr std::uint32_t most_ns = (1U << 20U) - 1;
    // The additional execution for each block, where it polls and where it does not; and for a job: in loops.
    static constexpr std::uint32_t block_loops = 6;
    static constexpr std::uint32_t point_loops = 28;
    static constexpr std::uint32_t own_loops = 64;

    template <class Timer = CoreTimer>
    static constexpr bool polls = requires {
        requires Timer::polls;
    };
    static constexpr std::uint32_t between = polls<> ? point_loops : block_loops;
    template <class Timer = CoreTimer>
    static std::uint32_t preemption_point() noexcept {
        if constexpr (polls<Timer>) {
            return consort_preemption_point();
        } else {
            return 0;
        }
    }
    [[nodiscard]] static std::uint32_t ns_per_tick() noexcept {
        return static_cast<std::uint32_t>(1'000'000'000U / ThisPort::ticks_per_second());
    }

    // An emulator's cores take turns, and its clock goes on for all of them: what a job on its own processor
    // would execute meanwhile has passed when the others have had their turns. What preempts the job does
    // not count, as far as it is stand-ins. The end comes after no turn, and a quarter of a block early, so
    // that it is not late.
    [[gnu::noinline]] static void execute_by_clock(std::uint64_t ns) noexcept {
        const auto wanted = static_cast<std::uint32_t>(ns);
        const Ticks begin = ThisPort::now();
        const std::uint32_t before = spent_;
        std::uint32_t passed = 0;
        // The longest round of turns so far, as far as others may wait for the stretch without one.
        std::uint32_t round = block_ns_;
        const std::uint32_t longest = 3 * block_ns_;
        while (passed + round < wanted) {
            spend(loops_ / 2);
            ThisPort::relax();
            (void)preemption_point();
            const std::uint32_t now = own(begin, before);
            round = now - passed > round ? now - passed : round;
            round = round > longest ? longest : round;
            passed = now;
        }
        while (passed + block_ns_ / 4 < wanted) {
            spend(loops_ / 16);
            passed = own(begin, before);
        }
        // With what has preempted it.
        spent_ = before + since(begin);
    }
    // The time that has passed, without the time that other stand-ins have spent since. An interrupt may run
    // one in between.
    [[nodiscard]] static std::uint32_t own(Ticks begin, std::uint32_t before) noexcept {
        for (;;) {
            const std::uint32_t others = spent_;
            const std::uint32_t passed = since(begin);
            if (others == spent_) {
                return passed - (others - before);
            }
        }
    }
    // In nanoseconds, which are few enough for 32 bits.
    [[nodiscard]] static std::uint32_t since(Ticks begin) noexcept {
        return static_cast<std::uint32_t>(ThisPort::now() - begin) * ns_per_tick();
    }
    [[gnu::noinline]] static void spend(std::uint32_t loops) noexcept {
        while (loops != 0) {
            --loops;
            asm volatile("" : "+r"(loops));
        }
    }

    static inline std::uint32_t loops_ = most_loops;
    static inline std::uint32_t block_ns_ = most_ns;
    static inline bool turns_ = false;
    // By stand-ins of this core until now, by the clock [ns].
    static inline volatile std::uint32_t spent_ = 0;
};

inline void stand_in_step(const StandInIn& in, StandInState& state, StandInOut& out) noexcept {
    Spending::execute_for(in.execution_ns);
    ++state.jobs;
    out.job = in.job;
}

}  // namespace consort::bare
