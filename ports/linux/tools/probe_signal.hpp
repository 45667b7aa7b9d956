// SPDX-License-Identifier: Apache-2.0
//
// How long it takes to wake a thread that sleeps on another processor, by the executive's doorbell: from
// before it is rung to the sleeper's first instruction.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>

#include "consort/linux/clock.hpp"
#include "consort/linux/executive/doorbell.hpp"
#include "consort/linux/json.hpp"
#include "probe_thread.hpp"

namespace consort::linux_port {

struct SignalLine {
    std::atomic<std::uint32_t> rung{0};
    std::atomic<std::uint32_t> sleeping{0};
    std::atomic<std::uint64_t> at{0};
    std::atomic<std::uint32_t> served{0};
};

// One way; `inversions` counts what was received before it was sent, by two processors' readings of the
// clock.
inline std::string measure_signals(int from, int to, const ProbeOptions& options, Series& series,
                                   std::uint64_t& inversions) {
    SignalLine line;
    const auto count = static_cast<std::uint32_t>(options.samples);
    const auto sleeper = [&] {
        for (std::uint32_t i = 0; i < count; ++i) {
            while (line.rung.load() == i) {
                sleep_for_doorbell(line.rung, line.sleeping, i, Clock::now() + Clock::from_ns(1'000'000'000));
            }
            const std::uint64_t now = Clock::end();
            const std::uint64_t at = line.at.load();
            if (now < at) {
                ++inversions;
            } else {
                series.add(now - at);
            }
            line.served.store(i + 1);
        }
    };
    const auto ringer = [&] {
        for (std::uint32_t i = 0; i < count; ++i) {
            while (line.sleeping.load() == 0) {
                std::this_thread::yield();
            }
            // It says so before it sleeps: the time to do it.
            std::this_thread::sleep_for(std::chrono::microseconds(50));
            line.at.store(Clock::begin());
            ring_doorbell(line.rung, line.sleeping);
            while (line.served.load() != i + 1) {
                std::this_thread::yield();
            }
        }
    };
    const int priority = options.policy == SCHED_FIFO ? options.priority : 0;
    return run_threads({{from, priority, ringer}, {to, priority, sleeper}});
}

inline json::Value probe_signal(int from, int to, const ProbeOptions& options) {
    Series series(options.samples);
    std::uint64_t inversions = 0;
    const std::string refusal = measure_signals(from, to, options, series, inversions);
    json::Value result = json::object({{"from", from}, {"to", to}});
    if (!refusal.empty()) {
        result["refused"] = refusal;
        return result;
    }
    // Nothing is excluded: wake-ups differ by more than an interruption lasts.
    result["wake"] = series.summary();
    result["inversions"] = inversions;
    return result;
}

}  // namespace consort::linux_port
