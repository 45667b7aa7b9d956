// SPDX-License-Identifier: Apache-2.0
//
// A process beside a board as a core in the board's time. It acts only while it has the token, at one
// instant; time passes while it waits, for what it looks at (relax), for its timer or for the declared time
// of a step (spend). Then it says until when it does nothing, and gets the token back at that instant: the
// board stands still there (python/consort/board/control_block.py). So nothing here depends on how fast
// this machine is.
//
// Its timer interrupts wherever time passes, as a processor's would: a more urgent job runs on top, and what
// it preempted takes its declared time all the same.
#pragma once

#include <unistd.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "consort/bare/polling.hpp"
#include "consort/port.hpp"

extern "C" {
// Workers have none.
[[gnu::weak]] void consort_timer_interrupt() noexcept;
}

namespace consort::bare {

class SynchronizedProcess {
  public:
    static Ticks now() noexcept { return instant; }
    // The time of steps so far: how long one took is not when the board stopped.
    static Ticks timestamp() noexcept { return spent; }
    static Ticks ticks_per_second() noexcept { return 1'000'000'000; }
    // The time between two looks at what others write.
    static void relax() noexcept { pass(instant + look_ns); }
    static void clean(const void* /*begin*/, std::size_t /*bytes*/) noexcept {}
    static void invalidate(const void* /*begin*/, std::size_t /*bytes*/) noexcept {}
    // The same in each run.
    static std::uint32_t core_id() noexcept { return 0x1000000U | place; }

    // A step takes so long [ns].
    static void spend(Ticks ns) noexcept {
        for (Ticks left = ns; left > 0;) {
            const Ticks begin = instant;
            const Ticks until = wake(instant + left);
            get_token(until);
            left -= until - begin;
            take_interrupt();
        }
        spent += ns;
    }

    // Before anything that others see.
    static void begin(bool /*beside_emulator*/, std::uint32_t control_block) noexcept {
        place = control_block;
        get_token(0);
    }

    class Timer {
      public:
        static void start() noexcept { started = true; }
        static void arm(Ticks at) noexcept { armed = at; }
        static void disarm() noexcept { armed = never_interrupts; }
        static void look() noexcept {}
        static void enable() noexcept {
            enabled = true;
            take_interrupt();
        }
        static void disable() noexcept { enabled = false; }
        static void request_dispatch() noexcept { consort_dispatch(); }
        template <class Busy>
        static void idle(const Busy& /*busy*/) noexcept {
            if (armed > instant) {
                get_token(armed);
            }
            enable();
            disable();
        }
        // The clocks of cores are set by questions and answers: the shorter they take, the better.
        static void begin_waiting() noexcept { look_ns = setting_look_ns; }
        static void end_waiting() noexcept { look_ns = CONSORT_LOOK_NS; }
        // A wait that takes long: each look stops the board.
        template <class Done>
        static void await(const Done& done) noexcept {
            while (!done()) {
                get_token(instant + patient_look_ns);
            }
        }
    };

  private:
    static constexpr Ticks setting_look_ns = 500;
    static constexpr Ticks patient_look_ns = 100'000;

    // The message to the host, which hands the token on: nanoseconds, 8 bytes, the least significant first.
    static constexpr std::uint64_t token_time(std::uint64_t ns) noexcept {
        return std::endian::native == std::endian::little ? ns : __builtin_bswap64(ns);
    }

    // The timer's next interrupt, if it comes before `until`.
    static Ticks wake(Ticks until) noexcept {
        if (!started || !enabled || armed >= until) {
            return until;
        }
        return armed > instant ? armed : instant;
    }
    static void pass(Ticks until) noexcept {
        get_token(wake(until));
        take_interrupt();
    }
    static void take_interrupt() noexcept {
        while (started && enabled && instant >= armed) {
            enabled = false;
            consort_timer_interrupt();
            enabled = true;
        }
    }
    // Hands it on until then. Who gives it is at the other end of the standard input, a socket.
    static void get_token(Ticks until) noexcept {
        std::uint64_t message = token_time(until);
        if (::write(STDIN_FILENO, &message, sizeof message) != sizeof message ||
            ::read(STDIN_FILENO, &message, sizeof message) != sizeof message) {
            // The process that keeps the time is gone, and the run with it.
            ::_exit(1);
        }
        instant = token_time(message);
    }

    static inline Ticks instant = 0;
    static inline Ticks spent = 0;
    static inline Ticks look_ns = CONSORT_LOOK_NS;
    static inline std::uint32_t place = 0;
    static inline bool started = false;
    static inline bool enabled = false;
    static inline Ticks armed = never_interrupts;
};

// A task whose step takes its declared time.
template <class T, Ticks ns>
struct Timed : T {
    static void step(const typename T::In& in, typename T::State& state, typename T::Out& out) {
        T::step(in, state, out);
        SynchronizedProcess::spend(ns);
    }
};

}  // namespace consort::bare
