// SPDX-License-Identifier: Apache-2.0
//
// Cortex-A53: from the boot firmware's hand-over at EL1 to C++ with the MMU and the caches on, and its timer's interrupt.

#include "consort/bare/arm/aarch64_start.h"

    .section .text.start, "ax"
    .global _start
_start:
    // Only from where this port knows the way.
    mrs     x0, CurrentEL
    cmp     x0, #(1 << 2)
    b.ne    park

    enter_core consort_vectors, 1
    set_stack stack_top
    clear_bss
    bl      consort_fill_page_tables
    enable_mmu 1
    start_cycle_counter
    bl      consort_main
park:
    wfi
    b       park

    interrupt_handler interrupt, 1, consort_interrupt
    exception_vectors consort_vectors, 1, irq=interrupt
