// SPDX-License-Identifier: Apache-2.0
//
// The access policy that lets Relacy explore the channels' own headers: every shared word is a Relacy atomic,
// every cell is made of Relacy's race-checked variables. The orders come from sync_points.hpp, except those
// of the points that a run weakens.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <new>
#include <optional>
#include <string>

// Before Relacy's header, whose macros would rewrite these.
#include "consort/app/mode_steps.hpp"
#include "consort/icc/double_buffer.hpp"
#include "consort/icc/duplex.hpp"
#include "consort/icc/mailbox.hpp"
#include "consort/icc/queue.hpp"
#include "consort/icc/snapshot.hpp"
#include "consort/icc/versions.hpp"
#include "consort/link.hpp"

// clang-format would sort this to the top.
// clang-format off
#include <relacy/relacy.hpp>
// clang-format on

// Relacy's macros turn the language's words into its own calls; here only its types are used.
#undef $
#undef new
#undef delete
#undef malloc
#undef calloc
#undef realloc
#undef free
#undef assert
#undef errno
#undef memory_order_relaxed
#undef memory_order_consume
#undef memory_order_acquire
#undef memory_order_release
#undef memory_order_acq_rel
#undef memory_order_seq_cst

namespace consort::exploration {

inline constexpr std::size_t sync_points = static_cast<std::size_t>(SyncPoint::count);

[[nodiscard]] constexpr rl::memory_order relacy_order(Order order) noexcept {
    switch (order) {
        case Order::relaxed:
            return rl::mo_relaxed;
        case Order::acquire:
            return rl::mo_acquire;
        case Order::release:
            return rl::mo_release;
        case Order::seq_cst:
            return rl::mo_seq_cst;
    }
    return rl::mo_seq_cst;
}

[[nodiscard]] constexpr const char* name_of(SyncPoint point) noexcept {
    constexpr const char* names[sync_points] = {"own",
                                                "diagnostic",
                                                "mailbox_publish",
                                                "mailbox_observe",
                                                "mailbox_acknowledge",
                                                "mailbox_observe_acknowledge",
                                                "queue_publish",
                                                "queue_observe",
                                                "queue_release",
                                                "queue_observe_release",
                                                "buffer_publish",
                                                "buffer_observe",
                                                "snapshot_publish",
                                                "snapshot_observe",
                                                "snapshot_announce",
                                                "snapshot_slot_read",
                                                "snapshot_slot_write",
                                                "snapshot_scan",
                                                "region_publish",
                                                "region_observe",
                                                "epoch_publish",
                                                "epoch_observe",
                                                "versions_publish",
                                                "versions_observe",
                                                "versions_overwrite",
                                                "versions_check",
                                                "versions_begun",
                                                "copy_publish",
                                                "copy_observe",
                                                "copy_begin",
                                                "copy_write",
                                                "copy_read",
                                                "copy_recheck",
                                                "link_post",
                                                "link_fetch",
                                                "link_complete",
                                                "link_reap",
                                                "mode_announce",
                                                "mode_observe",
                                                "mode_acknowledge",
                                                "mode_observe_acknowledge",
                                                "clock_ask",
                                                "clock_hear",
                                                "clock_answer",
                                                "clock_take",
                                                "handover_publish",
                                                "handover_observe",
                                                "handover_report",
                                                "handover_collect",
                                                "link_word_write",
                                                "link_word_observe",
                                                "link_word_publish",
                                                "link_word_read",
                                                "vring_post",
                                                "vring_fetch",
                                                "vring_complete",
                                                "vring_reap"};
    return names[static_cast<std::size_t>(point)];
}
static_assert(static_cast<std::size_t>(SyncPoint::vring_reap) + 1 == sync_points,
              "a new point needs a name and a mutation");

// The order that each point has in the present run.
inline rl::memory_order present_order[sync_points];

inline void restore_orders() noexcept {
    for (std::size_t i = 0; i < sync_points; ++i) {
        present_order[i] = relacy_order(order_of(static_cast<SyncPoint>(i)));
    }
}

struct RelacyAccess {
    static constexpr bool shares_lines = true;

    // A region starts as zeros.
    struct Word {
        rl::atomic<std::uint32_t> value{0U};
    };

    template <SyncPoint E>
    [[nodiscard]] static std::uint32_t load(const Word& word) {
        return word.value.load(present_order[static_cast<std::size_t>(E)], rl::debug_info(name_of(E)));
    }

