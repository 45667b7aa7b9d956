// SPDX-License-Identifier: Apache-2.0
//
// Assembler macros of what every Cortex-A72 does at EL3 before it runs C++: the first in start.S, the second
// in second_core.S.

    // Exceptions to the vectors at the label; caches will see what other cores' caches hold. Uses x0.
    .macro  enter_core vectors
    adrp    x0, \vectors
    add     x0, x0, :lo12:\vectors
    msr     vbar_el3, x0
    msr     cptr_el3, xzr               // floating point does not trap
    mrs     x0, S3_1_c15_c2_1           // CPUECTLR: SMPEN, before caches and MMU are enabled (TRM 4.3.67)
    orr     x0, x0, #(1 << 6)
    msr     S3_1_c15_c2_1, x0
    isb
    .endm

    .macro  set_stack top
    adrp    x0, \top
    add     x0, x0, :lo12:\top
    mov     sp, x0
    .endm

    // MMU and caches on, with the page tables of mmu.cpp. Uses x0 and x1.
    .macro  enable_mmu
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
