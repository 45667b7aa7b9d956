// SPDX-License-Identifier: Apache-2.0
//
// Sleeping for what another process does: a word that it changes, and a futex on it. Whoever sleeps says so
// first and looks at the word afterwards; whoever changes the word looks at who sleeps afterwards. So one of
// the two sees the other, and no wake-up is lost.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

#include "consort/linux/clock.hpp"

namespace consort::linux_port {

inline void ring_doorbell(std::atomic<std::uint32_t>& word,
                          const std::atomic<std::uint32_t>& sleeping) noexcept {
    word.fetch_add(1, std::memory_order_seq_cst);
    if (sleeping.load(std::memory_order_seq_cst) != 0) {
        ::syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAKE, 1, nullptr, nullptr, 0);
    }
}

// Until the word is not `seen` any more, or until the tick `deadline`.
inline void sleep_for_doorbell(std::atomic<std::uint32_t>& word, std::atomic<std::uint32_t>& sleeping,
                               std::uint32_t seen, std::uint64_t deadline) noexcept {
    sleeping.store(1, std::memory_order_seq_cst);
    while (word.load(std::memory_order_seq_cst) == seen) {
        const std::uint64_t now = Clock::now();
        if (now >= deadline) {
            break;
        }
        const std::uint64_t ns = Clock::to_ns(deadline - now);
        timespec time{};
        time.tv_sec = static_cast<time_t>(ns / 1'000'000'000U);
        time.tv_nsec = static_cast<long>(ns % 1'000'000'000U);
        ::syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAIT, seen, &time, nullptr, 0);
    }
    sleeping.store(0, std::memory_order_relaxed);
}

}  // namespace consort::linux_port
