// SPDX-License-Identifier: Apache-2.0
//
// Versions<T, K>: communication by logical execution time (LET): one writer, any number of readers, a ring of
// the last K values, each with the instant from which it counts.
//
// A writer's job released at ρ writes its result whenever it is ready, but the result is *published* at
// ρ + D_w, its deadline. A reader's job released at r takes the newest version published at r or before. So
// what a job reads follows from the releases alone, not from how long jobs executed, and no thread has to
// wake up at the deadline to publish.
//
// How many versions. Let T_w be the writer's period (or shortest time between releases), D_w the time from
// release to publication, L the longest time from a reader's release to the end of its copy (its latest start
// plus the copy). With v the newest version published at r or before, v + 1 is published later than r:
//     its writer was released after             r - D_w,
//     the job that overwrites v, number v + K,  after  r - D_w + (K - 1) T_w,
//     and v's reader has copied it by           r + L.
// So no reader is overtaken if (K - 1) T_w >= D_w + L, that is
//     K = 1 + ceil((D_w + L) / T_w),
// whatever the number of readers; L is the largest among them. `versions_needed` computes it. No job of the
// writer may start before its release, and each must write by its publication instant. A version written too
// late was not there for readers released in between, and only the writer's caller can tell, by its clock.
//
// Bounds, independent of the other sides: publish = 2 word stores, one copy of T; read = 2 word loads, at
// most K stamps, one copy of T out of the ring and one into the caller's variable. Nobody ever waits. A
// reader that comes later than K allows finds out by a word that the writer changes before it overwrites a
// version, and answers `overtaken`: never a mixture of two versions. The orderings are E12 and E13 of
// sync_points.hpp; the argument stands in docs/explanation/channels.md.
#pragma once

#include <cstdint>
#include <new>
#include <type_traits>

#include "consort/icc/access.hpp"
#include "consort/icc/form.hpp"
#include "consort/icc/status.hpp"
#include "consort/icc/wire.hpp"
#include "consort/port.hpp"

namespace consort {

// The K for which no reader is ever overtaken: 1 + ceil((to_publication + to_copied) / period), at least 2.
// `to_publication`: from the writer's release to its publication, D_w. `to_copied`: from a reader's release
// to the end of its copy, L, the largest of all readers. `period`: T_w > 0. All in the same unit, each below
// 2^62.
[[nodiscard]] constexpr std::uint64_t versions_needed(Ticks to_publication, Ticks to_copied,
                                                      Ticks period) noexcept {
    const std::uint64_t needed = 1 + (to_publication + to_copied + (period - 1)) / period;
    return needed < 2 ? 2 : needed;
}

// The answer of a read: `sequence` is the number of the version copied, from 1 (no number is ever used
// again), and `publication` the instant from which it counts; both 0 unless the status is ok.
struct VersionRead {
    Status status;
    std::uint64_t sequence;
    Ticks publication;
};

template <class T, std::uint32_t K, class A = access::Coherent>
class Versions {
    static_assert(K >= 2 && K <= 4096, "a Versions channel keeps 2 to 4096 versions");

  public:
    using Value = T;
    using Access = A;
    static constexpr std::uint32_t kind = 7;
    static constexpr std::uint32_t parameter = K;
    static constexpr Form form = Form::whole_lines;

    struct Stamp {
        std::uint64_t sequence;  // 0 = never written
        Ticks publication;
    };
    // A value of up to 48 bytes shares its stamp's line.
    struct alignas(line_bytes) Slot {
        typename A::template RacingCell<Stamp> stamp;
        typename A::template RacingCell<T> value;
    };
    // Both words hold 1 + a position, 0 = none yet. A version's position is its sequence number less 1,
    // modulo a multiple of K that fits into a word, so that position % K is its slot for ever.
    struct alignas(line_bytes) WriterLine {
        // The last version that is complete.
        typename A::Word latest;
        // The last version whose slot the writer has begun to fill: that of `latest`, or the one after it.
        typename A::Word begun;
        typename A::Word epoch;
    };
    struct Shared {
        WriterLine writer;
        Slot slots[K];
    };
    static constexpr std::uint32_t positions = 0xffffffffU / K * K;

    class Writer;
    class Reader;
};

// The one writing side. Constructing it takes the channel over, also from a writer that died in the middle of
// a publication: that version was never published, and its number is used again. Not thread-safe; one Writer
// a channel at a time.
template <class T, std::uint32_t K, class A>
class Versions<T, K, A>::Writer {
  public:
    explicit Writer(Shared& shared) noexcept
        : shared_(&shared), position_(A::template load<SyncPoint::own>(shared.writer.latest)) {
        require_plain_data<T>();
        if (position_ != 0) {
            Stamp stamp{};
            shared.slots[(position_ - 1) % K].stamp.get(stamp);
            sequence_ = stamp.sequence;
        }
        A::template store<SyncPoint::epoch_publish>(
            shared.writer.epoch, A::template load<SyncPoint::own>(shared.writer.epoch) + 1);
    }
    Writer(const Writer&) = delete;
    Writer& operator=(const Writer&) = delete;
    Writer(Writer&&) noexcept = default;
    Writer& operator=(Writer&&) noexcept = default;
    ~Writer() = default;

