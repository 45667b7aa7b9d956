// SPDX-License-Identifier: Apache-2.0
// One use of a remote window for each word on the command line; exit status 1 where a value is wrong.
#include <immintrin.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>

#include "consort/linux/remote_window.hpp"

namespace {

void forget() {
    asm volatile("" ::: "memory");
}

bool check(bool good, const char* what) {
    if (!good) std::printf("wrong: %s\n", what);
    return good;
}

// Instructions written out, so that it is these and not what a compiler makes of something else.
bool moves(unsigned char* base) {
    std::uint64_t out = 0;
    bool good = true;
    asm volatile("movq $-2, (%0)" ::"r"(base) : "memory");
    asm volatile("movl $0x11223344, 8(%0,%1,4)" ::"r"(base), "r"(2UL) : "memory");
    asm volatile("movb %b1, 3(%0)" ::"r"(base), "q"(0x80) : "memory");
    asm volatile("movq (%1), %0" : "=r"(out) : "r"(base) : "memory");
    good &= check(out == 0xFFFFFFFF80FFFFFEULL, "quad word of parts");
    asm volatile("movsbq 3(%1), %0" : "=r"(out) : "r"(base) : "memory");
    good &= check(out == 0xFFFFFFFFFFFFFF80ULL, "sign extension");
    asm volatile("movzwl 16(%1), %k0" : "=r"(out) : "r"(base) : "memory");
    good &= check(out == 0x3344, "zero extension");
    asm volatile("movq %1, %%r13; movq (%%r13), %%r13; movq %%r13, %0"
                 : "=r"(out)
                 : "r"(base)
                 : "r13", "memory");
    good &= check(out == 0xFFFFFFFF80FFFFFEULL, "base and target the same, extended register");
    // Across 4 KiB and across the bus's 16 bytes.
    asm volatile("movq %1, 4093(%0)" ::"r"(base), "r"(0x0102030405060708ULL) : "memory");
    asm volatile("movq 4093(%1), %0" : "=r"(out) : "r"(base) : "memory");
    good &= check(out == 0x0102030405060708ULL, "unaligned over two pages");
    return good;
}

bool arithmetic(unsigned char* base) {
    bool good = true;
    bool carry = false;
    std::uint64_t out = 5;
    asm volatile("movq $-1, (%0)" ::"r"(base) : "memory");
    asm volatile("addq $1, (%1)" : "=@ccc"(carry) : "r"(base) : "memory");
    good &= check(carry, "carry of an addition in place");
    asm volatile("stc; adcq (%1), %0" : "+r"(out) : "r"(base) : "memory", "cc");
    good &= check(out == 6, "carry into an addition");
    asm volatile("cmpl $0, (%1)" : "=@ccz"(carry) : "r"(base) : "memory");
    good &= check(carry, "comparison");
    asm volatile("incw (%0); shll $3, (%0); notb 1(%0)" ::"r"(base) : "memory", "cc");
    asm volatile("movl (%1), %k0" : "=r"(out) : "r"(base) : "memory");
    good &= check(out == 0xFF08, "increment, shift, complement");
    return good;
}

bool vectors(unsigned char* base) {
    bool good = true;
    const __m128d two = _mm_set_pd(1.5, -2.25);
    _mm_store_pd(reinterpret_cast<double*>(base), two);
    forget();
    double sum = 1;
    asm volatile("addsd (%1), %0" : "+x"(sum) : "r"(base) : "memory");
    good &= check(sum == -1.25, "scalar sum");
    if (__builtin_cpu_supports("avx2")) {
        alignas(32) std::uint64_t back[4] = {};
        asm volatile(
            "vpcmpeqq %%ymm3, %%ymm3, %%ymm3; vmovdqu %%ymm3, 5(%0); vpaddq 5(%0), %%ymm3, %%ymm4; vmovdqa "
            "%%ymm4, (%1)" ::"r"(base),
            "r"(back)
            : "xmm3", "xmm4", "memory");
        good &= check(back[0] == ~1ULL && back[3] == ~1ULL, "256 bits, unaligned");
    }
    return good;
}

bool threads(unsigned char* base) {
    const auto count = [](unsigned char* at) {
        auto* word = reinterpret_cast<volatile std::uint32_t*>(at);
        for (unsigned i = 0; i < 100; ++i) *word = *word + 1;
    };
    std::memset(base, 0, 16);
    std::thread first(count, base);
    std::thread second(count, base + 4);
    first.join();
    second.join();
    const auto* words = reinterpret_cast<volatile std::uint32_t*>(base);
    return check(words[0] == 100 && words[1] == 100, "counts of two threads");
}

}  // namespace

int main(int argc, char** argv) {
    const consort::linux_port::RemoteWindow window("w");
    auto* base = static_cast<unsigned char*>(window.data());
    bool good = true;
    for (int i = 1; i < argc; ++i) {
        const std::string what = argv[i];
        if (what == "moves") good &= moves(base);
        if (what == "arithmetic") good &= arithmetic(base + 0x2000);
        if (what == "vectors") good &= vectors(base + 0x2100);
        if (what == "threads") good &= threads(base + 0x2200);
        if (what == "load") std::printf("%u\n", *reinterpret_cast<volatile std::uint32_t*>(base));
        if (what == "store") *reinterpret_cast<volatile std::uint32_t*>(base) = 7;
        if (what == "atomic") __atomic_fetch_add(reinterpret_cast<int*>(base), 1, __ATOMIC_SEQ_CST);
        if (what == "string") asm volatile("movsb" ::"S"(base), "D"(base + 64) : "memory");
        if (what == "push") asm volatile("pushq (%0); popq %%rax" ::"r"(base) : "rax", "memory");
        if (what == "edge") asm volatile("movq %%rax, -4(%0)" ::"r"(base + window.size()) : "memory");
        if (what == "outside") *static_cast<volatile int*>(nullptr) = 1;
    }
    return good ? 0 : 1;
}
