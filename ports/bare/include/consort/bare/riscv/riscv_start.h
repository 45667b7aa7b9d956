// SPDX-License-Identifier: Apache-2.0
//
// A RISC-V core in machine mode, of 32 or 64 bits: from reset to C++ with floating point on, and its timer's interrupt.

#if __riscv_xlen == 64
#define STORE sd
#define LOAD ld
#else
#define STORE sw
#define LOAD lw
#endif
    .equ    word, __riscv_xlen / 8

    .macro  riscv_start
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
    STORE   zero, 0(t0)
    addi    t0, t0, word
    j       1b
2:  call    consort_main
park:
    wfi
    j       park
    .endm

    .equ    integers, 16
    // Behind the integers and three words of state; the stack stays a multiple of 16.
    .equ    floats_at, (word * (integers + 3) + 7) / 8 * 8
    .equ    frame_bytes, (floats_at + 8 * 20 + 15) / 16 * 16
    .global consort_interrupt_frame
    .set    consort_interrupt_frame, frame_bytes

    // Registers that a C function may change, the place of the interrupt, and the state before it: on the one
    // stack.
    .macro  each_integer do
    .set    at, 0
    .irp    r, ra, t0, t1, t2, t3, t4, t5, t6, a0, a1, a2, a3, a4, a5, a6, a7
    \do     \r, word * at(sp)
    .set    at, at + 1
    .endr
    .endm
    .macro  each_float do
    .set    at, 0
    .irp    r, ft0, ft1, ft2, ft3, ft4, ft5, ft6, ft7, ft8, ft9, ft10, ft11, fa0, fa1, fa2, fa3, fa4, fa5, fa6, fa7
    \do     \r, floats_at + 8 * at(sp)
    .set    at, at + 1
    .endr
    .endm

    .macro  riscv_trap
    .balign 4
trap:
    addi    sp, sp, -frame_bytes
    each_integer STORE
    csrr    t0, mcause
    bgez    t0, fault
    csrr    t1, mepc
    csrr    t2, mstatus
    frcsr   t3
    STORE   t1, word * integers(sp)
    STORE   t2, word * (integers + 1)(sp)
    STORE   t3, word * (integers + 2)(sp)
    each_float fsd
    call    consort_timer_interrupt
    each_float fld
    LOAD    t1, word * integers(sp)
    LOAD    t2, word * (integers + 1)(sp)
    LOAD    t3, word * (integers + 2)(sp)
    csrw    mepc, t1
    csrw    mstatus, t2
    fscsr   t3
    each_integer LOAD
    addi    sp, sp, frame_bytes
    mret

    // Programs without the executive have no timer interrupt.
    .weak   consort_timer_interrupt

    // consort_exception(what, at, syndrome, address): three numbers of 64 bits, in pairs of registers where these have
    // 32.
fault:
    la      sp, stack_top
#if __riscv_xlen == 64
    la      a0, text_trap
    csrr    a1, mepc
    csrr    a2, mcause
    csrr    a3, mtval
#else
    la      a0, text_trap
    csrr    a2, mepc
    li      a3, 0
    csrr    a4, mcause
    li      a5, 0
    csrr    a6, mtval
    li      a7, 0
#endif
    j       consort_exception

    .pushsection .rodata
text_trap:
    .asciz  "trap"
    .popsection
    .endm
