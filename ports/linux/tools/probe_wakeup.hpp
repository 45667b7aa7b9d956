// SPDX-License-Identifier: Apache-2.0
//
// How late a real-time thread wakes from an absolute sleep (the question that cyclictest asks), and for how
// long one that spins is kept from running.
#pragma once

#include <time.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "consort/linux/disturbance.hpp"
#include "consort/linux/json.hpp"
#include "probe_thread.hpp"

namespace consort::linux_port {

// Lateness of every wake-up, none excluded: a late one is what is asked for. Wake-ups whose instant had
// passed while the thread was late are counted as `skipped`.
inline json::Value probe_wakeup(int cpu, const ProbeOptions& options) {
    const auto interval = static_cast<std::uint64_t>(options.interval_us * 1e3);
    const auto wakeups =
        std::max<std::size_t>(static_cast<std::size_t>(options.seconds * 1e6 / options.interval_us), 1);
    Series late(wakeups);
    std::uint64_t skipped = 0;
    const std::string refusal =
        run_threads({{cpu, options.policy == SCHED_FIFO ? options.priority : 0, [&] {
                          std::uint64_t next = clock_ns(CLOCK_MONOTONIC) + interval;
                          for (std::size_t i = 0; i < wakeups; ++i) {
                              timespec time{};
                              time.tv_sec = static_cast<time_t>(next / 1'000'000'000U);
                              time.tv_nsec = static_cast<long>(next % 1'000'000'000U);
                              while (::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nullptr) != 0) {
                              }
                              const std::uint64_t lateness = clock_ns(CLOCK_MONOTONIC) - next;
                              late.add(Clock::from_ns(lateness));
                              skipped += lateness / interval;
                              next += (lateness / interval + 1) * interval;
                          }
                      }}});
    if (!refusal.empty()) {
        return json::object({{"cpu", cpu}, {"refused", refusal}});
    }
    json::Value result = late.summary();
    result["cpu"] = cpu;
    result["interval_ns"] = interval;
    result["skipped"] = skipped;
    return result;
}

// The causes that kept a thread that spins for the whole time from running.
inline json::Value probe_busy(int cpu, const ProbeOptions& options) {
    std::vector<Gap> gaps;
    gaps.reserve(1U << 20U);
    std::uint64_t lasted = 0;
    const std::string refusal =
        run_threads({{cpu, options.policy == SCHED_FIFO ? options.priority : 0, [&] {
                          GapDetector detector(Clock::from_ns(options.gap_ns));
                          const std::uint64_t begin = Clock::now();
                          const std::uint64_t end =
                              begin + Clock::from_ns(static_cast<std::uint64_t>(options.seconds * 1e9));
                          detector.resume();
                          std::uint64_t now = begin;
                          while (now < end && gaps.size() < gaps.capacity()) {
                              now = Clock::now();
                              if (const auto gap = detector.look(now)) {
                                  gaps.push_back(*gap);
                              }
                          }
                          lasted = now - begin;
                      }}});
    if (!refusal.empty()) {
        return json::object({{"cpu", cpu}, {"refused", refusal}});
    }
    json::Value result = json::object(
        {{"cpu", cpu}, {"lasted", Series::picoseconds(lasted)}, {"threshold_ns", options.gap_ns}});
    for (const Event::Cause cause : {Event::stopped, Event::interrupted}) {
        std::uint64_t total = 0;
        std::vector<std::uint64_t> lengths;
        lengths.reserve(gaps.size());
        for (const Gap& gap : gaps) {
            if (gap.cause == cause) {
                total += gap.ticks();
                lengths.push_back(Series::picoseconds(gap.ticks()));
            }
        }
        std::sort(lengths.begin(), lengths.end(), std::greater<>());
        const std::size_t count = lengths.size();
        const std::uint64_t longest = lengths.empty() ? 0 : lengths.front();
        lengths.resize(std::min(count, options.lengths));
        result[cause == Event::stopped ? "stopped" : "interrupted"] =
            json::object({{"n", count},
                          {"total", Series::picoseconds(total)},
                          {"longest", longest},
                          {"lengths", lengths}});
    }
    return result;
}

// The shortest interruption of a thread that reads the clock in a loop, in nanoseconds; 0 where half a second
// has none. Two readings lie some tens of nanoseconds apart, an interrupt takes over a microsecond: between
// the two there is next to nothing.
inline std::uint64_t shortest_interruption(int cpu, const ProbeOptions& options) {
    constexpr std::uint64_t least_ns = 1'000;
    std::uint64_t shortest = 0;
    run_threads({{cpu, options.policy == SCHED_FIFO ? options.priority : 0, [&] {
                      const std::uint64_t least = Clock::from_ns(least_ns);
                      std::uint64_t last = Clock::now();
                      const std::uint64_t end = last + Clock::ticks_per_second() / 2;
                      while (last < end) {
                          const std::uint64_t now = Clock::now();
                          if (now > last && now - last >= least && (shortest == 0 || now - last < shortest)) {
                              shortest = now - last;
                          }
                          last = now;
                      }
                  }}});
    return Clock::to_ns(shortest);
}

}  // namespace consort::linux_port
