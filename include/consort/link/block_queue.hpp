// SPDX-License-Identifier: Apache-2.0
//
// BlockQueue<T, N>: blocks from one writer to one reader whose memories a link joins.
//
// The writer puts a block into a place of its own memory and posts one transaction of three pieces: the
// block, the place's number, and the word that says how many blocks have arrived. The engine moves them in
// this order, so a reader that sees the word finds the blocks before it. A transaction that failed leaves
// another number in its place: the reader counts the block as lost and goes on. How many blocks the reader
// has taken comes back the same way, by a transaction behind each block. So each side reads and writes its
// own memory only, and neither ever waits for the engine.
//
// The writer's knowledge of the reader is as old as its last block: there is one place more than N, so that N
// blocks find room all the same.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "consort/icc/access.hpp"
#include "consort/icc/form.hpp"
#include "consort/icc/status.hpp"
#include "consort/icc/wire.hpp"
#include "consort/link/host.hpp"

namespace consort::link {

template <class T, std::uint32_t N, class A = access::Coherent>
class BlockQueue {
    static_assert(N >= 1 && N <= (1U << 16U), "a queue over a link has room for 1 to 65,536 blocks");

  public:
    using Value = T;
    using Access = A;
    static constexpr std::uint32_t kind = 10;
    static constexpr std::uint32_t parameter = N;
    static constexpr Form form = Form::whole_lines;

    static constexpr std::uint32_t places = std::bit_ceil(N + 1);
    // Three of each block, one of the word behind it, and one more that a writer without room posts.
    static constexpr std::uint32_t descriptors = std::bit_ceil(4 * places + 4);

    struct alignas(line_bytes) Block {
        typename A::template Cell<T> value;
    };
    // The memory at the writer's end.
    struct alignas(line_bytes) Near {
        struct alignas(line_bytes) WriterLine {
            typename A::Word head;  // blocks written
            typename A::Word epoch;
            typename A::Word failed;  // transactions that moved nothing for certain
        } writer;
        struct alignas(line_bytes) EngineLine {
            typename A::Word taken;  // of the reader, as the engine brought it last
        } engine;
        // n + 1 (modulo 2^32) where the place holds block n.
        struct alignas(line_bytes) Numbers {
            typename A::Word at[places];
        } numbers;
        Block blocks[places];
    };
    // The memory at the reader's end.
    struct alignas(line_bytes) Far {
        struct alignas(line_bytes) EngineLine {
            typename A::Word arrived;
        } engine;
        struct alignas(line_bytes) ReaderLine {
            typename A::Word taken;
            typename A::Word epoch;
            typename A::Word lost;  // blocks that never arrived
        } reader;
        struct alignas(line_bytes) Numbers {
            typename A::Word at[places];
        } numbers;
        Block blocks[places];
    };
    using QueueRing = Ring<descriptors, A>;
    struct Shared {
        typename QueueRing::Shared ring;
        Near near;
        Far far;
    };

    [[nodiscard]] static Window near_window(Shared& shared) noexcept {
        return {reinterpret_cast<std::byte*>(&shared.near), sizeof(Near)};
    }
    [[nodiscard]] static Window far_window(Shared& shared) noexcept {
        return {reinterpret_cast<std::byte*>(&shared.far), sizeof(Far)};
    }

    class Writer;
    class Reader;
};

template <class T, std::uint32_t N, class A>
class BlockQueue<T, N, A>::Writer {
  public:
    // Takes the queue over. A block that a writer before put into its place is posted again: that one may
    // have died before it posted it, and moved twice it is the same block.
    explicit Writer(Shared& shared) noexcept
        : near_(&shared.near),
          host_(shared.ring, near_window(shared), sizeof(Far)),
          head_(A::template load<SyncPoint::own>(shared.near.writer.head)),
          failed_(A::template load<SyncPoint::own>(shared.near.writer.failed)) {
        require_plain_data<T>();
        if (A::template load<SyncPoint::own>(near_->numbers.at[head_ & (places - 1)]) == head_ + 1) {
            static_cast<void>(post());
        }
        A::template store<SyncPoint::epoch_publish>(
            near_->writer.epoch, A::template load<SyncPoint::own>(near_->writer.epoch) + 1);
    }
    Writer(const Writer&) = delete;
    Writer& operator=(const Writer&) = delete;
    Writer(Writer&&) noexcept = default;
    Writer& operator=(Writer&&) noexcept = default;
    ~Writer() = default;

    // ok: it is on its way; would_block: no room that this side knows of; peer_fault: the engine's words, or
    // the reader's, make no sense.
    [[nodiscard]] Status try_write(const T& value) noexcept {
        if (reap() == Status::peer_fault) {
            return Status::peer_fault;
        }
        // Not trusted: the reader can only have come closer to the head.
        const std::uint32_t waiting =
            head_ - A::template load<SyncPoint::link_word_observe>(near_->engine.taken);
        if (waiting > places) {
            return Status::peer_fault;
        }
        if (waiting == places) {
            ask();
            return Status::would_block;
        }
        const std::uint32_t place = head_ & (places - 1);
        near_->blocks[place].value.put(value);
        A::template store<SyncPoint::own>(near_->numbers.at[place], head_ + 1);
        return post() ? Status::ok : Status::would_block;
    }

