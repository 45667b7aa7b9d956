// SPDX-License-Identifier: Apache-2.0
//
// Assembler macros of what a 64-bit Arm core does before it runs C++: `el` is the exception level that it stays at, 1
// or 3.

    // Exceptions to the vectors at the label; floating point does not trap (at EL3 from the next isb on). Uses x0.
    .macro  enter_core vectors, el
    adrp    x0, \vectors
    add     x0, x0, :lo12:\vectors
    msr     vbar_el\el, x0
    .if     \el == 3
    msr     cptr_el3, xzr
    .else
    mov     x0, #(3 << 20)
    msr     cpacr_el1, x0
    isb
    .endif
    .endm

    // Caches will see what other cores' caches hold. Uses x0.
    .macro  join_coherency
    mrs     x0, S3_1_c15_c2_1           // CPUECTLR: SMPEN, before caches and MMU are enabled (A72's TRM 4.3.67)
    orr     x0, x0, #(1 << 6)
    msr     S3_1_c15_c2_1, x0
    isb
    .endm

    .macro  set_stack top
    adrp    x0, \top
    add     x0, x0, :lo12:\top
    mov     sp, x0
    .endm

    // Uses x0 and x1.
    .macro  clear_bss
    adrp    x0, bss_begin
    add     x0, x0, :lo12:bss_begin
    adrp    x1, bss_end
    add     x1, x1, :lo12:bss_end
1:  cmp     x0, x1
    b.hs    2f
    stp     xzr, xzr, [x0], #16
    b       1b
2:
    .endm

    // MMU and caches on, with consort_page_tables (aarch64_page_tables.hpp). Uses x0 and x1.
    .macro  enable_mmu el
    adrp    x0, consort_page_tables
    add     x0, x0, :lo12:consort_page_tables
    msr     ttbr0_el\el, x0
    ldr     x0, =0x000444ff             // MAIR: 0 write-back, 1 normal uncached, 2 device nGnRE
    msr     mair_el\el, x0
    // TCR: 4 GiB from TTBR0, 4 KiB granule, walks cached, inner shareable.
    .if     \el == 3
    ldr     x0, =0x80823520
    .else
    ldr     x0, =0x80803520             // and none from TTBR1
    .endif
    msr     tcr_el\el, x0
    dsb     sy
    .if     \el == 3
    tlbi    alle3
    .else
    tlbi    vmalle1
    .endif
    ic      iallu
    dsb     sy
    isb
    mrs     x0, sctlr_el\el
    ldr     x1, =0x1005                 // M, C, I
    orr     x0, x0, x1
    msr     sctlr_el\el, x0
    isb
    .endm

    // The cycle counter, from 0, in every state. Uses x0.
    .macro  start_cycle_counter
    mov     x0, #0x45                   // PMCR: enable, reset cycles, 64 bits
    msr     pmcr_el0, x0
    mov     x0, #(1 << 31)
    msr     pmcntenset_el0, x0
    msr     pmccfiltr_el0, xzr
    isb
    .endm

    // Registers that a handler in C++ may change, and the place of the interrupt: on the one stack.
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

    // Calls a function without arguments; it may enable interrupts, and others come on top.
    .macro  interrupt_handler name, el, function
    .global consort_interrupt_frame
    .set    consort_interrupt_frame, frame_bytes
\name:
    sub     sp, sp, #frame_bytes
    each_integer stp
    mrs     x0, elr_el\el
    mrs     x1, spsr_el\el
    mrs     x2, fpcr
    mrs     x3, fpsr
    stp     x0, x1, [sp, #(8 * integers)]
    stp     x2, x3, [sp, #(8 * integers + 16)]
    each_float stp
    bl      \function
    each_float ldp
    ldp     x0, x1, [sp, #(8 * integers)]
    ldp     x2, x3, [sp, #(8 * integers + 16)]
    msr     elr_el\el, x0
    msr     spsr_el\el, x1
    msr     fpcr, x2
    msr     fpsr, x3
    each_integer ldp
    add     sp, sp, #frame_bytes
    eret
    .endm

    .macro  report_exception what
    .balign 0x80
    adr     x0, \what
    b       report
    .endm

    .macro  vector_to handler, what
    .ifb    \handler
    report_exception \what
    .else
    .balign 0x80
    b       \handler
    .endif
    .endm

    // Vectors, each of which reports its exception, for good; but interrupts of this level go to `irq` and `fiq`, where
    // these are given.
    .macro  exception_vectors name, el, irq, fiq
    .balign 0x800
    .global \name
\name:
    .irp    what, text_sync, text_irq, text_fiq, text_serror, text_sync
    report_exception \what
    .endr
    vector_to "\irq", text_irq
    vector_to "\fiq", text_fiq
    .irp    what, text_serror, text_sync, text_irq, text_fiq, text_serror, text_sync, text_irq, text_fiq, text_serror
    report_exception \what
    .endr

report:
    mrs     x1, elr_el\el
    mrs     x2, esr_el\el
    mrs     x3, far_el\el
    b       consort_exception

text_sync:
    .asciz  "synchronous exception"
text_irq:
    .asciz  "unexpected interrupt"
text_fiq:
    .asciz  "unexpected fast interrupt"
text_serror:
    .asciz  "system error"
    .balign 4
    .endm
