// SPDX-License-Identifier: Apache-2.0
#include "consort/virtual/fiber.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <new>

#if !defined(__x86_64__) && !defined(__aarch64__)
#include <ucontext.h>
#endif

#if defined(__SANITIZE_ADDRESS__)
#define CONSORT_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CONSORT_ASAN 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define CONSORT_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define CONSORT_TSAN 1
#endif
#endif
#if defined(CONSORT_ASAN)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(CONSORT_TSAN)
#include <sanitizer/tsan_interface.h>
#endif

// consort_fiber_switch(void** from, void* to): puts the registers that a call preserves on the stack, its
// pointer into *from, and takes those that `to` points to. The control words of the floating-point unit stay:
// nobody changes them. The names are global, since an entry of AArch64's offset table for a local one loses
// its place in the section; and hidden.
#if defined(__x86_64__)
asm(R"(
.text
.p2align 4
.globl consort_fiber_switch
.hidden consort_fiber_switch
.type consort_fiber_switch, @function
consort_fiber_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
.size consort_fiber_switch, .-consort_fiber_switch
.p2align 4
.globl consort_fiber_begin
.hidden consort_fiber_begin
.type consort_fiber_begin, @function
consort_fiber_begin:
    movq %r12, %rdi
    callq *%r13
    ud2
.size consort_fiber_begin, .-consort_fiber_begin
)");
#elif defined(__aarch64__)
asm(R"(
.text
.p2align 4
.globl consort_fiber_switch
.hidden consort_fiber_switch
.type consort_fiber_switch, %function
consort_fiber_switch:
    sub sp, sp, #160
    stp x19, x20, [sp, #0]
    stp x21, x22, [sp, #16]
    stp x23, x24, [sp, #32]
    stp x25, x26, [sp, #48]
    stp x27, x28, [sp, #64]
    stp x29, x30, [sp, #80]
    stp d8, d9, [sp, #96]
    stp d10, d11, [sp, #112]
    stp d12, d13, [sp, #128]
    stp d14, d15, [sp, #144]
    mov x9, sp
    str x9, [x0]
    mov sp, x1
    ldp x19, x20, [sp, #0]
    ldp x21, x22, [sp, #16]
    ldp x23, x24, [sp, #32]
    ldp x25, x26, [sp, #48]
    ldp x27, x28, [sp, #64]
    ldp x29, x30, [sp, #80]
    ldp d8, d9, [sp, #96]
    ldp d10, d11, [sp, #112]
    ldp d12, d13, [sp, #128]
    ldp d14, d15, [sp, #144]
    add sp, sp, #160
    ret
.size consort_fiber_switch, .-consort_fiber_switch
.p2align 4
.globl consort_fiber_begin
.hidden consort_fiber_begin
.type consort_fiber_begin, %function
consort_fiber_begin:
    mov x0, x19
    blr x20
    brk #0
.size consort_fiber_begin, .-consort_fiber_begin
)");
#endif

#if defined(__x86_64__) || defined(__aarch64__)
extern "C" {
void consort_fiber_switch(void** from, void* to);
void consort_fiber_begin();
}
#endif

namespace consort::virtual_time {

#if defined(__x86_64__)
struct Fiber::Switch {
    // As consort_fiber_switch leaves it; where consort_fiber_begin begins the stack is aligned for a call.
    static void* prepare(void* top, void (*begin)(Fiber*), Fiber* fiber) {
        auto* at = static_cast<std::uintptr_t*>(top) - 9;
        at[0] = at[1] = 0;                                // r15, r14
        at[2] = reinterpret_cast<std::uintptr_t>(begin);  // r13
        at[3] = reinterpret_cast<std::uintptr_t>(fiber);  // r12
        at[4] = at[5] = 0;                                // rbx, rbp
        at[6] = reinterpret_cast<std::uintptr_t>(&consort_fiber_begin);
        at[7] = at[8] = 0;
        return at;
    }
    static void from_to(void** from, void** to) { consort_fiber_switch(from, *to); }
};
#elif defined(__aarch64__)
struct Fiber::Switch {
    static void* prepare(void* top, void (*begin)(Fiber*), Fiber* fiber) {
        auto* at = static_cast<std::uintptr_t*>(top) - 20;
        for (int i = 0; i < 20; ++i) {
            at[i] = 0;
        }
        at[0] = reinterpret_cast<std::uintptr_t>(fiber);                  // x19
        at[1] = reinterpret_cast<std::uintptr_t>(begin);                  // x20
        at[11] = reinterpret_cast<std::uintptr_t>(&consort_fiber_begin);  // x30
        return at;
    }
    static void from_to(void** from, void** to) { consort_fiber_switch(from, *to); }
};
#else
struct Fiber::Switch {
    static void trampoline(unsigned low, unsigned high) {
        const auto address = static_cast<std::uintptr_t>(low) | static_cast<std::uintptr_t>(high)
                                                                    << 16U << 16U;
        begin(reinterpret_cast<Fiber*>(address));
    }
    static void from_to(void** from, void** to) {
        swapcontext(static_cast<ucontext_t*>(*from), static_cast<ucontext_t*>(*to));
    }
};
#endif

Fiber::Fiber() {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    mapped_ = stack_bytes + page;
    memory_ =
        mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory_ == MAP_FAILED) {
        throw std::bad_alloc();
    }
    if (mprotect(memory_, page, PROT_NONE) != 0) {
        munmap(memory_, mapped_);
        throw std::bad_alloc();
    }
#if !defined(__x86_64__) && !defined(__aarch64__)
    inside_ = new ucontext_t;
    outside_ = new ucontext_t;
#endif
}

Fiber::~Fiber() {
#if defined(CONSORT_TSAN)
    if (sanitizer_inside_ != nullptr) {
        __tsan_destroy_fiber(sanitizer_inside_);
    }
#endif
#if !defined(__x86_64__) && !defined(__aarch64__)
    delete static_cast<ucontext_t*>(inside_);
    delete static_cast<ucontext_t*>(outside_);
#endif
    munmap(memory_, mapped_);
}

void Fiber::start(void (*entry)(void*), void* argument) {
    entry_ = entry;
    argument_ = argument;
    std::byte* top = static_cast<std::byte*>(memory_) + mapped_;
#if defined(__x86_64__) || defined(__aarch64__)
    inside_ = Switch::prepare(top, &Fiber::begin, this);
#else
    auto* context = static_cast<ucontext_t*>(inside_);
    getcontext(context);
    context->uc_stack.ss_sp = top - stack_bytes;
    context->uc_stack.ss_size = stack_bytes;
    context->uc_link = nullptr;
    const auto address = reinterpret_cast<std::uintptr_t>(this);
    makecontext(context, reinterpret_cast<void (*)()>(&Switch::trampoline), 2, static_cast<unsigned>(address),
                static_cast<unsigned>(address >> 16U >> 16U));
#endif
#if defined(CONSORT_TSAN)
    if (sanitizer_inside_ != nullptr) {
        __tsan_destroy_fiber(sanitizer_inside_);
    }
    sanitizer_inside_ = __tsan_create_fiber(0);
#endif
#if defined(CONSORT_ASAN)
    // Clears frames of earlier runs, which never ended.
    __asan_unpoison_memory_region(top - stack_bytes, stack_bytes);
    sanitizer_inside_ = nullptr;
#endif
}

void Fiber::begin(Fiber* fiber) {
    fiber->enter();
    fiber->entry_(fiber->argument_);
    std::abort();
}

void Fiber::enter() {
#if defined(CONSORT_ASAN)
    __sanitizer_finish_switch_fiber(sanitizer_inside_, &caller_stack_, &caller_bytes_);
#endif
}

void Fiber::resume() {
#if defined(CONSORT_ASAN)
    __sanitizer_start_switch_fiber(&sanitizer_outside_,
                                   static_cast<std::byte*>(memory_) + mapped_ - stack_bytes, stack_bytes);
#endif
#if defined(CONSORT_TSAN)
    sanitizer_outside_ = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(sanitizer_inside_, 0);
#endif
    Switch::from_to(&outside_, &inside_);
#if defined(CONSORT_ASAN)
    __sanitizer_finish_switch_fiber(sanitizer_outside_, nullptr, nullptr);
#endif
}

void Fiber::yield() {
#if defined(CONSORT_ASAN)
    __sanitizer_start_switch_fiber(&sanitizer_inside_, caller_stack_, caller_bytes_);
#endif
#if defined(CONSORT_TSAN)
    __tsan_switch_to_fiber(sanitizer_outside_, 0);
#endif
    Switch::from_to(&inside_, &outside_);
    enter();
}

}  // namespace consort::virtual_time
