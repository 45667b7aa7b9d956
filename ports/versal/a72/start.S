// SPDX-License-Identifier: Apache-2.0
//
// Cortex-A72, the one with the number CONSORT_CORE: from the boot firmware's hand-over at EL3 to C++ with the MMU and the caches on, and its timer's
// interrupt. The program stays at EL3: nothing else runs on this core.

#include "consort/bare/arm/aarch64_start.h"

    .section .text.start, "ax"
    .global _start
_start:
    // Only the core that the image is for runs the program, and only from where this port knows the way.
    mrs     x0, mpidr_el1
    and     x0, x0, #0xffff
    cmp     x0, #CONSORT_CORE
    b.ne    park
    mrs     x0, CurrentEL
    cmp     x0, #(3 << 2)
    b.ne    park

    enter_core consort_vectors, 3
    join_coherency
    set_stack stack_top
    clear_bss
    bl      consort_fill_page_tables

    enable_mmu 3
    start_cycle_counter
    bl      consort_main
park:
    wfi
    b       park

    interrupt_handler fast_interrupt, 3, consort_interrupt

    exception_vectors consort_vectors, 3, fiq=fast_interrupt
