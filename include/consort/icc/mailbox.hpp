// SPDX-License-Identifier: Apache-2.0
//
// Mailbox<T>: periodic communication, one writer and one reader that alternate (Coppik et al., NG-RES
// 2025, 4.1).
//
// For each write there is one read before the next write. The flag and the payload share a cache line when
// they fit (up to 48 bytes), so a message costs one line transfer. The paper's flag is written by both sides;
// here it is split into two words, each with one writer and on a line of its own writer: `sequence` counts
// messages written, `acknowledged` counts messages read, and the mailbox is full while they differ.
//
// Bounds: try_write and try_read take at most three word accesses and one copy of T, whatever the peer does.
#pragma once

#include <cstddef>
#include <cstdint>

#include "consort/icc/access.hpp"
#include "consort/icc/status.hpp"
#include "consort/icc/wire.hpp"
#include "consort/port.hpp"

namespace consort {

enum class Resume : std::uint8_t {
    // A message that was not acknowledged is read again (after a reader's restart: at least once).
    redeliver,
    // A message that was not acknowledged is acknowledged unread (at most once).
    discard,
};

template <class T, class A = access::Coherent>
class Mailbox {
  public:
    using Value = T;
    using Access = A;
    static constexpr std::uint32_t kind = 1;
    static constexpr std::uint32_t parameter = 0;

    struct alignas(line_bytes) WriterLines {
        typename A::Word sequence;
        // What the writer's side has read from the reverse mailbox of a Duplex; else unused.
        typename A::Word acknowledged_back;
        typename A::Word epoch;
        typename A::Word reserved;
        typename A::template Cell<T> payload;
    };
    struct alignas(line_bytes) ReaderLine {
        typename A::Word acknowledged;
        typename A::Word epoch;
    };
    struct Shared {
        WriterLines writer;
        ReaderLine reader;
    };

    class Writer;
    class Reader;
};

// The one writing side. Constructing it takes the mailbox over, also from a writer that died: the own words
// are read back from the region. Not thread-safe; one Writer a mailbox at a time.
template <class T, class A>
class Mailbox<T, A>::Writer {
  public:
    explicit Writer(Shared& shared) noexcept
        : shared_(&shared),
          sequence_(A::template load<Edge::own>(shared.writer.sequence)),
          back_(A::template load<Edge::own>(shared.writer.acknowledged_back)) {
        require_plain_data<T>();
        A::template store<Edge::epoch_publish>(shared.writer.epoch,
                                               A::template load<Edge::own>(shared.writer.epoch) + 1);
    }
    Writer(const Writer&) = delete;
    Writer& operator=(const Writer&) = delete;
    Writer(Writer&&) noexcept = default;
    Writer& operator=(Writer&&) noexcept = default;
    ~Writer() = default;

    // Writes if the last message was read: ok, would_block or peer_fault. Never blocks.
    [[nodiscard]] Status try_write(const T& value) noexcept {
        if (free_at_ != sequence_) {
            const Status status = look_for_acknowledgement();
            if (status != Status::ok) {
                return status;
            }
        }
        shared_->writer.payload.put(value);
        ++sequence_;
        A::template store<Edge::mailbox_publish>(shared_->writer.sequence, sequence_);
        return Status::ok;
    }

    // Busy-waits until the last message was read, for ever if it never is: ok or peer_fault.
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

    // As write, until P::now() >= deadline [ticks of P]: ok, timeout or peer_fault. Tries at least once.
    template <Port P, class Spin = P>
    [[nodiscard]] Status write_until(const T& value, Ticks deadline) noexcept {
        for (;;) {
            const Status status = try_write(value);
            if (status != Status::would_block) {
                return status;
            }
            if (P::now() >= deadline) {
                return Status::timeout;
            }
            Spin::relax();
        }
    }

    // True if the reader has taken the last message.
    [[nodiscard]] bool empty() noexcept { return look_for_acknowledgement() == Status::ok; }

    // Messages written since the region was made (modulo 2^32).
    [[nodiscard]] std::uint32_t sequence() const noexcept { return sequence_; }

    // How often a reader has attached; 0 = never. A change means that the reader was restarted.
    [[nodiscard]] std::uint32_t peer_epoch() const noexcept {
        return A::template load<Edge::epoch_observe>(shared_->reader.epoch);
    }

    // For Duplex: what this side has read of the reverse mailbox travels with the next message …
    void carry_back(std::uint32_t acknowledged) noexcept {
        if (acknowledged != back_) {
            back_ = acknowledged;
            A::template store<Edge::own>(shared_->writer.acknowledged_back, acknowledged);
        }
    }
    // … and what the peer has read of this one came with its last message (ordered by edge E1).
    void learn(std::uint32_t acknowledged) noexcept {
        if (acknowledged == sequence_) {
            free_at_ = sequence_;
        }
    }

  private:
    [[nodiscard]] Status look_for_acknowledgement() noexcept {
        const std::uint32_t acknowledged =
            A::template load<Edge::mailbox_observe_acknowledge>(shared_->reader.acknowledged);
        if (acknowledged == sequence_) {
            free_at_ = sequence_;
            return Status::ok;
        }
        // The reader's word is not trusted: only "all but the last read" is possible otherwise.
        return acknowledged + 1 == sequence_ ? Status::would_block : Status::peer_fault;
    }

