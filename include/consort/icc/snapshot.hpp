// SPDX-License-Identifier: Apache-2.0
//
// Snapshot<T, Readers>: the latest value of one writer for up to `Readers` readers; never torn, never
// waiting.
//
// Simpson's four-slot mechanism, with one pair of slots for each reader and one more. The writer fills the
// slot that is not current of a pair that no reader has announced; a reader announces the pair it is going to
// use, then takes that pair's current slot. With Readers + 1 pairs there is always a pair that no reader has
// announced, and the two slots of a pair cover the reader that announced it after the writer looked. Only
// loads and stores of words with one writer each, so it works without exclusives and without coherent caches.
//
// A small value (up to 40 bytes for one reader, with lines of 64 bytes) also lies beside its number in the
// writer's line. A reader tries this copy first: one line instead of three. It checks as a seqlock's reader
// does whether the writer was at work meanwhile, but once: then it takes the pairs, which hold at least the
// same update. Sides that clean or invalidate lines (Access::shares_lines is false) have the pairs alone.
//
// Bounds, independent of the other side and of scheduling: update = Readers word loads, 3 word stores, one
// copy of T, and, of a small value, another copy and 2 word stores; read = 3 word accesses, one stamp, at
// most one copy, and, of a small value, 2 word loads and at most another copy. Memory: 2 (Readers + 1) slots.
// The argument, and what readers may see of one another, stand in docs/explanation/channels.md; the orderings
// are E6, E7, E10 and E11 of sync_points.hpp.
//
// A read is never older than the last update completed before it began, and each reader for itself never goes
// back. Two readers may see two updates in different order in real time (new-old inversion between readers).
#pragma once

#include <cstdint>
#include <type_traits>

#include "consort/icc/access.hpp"
#include "consort/icc/byte_order.hpp"
#include "consort/icc/form.hpp"
#include "consort/icc/status.hpp"
#include "consort/icc/wire.hpp"

namespace consort {

template <class T, std::uint32_t Readers = 1, class A = access::Coherent>
class Snapshot {
    static_assert(Readers >= 1 && Readers <= 64, "a Snapshot has 1 to 64 readers");

  public:
    using Value = T;
    using Access = A;
    static constexpr std::uint32_t kind = 3;
    static constexpr std::uint32_t parameter = Readers;
    static constexpr std::uint32_t pairs = Readers + 1;

    struct alignas(line_bytes) Slot {
        // The update's number; 0 = never written. Written with the value, so the slot's points order it.
        typename A::template Cell<std::uint32_t> stamp;
        typename A::template Cell<T> value;
    };
    // True (`small`) if the newest value also lies in the writer's line; its size in words.
    static constexpr std::uint32_t value_words = round_up(sizeof(T), 4) / 4;
    static constexpr bool small = A::shares_lines && value_words + pairs + 4 <= line_bytes / 4;
    static constexpr Form form = small ? Form::shared_lines : Form::whole_lines;

    struct Copy {
        // The number of the last update whose copy here was begun, and of the last that was completed.
        typename A::Word begun;
        typename A::Word done;
        typename A::Word value[value_words];
    };
    struct NoCopy {};
    struct alignas(line_bytes) WriterLines {
        typename A::Word latest;
        typename A::Word epoch;
        typename A::Word current[pairs];
        [[no_unique_address]] std::conditional_t<small, Copy, NoCopy> copy;
    };
    struct alignas(line_bytes) ReaderLine {
        typename A::Word announced;
        typename A::Word epoch;
    };
    struct Shared {
        WriterLines writer;
        ReaderLine readers[Readers];
        Slot slots[pairs][2];
    };

    class Writer;
    class Reader;

  private:
    // Numbers wrap after 2^32 updates, so what a reader finds is newer than what it has, however long it did
    // not look, unless it lies at most so far behind. One behind is what a reader finds after an update that
    // it saw before it was published; a small value's copy is one further behind for each writer that died
    // after it.
    static constexpr std::uint32_t most_behind = 256;
};

template <class T, std::uint32_t Readers, class A>
class Snapshot<T, Readers, A>::Writer {
  public:
    explicit Writer(Shared& shared) noexcept : shared_(&shared) {
        require_plain_data<T>();
        // Taken over from a writer that may have died anywhere: what it had not published yet may have been
        // seen. Other slots may hold numbers from any time.
        const std::uint32_t latest = A::template load<SyncPoint::own>(shared.writer.latest);
        if (latest < pairs) {
            const std::uint32_t current = A::template load<SyncPoint::own>(shared.writer.current[latest]);
            shared.slots[latest][current & 1U].stamp.get(stamp_);
        }
        const std::uint32_t published = stamp_;
        for (std::uint32_t pair = 0; pair < pairs; ++pair) {
            const std::uint32_t current = A::template load<SyncPoint::own>(shared.writer.current[pair]);
            current_[pair] = current & 1U;
            for (const Slot& slot : shared.slots[pair]) {
                std::uint32_t stamp = 0;
                slot.stamp.get(stamp);
                // A writer that dies often, before it publishes: each numbers its update one higher.
                if (stamp != 0 && stamp - published <= most_behind &&
                    stamp - published > stamp_ - published) {
                    stamp_ = stamp;
                }
            }
        }
        A::template store<SyncPoint::epoch_publish>(
            shared.writer.epoch, A::template load<SyncPoint::own>(shared.writer.epoch) + 1);
    }
    Writer(const Writer&) = delete;
    Writer& operator=(const Writer&) = delete;
    Writer(Writer&&) noexcept = default;
    Writer& operator=(Writer&&) noexcept = default;
    ~Writer() = default;

