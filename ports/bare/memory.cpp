// SPDX-License-Identifier: Apache-2.0
//
// The four functions that compilers call in freestanding programs too.
#include <cstddef>
#include <cstdint>

// Or the compiler makes a call of memset out of memset's loop.
#pragma GCC optimize("no-tree-loop-distribute-patterns")

extern "C" {

void* memcpy(void* to, const void* from, std::size_t bytes) {
    auto* t = static_cast<unsigned char*>(to);
    const auto* f = static_cast<const unsigned char*>(from);
    constexpr std::uintptr_t mask = 3;
    if (((reinterpret_cast<std::uintptr_t>(t) | reinterpret_cast<std::uintptr_t>(f)) & mask) == 0) {
        for (; bytes >= 4; bytes -= 4, t += 4, f += 4) {
            *reinterpret_cast<std::uint32_t*>(t) = *reinterpret_cast<const std::uint32_t*>(f);
        }
    }
    for (; bytes > 0; --bytes) {
        *t++ = *f++;
    }
    return to;
}

void* memmove(void* to, const void* from, std::size_t bytes) {
    auto* t = static_cast<unsigned char*>(to);
    const auto* f = static_cast<const unsigned char*>(from);
    if (t <= f) {
        return memcpy(to, from, bytes);
    }
    while (bytes > 0) {
        --bytes;
        t[bytes] = f[bytes];
    }
    return to;
}

void* memset(void* to, int value, std::size_t bytes) {
    auto* t = static_cast<unsigned char*>(to);
    for (; bytes > 0; --bytes) {
        *t++ = static_cast<unsigned char>(value);
    }
    return to;
}

int memcmp(const void* a, const void* b, std::size_t bytes) {
    const auto* x = static_cast<const unsigned char*>(a);
    const auto* y = static_cast<const unsigned char*>(b);
    for (; bytes > 0; --bytes, ++x, ++y) {
        if (*x != *y) {
            return *x - *y;
        }
    }
    return 0;
}
}
