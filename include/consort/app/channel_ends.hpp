// SPDX-License-Identifier: Apache-2.0
//
// The ends of a plan's channels, on every target. Every block travels with its number in the channel and the
// instant of its write, so that the record shows what each job read and how old it was.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "consort/app/job_runner.hpp"
#include "consort/icc.hpp"
#include "consort/link/block_queue.hpp"
#include "consort/task.hpp"

namespace consort::app {

template <class T>
struct Numbered {
    std::uint64_t sequence;
    std::uint64_t written;  // ticks of the run's clock
    T value;
};

}  // namespace consort::app

// Declared, so that the compiler need not search large blocks for their members.
template <class T>
struct consort::DeclaredMembers<consort::app::Numbered<T>> {
    static constexpr bool declared = true;
    template <class F>
    static constexpr void visit(F&& f) {
        using Self = consort::app::Numbered<T>;
        f("sequence", offsetof(Self, sequence), std::type_identity<std::uint64_t>{});
        f("written", offsetof(Self, written), std::type_identity<std::uint64_t>{});
        f("value", offsetof(Self, value), std::type_identity<T>{});
    }
};

namespace consort::app {

// The channel kinds of a plan, for one block type. `get` gives the newest block (a queue: the oldest) as
// ok, would_block (nothing new) or peer_fault; `put` gives ok or would_block (full).

// Mailbox and queue: each block once, in order.
template <class T, class C>
struct InOrder {
    using Block = T;
    using Channel = C;
    static constexpr bool queued = true;
    struct Reader {
        Reader(typename C::Shared& shared, std::uint32_t /*index*/) : end(shared) {}
        Status get(Numbered<T>& block, Ticks /*as_of*/) noexcept {
            const Status status = end.try_read(block);
            // A block that was read takes no room any more: a writer would drop one that finds a place.
            if constexpr (requires { end.release_read(); }) {
                end.release_read();
            }
            return status;
        }
        // Takes out what waits, unread. `spare`: room for a block.
        void discard(Numbered<T>& spare) noexcept {
            while (end.try_read(spare) == Status::ok) {
            }
        }
        typename C::Reader end;
    };
    struct Writer {
        explicit Writer(typename C::Shared& shared) : end(shared) {}
        Status put(const Numbered<T>& block, Ticks /*visible*/) noexcept { return end.try_write(block); }
        typename C::Writer end;
    };
};

template <class T, class A = access::Coherent>
struct MailboxOf : InOrder<T, Mailbox<Numbered<T>, A>> {};

template <class T, std::uint32_t N, class A = access::Coherent>
struct QueueOf : InOrder<T, Queue<Numbered<T>, N, A>> {};

// Each block once, in order, between two memories that a link joins: N or more of them find room.
template <class T, std::uint32_t N, class A = access::Coherent>
struct OverLinkOf : InOrder<T, link::BlockQueue<Numbered<T>, N, A>> {};

// Snapshot and double buffer: the newest block; a writer never waits.
template <class T, class C>
struct NewestOnly {
    using Block = T;
    using Channel = C;
    static constexpr bool queued = false;
    struct Writer {
        explicit Writer(typename C::Shared& shared) : end(shared) {}
        Status put(const Numbered<T>& block, Ticks /*visible*/) noexcept {
            end.update(block);
            return Status::ok;
        }
        typename C::Writer end;
    };
};

template <class T, std::uint32_t Readers, class A = access::Coherent>
struct SnapshotOf : NewestOnly<T, Snapshot<Numbered<T>, Readers, A>> {
    using Channel = Snapshot<Numbered<T>, Readers, A>;
    struct Reader {
        Reader(typename Channel::Shared& shared, std::uint32_t index) : end(shared, index) {}
        Status get(Numbered<T>& block, Ticks /*as_of*/) noexcept { return end.read(block); }
        typename Channel::Reader end;
    };
};

template <class T, class A = access::Coherent>
struct DoubleBufferOf : NewestOnly<T, DoubleBuffer<Numbered<T>, A>> {
    using Channel = DoubleBuffer<Numbered<T>, A>;
    struct Reader {
        Reader(typename Channel::Shared& shared, std::uint32_t /*index*/) : end(shared) {}
        Status get(Numbered<T>& block, Ticks /*as_of*/) noexcept { return end.read_latest(block); }
        typename Channel::Reader end;
    };
};

// Logical execution time: what is read is what was published at the reader's release or before.
template <class T, std::uint32_t K, class A = access::Coherent>
struct VersionsOf {
    using Block = T;
    using Channel = Versions<Numbered<T>, K, A>;
    static constexpr bool queued = false;
    struct Reader {
        Reader(typename Channel::Shared& shared, std::uint32_t /*index*/) : end(shared) {}
        Status get(Numbered<T>& block, Ticks as_of) noexcept { return end.read_as_of(block, as_of).status; }
        typename Channel::Reader end;
    };
    struct Writer {
        explicit Writer(typename Channel::Shared& shared) : end(shared) {}
        Status put(const Numbered<T>& block, Ticks visible) noexcept {
            end.publish(block, visible);
            return Status::ok;
        }
        typename Channel::Writer end;
    };
};

template <class M>
inline constexpr bool is_latest = false;
template <class T>
inline constexpr bool is_latest<Latest<T>> = true;
template <class M>
inline constexpr bool is_batch = false;
template <class T, std::uint32_t N>
inline constexpr bool is_batch<Batch<T, N>> = true;

namespace detail {

template <class M>
struct ValueOf {
    using type = M;
};
template <class M>
requires(is_latest<M> || is_batch<M>) struct ValueOf<M> {
    using type = typename M::Value;
};

// A concept, as compilers name both types of one that is false.
template <class Member, class Block>
concept OneType = std::is_same_v<Member, Block>;

}  // namespace detail

// A member of the input that a channel fills: the channel's block, Latest of it, or Batch of it. What was
// read stays there until something newer comes. `as_of`, and `visible` of a writer: see ReadEnd and WriteEnd.
// Clock: now(), the same instants on all sides of the channel, and to_ns().
template <class Clock, class C, class Member>
struct ChannelReader {
    using Value = typename detail::ValueOf<Member>::type;
    static_assert(detail::OneType<Value, typename C::Block>,
                  "the member does not have the type of the channel's blocks");
    static_assert(!is_batch<Member> || C::queued, "a Batch is read from a queue");

