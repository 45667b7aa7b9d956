// SPDX-License-Identifier: Apache-2.0
//
// Stream: numbered messages in both directions over datagrams that may be lost, doubled or out of order, such
// as those of rpmsg when a side begins anew. What was written arrives once, in order, although both sides
// are restarted at any moment: what a side must remember lies in memory that outlives it (`Kept`).
//
//   Stream<256, 8, Access> stream(kept);            // continues where the one before was ended
//   stream.try_write(bytes, n);                     // from here on it is not lost
//   while (stream.next(datagram, now)) send(datagram)
//   if (stream.hear(datagram, n, message)) { use(message); stream.taken(); }
//
// `taken` is the application's acknowledgement: a message that was heard and not taken comes again after a
// restart. An application that is restarted between its use and `taken` sees the message twice, with the same
// number; where that matters it keeps the number with its result.
//
// The memory has one writer, and is trusted. Of a datagram nothing is: a number that is not the next one, an
// acknowledgement of what was never sent, a wrong length change nothing.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "consort/icc/access.hpp"
#include "consort/icc/wire.hpp"
#include "consort/port.hpp"

namespace consort::rpmsg {

// The words before a datagram's payload.
struct StreamHead {
    std::uint32_t magic;
    std::uint32_t sender;  // the identity of the sender's memory
    std::uint32_t number;  // of the message, from 1; 0: none, only an acknowledgement
    std::uint32_t taken;   // the last message of the other direction that the application has taken
};
static_assert(sizeof(StreamHead) == 16);

// A side's memory.
template <std::uint32_t Bytes, std::uint32_t Slots, class A = access::Coherent>
struct Kept {
    static_assert(Bytes % 4 == 0 && Bytes >= 4, "messages are of whole words");
    static_assert(Slots >= 1 && std::has_single_bit(Slots), "a stream keeps a power of two of messages");
    using Word = typename A::Word;

    struct Shared {
        Word identity;      // 0: never used
        Word other;         // the other side's identity; 0: not heard of yet
        Word written;       // the number of the last message that was written
        Word acknowledged;  // the last one that the other side has taken
        Word taken;         // the last message of the other side that was taken here
        Word reserved[3];
        struct Slot {
            Word bytes;
            Word payload[Bytes / 4];
        } slot[Slots];
    };
};

struct StreamMessage {
    std::uint32_t number;
    const std::byte* payload;
    std::uint32_t bytes;
};

template <std::uint32_t Bytes, std::uint32_t Slots, class A = access::Coherent>
class Stream {
  public:
    using Memory = Kept<Bytes, Slots, A>;
    using Shared = typename Memory::Shared;
    static constexpr std::uint32_t magic = 0x4d525453;  // "STRM"
    static constexpr std::uint32_t datagram_bytes = sizeof(StreamHead) + Bytes;

    struct Datagram {
        std::uint32_t bytes;
        alignas(8) std::byte at[datagram_bytes];
    };

    // `identity`: of a memory that was never used, unlike that of any before it, and not 0; a used one keeps
    // its own. `resend`: after so many ticks without progress what was not acknowledged is sent again.
    Stream(Shared& kept, std::uint32_t identity, Ticks resend) noexcept : kept_(&kept), resend_(resend) {
        if (load(kept.identity) == 0) {
            store(kept.other, 0);
            store(kept.written, 0);
            store(kept.acknowledged, 0);
            store(kept.taken, 0);
            commit(kept.identity, identity);
        }
        identity_ = load(kept.identity);
        other_ = load(kept.other);
        written_ = load(kept.written);
        acknowledged_ = load(kept.acknowledged);
        taken_ = load(kept.taken);
        sent_ = acknowledged_;
    }

    // False: no room, so many messages are not acknowledged yet; longer than a message may be; or no number
    // is left, of 2^32 - 1.
    [[nodiscard]] bool try_write(const void* payload, std::uint32_t bytes) noexcept {
        if (bytes > Bytes || written_ - acknowledged_ == Slots || written_ == ~std::uint32_t{0}) {
            return false;
        }
        typename Shared::Slot& slot = kept_->slot[(written_ + 1) & (Slots - 1)];
        store(slot.bytes, bytes);
        const auto* from = static_cast<const unsigned char*>(payload);
        for (std::uint32_t at = 0; at < bytes; at += 4) {
            std::uint32_t word = 0;
            __builtin_memcpy(&word, from + at, bytes - at < 4 ? bytes - at : 4);
            store(slot.payload[at / 4], wire(word));
        }
        commit(kept_->written, ++written_);
        return true;
    }

