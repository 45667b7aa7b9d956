// SPDX-License-Identifier: Apache-2.0
//
// The port contract (consort/port.hpp) on Linux: one coherent domain, the processor's own counter.
#pragma once

#include <sched.h>

#include <cstddef>
#include <cstdint>

#include "consort/linux/clock.hpp"
#include "consort/port.hpp"

namespace consort::linux_port {

struct LinuxPort {
    static Ticks now() noexcept { return Clock::now(); }
    static Ticks timestamp() noexcept { return Clock::end(); }
    static Ticks ticks_per_second() noexcept { return Clock::ticks_per_second(); }
    static Ticks to_ns(Ticks ticks) noexcept { return Clock::to_ns(ticks); }
    static Ticks from_ns(std::uint64_t ns) noexcept { return Clock::from_ns(ns); }
    static void relax() noexcept { isa::relax(); }
    static void clean(const void* /*begin*/, std::size_t /*bytes*/) noexcept {}
    static void invalidate(const void* /*begin*/, std::size_t /*bytes*/) noexcept {}
    static std::uint32_t core_id() noexcept { return static_cast<std::uint32_t>(::sched_getcpu()); }
};
static_assert(Port<LinuxPort>);

}  // namespace consort::linux_port