    ChannelReader(typename C::Channel::Shared& shared, std::uint32_t index) noexcept : end(shared, index) {}

    Transferred read(std::byte* to, Ticks as_of) noexcept {
        Transferred done{sequence, 0, Operation::read};
        if constexpr (is_batch<Member>) {
            auto& batch = *reinterpret_cast<Member*>(to);
            batch.count = 0;
            while (batch.count < Member::capacity && end.get(block, as_of) == Status::ok) {
                batch.items[batch.count++] = block.value;
                sequence = block.sequence;
            }
            done.count = batch.count;
        } else {
            const Status status = end.get(block, as_of);
            if (status == Status::ok && block.sequence != sequence) {
                sequence = block.sequence;
                done.count = 1;
            } else if (status != Status::ok && status != Status::would_block) {
                done.kind = Operation::read_overtaken;
            }
            if constexpr (is_latest<Member>) {
                Member latest{};
                if (sequence != 0) {
                    const Ticks now = Clock::now();
                    latest.value = block.value;
                    latest.sequence = static_cast<std::uint32_t>(sequence);
                    latest.age_ns = now > block.written ? Clock::to_ns(now - block.written) : 0;
                }
                std::memcpy(to, &latest, sizeof latest);
            } else if (sequence != 0) {
                std::memcpy(to, &block.value, sizeof block.value);
            }
        }
        done.sequence = sequence;
        return done;
    }

    typename C::Reader end;
    Numbered<typename C::Block> block{};
    std::uint64_t sequence = 0;
};

template <class Clock, class C>
struct ChannelWriter {
    explicit ChannelWriter(typename C::Channel::Shared& shared) noexcept : end(shared), channel(&shared) {}

    // The writer before died, maybe in the middle of a write: what the channel holds counts.
    void take_over() noexcept { end = typename C::Writer(*channel); }
    // A block was written by the writer before.
    void passed() noexcept { ++block.sequence; }

    Transferred write(const std::byte* from, Ticks visible) noexcept {
        return write_by([this, from] { std::memcpy(&block.value, from, sizeof block.value); }, visible);
    }
    // `fill` writes the block's value; its number stands in it by then.
    template <class Fill>
    Transferred write_by(const Fill& fill, Ticks visible) noexcept {
        ++block.sequence;
        block.written = Clock::now();
        fill();
        const bool taken = end.put(block, visible) == Status::ok;
        return {block.sequence, taken ? 1U : 0U, taken ? Operation::write : Operation::write_dropped};
    }

    typename C::Writer end;
    typename C::Channel::Shared* channel;
    Numbered<typename C::Block> block{};
};

}  // namespace consort::app