    // The next datagram to send, if there is one now.
    [[nodiscard]] bool next(Datagram& datagram, Ticks now) noexcept {
        if (sent_ != acknowledged_ && now - progress_ >= resend_) {
            sent_ = acknowledged_;
        }
        if (sent_ == written_) {
            if (!owes_) {
                return false;
            }
            fill(datagram, 0, 0);
            return true;
        }
        if (sent_ == acknowledged_) {
            progress_ = now;
        }
        const typename Shared::Slot& slot = kept_->slot[++sent_ & (Slots - 1)];
        const std::uint32_t bytes = load(slot.bytes);
        fill(datagram, sent_, bytes);
        for (std::uint32_t at = 0; at < bytes; at += 4) {
            const std::uint32_t word = wire(load(slot.payload[at / 4]));
            __builtin_memcpy(datagram.at + sizeof(StreamHead) + at, &word, bytes - at < 4 ? bytes - at : 4);
        }
        return true;
    }
    // The datagram that `next` gave could not be sent: it comes again.
    void unsent() noexcept {
        if (number_ != 0) {
            sent_ -= 1;
        }
        owes_ = true;
    }

    // Takes in a datagram. True: `message` is the next one; it stays the next one until `taken`.
    [[nodiscard]] bool hear(const void* datagram, std::uint32_t bytes, Ticks now,
                            StreamMessage& message) noexcept {
        StreamHead head{};
        if (bytes < sizeof head || bytes > datagram_bytes) {
            return refuse();
        }
        __builtin_memcpy(&head, datagram, sizeof head);
        head = {wire(head.magic), wire(head.sender), wire(head.number), wire(head.taken)};
        if (head.magic != magic || head.sender == 0) {
            return refuse();
        }
        if (other_ == 0) {
            other_ = head.sender;
            commit(kept_->other, other_);
        }
        if (head.sender != other_) {
            strangers_ += 1;
            return false;
        }
        const std::uint32_t newly = head.taken - acknowledged_;
        if (newly > written_ - acknowledged_) {
            // A datagram that was overtaken acknowledges something older; any other, something never sent.
            if (static_cast<std::int32_t>(newly) > 0) {
                return refuse();
            }
        } else if (newly != 0) {
            acknowledged_ = head.taken;
            if (sent_ - acknowledged_ > Slots) {
                sent_ = acknowledged_;
            }
            progress_ = now;
            commit(kept_->acknowledged, acknowledged_);
        }
        if (head.number == 0) {
            return false;
        }
        owes_ = true;
        if (head.number != taken_ + 1) {
            return false;
        }
        message = {head.number, static_cast<const std::byte*>(datagram) + sizeof head,
                   bytes - static_cast<std::uint32_t>(sizeof head)};
        return true;
    }
    // The application has done what the message asks for: it never comes again.
    void taken() noexcept {
        commit(kept_->taken, ++taken_);
        owes_ = true;
    }

    // Messages written, and taken by the other side; messages of the other side taken here.
    [[nodiscard]] std::uint32_t written() const noexcept { return written_; }
    [[nodiscard]] std::uint32_t acknowledged() const noexcept { return acknowledged_; }
    [[nodiscard]] std::uint32_t messages_taken() const noexcept { return taken_; }
    // Datagrams that made no sense; and those of a side whose memory is another than before: what that side
    // knew is lost, and both memories have to be made anew.
    [[nodiscard]] std::uint32_t refused() const noexcept { return refused_; }
    [[nodiscard]] std::uint32_t strangers() const noexcept { return strangers_; }

  private:
    using Word = typename A::Word;

    [[nodiscard]] static std::uint32_t load(const Word& word) noexcept {
        return A::template load<SyncPoint::own>(word);
    }
    static void store(Word& word, std::uint32_t value) noexcept {
        A::template store<SyncPoint::own>(word, value);
    }
    // After all that was stored before: whoever goes on finds it.
    static void commit(Word& word, std::uint32_t value) noexcept {
        A::template store<SyncPoint::epoch_publish>(word, value);
    }
    bool refuse() noexcept {
        refused_ += 1;
        return false;
    }
    void fill(Datagram& datagram, std::uint32_t number, std::uint32_t bytes) noexcept {
        const StreamHead head{wire(magic), wire(identity_), wire(number), wire(taken_)};
        __builtin_memcpy(datagram.at, &head, sizeof head);
        datagram.bytes = static_cast<std::uint32_t>(sizeof head) + bytes;
        number_ = number;
        owes_ = false;
    }

    Shared* kept_;
    Ticks resend_;
    Ticks progress_ = 0;  // when the oldest message that is not acknowledged became it, or was sent again
    std::uint32_t identity_ = 0;
    std::uint32_t other_ = 0;
    std::uint32_t written_ = 0;
    std::uint32_t acknowledged_ = 0;
    std::uint32_t taken_ = 0;
    std::uint32_t sent_ = 0;
    std::uint32_t number_ = 0;  // of the datagram that was given out last
    std::uint32_t refused_ = 0;
    std::uint32_t strangers_ = 0;
    // Starts true: the other side gets what was taken, should it have missed it.
    bool owes_ = true;
};

}  // namespace consort::rpmsg
