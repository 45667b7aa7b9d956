// SPDX-License-Identifier: Apache-2.0
//
// The loopback test's packages of random bytes, one type for each size.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

namespace consort::bench {

template <std::uint32_t N>
struct Package {
    unsigned char bytes[N];
};
// No data at all: the signal alone.
template <>
struct Package<0> {};

// The sizes that there are types for, and the way from a size to its type.
template <std::uint32_t... N>
struct SizeList {
    static constexpr std::array<std::uint32_t, sizeof...(N)> all{N...};

    // Calls f.template operator()<size>(); throws std::invalid_argument for a size that is not in the list.
    template <class F>
    static void with(std::uint32_t size, F f) {
        const bool found = ((size == N && (f.template operator()<N>(), true)) || ...);
        if (!found) {
            std::string known;
            for (const std::uint32_t n : all) {
                known += (known.empty() ? "" : ", ") + std::to_string(n);
            }
            throw std::invalid_argument("--sizes: there is no package of " + std::to_string(size) +
                                        " bytes; there are " + known);
        }
    }
};
using Sizes = SizeList<0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096>;

// A list such as 0,8,1024. Throws std::invalid_argument for anything else, and for a size given twice.
inline std::vector<std::uint32_t> parse_sizes(const std::string& text) {
    std::vector<std::uint32_t> sizes;
    std::size_t at = 0;
    while (at <= text.size()) {
        const std::size_t comma = std::min(text.find(',', at), text.size());
        const std::string item = text.substr(at, comma - at);
        if (item.empty() || item.size() > 6 || item.find_first_not_of("0123456789") != std::string::npos) {
            throw std::invalid_argument("--sizes " + text + ": must be sizes in bytes such as 0,8,1024");
        }
        const auto size = static_cast<std::uint32_t>(std::stoul(item));
        Sizes::with(size, []<std::uint32_t>() {});
        for (const std::uint32_t other : sizes) {
            if (other == size) {
                throw std::invalid_argument("--sizes " + text + ": " + item + " is given twice");
            }
        }
        sizes.push_back(size);
        at = comma + 1;
    }
    return sizes;
}

// SplitMix64 (Steele, Lea, Flood 2014): any seed is good, a step is three multiplications.
class Random {
  public:
    explicit Random(std::uint64_t seed) noexcept : state_(seed) {}

    std::uint64_t next() noexcept {
        std::uint64_t z = (state_ += 0x9e3779b97f4a7c15U);
        z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
        z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
        return z ^ (z >> 31U);
    }

    template <std::uint32_t N>
    void fill(Package<N>& package) noexcept {
        if constexpr (N > 0) {
            for (std::uint32_t at = 0; at < N; at += 8) {
                const std::uint64_t word = next();
                std::memcpy(package.bytes + at, &word, N - at < 8 ? N - at : 8);
            }
        }
    }

  private:
    std::uint64_t state_;
};

template <std::uint32_t N>
[[nodiscard]] bool same(const Package<N>& a, const Package<N>& b) noexcept {
    if constexpr (N > 0) {
        return std::memcmp(a.bytes, b.bytes, N) == 0;
    } else {
        return true;
    }
}

// For the tests of the check itself: what a defective channel would do.
template <std::uint32_t N>
void damage(Package<N>& package) noexcept {
    if constexpr (N > 0) {
        package.bytes[N - 1] = static_cast<unsigned char>(package.bytes[N - 1] ^ 1U);
    }
}

// Makes the compiler assume that the object is looked at here: a local copy stays a copy.
template <class T>
void observed(T& object) noexcept {
    asm volatile("" : : "r"(&object) : "memory");
}

}  // namespace consort::bench