    template <SyncPoint E>
    static void store(Word& word, std::uint32_t value) {
        word.value.store(value, present_order[static_cast<std::size_t>(E)], rl::debug_info(name_of(E)));
    }

    // A fence weakened to relaxed is none.
    template <SyncPoint E>
    static void fence() {
        const rl::memory_order order = present_order[static_cast<std::size_t>(E)];
        if (order != rl::mo_relaxed) {
            rl::atomic_thread_fence(order, rl::debug_info(name_of(E)));
        }
    }

    template <SyncPoint E>
    static void load_words(const Word* from, std::uint32_t* to, std::uint32_t words) {
        for (std::uint32_t i = 0; i < words; ++i) {
            to[i] = load<E>(from[i]);
        }
    }
    template <SyncPoint E>
    static void store_words(Word* to, const std::uint32_t* from, std::uint32_t words) {
        for (std::uint32_t i = 0; i < words; ++i) {
            store<E>(to[i], from[i]);
        }
    }

    static void publish_range(const void* /*begin*/, std::size_t /*bytes*/) noexcept {}
    static void observe_range(const void* /*begin*/, std::size_t /*bytes*/) noexcept {}

    // One variable for each 32 bits, so that the copy of a larger value can be interrupted within it.
    template <class T, std::uint32_t Alignment = 16>
    struct Cell {
        static_assert(sizeof(T) % 4 == 0, "explored values are whole words");
        static constexpr std::size_t words = sizeof(T) / 4;

        Cell() {
            for (auto& word : content) {
                word(rl::debug_info("zero")).store(0U);
            }
        }

        void put(const T& value) {
            std::uint32_t raw[words];
            std::memcpy(raw, &value, sizeof(T));
            for (std::size_t i = 0; i < words; ++i) {
                content[i](rl::debug_info("put")).store(raw[i]);
            }
        }
        void get(T& value) const {
            std::uint32_t raw[words];
            for (std::size_t i = 0; i < words; ++i) {
                raw[i] = content[i](rl::debug_info("get")).load();
            }
            std::memcpy(&value, raw, sizeof(T));
        }

        rl::var<std::uint32_t> content[words];
    };

    // As the real one: relaxed words, no race between them.
    template <class T>
    struct RacingCell {
        static_assert(sizeof(T) % 4 == 0, "explored values are whole words");
        static constexpr std::size_t words = sizeof(T) / 4;

        void put(const T& value) {
            std::uint32_t raw[words];
            std::memcpy(raw, &value, sizeof(T));
            for (std::size_t i = 0; i < words; ++i) {
                content[i].value.store(raw[i], rl::mo_relaxed, rl::debug_info("put"));
            }
        }
        void get(T& value) const {
            std::uint32_t raw[words];
            for (std::size_t i = 0; i < words; ++i) {
                raw[i] = content[i].value.load(rl::mo_relaxed, rl::debug_info("get"));
            }
            std::memcpy(&value, raw, sizeof(T));
        }

        Word content[words];
    };
};

// The layout and the protocol of sides that clean lines; the memory itself stays coherent.
using RelacyWholeLines = access::WholeLines<RelacyAccess>;

// A waiting loop lets the other threads run.
struct Yield {
    static void relax() { rl::yield(1, rl::debug_info("wait")); }
};

// Holds the one T of a run at its proper alignment: Relacy places its test suites with malloc.
template <class T, int Which = 0>
class Placed {
  public:
    Placed() { new (static_cast<void*>(bytes_)) T; }
    ~Placed() { get().~T(); }
    Placed(const Placed&) = delete;
    Placed& operator=(const Placed&) = delete;
    Placed(Placed&&) = delete;
    Placed& operator=(Placed&&) = delete;
    [[nodiscard]] T& get() noexcept { return *std::launder(reinterpret_cast<T*>(bytes_)); }

  private:
    alignas(T) static inline unsigned char bytes_[sizeof(T)];
};

// The last assertion that did not hold, by its name.
inline const char* failed_check = nullptr;

inline void check(bool holds, const char* name) {
    if (!holds) {
        failed_check = name;
        rl::ctx().fail_test(name, rl::test_result_user_assert_failed, rl::debug_info(name));
    }
}

}  // namespace consort::exploration
