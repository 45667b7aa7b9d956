// SPDX-License-Identifier: Apache-2.0
//
// A core's stack, from stack_bottom up to stack_top of its linker script: how much of it was ever used, and
// whether it was too short. A program paints what it has not used yet, and the gap below the stack, from
// stack_guard on; what is not painted any more was used. The host compares that with the bound
// (python/consort/board/stack.py).
#pragma once

#include <cstdint>

#include "consort/bare/program.hpp"

extern "C" {
// Part of a core's start-up code; a process beside the board has none of these.
[[gnu::weak]] void consort_paint_stack() noexcept;
// Bytes that were ever used since, of the stack and of the gap below it.
[[gnu::weak]] std::uint32_t consort_stack_used() noexcept;
// True if something wrote to the gap since it was painted.
[[gnu::weak]] bool consort_stack_overflowed() noexcept;
// Ends the run, for good: the memory below the stack is not what it was.
[[noreturn, gnu::weak]] void consort_stack_overflow() noexcept;
}

namespace consort::bare {

// The result with the bytes that were used; 0: not known.
inline constexpr std::uint32_t stack_result = ControlBlock::results - 1;

inline void paint_stack() noexcept {
    if (consort_paint_stack != nullptr) {
        consort_paint_stack();
    }
}
inline void check_stack() noexcept {
    if (consort_stack_overflowed != nullptr && consort_stack_overflowed()) {
        consort_stack_overflow();
    }
}
inline void report_stack(ControlBlock& block) noexcept {
    check_stack();
    // The host compares it with what the stack has.
    block.result(stack_result, consort_stack_used != nullptr ? consort_stack_used() : 0);
}

}  // namespace consort::bare
