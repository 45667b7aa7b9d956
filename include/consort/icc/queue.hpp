// SPDX-License-Identifier: Apache-2.0
//
// Queue<T, N>: a ring of N elements from one producer to one consumer, for diagnostics data and traces.
//
// Wait-free on both sides. What does not fit is counted, not waited for.
//
// Each slot carries an element and, beside it, the number of the message it holds: the consumer looks at the
// slot that it is going to read anyway, so a message costs one line transfer, and small elements, several of
// which share a line, less. The consumer writes how far it has read on a line of its own, and only when a
// quarter of the ring was read or nothing is left; the producer looks there only when its copy says full. So
// up to N / 4 - 1 elements that were read may still take up room, until the consumer finds the ring empty:
// N - N / 4 + 1 (N, where N is less than 8) unread elements always fit.
//
// All slots are written by the producer alone, so each line has one writer and the layout is the same for
// every access policy.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "consort/icc/access.hpp"
#include "consort/icc/form.hpp"
#include "consort/icc/status.hpp"
#include "consort/icc/wait.hpp"
#include "consort/icc/wire.hpp"
#include "consort/port.hpp"

namespace consort {

template <class T, std::uint32_t N, class A = access::Coherent>
class Queue {
    static_assert(N >= 2 && (N & (N - 1)) == 0 && N <= (1U << 30U),
                  "a Queue's size is a power of two from 2 to 2^30");

  public:
    using Value = T;
    using Access = A;
    static constexpr std::uint32_t kind = 4;
    static constexpr std::uint32_t parameter = N;
    static constexpr Form form = Form::whole_lines;

    // An element and its number [bytes]: the next power of two, from a line on the next whole line.
    static constexpr std::uint32_t slot_bytes = [] {
        const std::uint32_t used = round_up(sizeof(T), 4) + 4;
        return used < line_bytes ? std::bit_ceil(used) : round_up(used, line_bytes);
    }();

    struct alignas(slot_bytes < line_bytes ? slot_bytes : line_bytes) Slot {
        typename A::template Cell<T, 4> element;
        // n + 1 (modulo 2^32) when the slot holds message n, counted from 0 since the region was made.
        typename A::Word sequence;
    };
    // How many messages either side lets pass between two of its words on the other lines. Not each: a store
    // to another line between the stores to two slots makes processors fetch the slots' lines one by one.
    static constexpr std::uint32_t quarter = N < 8 ? 1 : N / 4;

    struct Shared {
        struct alignas(line_bytes) WriterLine {
            // Messages written at least, for a producer that takes over: it looks on from there.
            typename A::Word head;
            typename A::Word epoch;
            typename A::Word overruns;
        } writer;
        struct alignas(line_bytes) ReaderLine {
            // Messages whose slots may be written again.
            typename A::Word released;
            typename A::Word epoch;
        } reader;
        struct alignas(line_bytes) Slots {
            Slot at[N];
        } slots;
    };

    class Writer;
    class Reader;
};

template <class T, std::uint32_t N, class A>
class Queue<T, N, A>::Writer {
  public:
    // Takes the ring over, also from a producer that died in the middle of a batch. Looks at every slot.
    explicit Writer(Shared& shared) noexcept
        : shared_(&shared),
          head_(A::template load<SyncPoint::own>(shared.writer.head)),
          overruns_(A::template load<SyncPoint::own>(shared.writer.overruns)) {
        require_plain_data<T>();
        // Published, but not counted in `head`.
        for (std::uint32_t i = 0; i < N && holds(head_); ++i) {
            ++head_;
        }
        released_ = head_ - N;
        // The rest of a batch whose first message was never published: as if it had not been written.
        for (std::uint32_t i = 1; i < N; ++i) {
            if (holds(head_ + i)) {
                A::template store<SyncPoint::own>(slot(head_ + i).sequence, head_ + i + 1 - N);
            }
        }
        note_head();
        A::template store<SyncPoint::epoch_publish>(
            shared.writer.epoch, A::template load<SyncPoint::own>(shared.writer.epoch) + 1);
    }
    Writer(const Writer&) = delete;
    Writer& operator=(const Writer&) = delete;
    Writer(Writer&&) noexcept = default;
    Writer& operator=(Writer&&) noexcept = default;
    ~Writer() = default;

    // ok, would_block (full; not counted as an overrun: the caller may try again) or peer_fault.
    [[nodiscard]] Status try_write(const T& value) noexcept {
        std::uint32_t written = 0;
        return put(&value, 1, written);
    }

    // Writes the value or counts it as lost.
    void write_or_count(const T& value) noexcept {
        if (try_write(value) != Status::ok) {
            count_lost(1);
        }
    }

    // Writes as many of `count` values as fit, published at once, and counts the rest as lost. The number
    // written.
    std::uint32_t write_batch(const T* values, std::uint32_t count) noexcept {
        std::uint32_t written = 0;
        static_cast<void>(put(values, count, written));
        if (written < count) {
            count_lost(count - written);
        }
        return written;
    }

    // Busy-waits for room, for ever if the consumer never reads: ok or peer_fault.
    template <class Spin = spin::Relaxed>
    [[nodiscard]] Status write(const T& value) noexcept {
        return detail::wait<Spin>([&] { return try_write(value); });
    }

