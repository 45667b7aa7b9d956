// SPDX-License-Identifier: Apache-2.0
//
// The wire rules: what two unlike processors must agree on, checked by the compiler.
//
//  - A shared word is an aligned 32-bit little-endian integer, accessed by plain atomic loads and stores. No
//    read-modify-write (parts without a global exclusive monitor lose updates), no 64-bit word (32-bit
//    cores).
//  - Each word and each cache line has one writer, so cleaning a line can never overwrite what the peer
//  wrote.
//  - No pointers: regions are mapped at different addresses.
//  - The line size is ours, never std::hardware_destructive_interference_size: the same compiler says 64 for
//  x86-64
//    and 256 for AArch64, and two sides would disagree about every offset.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

// One line size for all parts of a system, at least the largest cache line among them. Recorded in each
// region and compared at attach.
#ifndef CONSORT_LINE_BYTES
#define CONSORT_LINE_BYTES 64
#endif

namespace consort {

inline constexpr std::uint32_t line_bytes = CONSORT_LINE_BYTES;
static_assert(std::has_single_bit(line_bytes) && line_bytes >= 32 && line_bytes <= 1024,
              "CONSORT_LINE_BYTES must be a power of two from 32 to 1024");
static_assert(std::endian::native == std::endian::little || std::endian::native == std::endian::big,
              "mixed-endian processors are not supported");

// Native to wire order and back (its own inverse).
[[nodiscard]] constexpr std::uint32_t wire(std::uint32_t value) noexcept {
    if constexpr (std::endian::native == std::endian::little) {
        return value;
    } else {
        return __builtin_bswap32(value);
    }
}

[[nodiscard]] constexpr std::uint32_t round_up(std::uint32_t value, std::uint32_t step) noexcept {
    return (value + step - 1) / step * step;
}

// Types that may travel: copied byte by byte, laid out by the rules of standard-layout classes, aligned to at
// most 16.
template <class T>
concept PlainData =
    std::is_trivially_copyable_v<T> && std::is_standard_layout_v<T> && !std::is_pointer_v<T> &&
    !std::is_reference_v<T> && alignof(T) <= 16;

namespace detail {

// The type to name where T cannot travel: a struct of the library that carries a type of the user's names
// that one.
template <class T>
struct Carried {
    using Type = T;
};

template <class T>
inline constexpr bool copied_by_bytes = std::is_trivially_copyable_v<T>&& std::is_standard_layout_v<T>;

// Says why T is not copied byte by byte. A class, because its assertions are looked at once: one type gives
// one message, however many places ask. Only named (sizeof): Clang finds nothing in a class that failed.
template <class T>
struct SayWhyNotCopied {
    static_assert(
        std::is_trivially_copyable_v<T>,
        "a type that travels between processors must be trivially copyable: no virtual functions, no "
        "user-written copy, no owning members (std::string, std::vector)");
    static_assert(!std::is_trivially_copyable_v<T> || std::is_standard_layout_v<T>,
                  "a type that travels between processors must be standard layout: all members public in one "
                  "class, no references");
};

}  // namespace detail

// Not constexpr: Clang would then instantiate it at once and find it no more where it failed.
template <class T>
void require_plain_data() noexcept {
    static_cast<void>(sizeof(detail::SayWhyNotCopied<typename detail::Carried<T>::Type>));
    static_assert(!std::is_pointer_v<T>,
                  "a pointer means nothing to a processor that maps the region elsewhere");
    static_assert(alignof(T) <= 16, "a type that travels between processors is aligned to at most 16 bytes");
}

}  // namespace consort
