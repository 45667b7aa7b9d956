// SPDX-License-Identifier: Apache-2.0
//
// The byte order of what travels: little-endian on every side. A big-endian side reverses the bytes of each
// leaf of a type's layout where a value enters or leaves shared memory; on a little-endian side nothing of it
// is left after compilation. Members that CONSORT_LAYOUT leaves out travel as they are.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "consort/icc/layout.hpp"

namespace consort::detail {

inline constexpr bool swaps_bytes = std::endian::native == std::endian::big;

// Reverses each leaf of a T that lies in `bytes`.
template <class T>
void swap_leaves(unsigned char* bytes) noexcept {
    for (std::size_t i = 0; i < Layout<T>::count; ++i) {
        const Leaf& leaf = Layout<T>::leaves[i];
        for (std::uint32_t n = 0; n < leaf.count; ++n) {
            unsigned char* element = bytes + leaf.offset + std::size_t{n} * leaf.size;
            for (std::uint32_t low = 0, high = leaf.size - 1U; low < high; ++low, --high) {
                const unsigned char byte = element[low];
                element[low] = element[high];
                element[high] = byte;
            }
        }
    }
}

// The bytes that a value travels as. Never a T: a float whose bytes are reversed may be a signaling NaN,
// which a floating-point register does not keep.
template <class T, bool Swaps = swaps_bytes>
class Outgoing {
  public:
    explicit Outgoing(const T& value) noexcept : bytes_(reinterpret_cast<const unsigned char*>(&value)) {}
    [[nodiscard]] const unsigned char* bytes() const noexcept { return bytes_; }

  private:
    const unsigned char* bytes_;
};

template <class T>
class Outgoing<T, true> {
  public:
    explicit Outgoing(const T& value) noexcept {
        __builtin_memcpy(bytes_, static_cast<const void*>(&value), sizeof(T));
        swap_leaves<T>(bytes_);
    }
    [[nodiscard]] const unsigned char* bytes() const noexcept { return bytes_; }

  private:
    alignas(T) unsigned char bytes_[sizeof(T)];
};

// After the bytes of a value were copied from shared memory into `value`.
template <class T, bool Swaps = swaps_bytes>
void arrived(T& value) noexcept {
    if constexpr (Swaps) {
        swap_leaves<T>(reinterpret_cast<unsigned char*>(&value));
    }
}

}  // namespace consort::detail
