// SPDX-License-Identifier: Apache-2.0
//
// How a side reaches shared memory: barrier, cache maintenance and copy, as one policy.
//
// std::atomic alone is not enough between unlike processors: for Cortex-M4, -M7 and -R5F compilers emit
// barriers of the inner-shareable domain only, caches need not be coherent, and memcpy on device memory may
// fault. The two sides of one region may use different policies: each chooses what its own path to the memory
// needs.
//
//   access::Coherent           cores of one coherent domain (SMP, x86 + x86)
//   access::SystemBarrier      uncached or coherent memory shared with a processor outside the inner domain
//   access::NonCoherent<Port>  cacheable memory that the peer does not snoop: clean after write, invalidate
//                              before read
//   access::Device             device memory (OCM or TCM mapped as device, a PCIe BAR): aligned 32-bit
//                              accesses only
//   access::WholeLines<A>      A, in a region that another side reaches by NonCoherent
//
// A policy has `Word` (a shared 32-bit word), `Cell<T, Alignment>` (storage of one T with put/get),
// `RacingCell<T>` (the same where a get may fall into a put), `load<SyncPoint>`, `store<SyncPoint>`,
// `fence<SyncPoint>`, `load_words<SyncPoint>` and `store_words<SyncPoint>` (a value copied word by word while
// the peer may access it, see below), and, for what is written once as a whole (a region's tables),
// `publish_range` and `observe_range`. A policy of cached, coherent memory has `expect_write`, which asks for
// the lines of what will be written. Code that makes or attaches to a region in device memory is compiled
// with the target's strict-alignment option.
//
// `shares_lines`: whether two sides may each write words of their own in one line. Cleaning or invalidating
// acts on whole lines, so where a side does it each line has one writer. Channels choose their layout by it,
// and a region refuses a side of the other kind (Reason::wrong_form).
//
// `store_words<E>` with E a release makes everything stored before it visible before each of the words;
// `load_words<E>` with E an acquire loads each of the words before anything that is loaded after it. That is
// what a reader needs that copies first and asks then whether the writer was at work (a seqlock).
//
// Cells hold values in the order of bytes that travels (byte_order.hpp); words copied by `store_words` are
// the caller's to bring into it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "consort/icc/byte_order.hpp"
#include "consort/icc/sync_points.hpp"
#include "consort/icc/wire.hpp"
#include "consort/port.hpp"

namespace consort::access {

using SharedWord = std::atomic<std::uint32_t>;
static_assert(sizeof(SharedWord) == 4 && alignof(SharedWord) == 4,
              "a shared word is an aligned 32-bit integer");

namespace detail {

template <SyncPoint E>
inline constexpr std::memory_order standard_order = order_of(E) == Order::relaxed ? std::memory_order_relaxed
                                                    : order_of(E) == Order::acquire
                                                        ? std::memory_order_acquire
                                                    : order_of(E) == Order::release
                                                        ? std::memory_order_release
                                                        : std::memory_order_seq_cst;

// Storage of one T at a fixed alignment, so that the offset of what follows is the same for every compiler.
template <class T, std::uint32_t Alignment = 16>
struct alignas(Alignment) Bytes {
    // An empty type carries no data: a mailbox of it is a pure signal.
    static constexpr std::uint32_t used = std::is_empty_v<T> ? 0 : sizeof(T);
    unsigned char bytes[round_up(sizeof(T), Alignment)];
};

// Storage of one T that may be read while it is written. Each machine word moves whole, as a relaxed atomic:
// such a read returns a mixture of words that were written, which is defined behaviour, and its channel finds
// out afterwards and throws the mixture away.
template <class T>
struct RacingBytes : Bytes<T> {
    void put(const T& value) noexcept {
        const consort::detail::Outgoing<T> from(value);
        for (std::uint32_t at = 0; at < whole; at += sizeof(Chunk)) {
            store(at, from.bytes(), sizeof(Chunk));
        }
        if constexpr (rest != 0) {
            store(whole, from.bytes(), rest);
        }
    }
    void get(T& value) const noexcept {
        auto* to = reinterpret_cast<unsigned char*>(&value);
        for (std::uint32_t at = 0; at < whole; at += sizeof(Chunk)) {
            load(at, to, sizeof(Chunk));
        }
        if constexpr (rest != 0) {
            load(whole, to, rest);
        }
        consort::detail::arrived(value);
    }

  private:
    // The widest that every processor moves in one access; the cell's bytes are a multiple of it.
    typedef std::uintptr_t Chunk __attribute__((may_alias));  // NOLINT: an alias would lose the attribute
    static constexpr std::uint32_t rest = Bytes<T>::used % sizeof(Chunk);
    static constexpr std::uint32_t whole = Bytes<T>::used - rest;

