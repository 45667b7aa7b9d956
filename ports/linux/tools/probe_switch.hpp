// SPDX-License-Identifier: Apache-2.0
//
// Measures the cost for one processor to go from one SCHED_FIFO thread to another.
//
//   yield     from a thread's sched_yield() to the other one's return from its own: the switch alone
//   dispatch  from before a thread wakes one of higher priority to that one's first instruction
//   resume    from before that one blocks again to the next instruction of the first
#pragma once

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "consort/linux/json.hpp"
#include "probe_thread.hpp"

namespace consort::linux_port {

// Memory that two threads of one processor share: the last to speak, and when.
struct SwitchStamp {
    std::atomic<std::uint64_t> tick{0};
    std::atomic<int> by{-1};
};

inline std::string measure_yields(int cpu, const ProbeOptions& options, Series& yields) {
    SwitchStamp stamp;
    std::atomic<bool> alone{false};
    // One for each thread: nothing orders the stores of one before those of the other.
    std::array<Series, 2> own{Series(options.samples), Series(options.samples)};
    const auto body = [&](int self) {
        Series& mine = own[static_cast<std::size_t>(self)];
        for (std::size_t i = 0; i < options.samples; ++i) {
            const std::uint64_t now = Clock::now();
            if (stamp.by.load(std::memory_order_relaxed) == 1 - self && !alone.load()) {
                mine.add(now - stamp.tick.load(std::memory_order_relaxed));
            }
            stamp.by.store(self, std::memory_order_relaxed);
            stamp.tick.store(Clock::now(), std::memory_order_relaxed);
            ::sched_yield();
        }
        alone.store(true);
    };
    std::string refusal =
        run_threads({{cpu, options.priority, [&] { body(0); }}, {cpu, options.priority, [&] { body(1); }}});
    for (const Series& mine : own) {
        yields.add(mine);
    }
    return refusal;
}

inline std::string measure_dispatch(int cpu, const ProbeOptions& options, Series& dispatch, Series& resume) {
    std::atomic<std::uint32_t> word{0};
    std::atomic<std::uint32_t> served{0};
    SwitchStamp stamp;
    const auto count = static_cast<std::uint32_t>(options.samples);
    const auto futex = [&](int operation, std::uint32_t value) {
        return ::syscall(SYS_futex, &word, operation | FUTEX_PRIVATE_FLAG, value, nullptr, nullptr, 0);
    };
    const auto urgent = [&] {
        for (std::uint32_t i = 0; i < count; ++i) {
            stamp.tick.store(Clock::now(), std::memory_order_relaxed);
            while (word.load() == i) {
                futex(FUTEX_WAIT, i);
            }
            const std::uint64_t now = Clock::now();
            // The first time it may not have been asleep yet when it was woken.
            if (i > 0) {
                dispatch.add(now - stamp.tick.load(std::memory_order_relaxed));
            }
            served.store(i + 1);
        }
    };
    const auto waker = [&] {
        for (std::uint32_t i = 0; i < count; ++i) {
            if (i > 0) {
                // The other one has blocked again, or this would not run.
                resume.add(Clock::now() - stamp.tick.load(std::memory_order_relaxed));
            }
            stamp.tick.store(Clock::now(), std::memory_order_relaxed);
            word.store(i + 1);
            futex(FUTEX_WAKE, 1);
            // Woken on the same processor with a higher priority, it has run before this goes on; only if
            // the waker came first, when it was not waiting yet, it has not.
            while (served.load() != i + 1) {
                ::sched_yield();
            }
        }
    };
    return run_threads({{cpu, options.priority, urgent}, {cpu, options.priority - 1, waker}});
}

inline json::Value probe_switch(int cpu, const ProbeOptions& options) {
    if (options.policy != SCHED_FIFO) {
        return json::object({{"cpu", cpu}, {"refused", "a switch is measured between SCHED_FIFO threads"}});
    }
    Series yields(2 * options.samples);
    Series dispatch(options.samples);
    Series resume(options.samples);
    std::string refusal = measure_yields(cpu, options, yields);
    if (refusal.empty()) {
        refusal = measure_dispatch(cpu, options, dispatch, resume);
    }
    if (!refusal.empty()) {
        return json::object({{"cpu", cpu}, {"refused", refusal}});
    }
    return json::object({{"cpu", cpu},
                         {"yield", yields.summary(options.interruption_ns)},
                         {"dispatch", dispatch.summary(options.interruption_ns)},
                         {"resume", resume.summary(options.interruption_ns)}});
}

}  // namespace consort::linux_port
