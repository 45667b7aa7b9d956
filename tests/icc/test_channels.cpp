// SPDX-License-Identifier: Apache-2.0
//
// The channels' protocols, one thread: every answer of every operation, restarts, and peers that misbehave.

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "consort/icc.hpp"

namespace {

using consort::Duplex;
using consort::Mailbox;
using consort::Queue;
using consort::Resume;
using consort::Snapshot;
using consort::Status;

struct Sample {
    float position;
    std::uint32_t number;
};

// A port whose time passes by looking at it, so that deadlines are exact on any machine.
struct CountingPort {
    static inline consort::Ticks ticks = 0;
    static consort::Ticks now() noexcept { return ++ticks; }
    static consort::Ticks ticks_per_second() noexcept { return 1; }
    static void relax() noexcept {}
    static void clean(const void*, std::size_t) noexcept {}
    static void invalidate(const void*, std::size_t) noexcept {}
    static std::uint32_t core_id() noexcept { return 0; }
};
static_assert(consort::Port<CountingPort>);

template <class C>
struct Storage {
    alignas(64) typename C::Shared shared{};
};

template <class Box>
class MailboxOfSamples : public testing::Test {};
using SampleBoxes = testing::Types<Mailbox<Sample>, Mailbox<Sample, consort::access::Coherent, 2>>;
TYPED_TEST_SUITE(MailboxOfSamples, SampleBoxes);

TYPED_TEST(MailboxOfSamples, AlternatesAndKeepsContent) {
    Storage<TypeParam> s;
    typename TypeParam::Writer writer(s.shared);
    typename TypeParam::Reader reader(s.shared);
    Sample got{};
    for (std::uint32_t i = 0; i < 1000; ++i) {
        EXPECT_EQ(reader.try_read(got), Status::would_block);
        EXPECT_EQ(writer.try_write({0.5F * static_cast<float>(i), i}), Status::ok);
        EXPECT_EQ(writer.try_write({0, 0}), Status::would_block);
        EXPECT_FALSE(writer.empty());
        ASSERT_EQ(reader.try_read(got), Status::ok);
        EXPECT_TRUE(writer.empty());
        EXPECT_EQ(got.number, i);
        EXPECT_EQ(got.position, 0.5F * static_cast<float>(i));
    }
}

TYPED_TEST(MailboxOfSamples, DeadlinesEndTheWait) {
    Storage<TypeParam> s;
    typename TypeParam::Writer writer(s.shared);
    typename TypeParam::Reader reader(s.shared);
    Sample got{};
    CountingPort::ticks = 0;
    EXPECT_EQ((reader.template read_until<CountingPort>(got, 100)), Status::timeout);
    EXPECT_EQ(CountingPort::ticks, 100U);
    EXPECT_EQ((writer.template write_until<CountingPort>({}, 0)), Status::ok)
        << "a passed deadline still allows one try";
    EXPECT_EQ((writer.template write_until<CountingPort>({}, 200)), Status::timeout);
    EXPECT_EQ((reader.template read_until<CountingPort>(got, 0)), Status::ok);
}

TYPED_TEST(MailboxOfSamples, IsTakenOverByARestartedSide) {
    Storage<TypeParam> s;
    typename TypeParam::Reader reader(s.shared);
    EXPECT_EQ(reader.peer_epoch(), 0U) << "no writer has attached yet";
    {
        typename TypeParam::Writer writer(s.shared);
        ASSERT_EQ(writer.try_write({1, 1}), Status::ok);
    }
    EXPECT_EQ(reader.peer_epoch(), 1U);
    typename TypeParam::Writer writer(s.shared);
    EXPECT_EQ(reader.peer_epoch(), 2U) << "the restart is seen";
    EXPECT_EQ(writer.try_write({2, 2}), Status::would_block) << "the first message is still there";
    Sample got{};
    {
        typename TypeParam::Reader redelivered(s.shared, Resume::redeliver);
        ASSERT_EQ(redelivered.try_read(got), Status::ok);
        EXPECT_EQ(got.number, 1U);
    }
    ASSERT_EQ(writer.try_write({2, 2}), Status::ok);
    typename TypeParam::Reader discarding(s.shared, Resume::discard);
    EXPECT_EQ(discarding.try_read(got), Status::would_block);
    EXPECT_EQ(writer.try_write({3, 3}), Status::ok);
    ASSERT_EQ(discarding.try_read(got), Status::ok);
    EXPECT_EQ(got.number, 3U);
}

TYPED_TEST(MailboxOfSamples, DoesNotTrustThePeersWords) {
    Storage<TypeParam> s;
    typename TypeParam::Writer writer(s.shared);
    typename TypeParam::Reader reader(s.shared);
    Sample got{7, 7};
    s.shared.writer.sequence = 5;
    EXPECT_EQ(reader.try_read(got), Status::peer_fault);
    EXPECT_EQ(reader.read(got), Status::peer_fault) << "a blocking call ends too";
    EXPECT_EQ(got.number, 7U) << "nothing was copied";
    s.shared.reader.acknowledged = 77;
    ASSERT_EQ(writer.try_write({}), Status::peer_fault);
    EXPECT_EQ(writer.write({}), Status::peer_fault) << "a blocking call ends too";
}

// A message that the writer has copied and not published is none: it is not read, and another may take its
// place.
TEST(Mailbox, WhatIsCopiedAheadIsNotRead) {
    using M = Mailbox<Sample, consort::access::Coherent, 2>;
    Storage<M> s;
    M::Reader reader(s.shared);
    M::Writer writer(s.shared);
    Sample got{};
    ASSERT_EQ(writer.try_write({1, 1}), Status::ok);
    EXPECT_EQ(writer.try_write({2, 2}), Status::would_block);
    ASSERT_EQ(reader.try_read(got), Status::ok);
    EXPECT_EQ(got.number, 1U) << "the message that waits is whole";
    EXPECT_EQ(reader.try_read(got), Status::would_block) << "one that was refused does not arrive";
    ASSERT_EQ(writer.try_write({3, 3}), Status::ok);
    ASSERT_EQ(reader.try_read(got), Status::ok);
    EXPECT_EQ(got.number, 3U);
}

std::uintptr_t line_of(const void* p) {
    return reinterpret_cast<std::uintptr_t>(p) / consort::line_bytes;
}

using Cleaning = consort::access::NonCoherent<CountingPort>;

// The writer's next copy must not take the line that the reader is at.
TEST(Mailbox, TwoPlacesShareNoLine) {
    using Large = std::array<unsigned char, 100>;
    using M = Mailbox<Large>;
    static_assert(M::parameter == 2, "more than a line, in memory that is coherent");
    static_assert(Mailbox<std::array<unsigned char, 64>>::parameter == 0);
    static_assert(Mailbox<Large, consort::access::WholeLines<consort::access::Coherent>>::parameter == 0);
    Storage<M> s;
    const auto first = line_of(s.shared.payload.at(0).bytes);
    const auto second = line_of(s.shared.payload.at(1).bytes);
    EXPECT_LT(line_of(&s.shared.writer.epoch), first);
    EXPECT_LT(line_of(s.shared.payload.at(0).bytes + sizeof(Large) - 1), second);
    EXPECT_LT(line_of(s.shared.payload.at(1).bytes + sizeof(Large) - 1),
              line_of(&s.shared.reader.acknowledged));
}

TEST(Mailbox, IsOneLineForUpTo48Bytes) {
    using M = Mailbox<std::array<unsigned char, 48>>;
    static_assert(sizeof(M::Shared) == consort::line_bytes);
    static_assert(sizeof(Mailbox<std::array<unsigned char, 49>>::Shared) ==
                  std::size_t{2} * consort::line_bytes);
    Storage<M> s;
    EXPECT_EQ(line_of(&s.shared.writer.sequence), line_of(s.shared.payload.at(0).bytes + 47));
    EXPECT_EQ(line_of(&s.shared.writer.sequence), line_of(&s.shared.reader.acknowledged));
}

// Cleaning a line writes back all of it: what the other side wrote there since would be lost.
TEST(Mailbox, HasNoLineOfTwoWritersWhereLinesAreCleaned) {
    const auto apart = []<class M>(std::type_identity<M>) {
        Storage<M> s;
        EXPECT_EQ(line_of(&s.shared.writer.sequence), line_of(s.shared.payload.at(0).bytes + 47));
        EXPECT_NE(line_of(&s.shared.reader.acknowledged), line_of(&s.shared.writer.sequence));
        EXPECT_NE(line_of(&s.shared.reader.acknowledged), line_of(s.shared.payload.at(0).bytes + 47));
        EXPECT_EQ(line_of(&s.shared.reader.acknowledged), line_of(&s.shared.reader.epoch));
    };
    using Bytes = std::array<unsigned char, 48>;
    apart(std::type_identity<Mailbox<Bytes, Cleaning>>{});
    apart(std::type_identity<Mailbox<Bytes, consort::access::WholeLines<consort::access::Coherent>>>{});
}

struct Signal {};

TEST(Mailbox, OfAnEmptyTypeIsASignal) {
    Storage<Mailbox<Signal>> s;
    Mailbox<Signal>::Writer writer(s.shared);
    Mailbox<Signal>::Reader reader(s.shared);
    Signal got;
    EXPECT_EQ(reader.try_read(got), Status::would_block);
    EXPECT_EQ(writer.try_write(Signal{}), Status::ok);
    EXPECT_EQ(reader.try_read(got), Status::ok);
}

template <class D>
class DuplexForms : public testing::Test {};
// One line for both directions; a line each, because of the policy; a line each, because of the size.
using Forms = testing::Types<Duplex<std::uint32_t, Sample>, Duplex<std::uint32_t, Sample, Cleaning>,
                             Duplex<std::uint32_t, std::array<Sample, 9>>>;
TYPED_TEST_SUITE(DuplexForms, Forms, );

TYPED_TEST(DuplexForms, TheAcknowledgementComesWithTheAnswer) {
    using Answer = decltype(TypeParam::Value::to_client);
    Storage<TypeParam> s;
    typename TypeParam::Client client(s.shared);
    typename TypeParam::Server server(s.shared);
    Answer answer{};
    auto* const numbered = reinterpret_cast<Sample*>(&answer);
    for (std::uint32_t i = 0; i < 100; ++i) {
        ASSERT_EQ(client.try_write(i), Status::ok);
        EXPECT_EQ(client.try_write(i), Status::would_block);
        EXPECT_FALSE(client.empty());
        std::uint32_t request = 0;
        ASSERT_EQ(server.try_read(request), Status::ok);
        EXPECT_FALSE(client.empty()) << "acknowledged with the answer";
        numbered->number = request;
        ASSERT_EQ(server.try_write(answer), Status::ok);
        numbered->number = 77;
        ASSERT_EQ(client.try_read(answer), Status::ok);
        EXPECT_EQ(numbered->number, i);
    }
    // One-way traffic works as well.
    for (std::uint32_t i = 0; i < 3; ++i) {
        ASSERT_EQ(client.try_write(i), Status::ok);
        std::uint32_t request = 7;
        ASSERT_EQ(server.try_read(request), Status::ok);
        EXPECT_EQ(request, i);
        EXPECT_FALSE(client.empty());
        if (i == 0) {
            EXPECT_EQ(server.try_read(request), Status::would_block) << "the next look acknowledges";
        } else {
            server.acknowledge();
        }
        EXPECT_TRUE(client.empty());
    }
    EXPECT_EQ(client.sequence(), 103U);
    EXPECT_EQ(server.taken(), 103U);
}

TYPED_TEST(DuplexForms, IsTakenOverByARestartedSide) {
    Storage<TypeParam> s;
    typename TypeParam::Server server(s.shared);
    EXPECT_EQ(server.peer_epoch(), 0U) << "no client has attached yet";
    {
        typename TypeParam::Client client(s.shared);
        ASSERT_EQ(client.try_write(1), Status::ok);
    }
    typename TypeParam::Client client(s.shared);
    EXPECT_EQ(server.peer_epoch(), 2U);
    EXPECT_EQ(client.peer_epoch(), 1U);
    EXPECT_EQ(client.try_write(2), Status::would_block) << "the first message is still there";
    typename TypeParam::Server discarding(s.shared, Resume::discard);
    std::uint32_t got = 0;
    EXPECT_EQ(discarding.try_read(got), Status::would_block);
    ASSERT_EQ(client.try_write(3), Status::ok);
    ASSERT_EQ(discarding.try_read(got), Status::ok);
    EXPECT_EQ(got, 3U);
    {
        typename TypeParam::Server successor(s.shared);
        got = 0;
        ASSERT_EQ(successor.try_read(got), Status::ok) << "read, but never acknowledged";
        EXPECT_EQ(got, 3U);
        successor.acknowledge();
    }
    typename TypeParam::Server last(s.shared);
    EXPECT_EQ(last.try_read(got), Status::would_block);
}

// Each side has read and writes again: neither may wait for an acknowledgement that the other holds back.
TYPED_TEST(DuplexForms, AWriteThatMustWaitStillAcknowledges) {
    using Answer = decltype(TypeParam::Value::to_client);
    Storage<TypeParam> s;
    typename TypeParam::Client client(s.shared);
    typename TypeParam::Server server(s.shared);
    Answer answer{};
    std::uint32_t request = 0;
    ASSERT_EQ(client.try_write(1), Status::ok);
    ASSERT_EQ(server.try_write(answer), Status::ok);
    ASSERT_EQ(client.try_read(answer), Status::ok);
    ASSERT_EQ(server.try_read(request), Status::ok);
    EXPECT_EQ(client.try_write(2), Status::would_block);
    EXPECT_EQ(server.try_write(answer), Status::ok);
    EXPECT_EQ(client.try_write(2), Status::ok);
}

TYPED_TEST(DuplexForms, DoesNotTrustThePeersWords) {
    Storage<TypeParam> s;
    typename TypeParam::Client client(s.shared);
    typename TypeParam::Server server(s.shared);
    s.shared.client.sequence = 5;
    std::uint32_t got = 7;
    EXPECT_EQ(server.try_read(got), Status::peer_fault);
    EXPECT_EQ(server.read(got), Status::peer_fault) << "a blocking call ends too";
    EXPECT_EQ(got, 7U);
    s.shared.server.acknowledged = 77;
    EXPECT_EQ(client.try_write(1), Status::peer_fault);
}

TEST(Duplex, IsOneLineForUpTo24BytesEachWay) {
    using Bytes = std::array<unsigned char, 24>;
    using D = Duplex<Bytes, Bytes>;
    static_assert(D::one_line);
    Storage<D> s;
    EXPECT_EQ(line_of(&s.shared.client.sequence), line_of(s.shared.server.payload.bytes + 23));
    EXPECT_NE(line_of(&s.shared.client.sequence), line_of(&s.shared.client_epoch()));
    static_assert(!Duplex<Bytes, std::array<unsigned char, 25>>::one_line);
    static_assert(!Duplex<std::array<unsigned char, 25>, Bytes>::one_line);
}

TEST(Duplex, HasNoLineOfTwoWritersWhereLinesAreCleaned) {
    using D = Duplex<std::uint64_t, std::uint64_t, Cleaning>;
    static_assert(!D::one_line);
    Storage<D> s;
    EXPECT_EQ(line_of(&s.shared.client.sequence), line_of(&s.shared.client_epoch()));
    EXPECT_EQ(line_of(&s.shared.client.sequence), line_of(&s.shared.client.payload));
    EXPECT_NE(line_of(&s.shared.client.sequence), line_of(&s.shared.server.sequence));
    EXPECT_EQ(line_of(&s.shared.server.sequence), line_of(&s.shared.server_epoch()));
}

TEST(Queue, KeepsOrderAndCountsWhatItLoses) {
    using Q = Queue<std::uint32_t, 8>;
    Storage<Q> s;
    Q::Writer writer(s.shared);
    Q::Reader reader(s.shared);
    std::array<std::uint32_t, 16> in{};
    for (std::uint32_t i = 0; i < in.size(); ++i) {
        in[i] = i;
    }
    EXPECT_EQ(writer.write_batch(in.data(), 5), 5U);
    std::array<std::uint32_t, 16> out{};
    EXPECT_EQ(reader.read_batch(out.data(), 3), 3U);
    EXPECT_EQ(writer.write_batch(in.data() + 5, 11), 6U) << "8 - 2 unread";
    EXPECT_EQ(writer.overruns(), 5U);
    EXPECT_EQ(reader.overruns(), 5U);
    EXPECT_EQ(writer.try_write(99), Status::would_block);
    EXPECT_EQ(writer.overruns(), 5U) << "a try is not a loss";
    writer.write_or_count(99);
    EXPECT_EQ(reader.overruns(), 6U);
    EXPECT_EQ(reader.read_batch(out.data() + 3, 13), 8U);
    for (std::uint32_t i = 0; i < 11; ++i) {
        EXPECT_EQ(out[i], i);
    }
    std::uint32_t none = 0;
    EXPECT_EQ(reader.try_read(none), Status::would_block);
}

// The consumer tells what it has read by quarters, so of a ring of 16 up to 3 slots that were read may still
// count as full; what always fits, and that an empty ring takes 16, is promised.
TEST(Queue, TellsByQuartersWhatWasRead) {
    using Q = Queue<std::uint32_t, 16>;
    Storage<Q> s;
    Q::Writer writer(s.shared);
    Q::Reader reader(s.shared);
    const std::array<std::uint32_t, 16> in{};
    std::array<std::uint32_t, 16> out{};
    for (std::uint32_t read = 0; read <= 16; ++read) {
        EXPECT_EQ(writer.write_batch(in.data(), 16), 16U) << "an empty ring takes as many as it has slots";
        EXPECT_EQ(reader.read_batch(out.data(), read), read);
        const std::uint32_t more = writer.write_batch(in.data(), 16);
        EXPECT_LE(more, read);
        EXPECT_GE(more + 3, read) << "13 unread ones always fit";
        while (reader.read_batch(out.data(), 16) != 0) {
        }
    }
}

TEST(Queue, GivesTheRoomOfWhatWasReadBackAtOnceWhereItIsAsked) {
    using Q = Queue<std::uint32_t, 16>;
    Storage<Q> s;
    Q::Writer writer(s.shared);
    Q::Reader reader(s.shared);
    std::uint32_t next = 0;
    while (writer.try_write(next) == Status::ok) {
        ++next;
    }
    for (std::uint32_t i = 0; i < 40; ++i, ++next) {
        std::uint32_t got = 0;
        ASSERT_EQ(reader.try_read(got), Status::ok);
        EXPECT_EQ(got, i);
        reader.release_read();
        ASSERT_EQ(writer.try_write(next), Status::ok);
        EXPECT_EQ(writer.try_write(next), Status::would_block);
    }
}

TEST(Queue, IndicesWrap) {
    using Q = Queue<std::uint32_t, 4>;
    Storage<Q> s;
    // As 2^32 - 2 messages leave it.
    s.shared.writer.head = 0xfffffffeU;
    s.shared.reader.released = 0xfffffffeU;
    for (std::uint32_t number = 0xfffffffaU; number != 0xfffffffeU; ++number) {
        s.shared.slots.at[number & 3U].sequence = number + 1;
    }
    Q::Writer writer(s.shared);
    Q::Reader reader(s.shared);
    for (std::uint32_t i = 0; i < 20; ++i) {
        std::uint32_t got = 77;
        EXPECT_EQ(reader.try_read(got), Status::would_block);
        ASSERT_EQ(writer.try_write(i), Status::ok);
        ASSERT_EQ(reader.try_read(got), Status::ok);
        EXPECT_EQ(got, i);
    }
}

TEST(Queue, DoesNotTrustThePeersNumbers) {
    using Q = Queue<std::uint32_t, 4>;
    Storage<Q> s;
    Q::Writer writer(s.shared);
    Q::Reader reader(s.shared);
    for (const std::uint32_t number : {2U, 5U, 77U, 0xffffffffU}) {
        s.shared.slots.at[0].sequence = number;
        std::uint32_t got = 7;
        EXPECT_EQ(reader.try_read(got), Status::peer_fault) << number;
        EXPECT_EQ(got, 7U);
    }
    s.shared.slots.at[0].sequence = 0;
    s.shared.reader.released = 1;
    EXPECT_EQ(writer.try_write(1), Status::peer_fault);
    EXPECT_EQ(writer.write(1), Status::peer_fault) << "a blocking call ends too";
}

TEST(Queue, ASlotIsAPowerOfTwoOrWholeLines) {
    static_assert(Queue<std::uint8_t, 2>::slot_bytes == 8);
    static_assert(Queue<std::uint64_t, 2>::slot_bytes == 16);
    static_assert(Queue<std::array<unsigned char, 48>, 2>::slot_bytes == 64);
    static_assert(Queue<std::array<unsigned char, 60>, 2>::slot_bytes == 64);
    static_assert(Queue<std::array<unsigned char, 61>, 2>::slot_bytes == 128);
    static_assert(Queue<std::array<unsigned char, 1024>, 2>::slot_bytes == 1088);
    const auto fills = []<class Q>(std::type_identity<Q>) {
        EXPECT_EQ(sizeof(typename Q::Slot), Q::slot_bytes);
        Storage<Q> s;
        EXPECT_NE(line_of(&s.shared.writer), line_of(&s.shared.slots.at[0]));
        EXPECT_NE(line_of(&s.shared.reader), line_of(&s.shared.slots.at[0]));
        EXPECT_NE(line_of(&s.shared.reader), line_of(&s.shared.writer));
    };
    fills(std::type_identity<Queue<std::uint64_t, 4>>{});
    fills(std::type_identity<Queue<std::uint64_t, 4, Cleaning>>{});
    fills(std::type_identity<Queue<std::uint64_t, 4, consort::access::Device>>{});
    fills(std::type_identity<Queue<std::array<unsigned char, 129>, 4>>{});
}

// Also in the middle of what it tells by quarters, and of batches; for as many laps as it takes.
TEST(Queue, IsTakenOverByARestartedSide) {
    using Q = Queue<std::uint32_t, 16>;
    Storage<Q> s;
    std::uint32_t next = 0;
    std::uint32_t expected = 0;
    for (std::uint32_t life = 0; life < 200; ++life) {
        Q::Writer writer(s.shared);
        const std::uint32_t singles = life % 5;
        for (std::uint32_t i = 0; i < singles; ++i) {
            ASSERT_EQ(writer.try_write(next++), Status::ok);
        }
        std::array<std::uint32_t, 9> batch{};
        const std::uint32_t more = life % 9;
        for (std::uint32_t i = 0; i < more; ++i) {
            batch[i] = next++;
        }
        ASSERT_EQ(writer.write_batch(batch.data(), more), more);
        Q::Writer successor(s.shared);
        ASSERT_EQ(successor.try_write(next++), Status::ok);
        Q::Reader reader(s.shared);
        std::array<std::uint32_t, 16> got{};
        const std::uint32_t count = singles + more + 1;
        ASSERT_EQ(reader.read_batch(got.data(), 16), count) << life;
        for (std::uint32_t i = 0; i < count; ++i) {
            EXPECT_EQ(got[i], expected++);
        }
        EXPECT_EQ(reader.peer_epoch(), 2 * life + 2);
    }
}

// A successor reads again what a consumer has read and not released: less than a quarter of the ring.
TEST(Queue, ASuccessorReadsAgainWhatWasNotTold) {
    using Q = Queue<std::uint32_t, 16>;
    for (std::uint32_t read = 0; read <= 12; ++read) {
        Storage<Q> s;
        Q::Writer writer(s.shared);
        for (std::uint32_t i = 0; i < 13; ++i) {
            ASSERT_EQ(writer.try_write(i), Status::ok);
        }
        std::uint32_t got = 0;
        {
            Q::Reader reader(s.shared);
            for (std::uint32_t i = 0; i < read; ++i) {
                ASSERT_EQ(reader.try_read(got), Status::ok);
            }
        }
        Q::Reader reader(s.shared);
        ASSERT_EQ(reader.try_read(got), Status::ok);
        EXPECT_LE(got, read);
        EXPECT_LT(read - got, 4U);
    }
    Storage<Q> s;
    Q::Writer writer(s.shared);
    ASSERT_EQ(writer.try_write(1), Status::ok);
    std::uint32_t got = 0;
    {
        Q::Reader reader(s.shared);
        ASSERT_EQ(reader.try_read(got), Status::ok);
        ASSERT_EQ(reader.try_read(got), Status::would_block);
    }
    Q::Reader reader(s.shared);
    EXPECT_EQ(reader.try_read(got), Status::would_block) << "an empty ring is reported";
}

// A producer that died after `published` of its words: a batch of 3 stored its numbers from the last to the
// first, and `head` after them.
TEST(Queue, ASuccessorDropsABatchThatWasNotPublished) {
    using Q = Queue<std::uint32_t, 8>;
    for (std::uint32_t published = 0; published <= 3; ++published) {
        Storage<Q> s;
        {
            Q::Writer writer(s.shared);
            for (std::uint32_t i = 0; i < 5; ++i) {
                ASSERT_EQ(writer.try_write(i), Status::ok);
            }
        }
        // It noted how far it was before it began the batch.
        s.shared.writer.head = 5;
        Q::Reader reader(s.shared);
        std::uint32_t got[16];
        ASSERT_EQ(reader.read_batch(got, 16), 5U);
        for (std::uint32_t i = 0; i < published; ++i) {
            auto& slot = s.shared.slots.at[(7 - i) & 7U];
            slot.element.put(107 - i);
            slot.sequence = 8 - i;
        }
        Q::Writer successor(s.shared);
        EXPECT_EQ(reader.read_batch(got, 16), published == 3 ? 3U : 0U) << published;
        for (std::uint32_t i = 0; i < 8; ++i) {
            ASSERT_EQ(successor.try_write(200 + i), Status::ok) << published;
        }
        ASSERT_EQ(reader.read_batch(got, 16), 8U);
        for (std::uint32_t i = 0; i < 8; ++i) {
            EXPECT_EQ(got[i], 200 + i) << published;
        }
    }
}

// With the copy beside its number, and with the pairs alone: because of the policy, and because of the size.
template <class S>
class SnapshotForms : public testing::Test {
  public:
    using Value = typename S::Value;
    static Value of(std::uint32_t number) {
        Value value{};
        reinterpret_cast<Sample*>(&value)->number = number;
        return value;
    }
    static std::uint32_t number(const Value& value) {
        return reinterpret_cast<const Sample*>(&value)->number;
    }
};
using SnapshotTypes =
    testing::Types<Snapshot<Sample, 2>, Snapshot<Sample, 2, Cleaning>, Snapshot<std::array<Sample, 9>, 2>>;
TYPED_TEST_SUITE(SnapshotForms, SnapshotTypes, );

TYPED_TEST(SnapshotForms, GivesTheLatestOnceAndKeepsIt) {
    Storage<TypeParam> s;
    typename TypeParam::Writer writer(s.shared);
    typename TypeParam::Reader first(s.shared, 0);
    typename TypeParam::Reader second(s.shared, 1);
    auto got = this->of(99);
    EXPECT_EQ(first.read(got), Status::would_block) << "nothing written yet";
    EXPECT_EQ(this->number(got), 99U);
    for (std::uint32_t i = 1; i < 100; ++i) {
        writer.update(this->of(i));
        if (i % 3 == 0) {
            ASSERT_EQ(first.read(got), Status::ok);
            EXPECT_EQ(this->number(got), i);
            EXPECT_EQ(first.stamp(), i);
            EXPECT_EQ(first.read(got), Status::would_block) << "nothing newer";
            EXPECT_EQ(this->number(got), i) << "the variable still holds the latest";
        }
    }
    ASSERT_EQ(second.read(got), Status::ok);
    EXPECT_EQ(this->number(got), 99U);
}

TYPED_TEST(SnapshotForms, ARestartedWriterIsNewerThanAnythingRead) {
    Storage<TypeParam> s;
    typename TypeParam::Reader reader(s.shared, 0);
    auto got = this->of(0);
    for (std::uint32_t i = 1; i < 20; ++i) {
        typename TypeParam::Writer writer(s.shared);
        writer.update(this->of(i));
        ASSERT_EQ(reader.read(got), Status::ok);
        EXPECT_EQ(this->number(got), i);
        EXPECT_EQ(reader.peer_epoch(), i);
    }
}

TYPED_TEST(SnapshotForms, StampsWrap) {
    Storage<TypeParam> s;
    s.shared.slots[0][1].stamp.put(0xfffffffeU);
    s.shared.writer.current[0] = 1;
    if constexpr (TypeParam::small) {
        s.shared.writer.copy.begun = 0xfffffffeU;
        s.shared.writer.copy.done = 0xfffffffeU;
    }
    typename TypeParam::Writer writer(s.shared);
    typename TypeParam::Reader reader(s.shared, 0);
    auto got = this->of(0);
    ASSERT_EQ(reader.read(got), Status::ok);
    for (std::uint32_t i = 1; i < 10; ++i) {
        writer.update(this->of(i));
        ASSERT_EQ(reader.read(got), Status::ok) << i;
        EXPECT_EQ(this->number(got), i);
    }
}

// As a writer leaves it that made so many updates, all with one pair; the others have their numbers from
// before.
template <class S>
void set_number(Storage<S>& s, std::uint32_t number) {
    s.shared.slots[0][0].stamp.put(number);
    s.shared.slots[0][1].stamp.put(number - 1);
    s.shared.writer.latest = 0;
    s.shared.writer.current[0] = 0;
    if constexpr (S::small) {
        s.shared.writer.copy.begun = number;
        s.shared.writer.copy.done = number;
    }
}

// A reader that does not look for any number of updates gets the next one.
TYPED_TEST(SnapshotForms, AReaderThatPausesForAnyTimeGetsTheNextUpdate) {
    for (const std::uint32_t pause :
         {1U, 1000U, 0x7fffffffU, 0x80000000U, 0x80000010U, 0xc0000000U, 0xfffffe00U}) {
        Storage<TypeParam> s;
        typename TypeParam::Reader reader(s.shared, 0);
        auto got = this->of(0);
        typename TypeParam::Writer(s.shared).update(this->of(1));
        ASSERT_EQ(reader.read(got), Status::ok);
        set_number(s, 1 + pause);
        typename TypeParam::Writer writer(s.shared);
        EXPECT_EQ(writer.stamp(), 1 + pause);
        for (std::uint32_t i = 1; i < 4; ++i) {
            writer.update(this->of(i));
            ASSERT_EQ(reader.read(got), Status::ok) << pause;
            EXPECT_EQ(this->number(got), i);
            EXPECT_EQ(reader.read(got), Status::would_block);
        }
    }
}

TEST(Snapshot, PutsASmallValueBesideItsNumber) {
    using Bytes = std::array<unsigned char, 40>;
    using S = Snapshot<Bytes, 1>;
    static_assert(S::small);
    static_assert(!Snapshot<std::array<unsigned char, 41>, 1>::small);
    static_assert(!Snapshot<Bytes, 2>::small, "each further reader takes one word of the line");
    static_assert(!Snapshot<std::uint32_t, 1, Cleaning>::small, "words would be cleaned one by one");
    static_assert(sizeof(S::WriterLines) == consort::line_bytes);
    Storage<S> s;
    EXPECT_EQ(line_of(&s.shared.writer.latest), line_of(&s.shared.writer.copy.value[9]));
    // Not a byte lost, whatever the size.
    const auto moves = []<std::size_t N>(std::integral_constant<std::size_t, N>) {
        using T = std::array<unsigned char, N>;
        Storage<Snapshot<T, 1>> shared;
        static_assert(Snapshot<T, 1>::small);
        typename Snapshot<T, 1>::Writer writer(shared.shared);
        typename Snapshot<T, 1>::Reader reader(shared.shared, 0);
        T in{};
        for (std::size_t i = 0; i < N; ++i) {
            in[i] = static_cast<unsigned char>(i * 37 + 1);
        }
        struct {
            T value{};
            unsigned char guard = 0xa5;
        } out;
        writer.update(in);
        ASSERT_EQ(reader.read(out.value), Status::ok);
        EXPECT_EQ(in, out.value);
        EXPECT_EQ(out.guard, 0xa5);
    };
    moves(std::integral_constant<std::size_t, 1>{});
    moves(std::integral_constant<std::size_t, 3>{});
    moves(std::integral_constant<std::size_t, 8>{});
    moves(std::integral_constant<std::size_t, 39>{});
    moves(std::integral_constant<std::size_t, 40>{});
}

// Whatever the writer was interrupted at: the reader has the pairs.
TEST(Snapshot, TakesThePairsWhereTheCopyIsHalfWritten) {
    using S = Snapshot<Sample, 1>;
    Storage<S> s;
    S::Writer writer(s.shared);
    S::Reader reader(s.shared, 0);
    for (std::uint32_t i = 1; i < 10; ++i) {
        writer.update({0, i});
        s.shared.writer.copy.begun = i + 1;
        s.shared.writer.copy.value[1] = 77;
        Sample got{};
        ASSERT_EQ(reader.read(got), Status::ok);
        EXPECT_EQ(got.number, i);
        EXPECT_EQ(reader.read(got), Status::would_block);
    }
}

TEST(Snapshot, DoesNotTrustThePeersWords) {
    using S = Snapshot<Sample, 1, Cleaning>;
    Storage<S> s;
    S::Writer writer(s.shared);
    S::Reader reader(s.shared, 0);
    Sample got{};
    s.shared.writer.latest = 2;
    EXPECT_EQ(reader.read(got), Status::peer_fault);
    s.shared.writer.latest = 1;
    s.shared.writer.current[1] = 2;
    EXPECT_EQ(reader.read(got), Status::peer_fault);
    s.shared.readers[0].announced = 1000;
    writer.update({1, 1});
    EXPECT_EQ(writer.stamp(), 1U) << "a reader's nonsense harms itself alone";
}

TEST(DoubleBuffer, GivesTheLatestAnyNumberOfTimes) {
    using B = consort::DoubleBuffer<Sample>;
    Storage<B> s;
    B::Writer writer(s.shared);
    const B::Reader reader(s.shared);
    Sample got{};
    EXPECT_EQ(reader.read_latest(got), Status::would_block);
    for (std::uint32_t i = 1; i < 10; ++i) {
        writer.update({0, i});
        for (int again = 0; again < 2; ++again) {
            ASSERT_EQ(reader.read_latest(got), Status::ok);
            EXPECT_EQ(got.number, i);
        }
    }
    s.shared.writer.active = 3;
    EXPECT_EQ(reader.read_latest(got), Status::peer_fault);
}

// The other access policies, on memory where they are not needed but must be right all the same.
template <class A>
class Access : public testing::Test {};
using Policies = testing::Types<consort::access::Coherent, consort::access::SystemBarrier,
                                consort::access::NonCoherent<CountingPort>, consort::access::Device>;
TYPED_TEST_SUITE(Access, Policies, );

TYPED_TEST(Access, MovesEverySizeWhole) {
    const auto one = []<std::size_t N>(std::integral_constant<std::size_t, N>) {
        using T = std::array<unsigned char, N>;
        using M = Mailbox<T, TypeParam>;
        Storage<M> s;
        typename M::Writer writer(s.shared);
        typename M::Reader reader(s.shared);
        T in{};
        for (std::size_t i = 0; i < N; ++i) {
            in[i] = static_cast<unsigned char>(i * 37 + 1);
        }
        struct {
            T value{};
            unsigned char guard = 0xa5;
        } out;
        ASSERT_EQ(writer.try_write(in), Status::ok);
        ASSERT_EQ(reader.try_read(out.value), Status::ok);
        EXPECT_EQ(in, out.value);
        EXPECT_EQ(out.guard, 0xa5) << "copied beyond the value of " << N << " bytes";

        using Q = Queue<T, 4, TypeParam>;
        Storage<Q> queue;
        typename Q::Writer producer(queue.shared);
        typename Q::Reader consumer(queue.shared);
        for (int turn = 0; turn < 9; ++turn) {
            in[0] = static_cast<unsigned char>(turn);
            ASSERT_EQ(producer.try_write(in), Status::ok);
            ASSERT_EQ(consumer.try_read(out.value), Status::ok);
            EXPECT_EQ(in, out.value);
            EXPECT_EQ(out.guard, 0xa5);
        }

        using D = Duplex<T, T, TypeParam>;
        Storage<D> duplex;
        typename D::Client client(duplex.shared);
        typename D::Server server(duplex.shared);
        T back{};
        ASSERT_EQ(client.try_write(in), Status::ok);
        ASSERT_EQ(server.try_read(back), Status::ok);
        ASSERT_EQ(server.try_write(back), Status::ok);
        out.value = T{};
        ASSERT_EQ(client.try_read(out.value), Status::ok);
        EXPECT_EQ(in, out.value);
        EXPECT_EQ(out.guard, 0xa5);
    };
    one(std::integral_constant<std::size_t, 1>{});
    one(std::integral_constant<std::size_t, 2>{});
    one(std::integral_constant<std::size_t, 3>{});
    one(std::integral_constant<std::size_t, 4>{});
    one(std::integral_constant<std::size_t, 5>{});
    one(std::integral_constant<std::size_t, 24>{});
    one(std::integral_constant<std::size_t, 48>{});
    one(std::integral_constant<std::size_t, 1023>{});
    one(std::integral_constant<std::size_t, 1024>{});
}

}  // namespace