    // Writes a version that counts from `publication` on, an instant not before that of the last version [the
    // ticks in which readers give their releases]. Wait-free; see the bounds above.
    void publish(const T& value, Ticks publication) noexcept {
        position_ = position_ == positions ? 1 : position_ + 1;
        ++sequence_;
        Slot& slot = shared_->slots[(position_ - 1) % K];
        A::template store<SyncPoint::versions_begun>(shared_->writer.begun, position_);
        A::template fence<SyncPoint::versions_overwrite>();
        slot.stamp.put({sequence_, publication});
        slot.value.put(value);
        A::template store<SyncPoint::versions_publish>(shared_->writer.latest, position_);
    }

    // The number of the last version; 0 = none yet.
    [[nodiscard]] std::uint64_t sequence() const noexcept { return sequence_; }

  private:
    Shared* shared_;
    // 1 + the position of the last version; 0 = none yet.
    std::uint32_t position_;
    std::uint64_t sequence_ = 0;
};

// A reading side, any number of them: reading changes nothing in the region. Holds one T, into which it
// copies before it knows that the copy is whole. Not thread-safe.
template <class T, std::uint32_t K, class A>
class Versions<T, K, A>::Reader {
  public:
    explicit Reader(const Shared& shared) noexcept : shared_(&shared) { require_plain_data<T>(); }

    // Copies the newest version published at `release` or before:
    //   ok           value, sequence and publication are that version's
    //   would_block  no version was published by then
    //   overtaken    it was overwritten: the read came too late (see K above)
    //   peer_fault   the writer's words hold what the protocol cannot produce
    // Unless ok, value is untouched. Wait-free; see the bounds above.
    [[nodiscard]] VersionRead read_as_of(T& value, Ticks release) noexcept {
        const std::uint32_t latest = A::template load<SyncPoint::versions_observe>(shared_->writer.latest);
        if (latest == 0) {
            return {Status::would_block, 0, 0};
        }
        if (latest > positions) {
            return {Status::peer_fault, 0, 0};
        }
        std::uint32_t position = latest;
        std::uint64_t newest = 0;
        // Nothing in this loop is trusted before settle() has said that no slot inspected was overwritten.
        for (std::uint32_t inspected = 0;; ++inspected) {
            const Slot& slot = shared_->slots[(position - 1) % K];
            Stamp stamp{};
            slot.stamp.get(stamp);
            if (inspected == 0) {
                newest = stamp.sequence;
            }
            if (stamp.publication <= release) {
                slot.value.get(staging());
                const Status status =
                    settle(position, stamp.sequence != 0 && stamp.sequence == newest - inspected);
                if (status != Status::ok) {
                    return {status, 0, 0};
                }
                __builtin_memcpy(static_cast<void*>(&value), staging_, copied_bytes);
                return {Status::ok, stamp.sequence, stamp.publication};
            }
            // None of the versions kept is old enough. Older ones were there if more than K were written.
            if (inspected + 1 == K || inspected + 1 >= newest) {
                const Status status = settle(position, newest != 0);
                return {status != Status::ok ? status
                        : newest > K         ? Status::overtaken
                                             : Status::would_block,
                        0, 0};
            }
            position = position == 1 ? positions : position - 1;
        }
    }

    // How often a writer has attached; 0 = never. A change means that the writer was restarted.
    [[nodiscard]] std::uint32_t peer_epoch() const noexcept {
        return A::template load<SyncPoint::epoch_observe>(shared_->writer.epoch);
    }

  private:
    // An empty type carries no data.
    static constexpr std::uint32_t copied_bytes = std::is_empty_v<T> ? 0 : sizeof(T);

    // Decides if the data read from the slot of `position`, and from those of newer versions, was whole; if
    // so, if it was `plausible`.
    [[nodiscard]] Status settle(std::uint32_t position, bool plausible) const noexcept {
        A::template fence<SyncPoint::versions_check>();
        const std::uint32_t begun = A::template load<SyncPoint::versions_begun>(shared_->writer.begun);
        if (begun == 0 || begun > positions) {
            return Status::peer_fault;
        }
        const std::uint32_t ahead = begun >= position ? begun - position : begun + (positions - position);
        if (ahead >= K) {
            return Status::overtaken;
        }
        return plausible ? Status::ok : Status::peer_fault;
    }

    [[nodiscard]] T& staging() noexcept { return *std::launder(reinterpret_cast<T*>(staging_)); }

    const Shared* shared_;
    alignas(T) unsigned char staging_[sizeof(T)];
};

}  // namespace consort
