// SPDX-License-Identifier: Apache-2.0
//
// A core's use of its stack.
#include "consort/bare/stack.hpp"

#include <cstdint>

extern "C" {

// Symbols of the linker script. Between the guard and the bottom lies nothing: what is written there ran
// over.
extern std::uint32_t stack_guard[];
extern std::uint32_t stack_bottom[];
extern std::uint32_t stack_top[];

namespace {

constexpr std::uint32_t paint = 0x57ac4ed0U;
// The words below the bottom that are looked at after each job. What a frame leaves out there is found at the
// end.
constexpr int watched = 4;
// Sixteen bytes, so that a program's own data keep the alignment that copies go by: counted figures depend on
// it.
alignas(16) std::uint32_t painted[4];

}  // namespace

void consort_paint_stack() noexcept {
    // The memory below belongs to this function alone.
    const auto end = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) - 64;
    for (volatile std::uint32_t* word = stack_guard; reinterpret_cast<std::uintptr_t>(word) < end; ++word) {
        *word = paint;
    }
    painted[0] = 1;
}

std::uint32_t consort_stack_used() noexcept {
    const volatile std::uint32_t* word = stack_guard;
    while (word != stack_top && *word == paint) {
        ++word;
    }
    return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(stack_top) -
                                      reinterpret_cast<std::uintptr_t>(word));
}

bool consort_stack_overflowed() noexcept {
    const volatile std::uint32_t* bottom = stack_bottom;
    // The compiler takes the symbol for an array, and nothing to lie before it.
    asm("" : "+r"(bottom));
    for (int i = 1; i <= watched; ++i) {
        if (bottom[-i] != paint) {
            return painted[0] != 0;
        }
    }
    return false;
}

void consort_stack_overflow() noexcept {
    using namespace consort::bare;
    Text<96> text;
    text.add("stack overflow on core ").add(this_core).add(": it needed more than it has");
    ControlBlock block(window() + this_place * ControlBlock::bytes);
    block.text(text.c_str());
    block.state(State::failed);
    print(text.c_str());
    for (;;) {
        consort::isa::relax();
    }
}
}
