// SPDX-License-Identifier: Apache-2.0
//
// Cortex-R5F: from reset at address 0 to C++.

#include "consort/bare/arm/cortex_r5f_start.h"

    .section .text.start, "ax"
    .global _start
_start:
    r5f_vectors

reset:
    cpsid   if
    mrc     p15, 0, r0, c0, c0, 5       // only core 0 runs the program
    tst     r0, #0xff
    bne     park
    r5f_enable
    bl      consort_main
park:
    wfi
    b       park

    r5f_exceptions
