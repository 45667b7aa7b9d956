// SPDX-License-Identifier: Apache-2.0
//
// Cortex-M4F: vectors, floating point, data and bss, then C++.

    .syntax unified
    .cpu cortex-m4
    .fpu fpv4-sp-d16
    .thumb

    // Programs without the executive have no timer interrupt.
    .weak   consort_timer_interrupt

    .section .vectors, "a"
    .word   stack_top
    .word   _start
    .rept   9
    .word   fault
    .endr
    .word   consort_svc
    .word   fault
    .word   fault
    .word   consort_pendsv
    .word   consort_timer_interrupt     // SysTick

    .section .text.start, "ax"
    .global _start
    .thumb_func
_start:
    ldr     r0, =0xe000ed88             // CPACR: full access to the floating-point unit
    ldr     r1, [r0]
    orr     r1, r1, #(0xf << 20)
    str     r1, [r0]
    dsb
    isb
    ldr     r0, =data_begin
    ldr     r1, =data_end
    ldr     r2, =data_load
1:  cmp     r0, r1
    bhs     2f
    ldr     r3, [r2], #4
    str     r3, [r0], #4
    b       1b
2:  ldr     r0, =bss_begin
    ldr     r1, =bss_end
    movs    r2, #0
3:  cmp     r0, r1
    bhs     4f
    str     r2, [r0], #4
    b       3b
4:  bl      consort_main
park:
    wfi
    b       park

    .thumb_func
fault:
    ldr     r4, [sp, #24]               // the return address in the exception's frame
    ldr     r0, =text_fault
    mov     r2, r4                      // consort_exception(what, at, syndrome, address): 64-bit pairs
    movs    r3, #0
    ldr     r4, =0xe000ed28             // CFSR
    ldr     r4, [r4]
    movs    r5, #0
    ldr     r6, =0xe000ed38             // BFAR
    ldr     r6, [r6]
    movs    r7, #0
    push    {r4, r5, r6, r7}
    b       consort_exception

    .section .rodata
text_fault:
    .asciz  "fault"
