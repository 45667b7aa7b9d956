// SPDX-License-Identifier: Apache-2.0
//
// One direction of messages, each of which is read before the next is written: the protocol of Mailbox, and
// of either direction of Duplex.
//
// `sequence` counts messages written, `acknowledged` counts messages read; each word has one writer, and the
// direction is full while they differ. Where these words and the payload lie in shared memory is the
// channel's matter: `Places` has its `Shared` type, static sequence(Shared&), acknowledged(Shared&) and
// payload(Shared&, number), the place of a message by its number, and `slots`, how many such places there
// are.
//
// With two places the writer copies a message before it looks for the acknowledgement of the last one, which
// lies in the other place: the message before that was read, or the last one could not have been written.
//
// Bounds: try_write and try_read take two word accesses and one copy of T, whatever the peer does.
#pragma once

#include <cstdint>

#include "consort/icc/access.hpp"
#include "consort/icc/status.hpp"
#include "consort/icc/wait.hpp"
#include "consort/icc/wire.hpp"
#include "consort/port.hpp"

namespace consort {

enum class Resume : std::uint8_t {
    // A message that was not acknowledged is read again (after a reader's restart: at least once).
    redeliver,
    // A message that was not acknowledged is acknowledged unread (at most once).
    discard,
};

namespace detail {

// The writing side. It takes over from one that died: its own word is read back.
template <class T, class A, class Places>
class Sender {
  public:
    using Shared = typename Places::Shared;

    explicit Sender(Shared& shared) noexcept
        : shared_(&shared), sequence_(A::template load<SyncPoint::own>(Places::sequence(shared))) {
        require_plain_data<T>();
    }
    Sender(const Sender&) = delete;
    Sender& operator=(const Sender&) = delete;
    Sender(Sender&&) noexcept = default;
    Sender& operator=(Sender&&) noexcept = default;
    ~Sender() = default;

    // Writes if the last message was read: ok, would_block or peer_fault. Never blocks.
    [[nodiscard]] Status try_write(const T& value) noexcept {
        prepare(value);
        return write_if_empty(value);
    }

    // Busy-waits until the last message was read, for ever if it never is: ok or peer_fault.
    template <class Spin = spin::Relaxed>
    [[nodiscard]] Status write(const T& value) noexcept {
        prepare(value);
        return wait<Spin>([&] { return write_if_empty(value); });
    }

    // As write, until P::now() >= deadline [ticks of P]: ok, timeout or peer_fault. Tries at least once.
    template <Port P, class Spin = P>
    [[nodiscard]] Status write_until(const T& value, Ticks deadline) noexcept {
        prepare(value);
        return wait_until<P, Spin>(deadline, [&] { return write_if_empty(value); });
    }

    // True if the reader has taken the last message.
    [[nodiscard]] bool empty() const noexcept { return look_for_acknowledgement() == Status::ok; }

    // Messages written since the region was made (modulo 2^32).
    [[nodiscard]] std::uint32_t sequence() const noexcept { return sequence_; }

  private:
    // Once a call: while the message is unread the reader needs the line that it waits at.
    void prepare(const T& value) noexcept {
        if constexpr (Places::slots == 2) {
            // The acknowledgement has a line of its own, whose transfer overlaps with the copy.
            copy(value);
        } else {
            // The line of the own word comes with the right to write it: where it also has the reader's, the
            // look for the acknowledgement has cost the whole transfer.
            access::expect_write<A>(&Places::sequence(*shared_), 1);
        }
    }

    void copy(const T& value) noexcept {
        auto& payload = Places::payload(*shared_, sequence_ + 1);
        if constexpr (sizeof(T) > line_bytes) {
            access::expect_write<A>(&payload, sizeof(payload));
        }
        payload.put(value);
    }

