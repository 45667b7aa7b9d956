// SPDX-License-Identifier: Apache-2.0
//
// The samples of one measured time, and what is said of them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "consort/linux/clock.hpp"
#include "consort/linux/json.hpp"

namespace consort::linux_port {

// Durations in ticks of Clock. Its memory is made and touched beforehand: adding a sample is one store.
class Series {
  public:
    explicit Series(std::size_t capacity) : ticks_(capacity) {}

    void add(std::uint64_t ticks) noexcept {
        if (count_ < ticks_.size()) {
            ticks_[count_++] = ticks;
        }
    }
    void add(const Series& other) noexcept {
        for (std::size_t i = 0; i < other.count_; ++i) {
            add(other.ticks_[i]);
        }
    }
    [[nodiscard]] std::size_t size() const noexcept { return count_; }

    // Ranks of all samples, in picoseconds. Where `interruption_ns` is not 0, a sample that lasted longer
    // than the median by that or more can hold an interruption of the thread, which is not a cost of what was
    // timed: it is counted as disturbed, the longest is shown, and none is in the other figures.
    [[nodiscard]] json::Value summary(std::uint64_t interruption_ns = 0) const {
        std::vector<std::uint64_t> sorted(ticks_.begin(),
                                          ticks_.begin() + static_cast<std::ptrdiff_t>(count_));
        std::sort(sorted.begin(), sorted.end());
        json::Value result = json::object({{"n", sorted.size()}, {"disturbed", 0}, {"longest_disturbed", 0}});
        if (sorted.empty()) {
            return result;
        }
        if (interruption_ns != 0) {
            const std::uint64_t limit = rank(sorted, 0.5) + Clock::from_ns(interruption_ns);
            const auto first = std::lower_bound(sorted.begin(), sorted.end(), limit);
            if (first != sorted.end()) {
                result["disturbed"] = json::of(sorted.end() - first);
                result["longest_disturbed"] = picoseconds(sorted.back());
                sorted.erase(first, sorted.end());
                result["n"] = sorted.size();
            }
        }
        result["min"] = picoseconds(sorted.front());
        result["median"] = picoseconds(rank(sorted, 0.5));
        result["p99"] = picoseconds(rank(sorted, 0.99));
        result["p999"] = picoseconds(rank(sorted, 0.999));
        result["max"] = picoseconds(sorted.back());
        return result;
    }

    [[nodiscard]] static std::uint64_t picoseconds(std::uint64_t ticks) {
        return static_cast<std::uint64_t>(
            std::llround(static_cast<double>(ticks) * 1e12 / static_cast<double>(Clock::ticks_per_second())));
    }

  private:
    // The nearest rank.
    static std::uint64_t rank(const std::vector<std::uint64_t>& sorted, double part) {
        const auto at = static_cast<std::size_t>(part * static_cast<double>(sorted.size()));
        return sorted[std::min(at, sorted.size() - 1)];
    }

    std::vector<std::uint64_t> ticks_;
    std::size_t count_ = 0;
};

// Options of every part of the probe.
struct ProbeOptions {
    double seconds = 1.0;               // of each series that is limited by time
    std::size_t samples = 20'000;       // of each other series
    double interval_us = 250.0;         // of the timer
    std::size_t memory_bytes = 0;       // of the memory that is accessed
    std::uint64_t gap_ns = 0;           // what counts as a gap of a busy thread
    std::size_t lengths = 0;            // how many gaps are listed
    std::uint64_t interruption_ns = 0;  // the shortest interruption of this machine; see Series::summary
    int policy = 0;
    int priority = 80;
};

}  // namespace consort::linux_port
