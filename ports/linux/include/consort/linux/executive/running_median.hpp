// SPDX-License-Identifier: Apache-2.0
//
// The median of any number of times, in constant memory: counts in classes whose width is at most a 64th of
// the times in them, so that the value is right to 0.8 %. Times below 128 ns are exact.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace consort::linux_port {

class RunningMedian {
  public:
    void add(std::uint64_t ns) {
        ++counts_[class_of(ns)];
        ++total_;
    }
    // A time longer than all others.
    void add_endless() { ++total_; }

    // The smallest class that half of the times do not exceed, by its middle; `otherwise` where there are no
    // times, or where that is an endless one.
    [[nodiscard]] std::int64_t value(std::int64_t otherwise) const {
        std::uint64_t passed = 0;
        for (std::size_t i = 0; i < counts_.size(); ++i) {
            passed += counts_[i];
            if (passed != 0 && 2 * passed >= total_) {
                return static_cast<std::int64_t>(middle_of(i));
            }
        }
        return otherwise;
    }

  private:
    static constexpr unsigned bits = 6;                 // 64 classes for each power of two
    static constexpr std::uint64_t most = 1ULL << 42U;  // over an hour
    static constexpr std::size_t classes = (42 - bits + 1) << bits;

    static std::size_t class_of(std::uint64_t ns) {
        const std::uint64_t value = std::min(ns, most - 1);
        const auto width = static_cast<unsigned>(std::bit_width(value));
        if (width <= bits) {
            return static_cast<std::size_t>(value);
        }
        const unsigned shift = width - bits - 1;
        return (static_cast<std::size_t>(shift) << bits) + static_cast<std::size_t>(value >> shift);
    }
    static std::uint64_t middle_of(std::size_t index) {
        if (index < 2U << bits) {
            return index;
        }
        const auto shift = static_cast<unsigned>(index >> bits) - 1;
        const std::uint64_t low = (index - (static_cast<std::size_t>(shift) << bits)) << shift;
        return low + (1ULL << shift) / 2;
    }

    std::vector<std::uint64_t> counts_ = std::vector<std::uint64_t>(classes);
    std::uint64_t total_ = 0;
};

}  // namespace consort::linux_port
