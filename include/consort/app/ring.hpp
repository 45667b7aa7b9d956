// SPDX-License-Identifier: Apache-2.0
//
// The record's ring: plain structs from one writer that never waits to one reader that empties it while the
// system runs. What finds no room is counted, never overwritten and never waited for.
//
// Two words, each with one writer: the writer's position orders the bytes before it (release/acquire), the
// reader's position gives them back. Positions count bytes modulo 2^32; a ring has at most 2^30 bytes.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace consort::app {

// Which table a record belongs to.
enum class RecordTable : std::uint16_t { padding, job, operation, event, output, served };

struct RecordHead {
    std::uint32_t bytes;  // of the whole record with this head, a multiple of 8
    RecordTable table;
    std::uint16_t task;  // of an output
};
static_assert(sizeof(RecordHead) == 8);

// Lies in memory that writer and reader share; `capacity` bytes of data follow it.
struct alignas(64) RingMemory {
    std::uint32_t capacity;  // a power of two
    alignas(64) std::atomic<std::uint32_t> written{0};
    std::atomic<std::uint32_t> lost{0};
    alignas(64) std::atomic<std::uint32_t> read{0};
    std::atomic<std::uint32_t> fullest{0};

    [[nodiscard]] std::byte* data() noexcept { return reinterpret_cast<std::byte*>(this + 1); }
    [[nodiscard]] const std::byte* data() const noexcept {
        return reinterpret_cast<const std::byte*>(this + 1);
    }
    static constexpr std::size_t bytes_for(std::uint32_t capacity) noexcept {
        return sizeof(RingMemory) + capacity;
    }
};

// Wait-free: a few word accesses and the copies. One thread.
class RingWriter {
  public:
    RingWriter() = default;
    explicit RingWriter(RingMemory& memory) noexcept
        : memory_(&memory), at_(memory.written.load(std::memory_order_relaxed)) {
        seen_ = memory.read.load(std::memory_order_relaxed);
    }

    // One record made of two parts. False: there was no room; it is counted. One copy of it in a program.
    [[gnu::noinline]] bool put(RecordTable table, std::uint16_t task, const void* first,
                               std::uint32_t first_bytes, const void* second = nullptr,
                               std::uint32_t second_bytes = 0) noexcept {
        const std::uint32_t capacity = memory_->capacity;
        const std::uint32_t bytes =
            (static_cast<std::uint32_t>(sizeof(RecordHead)) + first_bytes + second_bytes + 7U) & ~7U;
        const std::uint32_t offset = at_ & (capacity - 1);
        // A record never wraps: what is left of the ring before it is padding.
        const std::uint32_t skipped = capacity - offset < bytes ? capacity - offset : 0;
        if (capacity - (at_ - seen_) < bytes + skipped) {
            seen_ = memory_->read.load(std::memory_order_acquire);
            if (capacity - (at_ - seen_) < bytes + skipped) {
                memory_->lost.store(memory_->lost.load(std::memory_order_relaxed) + 1,
                                    std::memory_order_relaxed);
                return false;
            }
        }
        std::byte* data = memory_->data();
        if (skipped != 0) {
            const RecordHead padding{skipped, RecordTable::padding, 0};
            std::memcpy(data + offset, &padding, sizeof padding);
            at_ += skipped;
        }
        std::byte* to = data + (at_ & (capacity - 1));
        const RecordHead head{bytes, table, task};
        std::memcpy(to, &head, sizeof head);
        std::memcpy(to + sizeof head, first, first_bytes);
        if (second_bytes != 0) {
            std::memcpy(to + sizeof head + first_bytes, second, second_bytes);
        }
        at_ += bytes;
        if (!may_hold || !held_) {
            memory_->written.store(at_, std::memory_order_release);
        }
        return true;
    }

    // Records put between the two appear at once, by one store: all of them or, if the writer dies before,
    // nothing. Not on freestanding cores, where nobody goes on for one that dies.
    void hold() noexcept {
        if constexpr (may_hold) {
            held_ = true;
        }
    }
    void release() noexcept {
        if constexpr (may_hold) {
            held_ = false;
            memory_->written.store(at_, std::memory_order_release);
        }
    }
    // After what has appeared.
    [[nodiscard]] std::uint32_t position() const noexcept { return at_; }

  private:
    static constexpr bool may_hold = __STDC_HOSTED__ != 0;

    RingMemory* memory_ = nullptr;
    std::uint32_t at_ = 0;
    std::uint32_t seen_ = 0;
    bool held_ = false;
};

class RingReader {
  public:
    explicit RingReader(RingMemory& memory) noexcept
        : memory_(&memory), at_(memory.read.load(std::memory_order_relaxed)) {}

    // Calls `take(const RecordHead&, const std::byte* body)` for each record that is there, and gives the
    // room back. Returns how many bytes there were. The writer is trusted: both sides belong to one run.
    template <class Take>
    std::uint32_t drain(Take&& take) {
        const std::uint32_t written = memory_->written.load(std::memory_order_acquire);
        const std::uint32_t there = written - at_;
        if (there > memory_->fullest.load(std::memory_order_relaxed)) {
            memory_->fullest.store(there, std::memory_order_relaxed);
        }
        while (at_ != written) {
            const std::byte* from = memory_->data() + (at_ & (memory_->capacity - 1));
            RecordHead head{};
            std::memcpy(&head, from, sizeof head);
            if (head.table != RecordTable::padding) {
                take(head, from + sizeof head);
            }
            at_ += head.bytes;
        }
        memory_->read.store(at_, std::memory_order_release);
        return there;
    }

    [[nodiscard]] std::uint32_t lost() const noexcept {
        return memory_->lost.load(std::memory_order_relaxed);
    }
    [[nodiscard]] std::uint32_t fullest() const noexcept {
        return memory_->fullest.load(std::memory_order_relaxed);
    }

  private:
    RingMemory* memory_;
    std::uint32_t at_;
};

}  // namespace consort::app