    // Transactions that the engine ended with an error: their blocks are lost.
    [[nodiscard]] std::uint32_t failures() const noexcept { return failed_; }
    // Transactions that are under way, of blocks and of the word that comes back.
    [[nodiscard]] std::uint32_t in_flight() const noexcept { return host_.in_flight(); }

  private:
    [[nodiscard]] bool post() noexcept {
        const std::uint32_t place = head_ & (places - 1);
        const auto near_block = static_cast<std::uint32_t>(offsetof(Near, blocks) + place * sizeof(Block));
        const auto far_block = static_cast<std::uint32_t>(offsetof(Far, blocks) + place * sizeof(Block));
        const auto near_number = static_cast<std::uint32_t>(offsetof(Near, numbers) + place * sizeof(Word));
        const auto far_number = static_cast<std::uint32_t>(offsetof(Far, numbers) + place * sizeof(Word));
        const Piece pieces[3] = {{near_block, far_block, sizeof(typename A::template Cell<T>)},
                                 {near_number, far_number, sizeof(Word)},
                                 {near_number, offsetof(Far, engine), sizeof(Word)}};
        if (host_.try_post(Direction::to_peer, pieces, 3, block_tag, Completing::by_status) != Posting::ok) {
            return false;
        }
        ++head_;
        A::template store<SyncPoint::own>(near_->writer.head, head_);
        asked_ = false;
        ask();
        return true;
    }
    // For how many blocks the reader has taken.
    void ask() noexcept {
        const Piece back{offsetof(Near, engine), offsetof(Far, reader), sizeof(Word)};
        if (!asked_ &&
            host_.try_post(Direction::from_peer, &back, 1, word_tag, Completing::by_status) == Posting::ok) {
            asked_ = true;
        }
    }
    [[nodiscard]] Status reap() noexcept {
        for (;;) {
            Completion done{};
            const Status status = host_.poll(done);
            if (status != Status::ok) {
                return status;
            }
            if (host_.in_flight() == 0) {
                asked_ = false;
            }
            if (done.outcome != Outcome::moved) {
                A::template store<SyncPoint::diagnostic>(near_->writer.failed, ++failed_);
            }
        }
    }

    using Word = typename A::Word;
    static constexpr std::uint32_t block_tag = 0;
    static constexpr std::uint32_t word_tag = 1;

    Near* near_;
    Host<descriptors, A> host_;
    std::uint32_t head_;
    std::uint32_t failed_;
    bool asked_ = false;  // since the last block, and not yet answered
};

template <class T, std::uint32_t N, class A>
class BlockQueue<T, N, A>::Reader {
  public:
    // Takes the queue over: what the reader before had not taken is read again.
    explicit Reader(Shared& shared) noexcept
        : far_(&shared.far),
          tail_(A::template load<SyncPoint::own>(shared.far.reader.taken)),
          lost_(A::template load<SyncPoint::own>(shared.far.reader.lost)) {
        require_plain_data<T>();
        A::template store<SyncPoint::epoch_publish>(far_->reader.epoch,
                                                    A::template load<SyncPoint::own>(far_->reader.epoch) + 1);
    }
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;
    Reader(Reader&&) noexcept = default;
    Reader& operator=(Reader&&) noexcept = default;
    ~Reader() = default;

    // ok, would_block (nothing new has arrived; value untouched) or peer_fault.
    [[nodiscard]] Status try_read(T& value) noexcept {
        const std::uint32_t arrived = A::template load<SyncPoint::link_word_observe>(far_->engine.arrived);
        // Not trusted: there are no more blocks than places.
        if (arrived - tail_ > places) {
            return Status::peer_fault;
        }
        while (arrived != tail_) {
            const std::uint32_t place = tail_ & (places - 1);
            const bool here = A::template load<SyncPoint::own>(far_->numbers.at[place]) == tail_ + 1;
            if (here) {
                far_->blocks[place].value.get(value);
            } else {
                A::template store<SyncPoint::diagnostic>(far_->reader.lost, ++lost_);
            }
            ++tail_;
            A::template store<SyncPoint::link_word_publish>(far_->reader.taken, tail_);
            if (here) {
                return Status::ok;
            }
        }
        return Status::would_block;
    }

    // Blocks whose transactions failed, as far as later ones have arrived.
    [[nodiscard]] std::uint32_t lost() const noexcept { return lost_; }

  private:
    Far* far_;
    std::uint32_t tail_;
    std::uint32_t lost_;
};

}  // namespace consort::link
