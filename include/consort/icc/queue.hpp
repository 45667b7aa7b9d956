// SPDX-License-Identifier: Apache-2.0
//
// Queue<T, N>: a ring of N elements from one producer to one consumer, for diagnostics data and traces.
//
// Wait-free on both sides. What does not fit is counted, not waited for. Each side keeps its own index
// privately and a copy of the peer's, which it reads again only when the copy says full (or empty).
#pragma once

#include <cstddef>
#include <cstdint>

#include "consort/icc/access.hpp"
#include "consort/icc/status.hpp"
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

    struct Shared {
        struct alignas(line_bytes) WriterLine {
            typename A::Word head;
            typename A::Word epoch;
            typename A::Word overruns;
        } writer;
        struct alignas(line_bytes) ReaderLine {
            typename A::Word tail;
            typename A::Word epoch;
        } reader;
        struct alignas(line_bytes) Cells {
            typename A::template Cell<T> at[N];
        } cells;
    };

    class Writer;
    class Reader;
};

template <class T, std::uint32_t N, class A>
class Queue<T, N, A>::Writer {
  public:
    explicit Writer(Shared& shared) noexcept
        : shared_(&shared),
          head_(A::template load<Edge::own>(shared.writer.head)),
          tail_(head_ - N),
          overruns_(A::template load<Edge::own>(shared.writer.overruns)) {
        require_plain_data<T>();
        A::template store<Edge::epoch_publish>(shared.writer.epoch,
                                               A::template load<Edge::own>(shared.writer.epoch) + 1);
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
        for (;;) {
            const Status status = try_write(value);
            if (status != Status::would_block) {
                return status;
            }
            Spin::relax();
        }
    }

    [[nodiscard]] std::uint32_t overruns() const noexcept { return overruns_; }
    [[nodiscard]] std::uint32_t peer_epoch() const noexcept {
        return A::template load<Edge::epoch_observe>(shared_->reader.epoch);
    }

  private:
    [[nodiscard]] Status put(const T* values, std::uint32_t count, std::uint32_t& written) noexcept {
        if (N - (head_ - tail_) < count) {
            const std::uint32_t tail = A::template load<Edge::queue_observe_release>(shared_->reader.tail);
            // The consumer's word is not trusted: it can only have moved towards the head.
            if (head_ - tail > N) {
                return Status::peer_fault;
            }
            tail_ = tail;
        }
        const std::uint32_t room = N - (head_ - tail_);
        written = count < room ? count : room;
        if (written == 0) {
            return count == 0 ? Status::ok : Status::would_block;
        }
        for (std::uint32_t i = 0; i < written; ++i) {
            shared_->cells.at[(head_ + i) & (N - 1)].put(values[i]);
        }
        head_ += written;
        A::template store<Edge::queue_publish>(shared_->writer.head, head_);
        return Status::ok;
    }

    void count_lost(std::uint32_t lost) noexcept {
        overruns_ += lost;
        A::template store<Edge::diagnostic>(shared_->writer.overruns, overruns_);
    }

    Shared* shared_;
    std::uint32_t head_;
    // "Full" until the consumer's word is read for the first time.
    std::uint32_t tail_;
    std::uint32_t overruns_;
};

template <class T, std::uint32_t N, class A>
class Queue<T, N, A>::Reader {
  public:
    explicit Reader(Shared& shared) noexcept
        : shared_(&shared), tail_(A::template load<Edge::own>(shared.reader.tail)), head_(tail_) {
        require_plain_data<T>();
        A::template store<Edge::epoch_publish>(shared.reader.epoch,
                                               A::template load<Edge::own>(shared.reader.epoch) + 1);
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

    // Reads up to `capacity` values, released at once. The number read; 0 when empty or on a peer fault.
    std::uint32_t read_batch(T* values, std::uint32_t capacity) noexcept {
        std::uint32_t taken = 0;
        static_cast<void>(take(values, capacity, taken));
        return taken;
    }

    // Busy-waits for a value, for ever if none comes: ok or peer_fault.
    template <class Spin = spin::Relaxed>
    [[nodiscard]] Status read(T& value) noexcept {
        for (;;) {
            const Status status = try_read(value);
            if (status != Status::would_block) {
                return status;
            }
            Spin::relax();
        }
    }

    // How many values the producer had no room for.
    [[nodiscard]] std::uint32_t overruns() const noexcept {
        return A::template load<Edge::diagnostic>(shared_->writer.overruns);
    }
    [[nodiscard]] std::uint32_t peer_epoch() const noexcept {
        return A::template load<Edge::epoch_observe>(shared_->writer.epoch);
    }

  private:
    [[nodiscard]] Status take(T* values, std::uint32_t capacity, std::uint32_t& taken) noexcept {
        if (head_ - tail_ < capacity) {
            const std::uint32_t head = A::template load<Edge::queue_observe>(shared_->writer.head);
            if (head - tail_ > N) {
                return Status::peer_fault;
            }
            head_ = head;
        }
        const std::uint32_t there = head_ - tail_;
        taken = capacity < there ? capacity : there;
        if (taken == 0) {
            return capacity == 0 ? Status::ok : Status::would_block;
        }
        for (std::uint32_t i = 0; i < taken; ++i) {
            shared_->cells.at[(tail_ + i) & (N - 1)].get(values[i]);
        }
        tail_ += taken;
        A::template store<Edge::queue_release>(shared_->reader.tail, tail_);
        return Status::ok;
    }

    Shared* shared_;
    std::uint32_t tail_;
    std::uint32_t head_;
};

}  // namespace consort
