// SPDX-License-Identifier: Apache-2.0
//
// Assembler macros of a Cortex-R5F's start.S: from reset to C++ with the MPU, the caches and the floating-point unit
// on, and what is done with exceptions. A start.S has the vectors, `reset`, and the exceptions behind it.

    .syntax unified
    .arm

// The vectors. `irq`: where an interrupt goes.
    .macro  r5f_vectors irq=interrupt
    b       reset
    b       undefined
    b       supervisor_call
    b       prefetch_abort
    b       data_abort
    nop
    b       \irq
    b       fast_interrupt
    .endm

// Floating point, stack and .bss, the MPU by consort_set_mpu() and the caches. Interrupts are disabled. `bits`: of
// SCTLR beside M, C and I.
    .macro  r5f_enable bits=0
    // Caches are invalidated before they are enabled; the MPU is off.
    mov     r0, #0
    mcr     p15, 0, r0, c15, c5, 0      // invalidate the whole data cache (R5)
    mcr     p15, 0, r0, c7, c5, 0       // and the instruction cache
    dsb
    isb
    // Floating point.
    mrc     p15, 0, r0, c1, c0, 2
    orr     r0, r0, #(0xf << 20)
    mcr     p15, 0, r0, c1, c0, 2
    isb
    mov     r0, #(1 << 30)
    vmsr    fpexc, r0

    ldr     sp, =stack_top
    ldr     r0, =bss_begin
    ldr     r1, =bss_end
    mov     r2, #0
1:  cmp     r0, r1
    strlo   r2, [r0], #4
    blo     1b

    bl      consort_set_mpu
    mrc     p15, 0, r0, c1, c0, 0
    ldr     r1, =(0x1005 | \bits)       // M, C, I
    orr     r0, r0, r1
    bic     r0, r0, #(1 << 17)          // no background map: what is not described faults
    dsb
    mcr     p15, 0, r0, c1, c0, 0
    isb
    .endm

// Where the vectors lead: each exception is reported, for good.
    .macro  r5f_exceptions
undefined:
    ldr     r0, =text_undefined
    b       report
supervisor_call:
    ldr     r0, =text_supervisor_call
    b       report
prefetch_abort:
    ldr     r0, =text_prefetch_abort
    mrc     p15, 0, r5, c5, c0, 1       // IFSR
    mrc     p15, 0, r6, c6, c0, 2       // IFAR
    b       report_with
data_abort:
    ldr     r0, =text_data_abort
    mrc     p15, 0, r5, c5, c0, 0       // DFSR
    mrc     p15, 0, r6, c6, c0, 0       // DFAR
    b       report_with
interrupt:
    ldr     r0, =text_interrupt
    b       report
fast_interrupt:
    ldr     r0, =text_fast_interrupt
report:
    mov     r5, #0
    mov     r6, #0
report_with:
    mov     r2, lr                      // consort_exception(what, at, syndrome, address): 64-bit pairs
    mov     r3, #0
    ldr     sp, =stack_top              // each exception mode has a stack pointer of its own
    push    {r5, r6}
    mov     r1, r6
    mov     r6, #0
    pop     {r4, r5}
    push    {r5, r6}
    mov     r5, #0
    push    {r4, r5}
    b       consort_exception
    .ltorg

    .pushsection .rodata
text_undefined:
    .asciz  "undefined instruction"
text_supervisor_call:
    .asciz  "unexpected supervisor call"
text_prefetch_abort:
    .asciz  "prefetch abort"
text_data_abort:
    .asciz  "data abort"
text_interrupt:
    .asciz  "unexpected interrupt"
text_fast_interrupt:
    .asciz  "unexpected fast interrupt"
    .popsection
    .endm
