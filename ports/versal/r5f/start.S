// SPDX-License-Identifier: Apache-2.0
//
// Cortex-R5F, the one with the number CONSORT_CORE: from its vectors to C++. Both begin at address 0, with the first
// one's; those of the second one are the high ones, which its image brings.

#include "consort/bare/arm/cortex_r5f_start.h"

    .section .text.start, "ax"
    .global _start
_start:
    r5f_vectors

reset:
    cpsid   if
#if CONSORT_CORE == 0
    mrc     p15, 0, r0, c0, c0, 5
    tst     r0, #0xff
    bne     second
#endif
    r5f_enable (CONSORT_CORE<<13)       // SCTLR.V
    bl      consort_main
park:
    wfi
    b       park

#if CONSORT_CORE == 0
second:
    ldr     r1, =0xffff0000
    ldr     r0, [r1]
    cmp     r0, #0                      // on-chip memory is zero where no image lies
    beq     park
    mrc     p15, 0, r0, c1, c0, 0
    orr     r0, r0, #(1 << 13)          // SCTLR.V: it is executed there
    mcr     p15, 0, r0, c1, c0, 0
    isb
    bx      r1
#endif

    r5f_exceptions
