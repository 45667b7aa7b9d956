// SPDX-License-Identifier: Apache-2.0
//
// Cortex-A72: from the boot firmware's hand-over at EL3 to C++ with the MMU and the caches on. The program stays
// at EL3: nothing else runs on this core.

#include "core_setup.h"

    .section .text.start, "ax"
    .global _start
_start:
    // Only core 0 runs the program, and only from where this port knows the way.
    mrs     x0, mpidr_el1
    and     x0, x0, #0xffff
    cbnz    x0, park
    mrs     x0, CurrentEL
    cmp     x0, #(3 << 2)
    b.ne    park

    enter_core consort_vectors
    set_stack stack_top
    adrp    x0, bss_begin
    add     x0, x0, :lo12:bss_begin
    adrp    x1, bss_end
    add     x1, x1, :lo12:bss_end
1:  cmp     x0, x1
    b.hs    2f
    stp     xzr, xzr, [x0], #16
    b       1b
2:
    bl      consort_fill_page_tables

    enable_mmu
    start_cycle_counter
    bl      consort_main
park:
    wfi
    b       park

    .macro entry what
    .balign 0x80
    adr     x0, \what
    b       report
    .endm

    .balign 0x800
    .global consort_vectors
consort_vectors:
    .irp    what, text_sync, text_irq, text_fiq, text_serror, text_sync, text_irq, text_fiq, text_serror, text_sync, text_irq, text_fiq, text_serror, text_sync, text_irq, text_fiq, text_serror
    entry   \what
    .endr

report:
    mrs     x1, elr_el3
    mrs     x2, esr_el3
    mrs     x3, far_el3
    b       consort_exception

text_sync:
    .asciz  "synchronous exception"
text_irq:
    .asciz  "unexpected interrupt"
text_fiq:
    .asciz  "unexpected fast interrupt"
text_serror:
    .asciz  "system error"
