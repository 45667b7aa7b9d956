// SPDX-License-Identifier: Apache-2.0
//
// Cortex-M4F: dispatches on the stack of what was interrupted, in thread mode (the method of Samek's QK).
//
// PendSV, the least urgent exception, makes up a frame and returns with it to `trampoline` in thread mode. That
// calls consort_dispatch(), which runs more urgent jobs and can be interrupted itself; then a supervisor call
// drops its own frame and returns with the one that PendSV had found.

    .syntax unified
    .cpu cortex-m4
    .fpu fpv4-sp-d16
    .thumb

    .weak   consort_dispatch

    // The frame that the processor stores with floating-point state (26 words, and one of alignment), the words that
    // PendSV pushes and makes up, and the frame that the processor stores again where SysTick comes before PendSV has
    // returned.
    .global consort_interrupt_frame
    .set    consort_interrupt_frame, 108 + 8 + 32 + 108

    .section .text.preempt, "ax"
    .global consort_pendsv
    .thumb_func
consort_pendsv:
    push    {r0, lr}                    // how to return later; the stack stays a multiple of 8
    ldrd    r0, r1, made                // the made frame's last words: r0 to r3 were stored
    push    {r0, r1}
    sub     sp, sp, #24
    mvn     r0, #6                      // 0xfffffff9: thread mode, this stack, no floating-point state
    bx      r0
    .balign 4
made:
    .word   trampoline_at               // PC, an even address
    .word   1 << 24                     // xPSR

trampoline_at:
    .thumb_func
trampoline:
    cpsid   i
    bl      consort_dispatch
    cpsie   i
    mrs     r0, control                 // FPCA: or the call would save floating-point state as well
    bic     r0, r0, #4
    msr     control, r0
    isb
    svc     #0

    .global consort_svc
    .thumb_func
consort_svc:
    add     sp, sp, #32
    pop     {r0, lr}
    bx      lr
