// SPDX-License-Identifier: Apache-2.0
//
// The least distances of a task's releases: a burst's jobs come one after another, and the next burst later.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

namespace consort::app {

// From a release to the next, to the one after that, …: at least `least[0]`, `least[1]`, …, which outlive
// what is made of them.
struct Distances {
    static constexpr std::size_t most = 256;
    const std::int64_t* least = nullptr;
    std::size_t count = 0;
};

// The releases that the distances allow after those that were.
class Spacing {
  public:
    constexpr Spacing() noexcept = default;
    constexpr explicit Spacing(const Distances& distances) noexcept : distances_(distances) {}

    // Before this no release may come.
    [[nodiscard]] constexpr std::int64_t earliest() const noexcept {
        std::int64_t latest = 0;
        for (std::size_t back = 0; back < distances_.count && back < released_; ++back) {
            const std::int64_t before = last_[(released_ - 1 - back) % Distances::most];
            const std::int64_t least = distances_.least[back];
            constexpr std::int64_t end = std::numeric_limits<std::int64_t>::max();
            const std::int64_t next = before > end - least ? end : before + least;
            latest = next > latest ? next : latest;
        }
        return latest;
    }
    constexpr void released(std::int64_t instant) noexcept {
        last_[released_ % Distances::most] = instant;
        ++released_;
    }

  private:
    Distances distances_{};
    std::int64_t last_[Distances::most]{};
    std::uint64_t released_ = 0;
};

}  // namespace consort::app
