// SPDX-License-Identifier: Apache-2.0
//
// Cortex-R5F: from reset at address 0 to C++, and its timer's interrupt.

#include "consort/bare/arm/cortex_r5f_start.h"

    .section .text.start, "ax"
    .global _start
_start:
    r5f_vectors timer_interrupt

reset:
    cpsid   if
    r5f_enable
    bl      consort_main
park:
    wfi
    b       park

    // The return and state that srs stores, six registers, up to 4 bytes of alignment, two words and eight doubles.
    .global consort_interrupt_frame
    .set    consort_interrupt_frame, 8 + 24 + 4 + 8 + 64

    // In supervisor mode, in which all runs: what a C function may change, and where the interrupt came, on the one
    // stack, which a C function finds at a multiple of 8.
timer_interrupt:
    sub     lr, lr, #4
    srsdb   sp!, #0x13
    cps     #0x13
    push    {r0-r3, r12, lr}
    and     r1, sp, #4
    sub     sp, sp, r1
    vmrs    r0, fpscr
    push    {r0, r1}
    vpush   {d0-d7}
    bl      consort_interrupt
    vpop    {d0-d7}
    pop     {r0, r1}
    vmsr    fpscr, r0
    add     sp, sp, r1
    pop     {r0-r3, r12, lr}
    rfeia   sp!

    r5f_exceptions
