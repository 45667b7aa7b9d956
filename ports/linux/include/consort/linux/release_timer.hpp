// SPDX-License-Identifier: Apache-2.0
//
// Waiting for a release: until a tick of the clock, by spinning, sleeping, or sleeping most of the way.
#pragma once

#include <time.h>

#include <cerrno>
#include <cstdint>
#include <optional>
#include <string_view>

#include "consort/linux/clock.hpp"

namespace consort::linux_port {

enum class TimeBase : std::uint8_t {
    spin,    // the core is kept: lowest latency, and nothing else runs on it
    sleep,   // the core is given away until the kernel's timer fires
    hybrid,  // sleep until a margin before, then spin: the margin hides the wake-up latency
};

inline std::optional<TimeBase> time_base_named(std::string_view name) {
    if (name == "spin") {
        return TimeBase::spin;
    }
    if (name == "sleep") {
        return TimeBase::sleep;
    }
    if (name == "hybrid") {
        return TimeBase::hybrid;
    }
    return std::nullopt;
}

class ReleaseTimer {
  public:
    // `margin_ns`: how long before the release a hybrid wait wakes. `consort doctor` measures what a machine
    // needs.
    explicit ReleaseTimer(TimeBase base, std::uint64_t margin_ns = 100'000)
        : base_(base), margin_(Clock::from_ns(margin_ns)) {}

    // Returns the tick at which it woke; a release that has passed already returns at once.
    std::uint64_t wait_until(std::uint64_t tick) const { return wait_until(tick, base_); }

    std::uint64_t wait_until(std::uint64_t tick, TimeBase base) const {
        std::uint64_t now = Clock::now();
        if (base != TimeBase::spin) {
            const std::uint64_t early = base == TimeBase::hybrid ? margin_ : 0;
            while (now < tick && tick - now > early) {
                sleep_for(tick - now - early);
                now = Clock::now();
            }
        }
        while (now < tick) {
#if defined(__x86_64__) || defined(__i386__)
            __builtin_ia32_pause();
#elif defined(__aarch64__)
            asm volatile("yield" ::: "memory");
#endif
            now = Clock::now();
        }
        return now;
    }

  private:
    // Absolute, so that a signal or a preemption on the way to the call does not lengthen the sleep.
    static void sleep_for(std::uint64_t ticks) {
        const std::uint64_t until = clock_ns(CLOCK_MONOTONIC) + Clock::to_ns(ticks);
        timespec time{};
        time.tv_sec = static_cast<time_t>(until / 1'000'000'000U);
        time.tv_nsec = static_cast<long>(until % 1'000'000'000U);
        while (::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nullptr) == EINTR) {
        }
    }

    TimeBase base_;
    std::uint64_t margin_;
};

}  // namespace consort::linux_port