    Shared* shared_;
    std::uint32_t sequence_;
    std::uint32_t back_;
    // The sequence at which the mailbox is known to be empty; anything else means "not known".
    std::uint32_t free_at_ = sequence_ - 1;
};

// The one reading side; the same rules as for Writer.
template <class T, class A>
class Mailbox<T, A>::Reader {
  public:
    explicit Reader(Shared& shared, Resume resume = Resume::redeliver) noexcept
        : shared_(&shared), acknowledged_(A::template load<Edge::own>(shared.reader.acknowledged)) {
        require_plain_data<T>();
        if (resume == Resume::discard) {
            const std::uint32_t written = A::template load<Edge::mailbox_observe>(shared.writer.sequence);
            if (written == acknowledged_ + 1) {
                acknowledged_ = written;
                A::template store<Edge::mailbox_acknowledge>(shared.reader.acknowledged, acknowledged_);
            }
        }
        A::template store<Edge::epoch_publish>(shared.reader.epoch,
                                               A::template load<Edge::own>(shared.reader.epoch) + 1);
    }
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;
    Reader(Reader&&) noexcept = default;
    Reader& operator=(Reader&&) noexcept = default;
    ~Reader() = default;

    // Reads and acknowledges a message if there is one: ok, would_block (value untouched) or peer_fault.
    // Never blocks.
    [[nodiscard]] Status try_read(T& value) noexcept {
        const std::uint32_t sequence = A::template load<Edge::mailbox_observe>(shared_->writer.sequence);
        if (sequence == acknowledged_) {
            return Status::would_block;
        }
        if (sequence != acknowledged_ + 1) {
            return Status::peer_fault;
        }
        shared_->writer.payload.get(value);
        back_ = A::template load<Edge::own>(shared_->writer.acknowledged_back);
        acknowledged_ = sequence;
        A::template store<Edge::mailbox_acknowledge>(shared_->reader.acknowledged, acknowledged_);
        return Status::ok;
    }

    // Busy-waits for a message, for ever if none comes: ok or peer_fault.
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

    // As read, until P::now() >= deadline [ticks of P]: ok, timeout or peer_fault. Tries at least once.
    template <Port P, class Spin = P>
    [[nodiscard]] Status read_until(T& value, Ticks deadline) noexcept {
        for (;;) {
            const Status status = try_read(value);
            if (status != Status::would_block) {
                return status;
            }
            if (P::now() >= deadline) {
                return Status::timeout;
            }
            Spin::relax();
        }
    }

    // Messages read since the region was made (modulo 2^32).
    [[nodiscard]] std::uint32_t acknowledged() const noexcept { return acknowledged_; }
    // The reverse mailbox's acknowledgement that came with the last message read.
    [[nodiscard]] std::uint32_t back() const noexcept { return back_; }
    // How often a writer has attached; 0 = never. A change means that the writer was restarted.
    [[nodiscard]] std::uint32_t peer_epoch() const noexcept {
        return A::template load<Edge::epoch_observe>(shared_->writer.epoch);
    }

  private:
    Shared* shared_;
    std::uint32_t acknowledged_;
    std::uint32_t back_ = 0;
};

// Duplex<Tx, Rx>: a mailbox each way, as one side of a request and response pair holds them.
//
// Each message carries the acknowledgement of the reverse mailbox in its own line, so the sender learns that
// its last message was read from the line that it has just received: a round trip costs two line transfers,
// the floor.
template <class Tx, class Rx, class A = access::Coherent>
class Duplex {
  public:
    using Out = Mailbox<Tx, A>;
    using In = Mailbox<Rx, A>;

    Duplex(typename Out::Shared& out, typename In::Shared& in, Resume resume = Resume::redeliver) noexcept
        : writer_(out), reader_(in, resume) {}

    [[nodiscard]] Status try_write(const Tx& value) noexcept {
        prepare();
        return writer_.try_write(value);
    }
    template <class Spin = spin::Relaxed>
    [[nodiscard]] Status write(const Tx& value) noexcept {
        prepare();
        return writer_.template write<Spin>(value);
    }
    template <Port P, class Spin = P>
    [[nodiscard]] Status write_until(const Tx& value, Ticks deadline) noexcept {
        prepare();
        return writer_.template write_until<P, Spin>(value, deadline);
    }
    [[nodiscard]] Status try_read(Rx& value) noexcept { return reader_.try_read(value); }
    template <class Spin = spin::Relaxed>
    [[nodiscard]] Status read(Rx& value) noexcept {
        return reader_.template read<Spin>(value);
    }
    template <Port P, class Spin = P>
    [[nodiscard]] Status read_until(Rx& value, Ticks deadline) noexcept {
        return reader_.template read_until<P, Spin>(value, deadline);
    }

    [[nodiscard]] typename Out::Writer& writer() noexcept { return writer_; }
    [[nodiscard]] typename In::Reader& reader() noexcept { return reader_; }

  private:
    void prepare() noexcept {
        writer_.carry_back(reader_.acknowledged());
        writer_.learn(reader_.back());
    }

    typename Out::Writer writer_;
    typename In::Reader reader_;
};

}  // namespace consort
