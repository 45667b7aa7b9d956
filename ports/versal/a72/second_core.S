// SPDX-License-Identifier: Apache-2.0
//
// The second Cortex-A72. A program that uses it defines consort_second_main and starts it
// (consort/versal/second_core.hpp).

    .section .text.second_core, "ax"
    .global consort_second_core_from_below
consort_second_core_from_below:
    mov     x0, #0
    smc     #0

// From its release to C++ with the first one's page tables, at consort_second_main.
    .global consort_second_core
consort_second_core:
    adrp    x0, consort_vectors
    add     x0, x0, :lo12:consort_vectors
    msr     vbar_el3, x0
    msr     cptr_el3, xzr
    mrs     x0, S3_1_c15_c2_1           // CPUECTLR: SMPEN
    orr     x0, x0, #(1 << 6)
    msr     S3_1_c15_c2_1, x0
    isb
    adrp    x0, consort_second_stack_top
    add     x0, x0, :lo12:consort_second_stack_top
    mov     sp, x0
    adrp    x0, consort_page_tables
    add     x0, x0, :lo12:consort_page_tables
    msr     ttbr0_el3, x0
    ldr     x0, =0x000444ff
    msr     mair_el3, x0
    ldr     x0, =0x80823520
    msr     tcr_el3, x0
    dsb     sy
    tlbi    alle3
    ic      iallu
    dsb     sy
    isb
    mrs     x0, sctlr_el3
    ldr     x1, =0x1005
    orr     x0, x0, x1
    msr     sctlr_el3, x0
    isb
    mov     x0, #0x45
    msr     pmcr_el0, x0
    mov     x0, #(1 << 31)
    msr     pmcntenset_el0, x0
    isb
    bl      consort_second_main
1:  wfi
    b       1b

    .section .bss.second_stack, "aw", %nobits
    .balign 16
    .space  16384
consort_second_stack_top:
