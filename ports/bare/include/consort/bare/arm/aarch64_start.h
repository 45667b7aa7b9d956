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

    .macro  report_exception what
    .balign 0x80
    adr     x0, \what
    b       report
    .endm

    // Vectors, each of which reports its exception, for good; but an interrupt of this level goes to `irq`.
    .macro  exception_vectors name, el, irq=text_irq
    .balign 0x800
    .global \name
\name:
    .irp    what, text_sync, text_irq, text_fiq, text_serror, text_sync
    report_exception \what
    .endr
    .ifc    \irq,text_irq
    report_exception text_irq
    .else
    .balign 0x80
    b       \irq
    .endif
    .irp    what, text_fiq, text_serror, text_sync, text_irq, text_fiq, text_serror, text_sync, text_irq, text_fiq, text_serror
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
