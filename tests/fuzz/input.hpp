// SPDX-License-Identifier: Apache-2.0
//
// Shared by the fuzz targets: the fuzzer's bytes as a stream of numbers, memory of an exact size that
// AddressSanitizer watches, and a check that ends the program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "consort/icc.hpp"

namespace consort::fuzz {

inline void require(bool holds, const char* what) {
    if (!holds) {
        std::fprintf(stderr, "fuzz: does not hold: %s\n", what);
        std::abort();
    }
}

// Reads numbers from the fuzzer's bytes; zeros behind their end.
class Input {
  public:
    Input(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}
    [[nodiscard]] bool empty() const { return at_ >= size_; }
    template <class T>
    [[nodiscard]] T take() {
        T value{};
        const std::size_t there = size_ - at_ < sizeof(T) ? size_ - at_ : sizeof(T);
        if (there != 0) {
            std::memcpy(&value, data_ + at_, there);
        }
        at_ += there;
        return value;
    }

  private:
    const std::uint8_t* data_;
    std::size_t size_;
    std::size_t at_ = 0;
};

// Shared memory of `bytes`, zeroed, on a line; what lies before and behind it is poisoned.
class Memory {
  public:
    explicit Memory(std::size_t bytes)
        : bytes_((bytes + line_bytes - 1) / line_bytes * line_bytes),
          base_(static_cast<unsigned char*>(std::aligned_alloc(line_bytes, bytes_))) {
        std::memset(base_.get(), 0, bytes_);
    }
    [[nodiscard]] unsigned char* base() const { return base_.get(); }
    [[nodiscard]] std::size_t bytes() const { return bytes_; }
    // A peer's store to any aligned word.
    void poke(std::uint32_t word, std::uint32_t value) const {
        auto* words = reinterpret_cast<std::uint32_t*>(base_.get());
        __atomic_store_n(words + word % (bytes_ / 4), value, __ATOMIC_RELAXED);
    }
    [[nodiscard]] bool holds(const void* pointer, std::size_t bytes) const {
        const auto at = reinterpret_cast<std::uintptr_t>(pointer);
        const auto begin = reinterpret_cast<std::uintptr_t>(base_.get());
        return at >= begin && bytes <= bytes_ && at - begin <= bytes_ - bytes;
    }

  private:
    struct Free {
        void operator()(unsigned char* pointer) const { std::free(pointer); }
    };
    std::size_t bytes_;
    std::unique_ptr<unsigned char, Free> base_;
};

}  // namespace consort::fuzz
