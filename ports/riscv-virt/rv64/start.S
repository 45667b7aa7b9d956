// SPDX-License-Identifier: Apache-2.0
//
// RV64 in machine mode: from reset to C++ with floating point on.

    .section .text.start, "ax"
    .global _start
_start:
    csrw    mie, zero
    la      t0, trap
    csrw    mtvec, t0
    // Only hart 0 runs the program.
    csrr    t0, mhartid
    bnez    t0, park
    .option push
    .option norelax
    la      gp, global_pointer
    .option pop
    li      t0, 0x6000                  // mstatus.FS: floating point
    csrs    mstatus, t0
    fscsr   zero
    la      sp, stack_top
    la      t0, bss_begin
    la      t1, bss_end
1:  bgeu    t0, t1, 2f
    sd      zero, 0(t0)
    addi    t0, t0, 8
    j       1b
2:  call    consort_main
park:
    wfi
    j       park

    .equ    integers, 16
    .equ    frame_bytes, 8 * (integers + 3 + 20 + 1)

    .global consort_interrupt_frame
    .set    consort_interrupt_frame, frame_bytes

    // What a C function may change, where the interrupt came, and the state before it: on the one stack.
    .macro  each_integer do
    .set    at, 0
    .irp    r, ra, t0, t1, t2, t3, t4, t5, t6, a0, a1, a2, a3, a4, a5, a6, a7
    \do     \r, 8 * at(sp)
    .set    at, at + 1
    .endr
    .endm
    .macro  each_float do
    .set    at, integers + 3
    .irp    r, ft0, ft1, ft2, ft3, ft4, ft5, ft6, ft7, ft8, ft9, ft10, ft11, fa0, fa1, fa2, fa3, fa4, fa5, fa6, fa7
    \do     \r, 8 * at(sp)
    .set    at, at + 1
    .endr
    .endm

    .balign 4
trap:
    addi    sp, sp, -frame_bytes
    each_integer sd
    csrr    t0, mcause
    bgez    t0, fault
    csrr    t1, mepc
    csrr    t2, mstatus
    frcsr   t3
    sd      t1, 8 * integers(sp)
    sd      t2, 8 * (integers + 1)(sp)
    sd      t3, 8 * (integers + 2)(sp)
    each_float fsd
    call    consort_timer_interrupt
    each_float fld
    ld      t1, 8 * integers(sp)
    ld      t2, 8 * (integers + 1)(sp)
    ld      t3, 8 * (integers + 2)(sp)
    csrw    mepc, t1
    csrw    mstatus, t2
    fscsr   t3
    each_integer ld
    addi    sp, sp, frame_bytes
    mret

    // Programs without the executive have no timer interrupt.
    .weak   consort_timer_interrupt

fault:
    la      a0, text_trap
    csrr    a1, mepc
    csrr    a2, mcause
    csrr    a3, mtval
    la      sp, stack_top
    j       consort_exception

    .section .rodata
text_trap:
    .asciz  "trap"
