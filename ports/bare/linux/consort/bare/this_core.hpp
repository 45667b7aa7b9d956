// SPDX-License-Identifier: Apache-2.0
//
// Programs for boards, as a Linux process beside the board: the same source, the window mapped from the
// board's memory file. With CONSORT_LOOK_NS, the time between two looks at what others write, the process is
// a core in the board's time; without it lives in this machine's.
#pragma once

#include <sched.h>
#include <time.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>

#include "consort/bare/console.hpp"
#include "consort/port.hpp"
#ifdef CONSORT_LOOK_NS
#include "consort/bare/synchronized_process.hpp"
#endif

namespace consort::bare {

struct HostProcess {
    static Ticks now() noexcept {
        timespec time{};
        ::clock_gettime(CLOCK_MONOTONIC, &time);
        return static_cast<Ticks>(time.tv_sec) * ticks_per_second() + static_cast<Ticks>(time.tv_nsec);
    }
    static Ticks ticks_per_second() noexcept { return 1000000000; }
    // The other side may need this very processor. An emulator goes on for its whole time slice, and who
    // yields to it with other work about waits for many: a short sleep keeps this side's claim to come next.
    static void relax() noexcept {
        isa::relax();
        if (!beside_emulator) {
            ::sched_yield();
        } else if (++turns % turns_a_sleep == 0) {
            const timespec moment{0, sleep_ns};
            ::nanosleep(&moment, nullptr);
        }
    }
    static void clean(const void* /*begin*/, std::size_t /*bytes*/) noexcept {}
    static void invalidate(const void* /*begin*/, std::size_t /*bytes*/) noexcept {}
    static std::uint32_t core_id() noexcept { return 0x1000000U | static_cast<std::uint32_t>(::getpid()); }

    static void begin(bool is_beside_emulator, std::uint32_t /*place*/) noexcept {
        beside_emulator = is_beside_emulator;
    }

    static constexpr std::uint32_t turns_a_sleep = 4;
    static constexpr long sleep_ns = 10'000;
    // Not so on a Linux that is itself the board's.
    static inline bool beside_emulator = false;
    static inline std::uint32_t turns = 0;
};

#ifdef CONSORT_LOOK_NS
using ThisPort = SynchronizedProcess;
using CoreTimer = SynchronizedProcess::Timer;
#else
using ThisPort = HostProcess;
// It releases nothing, and nothing preempts what it computes.
struct CoreTimer {};
#endif
inline constexpr const char* this_core = CONSORT_CORE_NAME;
// Given on the command line.
inline std::uint32_t this_place = 0;
inline unsigned char* mapped_window = nullptr;

inline unsigned char* window() noexcept {
    return mapped_window;
}
inline unsigned char* on_chip() noexcept {
    return nullptr;
}
inline void print(const char* text) noexcept {
    std::puts(text);
    std::fflush(stdout);
}

}  // namespace consort::bare
