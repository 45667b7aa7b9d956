// SPDX-License-Identifier: Apache-2.0
//
// Programs for boards, as a Linux process beside the board: the same source, the window mapped from the
// board's memory file.
#pragma once

#include <sched.h>
#include <time.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>

#include "consort/bare/console.hpp"
#include "consort/port.hpp"

namespace consort::bare {

struct HostProcess {
    static Ticks now() noexcept {
        timespec time{};
        ::clock_gettime(CLOCK_MONOTONIC, &time);
        return static_cast<Ticks>(time.tv_sec) * ticks_per_second() + static_cast<Ticks>(time.tv_nsec);
    }
    static Ticks ticks_per_second() noexcept { return 1000000000; }
    // The emulator may need this very processor.
    static void relax() noexcept {
        isa::relax();
        ::sched_yield();
    }
    static void clean(const void* /*begin*/, std::size_t /*bytes*/) noexcept {}
    static void invalidate(const void* /*begin*/, std::size_t /*bytes*/) noexcept {}
    static std::uint32_t core_id() noexcept { return 0x1000000U | static_cast<std::uint32_t>(::getpid()); }
};

using ThisPort = HostProcess;
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
