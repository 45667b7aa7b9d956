// SPDX-License-Identifier: Apache-2.0
//
// The four functions that compilers call in freestanding programs too, and the end of what cannot go on.
#include <cstddef>
#include <cstdint>

#include "consort/bare/program.hpp"

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

// A processor exception: `what` and where, on the console and on the core's desk, for good.
[[noreturn]] void consort_exception(const char* what, std::uint64_t at, std::uint64_t syndrome,
                                    std::uint64_t address) {
    using namespace consort::bare;
    Text<160> text;
    text.add("consort: ").add(this_core).add(": ").add(what);
    text.add(" at ").hex(at, 8).add(", syndrome ").hex(syndrome, 8).add(", address ").hex(address, 8);
    print(text.c_str());
    Desk desk(window() + this_place * Desk::bytes);
    desk.text(text.c_str());
    desk.state(State::failed);
    for (;;) {
        consort::isa::relax();
    }
}

// Entered by the start-up code once the core can run C++.
void consort_main() {
    consort::bare::start_up();
    consort::bare::run_program(consort::bare::this_place);
}
}
