// SPDX-License-Identifier: Apache-2.0
//
// A small generator of random numbers (splitmix64): the same sequence for a seed on every machine and
// library.
#pragma once

#include <cmath>
#include <cstdint>

#include "time.hpp"

namespace consort::engine::spm {

class Random {
  public:
    explicit Random(std::uint64_t seed) : state_(seed) {}

    [[nodiscard]] std::uint64_t bits() {
        std::uint64_t z = (state_ += 0x9e3779b97f4a7c15U);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
        return z ^ (z >> 31);
    }
    // 0 … n - 1; n > 0. The bias for n far below 2^64 is of no account here.
    [[nodiscard]] Time below(Time n) {
        __extension__ using Wide = unsigned __int128;
        return static_cast<Time>((static_cast<Wide>(bits()) * static_cast<Wide>(n)) >> 64);
    }
    [[nodiscard]] Time between(Time low, Time high) { return low + below(high - low + 1); }
    [[nodiscard]] double unit() { return static_cast<double>(bits() >> 11) * 0x1.0p-53; }
    [[nodiscard]] bool chance(double p) { return unit() < p; }
    [[nodiscard]] double log_uniform(double low, double high) {
        return low * std::exp(unit() * std::log(high / low));
    }

  private:
    std::uint64_t state_;
};

}  // namespace consort::engine::spm
