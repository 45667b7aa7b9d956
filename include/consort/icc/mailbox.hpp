// SPDX-License-Identifier: Apache-2.0
//
// Mailbox<T>: periodic communication, one writer and one reader that alternate (Coppik et al., NG-RES
// 2025, 4.1).
//
// For each write there is one read before the next write. The paper's flag is written by both sides; here it
// is split into two words, each with one writer: `sequence` counts messages written, `acknowledged` counts
// messages read, and the mailbox is full while they differ (handshake.hpp).
//
// Both words and the payload share one line (payloads of up to 48 bytes of a 64-byte line), so a message
// costs as many line transfers as the paper's single flag. Where a side cleans or invalidates lines
// (Access::shares_lines is false) the reader's words lie on a line of their own: cleaning the writer's line
// would overwrite the acknowledgement.
//
// A payload of more than a line has two places where memory is coherent or uncached (`Slots`), which messages
// use in turn, and the reader's words have a line of their own: the copy of the next message, the reader's of
// the last one and the line of the acknowledgement are on their way at once. It takes twice the memory;
// Mailbox<T, A, 1> does without.
//
// Bounds: a write and a read that need not wait take at most three word accesses and one copy of T each.
#pragma once

#include <cstddef>
#include <cstdint>

#include "consort/icc/access.hpp"
#include "consort/icc/form.hpp"
#include "consort/icc/handshake.hpp"
#include "consort/icc/wire.hpp"

namespace consort {

namespace detail {

// Where a message lies. Of two, neither shares a line with the other or with the words: the writer copies
// into one while the reader has the other and acknowledges.
template <class T, class A, std::uint32_t Slots>
struct MailboxPayload {
    using Cell = typename A::template Cell<T>;
    struct alignas(Slots == 1 ? alignof(Cell) : line_bytes) Slot {
        Cell cell;
    };
    Slot slots[Slots];

    auto& at(std::uint32_t number) noexcept { return slots[number % Slots].cell; }
};

// Aligned, so that the reader's words begin on a line of their own or follow the writer's.
template <class T, class A, std::uint32_t Slots, bool SharesLines>
struct MailboxLines;

template <class T, class A, std::uint32_t Slots>
struct MailboxLines<T, A, Slots, true> {
    alignas(line_bytes) struct {
        typename A::Word sequence;
        typename A::Word epoch;
    } writer;
    struct {
        typename A::Word acknowledged;
        typename A::Word epoch;
    } reader;
    MailboxPayload<T, A, Slots> payload;
};

template <class T, class A, std::uint32_t Slots>
struct MailboxLines<T, A, Slots, false> {
    alignas(line_bytes) struct {
        typename A::Word sequence;
        typename A::Word epoch;
    } writer;
    MailboxPayload<T, A, Slots> payload;
    alignas(line_bytes) struct {
        typename A::Word acknowledged;
        typename A::Word epoch;
    } reader;
};

template <class Lines, std::uint32_t Slots>
struct MailboxPlaces {
    using Shared = Lines;
    static constexpr std::uint32_t slots = Slots;
    static auto& sequence(Shared& shared) noexcept { return shared.writer.sequence; }
    static auto& acknowledged(Shared& shared) noexcept { return shared.reader.acknowledged; }
    static auto& payload(Shared& shared, std::uint32_t number) noexcept { return shared.payload.at(number); }
};

}  // namespace detail

// How many messages a mailbox has places for, where nothing else is said.
template <class T, class A>
inline constexpr std::uint32_t mailbox_slots = A::shares_lines && sizeof(T) > line_bytes ? 2 : 1;

template <class T, class A = access::Coherent, std::uint32_t Slots = mailbox_slots<T, A>>
class Mailbox {
    static_assert(Slots == 1 || Slots == 2, "a mailbox has one or two places for a message");

  public:
    using Value = T;
    using Access = A;
    static constexpr std::uint32_t kind = 1;
    static constexpr std::uint32_t parameter = Slots == 1 ? 0 : Slots;
    static constexpr Form form = A::shares_lines ? Form::shared_lines : Form::whole_lines;

    using Shared = detail::MailboxLines<T, A, Slots, A::shares_lines && Slots == 1>;

    class Writer;
    class Reader;

  private:
    using Places = detail::MailboxPlaces<Shared, Slots>;
};

// The one writing side. Constructing it takes the mailbox over, also from a writer that died: the own words
// are read back from the region. Not thread-safe; one Writer a mailbox at a time.
template <class T, class A, std::uint32_t Slots>
class Mailbox<T, A, Slots>::Writer : public detail::Sender<T, A, Places> {
  public:
    explicit Writer(Shared& shared) noexcept : detail::Sender<T, A, Places>(shared), shared_(&shared) {
        A::template store<SyncPoint::epoch_publish>(
            shared.writer.epoch, A::template load<SyncPoint::own>(shared.writer.epoch) + 1);
    }

    // How often a reader has attached; 0 = never. A change means that the reader was restarted.
    [[nodiscard]] std::uint32_t peer_epoch() const noexcept {
        return A::template load<SyncPoint::epoch_observe>(shared_->reader.epoch);
    }

  private:
    Shared* shared_;
};

// The one reading side; the same rules as for Writer.
template <class T, class A, std::uint32_t Slots>
class Mailbox<T, A, Slots>::Reader : public detail::Receiver<T, A, Places> {
  public:
    explicit Reader(Shared& shared, Resume resume = Resume::redeliver) noexcept
        : detail::Receiver<T, A, Places>(shared, resume), shared_(&shared) {
        A::template store<SyncPoint::epoch_publish>(
            shared.reader.epoch, A::template load<SyncPoint::own>(shared.reader.epoch) + 1);
    }

    // How often a writer has attached; 0 = never. A change means that the writer was restarted.
    [[nodiscard]] std::uint32_t peer_epoch() const noexcept {
        return A::template load<SyncPoint::epoch_observe>(shared_->writer.epoch);
    }

  private:
    Shared* shared_;
};

}  // namespace consort