    // Publishes a value. Wait-free; see the bounds above.
    void update(const T& value) noexcept {
        const std::uint32_t pair = pair_not_announced();
        const std::uint32_t slot = 1U - current_[pair];
        // 0 means "never written", so the numbers skip it.
        stamp_ = stamp_ + 1 == 0 ? 1 : stamp_ + 1;
        shared_->slots[pair][slot].stamp.put(stamp_);
        shared_->slots[pair][slot].value.put(value);
        current_[pair] = slot;
        A::template store<SyncPoint::snapshot_slot_write>(shared_->writer.current[pair], slot);
        A::template store<SyncPoint::snapshot_publish>(shared_->writer.latest, pair);
        // After the pairs: a reader that meets this copy half-written finds the same update there.
        if constexpr (small) {
            std::uint32_t words[value_words] = {};
            const detail::Outgoing<T> from(value);
            __builtin_memcpy(words, from.bytes(), std::is_empty_v<T> ? 0 : sizeof(T));
            A::template store<SyncPoint::copy_begin>(shared_->writer.copy.begun, stamp_);
            A::template store_words<SyncPoint::copy_write>(shared_->writer.copy.value, words, value_words);
            A::template store<SyncPoint::copy_publish>(shared_->writer.copy.done, stamp_);
        }
    }

    // The number of the last update; 0 = none yet.
    [[nodiscard]] std::uint32_t stamp() const noexcept { return stamp_; }

  private:
    [[nodiscard]] std::uint32_t pair_not_announced() const noexcept {
        bool announced[pairs] = {};
        for (const ReaderLine& reader : shared_->readers) {
            const std::uint32_t pair = A::template load<SyncPoint::snapshot_scan>(reader.announced);
            // A word out of range can only come from a defective reader, which then harms itself alone.
            if (pair < pairs) {
                announced[pair] = true;
            }
        }
        std::uint32_t pair = 0;
        // Readers words cannot name all of Readers + 1 pairs.
        while (announced[pair]) {
            ++pair;
        }
        return pair;
    }

    Shared* shared_;
    std::uint32_t current_[pairs] = {};
    std::uint32_t stamp_ = 0;
};

// Reader `index` (0 … Readers - 1); each index is used by one reader at a time.
template <class T, std::uint32_t Readers, class A>
class Snapshot<T, Readers, A>::Reader {
  public:
    Reader(Shared& shared, std::uint32_t index) noexcept
        : shared_(&shared), line_(&shared.readers[index < Readers ? index : 0]) {
        require_plain_data<T>();
        A::template store<SyncPoint::epoch_publish>(line_->epoch,
                                                    A::template load<SyncPoint::own>(line_->epoch) + 1);
    }
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;
    Reader(Reader&&) noexcept = default;
    Reader& operator=(Reader&&) noexcept = default;
    ~Reader() = default;

    // Copies the latest value if it is newer than the last that this reader copied: ok; would_block: there is
    // nothing newer, `value` is untouched (so a caller that keeps its variable always holds the latest); or
    // peer_fault.
    [[nodiscard]] Status read(T& value) noexcept {
        if constexpr (small) {
            const std::uint32_t done = A::template load<SyncPoint::copy_observe>(shared_->writer.copy.done);
            if (!is_new(done)) {
                return Status::would_block;
            }
            std::uint32_t words[value_words];
            A::template load_words<SyncPoint::copy_read>(shared_->writer.copy.value, words, value_words);
            if (A::template load<SyncPoint::copy_recheck>(shared_->writer.copy.begun) == done) {
                __builtin_memcpy(static_cast<void*>(&value), words, std::is_empty_v<T> ? 0 : sizeof(T));
                detail::arrived(value);
                stamp_ = done;
                return Status::ok;
            }
        }
        return read_pairs(value);
    }

    // The number of the update last copied; 0 = none yet.
    [[nodiscard]] std::uint32_t stamp() const noexcept { return stamp_; }
    // How often a writer has attached; 0 = never.
    [[nodiscard]] std::uint32_t peer_epoch() const noexcept {
        return A::template load<SyncPoint::epoch_observe>(shared_->writer.epoch);
    }

  private:
    [[nodiscard]] bool is_new(std::uint32_t stamp) const noexcept {
        return stamp != 0 && (stamp_ == 0 || stamp_ - stamp > most_behind);
    }

    [[nodiscard]] Status read_pairs(T& value) noexcept {
        const std::uint32_t pair = A::template load<SyncPoint::snapshot_observe>(shared_->writer.latest);
        if (pair >= pairs) {
            return Status::peer_fault;
        }
        A::template store<SyncPoint::snapshot_announce>(line_->announced, pair);
        const std::uint32_t current =
            A::template load<SyncPoint::snapshot_slot_read>(shared_->writer.current[pair]);
        if (current > 1) {
            return Status::peer_fault;
        }
        const Slot& slot = shared_->slots[pair][current];
        std::uint32_t stamp = 0;
        slot.stamp.get(stamp);
        // The slot may hold an update whose `latest` is not published yet; the next read may then find an
        // older one.
        if (!is_new(stamp)) {
            return Status::would_block;
        }
        slot.value.get(value);
        stamp_ = stamp;
        return Status::ok;
    }

    Shared* shared_;
    ReaderLine* line_;
    std::uint32_t stamp_ = 0;
};

}  // namespace consort
