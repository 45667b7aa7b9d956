// SPDX-License-Identifier: Apache-2.0
//
// The contract a target fulfils, and the three primitives that every known instruction set has.
//
// A port is a type with static members (see the concept `Port`). Everything that Consort's target library
// asks of a processor stands here; a new board is a new folder under ports/ and nothing else.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

namespace consort {

// Monotonic time in ticks of a port's clock. 64 bits: at 1 GHz it wraps after 584 years.
using Ticks = std::uint64_t;

// The interface of a port. `now` and `relax` never block. `clean` writes back, `invalidate` discards, every
// cache line that overlaps [begin, begin + bytes) and both complete before they return; they are empty where
// memory is coherent or uncached. `core_id` tells the processors of one application apart (0 … 2^32-1).
template <class P>
concept Port = requires(const void* begin, std::size_t bytes) {
    { P::now() }
    noexcept->std::same_as<Ticks>;
    { P::ticks_per_second() }
    noexcept->std::same_as<Ticks>;
    { P::relax() }
    noexcept;
    { P::clean(begin, bytes) }
    noexcept;
    { P::invalidate(begin, bytes) }
    noexcept;
    { P::core_id() }
    noexcept->std::same_as<std::uint32_t>;
};

// For measuring: as now(), but ordered against the code around it where the port knows how (`timestamp`,
// optional). An out-of-order processor otherwise reads its counter before the work to be timed has ended.
template <class P>
[[nodiscard]] Ticks timestamp() noexcept {
    if constexpr (requires { P::timestamp(); }) {
        return P::timestamp();
    } else {
        return P::now();
    }
}

// For measuring what takes less than 2^32 ticks: a reading of the clock, or of its lower half where that
// takes fewer instructions (`mark`, optional), and the ticks since.
template <class P>
[[nodiscard]] auto mark() noexcept {
    if constexpr (requires { P::mark(); }) {
        return P::mark();
    } else {
        return timestamp<P>();
    }
}
template <class P, class Mark>
[[nodiscard]] Ticks since(Mark begin) noexcept {
    return static_cast<Mark>(mark<P>() - begin);
}

// As now(), by a caller that has disabled the interrupts of its processor (`now_undisturbed`, optional).
template <class P>
[[nodiscard]] Ticks now_undisturbed() noexcept {
    if constexpr (requires { P::now_undisturbed(); }) {
        return P::now_undisturbed();
    } else {
        return P::now();
    }
}

namespace isa {

// Spin-wait hint: lets the other hardware thread, the memory system or the emulator's scheduler make
// progress. On x86 it also avoids the memory-order mis-speculation at the loop's end, which is worth more
// than any protocol trick (docs/explanation/channels.md, "How we measure").
inline void relax() noexcept {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__) || (defined(__ARM_ARCH) && __ARM_ARCH >= 6)
    asm volatile("yield" ::: "memory");
#elif defined(__riscv)
    // The encoding of Zihintpause's `pause`, a HINT that older cores execute as a no-op.
    asm volatile(".word 0x0100000f" ::: "memory");
#else
    asm volatile("" ::: "memory");
#endif
}

// Orders all memory accesses before it against all after it, for every observer in the system: other
// clusters, other instruction sets, devices. Compilers emit inner-shareable barriers only for std::atomic
// (`dmb ish`), which says nothing to a processor outside that shareability domain (Arm ARM, B2.3).
inline void system_barrier() noexcept {
#if defined(__x86_64__) || defined(__i386__)
    asm volatile("mfence" ::: "memory");
#elif defined(__aarch64__) || defined(__ARM_ARCH_6M__) || (defined(__ARM_ARCH) && __ARM_ARCH >= 7)
    asm volatile("dmb sy" ::: "memory");
#elif defined(__riscv)
    asm volatile("fence iorw, iorw" ::: "memory");
#else
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

// Asks for the line of `at` with the right to write it, so that a load and a store that follow cost one
// transfer together and not one each. No access: it neither faults nor orders anything. Only where a gain was
// measured: elsewhere nothing.
inline void prefetch_for_write(const void* at) noexcept {
#if defined(__x86_64__)
    // Processors without PREFETCHW execute it as a no-op in 64-bit mode. __builtin_prefetch gives it only to
    // compilers that have its option.
    asm volatile("prefetchw %0" ::"m"(*static_cast<const unsigned char*>(at)));
#else
    static_cast<void>(at);
#endif
}

}  // namespace isa

// Spin policies of the blocking calls: `Relaxed` (the default) gives the hint above in each turn, `Bare` does
// not.
namespace spin {

struct Relaxed {
    static void relax() noexcept { isa::relax(); }
};

struct Bare {
    static void relax() noexcept {}
};

}  // namespace spin

}  // namespace consort
