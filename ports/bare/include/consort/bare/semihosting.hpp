// SPDX-License-Identifier: Apache-2.0
//
// Files of the machine that emulates the core, by semihosting: the emulator stops while it executes a call,
// and no time of the board passes. Of each instruction set the call that its semihosting names (Arm IHI 0100,
// RISC-V semihosting specification).
#pragma once

#include <cstddef>
#include <cstdint>

namespace consort::bare {

class Semihosting {
  public:
    using Word = std::uintptr_t;

    // The handle of a file, ~0: there is none of that name. `mode`: 0 to read, 4 to write, as fopen's "r" and
    // "w".
    static Word open(const char* name, Word mode) noexcept {
        Word length = 0;
        while (name[length] != '\0') {
            ++length;
        }
        const Word arguments[] = {reinterpret_cast<Word>(name), mode, length};
        return call(0x01, arguments);
    }
    // How many bytes were left over.
    static Word write(Word file, const void* from, Word bytes) noexcept {
        const Word arguments[] = {file, reinterpret_cast<Word>(from), bytes};
        return call(0x05, arguments);
    }
    static Word read(Word file, void* to, Word bytes) noexcept {
        const Word arguments[] = {file, reinterpret_cast<Word>(to), bytes};
        return call(0x06, arguments);
    }

  private:
    [[gnu::noinline]] static Word call(Word operation, const Word* arguments) noexcept {
#if defined(__aarch64__)
        register Word number asm("x0") = operation;
        register const Word* block asm("x1") = arguments;
        asm volatile("hlt #0xf000" : "+r"(number) : "r"(block) : "memory");
#elif defined(__ARM_ARCH) && __ARM_ARCH_PROFILE == 'M'
        register Word number asm("r0") = operation;
        register const Word* block asm("r1") = arguments;
        asm volatile("bkpt 0xab" : "+r"(number) : "r"(block) : "memory");
#elif defined(__ARM_ARCH)
        // A supervisor call of this mode would lose the link register; the emulator takes it before.
        register Word number asm("r0") = operation;
        register const Word* block asm("r1") = arguments;
        asm volatile("svc 0x123456" : "+r"(number) : "r"(block) : "memory", "lr");
#elif defined(__riscv)
        register Word number asm("a0") = operation;
        register const Word* block asm("a1") = arguments;
        // Known by these three instructions, none of them compressed, on one page.
        asm volatile(
            ".option push\n .option norvc\n .balign 16\n"
            "slli x0, x0, 0x1f\n ebreak\n srai x0, x0, 7\n"
            ".option pop"
            : "+r"(number)
            : "r"(block)
            : "memory");
#else
#error "semihosting of this instruction set is not known"
#endif
        return number;
    }
};

}  // namespace consort::bare