    [[nodiscard]] std::uint32_t overruns() const noexcept { return overruns_; }
    [[nodiscard]] std::uint32_t peer_epoch() const noexcept {
        return A::template load<SyncPoint::epoch_observe>(shared_->reader.epoch);
    }

  private:
    [[nodiscard]] Slot& slot(std::uint32_t number) const noexcept {
        return shared_->slots.at[number & (N - 1)];
    }
    [[nodiscard]] bool holds(std::uint32_t number) const noexcept {
        return A::template load<SyncPoint::own>(slot(number).sequence) == number + 1;
    }

    [[nodiscard]] Status put(const T* values, std::uint32_t count, std::uint32_t& written) noexcept {
        if (N - (head_ - released_) < count) {
            const std::uint32_t released =
                A::template load<SyncPoint::queue_observe_release>(shared_->reader.released);
            // The consumer's word is not trusted: it can only have moved towards the head.
            if (head_ - released > N) {
                return Status::peer_fault;
            }
            released_ = released;
        }
        const std::uint32_t room = N - (head_ - released_);
        written = count < room ? count : room;
        if (written == 0) {
            return count == 0 ? Status::ok : Status::would_block;
        }
        // Before a batch, so that the slots from `head` on show a successor how far it got; else the batch
        // might overwrite them.
        if (head_ - noted_ >= quarter || (written > 1 && noted_ != head_)) {
            note_head();
        }
        // The first message last: the consumer takes them in order, so the others show with it.
        for (std::uint32_t i = written; i-- > 0;) {
            Slot& to = slot(head_ + i);
            to.element.put(values[i]);
            A::template store<SyncPoint::queue_publish>(to.sequence, head_ + i + 1);
        }
        head_ += written;
        return Status::ok;
    }

    void note_head() noexcept {
        noted_ = head_;
        A::template store<SyncPoint::own>(shared_->writer.head, noted_);
    }

    void count_lost(std::uint32_t lost) noexcept {
        overruns_ += lost;
        A::template store<SyncPoint::diagnostic>(shared_->writer.overruns, overruns_);
    }

    Shared* shared_;
    std::uint32_t head_;
    std::uint32_t noted_ = 0;
    // "Full" until the consumer's word is read for the first time.
    std::uint32_t released_ = 0;
    std::uint32_t overruns_;
};

template <class T, std::uint32_t N, class A>
class Queue<T, N, A>::Reader {
  public:
    // Takes the ring over. What a consumer that died had read since its last release, less than a quarter of
    // the ring, is read again.
    explicit Reader(Shared& shared) noexcept
        : shared_(&shared),
          released_(A::template load<SyncPoint::own>(shared.reader.released)),
          tail_(released_) {
        require_plain_data<T>();
        A::template store<SyncPoint::epoch_publish>(
            shared.reader.epoch, A::template load<SyncPoint::own>(shared.reader.epoch) + 1);
    }
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;
    Reader(Reader&&) noexcept = default;
    Reader& operator=(Reader&&) noexcept = default;
    ~Reader() = default;

    // ok, would_block (empty; value untouched) or peer_fault.
    [[nodiscard]] Status try_read(T& value) noexcept {
        std::uint32_t taken = 0;
        return take(&value, 1, taken);
    }

    // Reads up to `capacity` values. The number read; 0 when empty or on a peer fault.
    std::uint32_t read_batch(T* values, std::uint32_t capacity) noexcept {
        std::uint32_t taken = 0;
        static_cast<void>(take(values, capacity, taken));
        return taken;
    }

    // Gives the producer the room of all that was read, which it has else once that is a quarter of the ring.
    void release_read() noexcept {
        if (tail_ != released_) {
            released_ = tail_;
            A::template store<SyncPoint::queue_release>(shared_->reader.released, released_);
        }
    }

    // Busy-waits for a value, for ever if none comes: ok or peer_fault.
    template <class Spin = spin::Relaxed>
    [[nodiscard]] Status read(T& value) noexcept {
        return detail::wait<Spin>([&] { return try_read(value); });
    }

    // How many values the producer had no room for.
    [[nodiscard]] std::uint32_t overruns() const noexcept {
        return A::template load<SyncPoint::diagnostic>(shared_->writer.overruns);
    }
    [[nodiscard]] std::uint32_t peer_epoch() const noexcept {
        return A::template load<SyncPoint::epoch_observe>(shared_->writer.epoch);
    }

  private:
    [[nodiscard]] Status take(T* values, std::uint32_t capacity, std::uint32_t& taken) noexcept {
        Status end = Status::ok;
        for (; taken < capacity; ++taken, ++tail_) {
            const Slot& from = shared_->slots.at[tail_ & (N - 1)];
            const std::uint32_t sequence = A::template load<SyncPoint::queue_observe>(from.sequence);
            if (sequence != tail_ + 1) {
                // The producer's word is not trusted: a slot not written yet holds the message of the last
                // round, or none.
                end = sequence == tail_ + 1 - N || sequence == 0 ? Status::would_block : Status::peer_fault;
                break;
            }
            from.element.get(values[taken]);
        }
        // Asked here too: a stream of small messages is a tenth slower where only release_read() does.
        if (tail_ - released_ >= quarter || (end != Status::ok && tail_ != released_)) {
            release_read();
        }
        return taken != 0 ? Status::ok : end;
    }

    Shared* shared_;
    std::uint32_t released_;
    std::uint32_t tail_;
};

}  // namespace consort
