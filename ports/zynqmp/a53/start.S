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
    bl      consort_main
park:
    wfi
    b       park

    // What a C function may change, and where the interrupt came: on the one stack.
    .equ    integers, 20
    .equ    floats_at, 8 * (integers + 4)
    .equ    frame_bytes, floats_at + 16 * 32

    .macro  each_integer do
    \do     x0, x1, [sp, #0]
    \do     x2, x3, [sp, #16]
    \do     x4, x5, [sp, #32]
    \do     x6, x7, [sp, #48]
    \do     x8, x9, [sp, #64]
    \do     x10, x11, [sp, #80]
    \do     x12, x13, [sp, #96]
    \do     x14, x15, [sp, #112]
    \do     x16, x17, [sp, #128]
    \do     x18, x30, [sp, #144]
    .endm
    // Whole: a C function keeps only the lower halves of q8 to q15.
    .macro  each_float do
    .set    at, floats_at
    .irp    pair, "q0, q1", "q2, q3", "q4, q5", "q6, q7", "q8, q9", "q10, q11", "q12, q13", "q14, q15", "q16, q17", "q18, q19", "q20, q21", "q22, q23", "q24, q25", "q26, q27", "q28, q29", "q30, q31"
    \do     \pair, [sp, #at]
    .set    at, at + 32
    .endr
    .endm

interrupt:
    sub     sp, sp, #frame_bytes
    each_integer stp
    mrs     x0, elr_el1
    mrs     x1, spsr_el1
    mrs     x2, fpcr
    mrs     x3, fpsr
    stp     x0, x1, [sp, #(8 * integers)]
    stp     x2, x3, [sp, #(8 * integers + 16)]
    each_float stp
    bl      consort_interrupt
    each_float ldp
    ldp     x0, x1, [sp, #(8 * integers)]
    ldp     x2, x3, [sp, #(8 * integers + 16)]
    msr     elr_el1, x0
    msr     spsr_el1, x1
    msr     fpcr, x2
    msr     fpsr, x3
    each_integer ldp
    add     sp, sp, #frame_bytes
    eret

    exception_vectors consort_vectors, 1, interrupt
