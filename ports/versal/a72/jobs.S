// SPDX-License-Identifier: Apache-2.0
//
// Jobs of the scratchpad-centric kernel on an A72. The kernel stays at EL3; a job runs at EL0 and sees what its
// page tables show: its partition, and the page below that has the way out.
//
// A job ends in one of three ways: it returns (svc), it faults, or the timer's interrupt finds that it is to
// be left. The first two go to EL1, whose only code hands them to EL3.

    // Offsets of the running core's fields, at tpidr_el3 (a72/scratchpad.cpp, struct Cpu).
    .equ    CPU_STACK, 0
    .equ    CPU_TICK, 8
    .equ    CPU_STOP, 16
    .equ    CPU_JOB, 24

    .equ    BY_RETURN, 0
    .equ    BY_FAULT, 1
    .equ    BY_STOP, 2

    .section .text.jobs, "ax"

// std::uint64_t consort_execute(entry, stack, parts): how the job ended.
    .global consort_execute
consort_execute:
    stp     x29, x30, [sp, #-160]!
    stp     x19, x20, [sp, #16]
    stp     x21, x22, [sp, #32]
    stp     x23, x24, [sp, #48]
    stp     x25, x26, [sp, #64]
    stp     x27, x28, [sp, #80]
    stp     d8, d9, [sp, #96]
    stp     d10, d11, [sp, #112]
    stp     d12, d13, [sp, #128]
    stp     d14, d15, [sp, #144]
    mrs     x9, tpidr_el3
    mov     x10, sp
    str     x10, [x9, #CPU_STACK]
    msr     elr_el3, x0
    msr     spsr_el3, xzr               // EL0, nothing masked
    msr     sp_el0, x1
    mov     x0, x2
    adr     x30, consort_job_page + 0x800
    isb
    eret

leave:                                  // x0: how
    mrs     x9, tpidr_el3
    ldr     x10, [x9, #CPU_STACK]
    mov     sp, x10
    ldp     x19, x20, [sp, #16]
    ldp     x21, x22, [sp, #32]
    ldp     x23, x24, [sp, #48]
    ldp     x25, x26, [sp, #64]
    ldp     x27, x28, [sp, #80]
    ldp     d8, d9, [sp, #96]
    ldp     d10, d11, [sp, #112]
    ldp     d12, d13, [sp, #128]
    ldp     d14, d15, [sp, #144]
    ldp     x29, x30, [sp], #160
    ret

ended:                                  // at EL1: a system call is the return, all else a fault
    mrs     x1, esr_el1
    lsr     x1, x1, #26
    mov     x0, #BY_FAULT
    cmp     x1, #0x15
    b.ne    leave
    mov     x0, #BY_RETURN
    b       leave

tick:
    stp     x0, x1, [sp, #-32]!
    stp     x2, x3, [sp, #16]
    mrs     x0, S3_0_C12_C8_0           // ICC_IAR0: what interrupts
    mrs     x2, tpidr_el3
    ldr     x1, [x2, #CPU_TICK]
    msr     cntps_tval_el1, x1          // the timer's line falls
    isb
    msr     S3_0_C12_C8_1, x0           // ICC_EOIR0
    ldr     x1, [x2, #CPU_STOP]
    ldr     w1, [x1]
    ldr     w3, [x2, #CPU_JOB]
    cmp     w1, w3
    b.eq    stopped
    yield                               // an emulator that runs one core at a time goes on to the next
    ldp     x2, x3, [sp, #16]
    ldp     x0, x1, [sp], #32
    eret
stopped:
    mov     x0, #BY_STOP
    b       leave

    .balign 0x800
    .global consort_job_vectors
consort_job_vectors:
    .irp    n, 0, 1, 2, 3, 4, 5, 6, 7   // from EL3 itself: the kernel's own faults
    .balign 0x80
    b       kernel_fault
    .endr
    .balign 0x80                        // from below: synchronous, IRQ, FIQ, system error
    b       ended
    .balign 0x80
    b       kernel_fault
    .balign 0x80
    b       tick
    .balign 0x80
    mov     x0, #BY_FAULT
    b       leave
    .irp    n, 0, 1, 2, 3
    .balign 0x80
    b       kernel_fault
    .endr
    .balign 0x80

kernel_fault:
    adr     x0, text_kernel_fault
    mrs     x1, elr_el3
    mrs     x2, esr_el3
    mrs     x3, far_el3
    b       consort_exception
text_kernel_fault:
    .asciz  "exception in the scratchpad kernel"

// The one page that every job sees besides its partition; read and executed only. x0 must not look like a call
// to the boot firmware: whatever a job left there is not passed on.
    .balign 4096
    .global consort_job_page
consort_job_page:
    .irp    n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    .balign 0x80
    mov     x0, #0
    smc     #0
    .endr
    .balign 0x800
    svc     #0                          // where a job returns to
    .balign 4096
