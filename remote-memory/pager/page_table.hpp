// SPDX-License-Identifier: Apache-2.0
//
// The pager's knowledge of each page. One word a page holds its state; a thread that moves it to `busy` by a
// compare-and-swap owns the page until it stores another state.
//
//   away      absent here; its content is at home, or zeros where it is not `homed`
//   busy      somebody is at work on it: wait
//   resident  present; `dirty` and writable, or clean and write-protected
//   writing   present and write-protected; the evicting thread copies it home. A write takes it back
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

namespace consort::remote {

enum class PageState : std::uint32_t { away, busy, resident, writing };

struct Page {
    static constexpr std::uint32_t state_bits = 3;
    static constexpr std::uint32_t dirty = 1U << 3U;
    static constexpr std::uint32_t homed = 1U << 4U;
    // When its turn to be evicted comes the page may stay once more: it came back soon after an eviction.
    static constexpr std::uint32_t lap = 1U << 5U;

    static PageState state(std::uint32_t word) noexcept { return static_cast<PageState>(word & state_bits); }
    static std::uint32_t with(std::uint32_t word, PageState state) noexcept {
        return (word & ~state_bits) | static_cast<std::uint32_t>(state);
    }
};

// All of it lies together: what one processor wrote is fetched by another in whole cache lines, and a fault
// needs each of these.
struct PageEntry {
    std::atomic<std::uint32_t> word{0};
    // The CRC of a homed page's content at home; and when it was last evicted, in evictions.
    std::uint32_t crc = 0;
    std::uint32_t evicted_at = 0;
    std::atomic<bool> queued{false};
};

// Pages in the order in which they became resident. Any thread adds, in a signal handler, too; the evicting
// thread alone takes. A page is in it at most once, so that it never overflows.
class ResidentQueue {
  public:
    ResidentQueue(PageEntry* table, std::uint32_t pages) : table_(table) {
        std::uint64_t capacity = 1;
        while (capacity < pages) {
            capacity *= 2;
        }
        mask_ = capacity - 1;
        slots_.reset(new std::atomic<std::uint32_t>[capacity]());
    }

    void add(std::uint32_t page) noexcept {
        if (!table_[page].queued.exchange(true, std::memory_order_acq_rel)) {
            const std::uint64_t place = tail_.fetch_add(1, std::memory_order_relaxed);
            slots_[place & mask_].store(page + 1, std::memory_order_release);
        }
    }

    // False where there is none, or where the next one is just being added.
    bool take(std::uint32_t& page) noexcept {
        const std::uint32_t found = slots_[head_ & mask_].exchange(0, std::memory_order_acq_rel);
        if (found == 0) {
            return false;
        }
        ++head_;
        page = found - 1;
        // Before the taker looks at the page: one that becomes resident after that look adds itself again.
        table_[page].queued.store(false, std::memory_order_seq_cst);
        return true;
    }

  private:
    PageEntry* table_;
    std::unique_ptr<std::atomic<std::uint32_t>[]> slots_;
    std::uint64_t mask_ = 0;
    // Apart: the one is written by faults, the other by the evicting thread.
    alignas(64) std::atomic<std::uint64_t> tail_{0};
    alignas(64) std::uint64_t head_ = 0;
};

}  // namespace consort::remote
