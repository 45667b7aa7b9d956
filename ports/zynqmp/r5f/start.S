// SPDX-License-Identifier: Apache-2.0
//
// Cortex-R5F: from its release at its vectors to C++. Those of the second one are the high ones.

#include "consort/bare/arm/cortex_r5f_start.h"

    .section .text.start, "ax"
    .global _start
_start:
    r5f_vectors

reset:
    cpsid   if
    r5f_enable (CONSORT_CORE<<13)    // SCTLR.V
    bl      consort_main
park:
    wfi
    b       park

    r5f_exceptions
