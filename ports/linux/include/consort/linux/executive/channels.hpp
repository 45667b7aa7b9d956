// SPDX-License-Identifier: Apache-2.0
//
// The ends of a plan's channels in a process of this port. Every block travels with its number in the
// channel and the instant of its write, so that the record shows what each job read and how old it was.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <type_traits>

#include "consort/app/task_runner.hpp"
#include "consort/icc.hpp"
#include "consort/linux/port.hpp"
#include "consort/task.hpp"

namespace consort::linux_port {

using app::Transferred;

// Throws std::invalid_argument: what is wrong with an object of the region.
[[noreturn]] void refuse(const std::string& object, const Refusal& refusal);

// A region's names are short; a description's may have 64 characters, to which suffixes come. Longer ones
// keep their beginning and get a hash of the whole (FNV-1a).
inline std::string object_name(const std::string& name) {
    constexpr std::size_t most = 28;
    if (name.size() <= most) {
        return name;
    }
    std::uint32_t hash = 0x811c9dc5U;
    for (const char c : name) {
        hash = (hash ^ static_cast<unsigned char>(c)) * 0x01000193U;
    }
    std::string digits;
    for (int i = 0; i < 8; ++i) {
        digits += "0123456789abcdef"[hash >> (28 - 4 * i) & 0xfU];
    }
    return name.substr(0, most - 9) + "~" + digits;
}

template <class Channel>
typename Channel::Shared* open_or_refuse(const Region<>& region, const std::string& name) {
    const auto opened = region.template open<Channel>(name);
    if (!opened) {
        refuse(name, opened.refusal());
    }
    return opened.value();
}

// What fills a place of a task's input. `as_of`: see app::ReadEnd.
struct ReadSource {
    ReadSource() = default;
    ReadSource(const ReadSource&) = delete;
    ReadSource& operator=(const ReadSource&) = delete;
    virtual ~ReadSource() = default;
    virtual Transferred read(std::byte* to, Ticks as_of) noexcept = 0;
};

struct WriteTarget {
    WriteTarget() = default;
    WriteTarget(const WriteTarget&) = delete;
    WriteTarget& operator=(const WriteTarget&) = delete;
    virtual ~WriteTarget() = default;
    virtual Transferred write(const std::byte* from, Ticks visible) noexcept = 0;
};

template <class T>
struct Numbered {
    std::uint64_t sequence;
    std::uint64_t written;  // ticks of the run's clock
    T value;
};

}  // namespace consort::linux_port

// Declared, so that the compiler need not search large blocks for their members.
template <class T>
struct consort::DeclaredMembers<consort::linux_port::Numbered<T>> {
    static constexpr bool declared = true;
    template <class F>
    static constexpr void visit(F&& f) {
        using Self = consort::linux_port::Numbered<T>;
        f("sequence", offsetof(Self, sequence), std::type_identity<std::uint64_t>{});
        f("written", offsetof(Self, written), std::type_identity<std::uint64_t>{});
        f("value", offsetof(Self, value), std::type_identity<T>{});
    }
};

namespace consort::linux_port {

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
        Status get(Numbered<T>& block, Ticks /*as_of*/) noexcept { return end.try_read(block); }
        typename C::Reader end;
    };
    struct Writer {
        explicit Writer(typename C::Shared& shared) : end(shared) {}
        Status put(const Numbered<T>& block, Ticks /*visible*/) noexcept { return end.try_write(block); }
        typename C::Writer end;
    };
};

template <class T>
struct MailboxOf : InOrder<T, Mailbox<Numbered<T>>> {};

template <class T, std::uint32_t N>
struct QueueOf : InOrder<T, Queue<Numbered<T>, N>> {};

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

template <class T, std::uint32_t Readers>
struct SnapshotOf : NewestOnly<T, Snapshot<Numbered<T>, Readers>> {
    using Channel = Snapshot<Numbered<T>, Readers>;
    struct Reader {
        Reader(typename Channel::Shared& shared, std::uint32_t index) : end(shared, index) {}
        Status get(Numbered<T>& block, Ticks /*as_of*/) noexcept { return end.read(block); }
        typename Channel::Reader end;
    };
};

template <class T>
struct DoubleBufferOf : NewestOnly<T, DoubleBuffer<Numbered<T>>> {
    using Channel = DoubleBuffer<Numbered<T>>;
    struct Reader {
        Reader(typename Channel::Shared& shared, std::uint32_t /*index*/) : end(shared) {}
        Status get(Numbered<T>& block, Ticks /*as_of*/) noexcept { return end.read_latest(block); }
        typename Channel::Reader end;
    };
};

// Logical execution time: what is read is what was published at the reader's release or before.
template <class T, std::uint32_t K>
struct VersionsOf {
    using Block = T;
    using Channel = Versions<Numbered<T>, K>;
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

namespace detail {

template <class M>
inline constexpr bool is_latest = false;
template <class T>
inline constexpr bool is_latest<Latest<T>> = true;
template <class M>
inline constexpr bool is_batch = false;
template <class T, std::uint32_t N>
inline constexpr bool is_batch<Batch<T, N>> = true;

// A member of the input that a channel fills. What was read stays there until something newer comes.
template <class C, class Member>
struct ChannelReader final : ReadSource {
    ChannelReader(typename C::Channel::Shared& shared, std::uint32_t index) : end(shared, index) {}

    Transferred read(std::byte* to, Ticks as_of) noexcept override {
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
                    const Ticks now = LinuxPort::now();
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

template <class C>
struct ChannelWriter final : WriteTarget {
    explicit ChannelWriter(typename C::Channel::Shared& shared) : end(shared) {}

    Transferred write(const std::byte* from, Ticks visible) noexcept override {
        ++block.sequence;
        block.written = LinuxPort::now();
        std::memcpy(&block.value, from, sizeof block.value);
        const bool taken = end.put(block, visible) == Status::ok;
        return {block.sequence, taken ? 1U : 0U, taken ? Operation::write : Operation::write_dropped};
    }

    typename C::Writer end;
    Numbered<typename C::Block> block{};
};

}  // namespace detail

template <class C, class Member, class Binding>
std::shared_ptr<ReadSource> open_channel_reader(const Region<>& region, const Binding& binding) {
    if constexpr (detail::is_latest<Member> || detail::is_batch<Member>) {
        static_assert(std::is_same_v<typename Member::Value, typename C::Block>,
                      "the member does not have the type of the channel's blocks");
        static_assert(!detail::is_batch<Member> || C::queued, "a Batch is read from a queue");
    } else {
        static_assert(std::is_same_v<Member, typename C::Block>,
                      "the member does not have the type of the channel's blocks");
    }
    return std::make_shared<detail::ChannelReader<C, Member>>(
        *open_or_refuse<typename C::Channel>(region, object_name(binding.source)), binding.reader);
}

template <class C, class Binding>
std::shared_ptr<WriteTarget> open_channel_writer(const Region<>& region, const Binding& binding) {
    return std::make_shared<detail::ChannelWriter<C>>(
        *open_or_refuse<typename C::Channel>(region, object_name(binding.source)));
}

}  // namespace consort::linux_port