    void store(std::uint32_t at, const unsigned char* from, std::uint32_t bytes) noexcept {
        Chunk chunk = 0;
        __builtin_memcpy(&chunk, from + at, bytes);
        __atomic_store_n(reinterpret_cast<Chunk*>(this->bytes + at), chunk, __ATOMIC_RELAXED);
    }
    void load(std::uint32_t at, unsigned char* to, std::uint32_t bytes) const noexcept {
        const Chunk chunk =
            __atomic_load_n(reinterpret_cast<const Chunk*>(this->bytes + at), __ATOMIC_RELAXED);
        __builtin_memcpy(to + at, &chunk, bytes);
    }
};

}  // namespace detail

struct Coherent {
    using Word = SharedWord;
    static constexpr bool shares_lines = true;

    template <SyncPoint E>
    [[nodiscard]] static std::uint32_t load(const Word& word) noexcept {
        return wire(word.load(detail::standard_order<E>));
    }

    template <SyncPoint E>
    static void store(Word& word, std::uint32_t value) noexcept {
        word.store(wire(value), detail::standard_order<E>);
    }

// GCC warns that its ThreadSanitizer does not model fences. What fences order here is atomic all the same.
#if defined(__SANITIZE_THREAD__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wtsan"
#endif
    template <SyncPoint E>
    static void fence() noexcept {
        std::atomic_thread_fence(detail::standard_order<E>);
    }
#if defined(__SANITIZE_THREAD__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

    // Each word with the point's order: a fence would be enough, but ThreadSanitizer does not know fences.
    template <SyncPoint E>
    static void load_words(const Word* from, std::uint32_t* to, std::uint32_t words) noexcept {
        for (std::uint32_t i = 0; i < words; ++i) {
            to[i] = from[i].load(detail::standard_order<E>);
        }
    }
    template <SyncPoint E>
    static void store_words(Word* to, const std::uint32_t* from, std::uint32_t words) noexcept {
        for (std::uint32_t i = 0; i < words; ++i) {
            to[i].store(from[i], detail::standard_order<E>);
        }
    }

    static void publish_range(const void* /*begin*/, std::size_t /*bytes*/) noexcept {}
    static void observe_range(const void* /*begin*/, std::size_t /*bytes*/) noexcept {}

    // A store queue takes lines one after the other where the peer has them; asked for together they come
    // together. As far as that was measured: the first KiB.
    static void expect_write(const void* begin, std::size_t bytes) noexcept {
        const auto* at = static_cast<const unsigned char*>(begin);
        const std::size_t most = bytes < 1024 ? bytes : 1024;
        for (std::size_t offset = 0; offset < most; offset += line_bytes) {
            isa::prefetch_for_write(at + offset);
        }
        // Where `begin` lies within a line there is one more.
        isa::prefetch_for_write(at + most - 1);
    }

    template <class T>
    using RacingCell = detail::RacingBytes<T>;

    template <class T, std::uint32_t Alignment = 16>
    struct Cell : detail::Bytes<T, Alignment> {
        void put(const T& value) noexcept {
            const consort::detail::Outgoing<T> from(value);
            __builtin_memcpy(this->bytes, from.bytes(), Cell::used);
        }
        void get(T& value) const noexcept {
            __builtin_memcpy(static_cast<void*>(&value), this->bytes, Cell::used);
            consort::detail::arrived(value);
        }
    };
};

namespace detail {

// Loads and stores bracketed by full-system barriers. `Maintain` does what caches need around each access.
template <class Maintain>
struct Barriered {
    using Word = SharedWord;

    template <SyncPoint E>
    [[nodiscard]] static std::uint32_t load(const Word& word) noexcept {
        if constexpr (order_of(E) == Order::seq_cst) {
            isa::system_barrier();
        }
        Maintain::before_load(&word, sizeof(word));
        const std::uint32_t value = word.load(std::memory_order_relaxed);
        if constexpr (order_of(E) != Order::relaxed) {
            isa::system_barrier();
        }
        return wire(value);
    }

    template <SyncPoint E>
    static void store(Word& word, std::uint32_t value) noexcept {
        if constexpr (order_of(E) != Order::relaxed) {
            isa::system_barrier();
        }
        word.store(wire(value), std::memory_order_relaxed);
        Maintain::after_store(&word, sizeof(word));
        if constexpr (order_of(E) == Order::seq_cst) {
            isa::system_barrier();
        }
    }

    template <SyncPoint E>
    static void fence() noexcept {
        isa::system_barrier();
    }

    // One barrier for all the words.
    template <SyncPoint E>
    static void load_words(const Word* from, std::uint32_t* to, std::uint32_t words) noexcept {
        Maintain::before_load(from, words * sizeof(Word));
        for (std::uint32_t i = 0; i < words; ++i) {
            to[i] = from[i].load(std::memory_order_relaxed);
        }
        if constexpr (order_of(E) != Order::relaxed) {
            isa::system_barrier();
        }
    }
    template <SyncPoint E>
    static void store_words(Word* to, const std::uint32_t* from, std::uint32_t words) noexcept {
        if constexpr (order_of(E) != Order::relaxed) {
            isa::system_barrier();
        }
        for (std::uint32_t i = 0; i < words; ++i) {
            to[i].store(from[i], std::memory_order_relaxed);
        }
        Maintain::after_store(to, words * sizeof(Word));
    }

