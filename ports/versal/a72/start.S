// SPDX-License-Identifier: Apache-2.0
//
// Cortex-A72: from the boot firmware's hand-over at EL3 to C++ with the MMU and the caches on. The program stays
// at EL3: nothing else runs on this core.

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

    adr     x0, vectors
    msr     vbar_el3, x0
    msr     cptr_el3, xzr               // floating point does not trap
    mrs     x0, S3_1_c15_c2_1           // CPUECTLR: SMPEN, before caches and MMU are enabled (TRM 4.3.67)
    orr     x0, x0, #(1 << 6)
    msr     S3_1_c15_c2_1, x0
    isb

    adrp    x0, stack_top
    add     x0, x0, :lo12:stack_top
    mov     sp, x0
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

    adrp    x0, consort_page_tables
    add     x0, x0, :lo12:consort_page_tables
    msr     ttbr0_el3, x0
    ldr     x0, =0x000444ff             // MAIR: 0 write-back, 1 normal uncached, 2 device nGnRE
    msr     mair_el3, x0
    ldr     x0, =0x80823520             // TCR: 4 GiB from TTBR0, 4 KiB granule, walks cached, inner shareable
    msr     tcr_el3, x0
    dsb     sy
    tlbi    alle3
    ic      iallu
    dsb     sy
    isb
    mrs     x0, sctlr_el3
    ldr     x1, =0x1005                 // M, C, I
    orr     x0, x0, x1
    msr     sctlr_el3, x0
    isb

    // The cycle counter, from 0, in every state.
    mov     x0, #0x45                   // PMCR: enable, reset cycles, 64 bits
    msr     pmcr_el0, x0
    mov     x0, #(1 << 31)
    msr     pmcntenset_el0, x0
    msr     pmccfiltr_el0, xzr
    isb

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
vectors:
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
