// SPDX-License-Identifier: Apache-2.0
//
// The core by which a board stays in one time with processes beside it. Its timer interrupts at the horizon:
// the instant before which no process does anything. There it stops the board (a semihosting write into a
// pipe that has no room for all of it, which the emulator waits in) until all processes that have something
// to do at that instant have done it, and gets the next horizon (python/consort/board/control_block.py).
// What the core's executive arms lies on the same timer.
//
// A core of an image without such a run has none of this.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "consort/bare/polling.hpp"
#include "consort/bare/program.hpp"
#include "consort/bare/semihosting.hpp"

namespace consort::bare {

// Stands for the core's timer in its executive.
template <class Timer = CoreTimer, class Port = ThisPort>
class SynchronizedTimer {
  public:
    // Interrupts disabled; before anything of the run is waited for. False: nobody is there to be in one time
    // with.
    [[nodiscard, gnu::cold]] static bool begin() noexcept {
        ns_per_tick = 1'000'000'000U / Port::ticks_per_second();
        stops = Semihosting::open("stop", 4);
        horizons = Semihosting::open("horizon", 0);
        if (stops == ~Semihosting::Word{0} || horizons == ~Semihosting::Word{0}) {
            return false;
        }
        Timer::start();
        synchronize();
        arm_next();
        return true;
    }
    // The handler of the timer's interrupt. `release`: that of the executive; it arms the next instant, or
    // disarms.
    template <class Release>
    static void interrupt(const Release& release) noexcept {
        if (!is_due<Timer>()) {
            return;
        }
        if (Port::now() >= horizon) {
            synchronize();
        }
        if (Port::now() >= armed) {
            release();
        } else {
            arm_next();
        }
    }

    // --- what the executive asks (consort/bare/polling.hpp)
    static void start() noexcept {}
    static void arm(Ticks at) noexcept {
        armed = at;
        arm_next();
    }
    static void disarm() noexcept { arm(never_interrupts); }
    static void look() noexcept { Timer::look(); }
    static void enable() noexcept { Timer::enable(); }
    static void disable() noexcept { Timer::disable(); }
    static void request_dispatch() noexcept { Timer::request_dispatch(); }
    template <class Busy>
    static void idle(const Busy& busy) noexcept {
        Timer::idle(busy);
    }
    // While the executive waits for other cores: the processes are among them.
    static void begin_waiting() noexcept { Timer::enable(); }
    static void end_waiting() noexcept { Timer::disable(); }
    template <class Done>
    static void await(const Done& done) noexcept {
        Timer::enable();
        while (!done()) {
            Port::relax();
        }
        Timer::disable();
    }

  private:
    static void arm_next() noexcept { Timer::arm(armed < horizon ? armed : horizon); }
    // One call stops the board, so that no core of it executes anything while a process acts. It writes the
    // control block, where the time stands, and as much again: more than the pipe takes at once.
    [[gnu::noinline]] static void synchronize() noexcept {
        unsigned char* const page = window() + this_place * ControlBlock::bytes;
        const std::uint64_t now = Port::now() * ns_per_tick;
        ControlBlock block(page);
        block.result(stopped_at, static_cast<std::uint32_t>(now));
        block.result(stopped_at + 1, static_cast<std::uint32_t>(now >> 32U));
        isa::system_barrier();
        // A signal to the emulator, as of one who suspends the run, cuts the write short: it costs
        // instructions to go on with the rest, so the host is informed.
        Semihosting::Word left = Semihosting::write(stops, page, stop_bytes);
        for (; left != 0; left = Semihosting::write(stops, page, left)) {
            block.result(disturbed, 1);
        }
        std::uint64_t next = 0;
        Semihosting::read(horizons, &next, sizeof next);
        // The first tick that is not before it.
        horizon = (next + ns_per_tick - 1) / ns_per_tick;
    }
    // python/consort/board/control_block.py has the same.
    static constexpr std::uint32_t stopped_at = ControlBlock::results - 3;
    static constexpr std::uint32_t disturbed = ControlBlock::results - 4;
    static constexpr std::size_t stop_bytes = 2 * ControlBlock::bytes;
    static_assert(std::endian::native == std::endian::little, "as what is read");

    static inline Ticks armed = never_interrupts;
    static inline Ticks horizon = 0;
    static inline std::uint64_t ns_per_tick = 1;
    static inline Semihosting::Word stops = 0;
    static inline Semihosting::Word horizons = 0;
};

}  // namespace consort::bare
