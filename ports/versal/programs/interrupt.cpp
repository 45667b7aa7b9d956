// SPDX-License-Identifier: Apache-2.0
//
// A software-generated interrupt from one Cortex-A72 to the other, and one byte for comparison, in both
// directions. After Coppik et al., NG-RES 2025, section 3.2.
//
// Role: 1. Arguments and results as of one_way.cpp; legs: 0 and 1 interrupts from and to the first core, 2
// and 3 one byte through DDR. The second core uses control block 2.
#include <cstdint>

#include "bench/board/legs.hpp"
#include "consort/versal/gic.hpp"
#include "consort/versal/second_core.hpp"

namespace {

using namespace one_way;
using consort::versal::PrivateTimer;

constexpr std::uint32_t second_place = consort::board::control_block_of_second_core;
constexpr std::uint32_t signal = 3;

// The handler's results, at tpidr_el3: its first reading of the clock, how many came, which the last was.
struct Taken {
    std::uint64_t at;
    std::uint64_t count;
    std::uint64_t which;
};

}  // namespace

// The handler: the clock first, as the paper's stops its timer first. Vectors: everything but a fast
// interrupt at EL3 is a fault.
asm(R"(
    .section .text.interrupt_vectors, "ax"
    .balign 0x800
interrupt_vectors:
    .irp n, 0, 1, 2, 3, 4, 5
    .balign 0x80
    b   interrupt_fault
    .endr
    .balign 0x80
    b   interrupt_taken
    .irp n, 7, 8, 9, 10, 11, 12, 13, 14, 15
    .balign 0x80
    b   interrupt_fault
    .endr
    .balign 0x80
interrupt_taken:
    stp x0, x1, [sp, #-16]!
    isb
    mrs x0, pmccntr_el0
    mrs x1, tpidr_el3
    str x0, [x1]
    mrs x0, S3_0_C12_C8_0           // ICC_IAR0
    str x0, [x1, #16]
    msr S3_0_C12_C8_1, x0           // ICC_EOIR0
    ldr x0, [x1, #8]
    add x0, x0, #1
    str x0, [x1, #8]
    ldp x0, x1, [sp], #16
    eret
interrupt_fault:
    mrs x1, elr_el3
    mrs x2, esr_el3
    mrs x3, far_el3
    adr x0, interrupt_fault_text
    b   consort_exception
interrupt_fault_text:
    .asciz "unexpected exception"
    .balign 4
    .text
)");
extern "C" const char interrupt_vectors[];

namespace {

class Core : public Legs {
  public:
    Core(ControlBlock& block, bool first, const ControlBlock& orders) noexcept
        : Legs(block, first, orders.argument(0), orders.argument(1)) {
        const std::uint32_t number = first ? 0 : 1;
        asm volatile("msr vbar_el3, %0\n msr tpidr_el3, %1\n isb" ::"r"(interrupt_vectors), "r"(&taken_)
                     : "memory");
        PrivateTimer::enable(number);
        PrivateTimer::enable_signal(number, signal);
        // Fast interrupts come to EL3; below is AArch64.
        asm volatile("msr scr_el3, %0\n isb\n msr daifclr, #1" ::"r"(std::uint64_t{1U << 10U | 1U << 2U})
                     : "memory");
    }

    bool run() noexcept {
        unsigned char* memory = window() + 0x20000;
        return interrupts(memory, true) && interrupts(memory, false) && byte(memory, true) &&
               byte(memory, false);
    }

  private:
    bool interrupts(unsigned char* memory, bool from_first) noexcept {
        if (!begin(memory)) {
            return false;
        }
        for (std::uint32_t i = 1; i <= messages_; ++i) {
            if (from_first == first_) {
                if (!await_receiver(memory, i)) {
                    return false;
                }
                note(i, 0, clock_ns());
                PrivateTimer::send_signal(first_ ? 1 : 0, signal);
                give_way();
            } else {
                const std::uint64_t before = count();
                announce(memory, i);
                while (count() == before) {
                    // Masked, so that it cannot come between the look and the sleep, from which it wakes all
                    // the same.
                    asm volatile("msr daifset, #1" ::: "memory");
                    if (count() == before) {
                        asm volatile("wfi" ::: "memory");
                    }
                    asm volatile("msr daifclr, #1\n isb" ::: "memory");
                }
                note(i, 1, taken_.at);
                wrong_ += count() == before + 1 && taken_.which == signal ? 0U : 1U;
            }
        }
        ++leg_;
        return true;
    }
    [[nodiscard]] std::uint64_t count() const noexcept {
        return *static_cast<const volatile std::uint64_t*>(&taken_.count);
    }

    Taken taken_{};
};

}  // namespace

extern "C" void consort_second_main() {
    ControlBlock own(window() + second_place * ControlBlock::bytes);
    own.state(State::running);
    Core core(own, false, ControlBlock(window()));
    own.state(core.result(core.run()) == 0 ? State::done : State::failed);
}

int consort_program(ControlBlock& block) noexcept {
    if (block.role() == 0) {
        return 0;
    }
    PrivateTimer::enable_distributor();
    if (consort::versal::start_second_core(reinterpret_cast<std::uintptr_t>(&consort_second_core)) != 0) {
        return fail(block, "the boot firmware does not start the second core");
    }
    Core core(block, true, block);
    return core.result(core.run());
}
