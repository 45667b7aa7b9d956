// SPDX-License-Identifier: Apache-2.0
//
// Interference on the memory: copy and triad over arrays that no cache holds, counted as McCalpin's STREAM
// counts.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

namespace consort::linux_port {

// The largest cache that processor 0 sees, in bytes; 32 MiB where the kernel does not say.
inline std::size_t last_level_cache_bytes(
    const std::filesystem::path& cpu0 = "/sys/devices/system/cpu/cpu0") {
    std::size_t largest = 0;
    for (int index = 0; index < 8; ++index) {
        std::ifstream file(cpu0 / "cache" / ("index" + std::to_string(index)) / "size");
        std::size_t value = 0;
        char unit = 0;
        if (file >> value >> unit) {
            value <<= unit == 'M' ? 20U : 10U;
            largest = value > largest ? value : largest;
        }
    }
    return largest != 0 ? largest : std::size_t{32} << 20U;
}

class MemoryStream {
  public:
    // `bytes`: of each of the three arrays.
    explicit MemoryStream(std::size_t bytes)
        : length_(bytes / sizeof(double)),
          a_(new double[length_]),
          b_(new double[length_]),
          c_(new double[length_]) {
        for (std::size_t i = 0; i < length_; ++i) {
            a_[i] = 1.0;
            b_[i] = 2.0;
            c_[i] = 0.0;
        }
    }

    void run(const std::atomic<bool>& stop, std::atomic<std::uint64_t>& moved) {
        // Small enough that a stop is noticed within a fraction of a millisecond.
        constexpr std::size_t chunk = std::size_t{1} << 16U;
        for (bool copying = true; !stop.load(std::memory_order_relaxed); copying = !copying) {
            for (std::size_t at = 0; at < length_ && !stop.load(std::memory_order_relaxed); at += chunk) {
                const std::size_t n = std::min(length_ - at, chunk);
                if (copying) {
                    copy(c_.get() + at, a_.get() + at, n);
                } else {
                    triad(a_.get() + at, b_.get() + at, c_.get() + at, n);
                }
                moved.fetch_add((copying ? 2 : 3) * n * sizeof(double), std::memory_order_relaxed);
            }
        }
    }

  private:
    [[gnu::noinline]] static void copy(double* __restrict to, const double* __restrict from, std::size_t n) {
        for (std::size_t i = 0; i < n; ++i) {
            to[i] = from[i];
        }
        asm volatile("" ::"r"(to) : "memory");
    }

    [[gnu::noinline]] static void triad(double* __restrict to, const double* __restrict b,
                                        const double* __restrict c, std::size_t n) {
        for (std::size_t i = 0; i < n; ++i) {
            to[i] = b[i] + 0.25 * c[i];
        }
        asm volatile("" ::"r"(to) : "memory");
    }

    std::size_t length_;
    std::unique_ptr<double[]> a_;
    std::unique_ptr<double[]> b_;
    std::unique_ptr<double[]> c_;
};

}  // namespace consort::linux_port