    static void publish_range(const void* begin, std::size_t bytes) noexcept {
        Maintain::after_store(begin, bytes);
    }
    static void observe_range(const void* begin, std::size_t bytes) noexcept {
        Maintain::before_load(begin, bytes);
    }
};

struct NoMaintenance {
    static void before_load(const void* /*begin*/, std::size_t /*bytes*/) noexcept {}
    static void after_store(const void* /*begin*/, std::size_t /*bytes*/) noexcept {}
};

template <Port P>
struct CacheMaintenance {
    static void before_load(const void* begin, std::size_t bytes) noexcept { P::invalidate(begin, bytes); }
    static void after_store(const void* begin, std::size_t bytes) noexcept { P::clean(begin, bytes); }
};

}  // namespace detail

struct SystemBarrier : detail::Barriered<detail::NoMaintenance> {
    static constexpr bool shares_lines = true;
    template <class T, std::uint32_t Alignment = 16>
    using Cell = Coherent::Cell<T, Alignment>;
    template <class T>
    using RacingCell = Coherent::RacingCell<T>;
};

template <Port P>
struct NonCoherent : detail::Barriered<detail::CacheMaintenance<P>> {
    static constexpr bool shares_lines = false;
    // The line may be cached from before the peer's write; it is clean on this side, because this side never
    // writes a line that it reads (one writer per line), so invalidating it loses nothing.
    template <class T, std::uint32_t Alignment = 16>
    struct Cell : detail::Bytes<T, Alignment> {
        void put(const T& value) noexcept {
            const consort::detail::Outgoing<T> from(value);
            __builtin_memcpy(this->bytes, from.bytes(), Cell::used);
            P::clean(this->bytes, Cell::used);
        }
        void get(T& value) const noexcept {
            P::invalidate(this->bytes, Cell::used);
            __builtin_memcpy(static_cast<void*>(&value), this->bytes, Cell::used);
            consort::detail::arrived(value);
        }
    };

    template <class T>
    struct RacingCell : detail::RacingBytes<T> {
        void put(const T& value) noexcept {
            detail::RacingBytes<T>::put(value);
            P::clean(this->bytes, detail::Bytes<T>::used);
        }
        void get(T& value) const noexcept {
            P::invalidate(this->bytes, detail::Bytes<T>::used);
            detail::RacingBytes<T>::get(value);
        }
    };
};

struct Device : detail::Barriered<detail::NoMaintenance> {
    static constexpr bool shares_lines = true;
    // Aligned 32-bit accesses through volatile: the compiler may neither widen, split, merge nor turn them
    // into a call of memcpy, whose unaligned or wide accesses fault on device memory.
    template <class T, std::uint32_t Alignment = 16>
    struct Cell : detail::Bytes<T, Alignment> {
        static_assert(Alignment % 4 == 0, "device memory is accessed by aligned words");

        void put(const T& value) noexcept {
            auto* to = reinterpret_cast<volatile std::uint32_t*>(this->bytes);
            const consort::detail::Outgoing<T> from(value);
            for (std::uint32_t at = 0; at < Cell::used; at += 4) {
                std::uint32_t word = 0;
                __builtin_memcpy(&word, from.bytes() + at, chunk(at));
                to[at / 4] = word;
            }
        }
        void get(T& value) const noexcept {
            const auto* from = reinterpret_cast<const volatile std::uint32_t*>(this->bytes);
            auto* to = reinterpret_cast<unsigned char*>(&value);
            for (std::uint32_t at = 0; at < Cell::used; at += 4) {
                const std::uint32_t word = from[at / 4];
                __builtin_memcpy(to + at, &word, chunk(at));
            }
            consort::detail::arrived(value);
        }

      private:
        static constexpr std::uint32_t chunk(std::uint32_t at) noexcept {
            return Cell::used - at < 4 ? Cell::used - at : 4;
        }
    };

    // Its accesses are single words already.
    template <class T>
    using RacingCell = Cell<T>;
};

// Asks for the lines of what will be written, where the policy knows how (`expect_write`, optional).
template <class A>
void expect_write(const void* begin, std::size_t bytes) noexcept {
    if constexpr (requires { A::expect_write(begin, bytes); }) {
        A::expect_write(begin, bytes);
    }
}

// For a side that cleans no lines itself, in a region that another side reaches by NonCoherent.
template <class A>
struct WholeLines : A {
    static constexpr bool shares_lines = false;
};

}  // namespace consort::access
