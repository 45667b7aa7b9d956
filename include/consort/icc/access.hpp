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
//   before read access::Device             device memory (OCM or TCM mapped as device, a PCIe BAR): aligned
//   32-bit accesses only
//
// A policy has `Word` (a shared 32-bit word), `Cell<T>` (storage of one T with put/get), `load<Edge>`,
// `store<Edge>`, and, for what is written once as a whole (a region's tables), `publish_range` and
// `observe_range`. Code that makes or attaches to a region in device memory is compiled with the target's
// strict-alignment option.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "consort/icc/edges.hpp"
#include "consort/icc/wire.hpp"
#include "consort/port.hpp"

namespace consort::access {

using SharedWord = std::atomic<std::uint32_t>;
static_assert(sizeof(SharedWord) == 4 && alignof(SharedWord) == 4,
              "a shared word is an aligned 32-bit integer");

namespace detail {

template <Edge E>
inline constexpr std::memory_order standard_order = order_of(E) == Order::relaxed ? std::memory_order_relaxed
                                                    : order_of(E) == Order::acquire
                                                        ? std::memory_order_acquire
                                                    : order_of(E) == Order::release
                                                        ? std::memory_order_release
                                                        : std::memory_order_seq_cst;

// Storage of one T at a fixed alignment, so that the offset of what follows is the same for every compiler.
template <class T>
struct alignas(16) Bytes {
    // An empty type carries no data: a mailbox of it is a pure signal.
    static constexpr std::uint32_t used = std::is_empty_v<T> ? 0 : sizeof(T);
    unsigned char bytes[round_up(sizeof(T), 16)];
};

}  // namespace detail

struct Coherent {
    using Word = SharedWord;

    template <Edge E>
    [[nodiscard]] static std::uint32_t load(const Word& word) noexcept {
        return wire(word.load(detail::standard_order<E>));
    }

    template <Edge E>
    static void store(Word& word, std::uint32_t value) noexcept {
        word.store(wire(value), detail::standard_order<E>);
    }

    static void publish_range(const void* /*begin*/, std::size_t /*bytes*/) noexcept {}
    static void observe_range(const void* /*begin*/, std::size_t /*bytes*/) noexcept {}

    template <class T>
    struct Cell : detail::Bytes<T> {
        void put(const T& value) noexcept { __builtin_memcpy(this->bytes, &value, detail::Bytes<T>::used); }
        void get(T& value) const noexcept { __builtin_memcpy(&value, this->bytes, detail::Bytes<T>::used); }
    };
};

namespace detail {

// Loads and stores bracketed by full-system barriers. `Maintain` does what caches need around each access.
template <class Maintain>
struct Barriered {
    using Word = SharedWord;

    template <Edge E>
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

    template <Edge E>
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
    template <class T>
    using Cell = Coherent::Cell<T>;
};

template <Port P>
struct NonCoherent : detail::Barriered<detail::CacheMaintenance<P>> {
    // The line may be cached from before the peer's write; it is clean on this side, because this side never
    // writes a line that it reads (one writer per line), so invalidating it loses nothing.
    template <class T>
    struct Cell : detail::Bytes<T> {
        void put(const T& value) noexcept {
            __builtin_memcpy(this->bytes, &value, detail::Bytes<T>::used);
            P::clean(this->bytes, detail::Bytes<T>::used);
        }
        void get(T& value) const noexcept {
            P::invalidate(this->bytes, detail::Bytes<T>::used);
            __builtin_memcpy(&value, this->bytes, detail::Bytes<T>::used);
        }
    };
};

struct Device : detail::Barriered<detail::NoMaintenance> {
    // Aligned 32-bit accesses through volatile: the compiler may neither widen, split, merge nor turn them
    // into a call of memcpy, whose unaligned or wide accesses fault on device memory.
    template <class T>
    struct Cell : detail::Bytes<T> {
        void put(const T& value) noexcept {
            auto* to = reinterpret_cast<volatile std::uint32_t*>(this->bytes);
            const auto* from = reinterpret_cast<const unsigned char*>(&value);
            for (std::uint32_t at = 0; at < detail::Bytes<T>::used; at += 4) {
                std::uint32_t word = 0;
                __builtin_memcpy(&word, from + at, chunk(at));
                to[at / 4] = word;
            }
        }
        void get(T& value) const noexcept {
            const auto* from = reinterpret_cast<const volatile std::uint32_t*>(this->bytes);
            auto* to = reinterpret_cast<unsigned char*>(&value);
            for (std::uint32_t at = 0; at < detail::Bytes<T>::used; at += 4) {
                const std::uint32_t word = from[at / 4];
                __builtin_memcpy(to + at, &word, chunk(at));
            }
        }

      private:
        static constexpr std::uint32_t chunk(std::uint32_t at) noexcept {
            return detail::Bytes<T>::used - at < 4 ? detail::Bytes<T>::used - at : 4;
        }
    };
};

}  // namespace consort::access