    [[nodiscard]] Status write_if_empty(const T& value) noexcept {
        const Status status = look_for_acknowledgement();
        if (status != Status::ok) {
            return status;
        }
        if constexpr (Places::slots == 1) {
            copy(value);
        }
        ++sequence_;
        A::template store<SyncPoint::mailbox_publish>(Places::sequence(*shared_), sequence_);
        return Status::ok;
    }

    [[nodiscard]] Status look_for_acknowledgement() const noexcept {
        const std::uint32_t acknowledged =
            A::template load<SyncPoint::mailbox_observe_acknowledge>(Places::acknowledged(*shared_));
        if (acknowledged == sequence_) {
            return Status::ok;
        }
        // The reader's word is not trusted: only "all but the last read" is possible otherwise.
        return acknowledged + 1 == sequence_ ? Status::would_block : Status::peer_fault;
    }

    Shared* shared_;
    std::uint32_t sequence_;
};

// The reading side; the same rules as for Sender.
template <class T, class A, class Places>
class Receiver {
  public:
    using Shared = typename Places::Shared;

    Receiver(Shared& shared, Resume resume) noexcept
        : shared_(&shared),
          taken_(A::template load<SyncPoint::own>(Places::acknowledged(shared))),
          acknowledged_(taken_) {
        require_plain_data<T>();
        if (resume == Resume::discard) {
            const std::uint32_t written =
                A::template load<SyncPoint::mailbox_observe>(Places::sequence(shared));
            if (written == taken_ + 1) {
                taken_ = written;
                acknowledge();
            }
        }
    }
    Receiver(const Receiver&) = delete;
    Receiver& operator=(const Receiver&) = delete;
    Receiver(Receiver&&) noexcept = default;
    Receiver& operator=(Receiver&&) noexcept = default;
    ~Receiver() = default;

    // Reads a message if there is one, and leaves it to acknowledge() to make room for the next: ok,
    // would_block (value untouched) or peer_fault. Never blocks.
    [[nodiscard]] Status take(T& value) noexcept {
        const std::uint32_t sequence =
            A::template load<SyncPoint::mailbox_observe>(Places::sequence(*shared_));
        if (sequence == taken_) {
            return Status::would_block;
        }
        if (sequence != taken_ + 1) {
            return Status::peer_fault;
        }
        if constexpr (Places::slots == 2) {
            // On its way while the message is copied: the answer's copy would wait for it.
            access::expect_write<A>(&Places::acknowledged(*shared_), 1);
        }
        Places::payload(*shared_, sequence).get(value);
        taken_ = sequence;
        return Status::ok;
    }

    // Tells the writer that the message taken last was read; without effect where that was acknowledged
    // before.
    void acknowledge() noexcept {
        if (acknowledged_ != taken_) {
            acknowledged_ = taken_;
            A::template store<SyncPoint::mailbox_acknowledge>(Places::acknowledged(*shared_), acknowledged_);
        }
    }

    // Takes and acknowledges a message if there is one: ok, would_block (value untouched) or peer_fault.
    // Never blocks.
    [[nodiscard]] Status try_read(T& value) noexcept {
        const Status status = take(value);
        if (status == Status::ok) {
            acknowledge();
        }
        return status;
    }

    // Busy-waits for a message, for ever if none comes: ok or peer_fault.
    template <class Spin = spin::Relaxed>
    [[nodiscard]] Status read(T& value) noexcept {
        return wait<Spin>([&] { return try_read(value); });
    }

    // As read, until P::now() >= deadline [ticks of P]: ok, timeout or peer_fault. Tries at least once.
    template <Port P, class Spin = P>
    [[nodiscard]] Status read_until(T& value, Ticks deadline) noexcept {
        return wait_until<P, Spin>(deadline, [&] { return try_read(value); });
    }

    // Messages read since the region was made (modulo 2^32).
    [[nodiscard]] std::uint32_t taken() const noexcept { return taken_; }

  private:
    Shared* shared_;
    std::uint32_t taken_;
    // The last message whose reading the writer knows of.
    std::uint32_t acknowledged_;
};

}  // namespace detail

}  // namespace consort
