// SPDX-License-Identifier: Apache-2.0
//
// The channels' protocols, one thread: every answer of every operation, restarts, and peers that misbehave.

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstring>

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

TEST(Mailbox, AlternatesAndKeepsContent) {
    Storage<Mailbox<Sample>> s;
    Mailbox<Sample>::Writer writer(s.shared);
    Mailbox<Sample>::Reader reader(s.shared);
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

TEST(Mailbox, DeadlinesEndTheWait) {
    Storage<Mailbox<Sample>> s;
    Mailbox<Sample>::Writer writer(s.shared);
    Mailbox<Sample>::Reader reader(s.shared);
    Sample got{};
    CountingPort::ticks = 0;
    EXPECT_EQ((reader.read_until<CountingPort>(got, 100)), Status::timeout);
    EXPECT_EQ(CountingPort::ticks, 100U);
    EXPECT_EQ((writer.write_until<CountingPort>({}, 0)), Status::ok)
        << "a passed deadline still allows one try";
    EXPECT_EQ((writer.write_until<CountingPort>({}, 200)), Status::timeout);
    EXPECT_EQ((reader.read_until<CountingPort>(got, 0)), Status::ok);
}

TEST(Mailbox, IsTakenOverByARestartedSide) {
    Storage<Mailbox<Sample>> s;
    Mailbox<Sample>::Reader reader(s.shared);
    EXPECT_EQ(reader.peer_epoch(), 0U) << "no writer has attached yet";
    {
        Mailbox<Sample>::Writer writer(s.shared);
        ASSERT_EQ(writer.try_write({1, 1}), Status::ok);
    }
    EXPECT_EQ(reader.peer_epoch(), 1U);
    Mailbox<Sample>::Writer writer(s.shared);
    EXPECT_EQ(reader.peer_epoch(), 2U) << "the restart is seen";
    EXPECT_EQ(writer.try_write({2, 2}), Status::would_block) << "the first message is still there";
    Sample got{};
    {
        Mailbox<Sample>::Reader redelivered(s.shared, Resume::redeliver);
        ASSERT_EQ(redelivered.try_read(got), Status::ok);
        EXPECT_EQ(got.number, 1U);
    }
    ASSERT_EQ(writer.try_write({2, 2}), Status::ok);
    Mailbox<Sample>::Reader discarding(s.shared, Resume::discard);
    EXPECT_EQ(discarding.try_read(got), Status::would_block);
    EXPECT_EQ(writer.try_write({3, 3}), Status::ok);
    ASSERT_EQ(discarding.try_read(got), Status::ok);
    EXPECT_EQ(got.number, 3U);
}

TEST(Mailbox, DoesNotTrustThePeersWords) {
    Storage<Mailbox<Sample>> s;
    Mailbox<Sample>::Writer writer(s.shared);
    Mailbox<Sample>::Reader reader(s.shared);
    Sample got{7, 7};
    s.shared.writer.sequence = 5;
    EXPECT_EQ(reader.try_read(got), Status::peer_fault);
    EXPECT_EQ(reader.read(got), Status::peer_fault) << "a blocking call ends too";
    EXPECT_EQ(got.number, 7U) << "nothing was copied";
    s.shared.reader.acknowledged = 77;
    ASSERT_EQ(writer.try_write({}), Status::peer_fault);
}

TEST(Mailbox, PayloadSharesTheFlagsLineUpTo48Bytes) {
    using M = Mailbox<std::array<unsigned char, 48>>;
    static_assert(sizeof(M::WriterLines) == consort::line_bytes);
    static_assert(sizeof(Mailbox<std::array<unsigned char, 49>>::WriterLines) ==
                  std::size_t{2} * consort::line_bytes);
    Storage<M> s;
    const auto line_of = [](const void* p) {
        return reinterpret_cast<std::uintptr_t>(p) / consort::line_bytes;
    };
    EXPECT_EQ(line_of(&s.shared.writer.sequence), line_of(s.shared.writer.payload.bytes + 47));
    EXPECT_NE(line_of(&s.shared.writer.sequence), line_of(&s.shared.reader.acknowledged));
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

TEST(Duplex, CarriesTheAcknowledgementWithTheAnswer) {
    Storage<Mailbox<std::uint32_t>> there;
    Storage<Mailbox<Sample>> back;
    Duplex<std::uint32_t, Sample> client(there.shared, back.shared);
    Duplex<Sample, std::uint32_t> server(back.shared, there.shared);
    for (std::uint32_t i = 0; i < 100; ++i) {
        ASSERT_EQ(client.try_write(i), Status::ok);
        std::uint32_t request = 0;
        ASSERT_EQ(server.try_read(request), Status::ok);
        ASSERT_EQ(server.try_write({0, request}), Status::ok);
        EXPECT_EQ(back.shared.writer.acknowledged_back.load(), i + 1);
        Sample answer{};
        ASSERT_EQ(client.try_read(answer), Status::ok);
        EXPECT_EQ(answer.number, i);
        // The reader's own line is not needed for it any more: spoil it.
        there.shared.reader.acknowledged = 12345;
    }
    there.shared.reader.acknowledged = 100;
    // One-way traffic works by the reader's own line.
    ASSERT_EQ(client.try_write(1), Status::ok);
    ASSERT_EQ(client.try_write(2), Status::would_block);
    std::uint32_t request = 0;
    ASSERT_EQ(server.try_read(request), Status::ok);
    ASSERT_EQ(client.try_write(2), Status::ok);
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

TEST(Queue, IndicesWrap) {
    using Q = Queue<std::uint32_t, 4>;
    Storage<Q> s;
    s.shared.writer.head = 0xfffffffeU;
    s.shared.reader.tail = 0xfffffffeU;
    Q::Writer writer(s.shared);
    Q::Reader reader(s.shared);
    for (std::uint32_t i = 0; i < 20; ++i) {
        ASSERT_EQ(writer.try_write(i), Status::ok);
        std::uint32_t got = 0;
        ASSERT_EQ(reader.try_read(got), Status::ok);
        EXPECT_EQ(got, i);
    }
}

TEST(Queue, DoesNotTrustThePeersIndex) {
    using Q = Queue<std::uint32_t, 4>;
    Storage<Q> s;
    Q::Writer writer(s.shared);
    Q::Reader reader(s.shared);
    s.shared.writer.head = 5;
    std::uint32_t got = 0;
    EXPECT_EQ(reader.try_read(got), Status::peer_fault);
    s.shared.reader.tail = 1;
    EXPECT_EQ(writer.try_write(1), Status::peer_fault);
}

TEST(Snapshot, GivesTheLatestOnceAndKeepsIt) {
    using S = Snapshot<Sample, 2>;
    Storage<S> s;
    S::Writer writer(s.shared);
    S::Reader first(s.shared, 0);
    S::Reader second(s.shared, 1);
    Sample got{-1, 99};
    EXPECT_EQ(first.read(got), Status::would_block) << "nothing written yet";
    EXPECT_EQ(got.number, 99U);
    for (std::uint32_t i = 1; i < 100; ++i) {
        writer.update({0, i});
        if (i % 3 == 0) {
            ASSERT_EQ(first.read(got), Status::ok);
            EXPECT_EQ(got.number, i);
            EXPECT_EQ(first.read(got), Status::would_block) << "nothing newer";
            EXPECT_EQ(got.number, i) << "the variable still holds the latest";
        }
    }
    ASSERT_EQ(second.read(got), Status::ok);
    EXPECT_EQ(got.number, 99U);
}

TEST(Snapshot, ARestartedWriterIsNewerThanAnythingRead) {
    using S = Snapshot<Sample, 1>;
    Storage<S> s;
    S::Reader reader(s.shared, 0);
    Sample got{};
    for (std::uint32_t i = 1; i < 20; ++i) {
        S::Writer writer(s.shared);
        writer.update({0, i});
        ASSERT_EQ(reader.read(got), Status::ok);
        EXPECT_EQ(got.number, i);
        EXPECT_EQ(reader.peer_epoch(), i);
    }
}

TEST(Snapshot, StampsWrap) {
    using S = Snapshot<Sample, 1>;
    Storage<S> s;
    s.shared.slots[0][1].stamp.put(0xfffffffeU);
    s.shared.writer.current[0] = 1;
    S::Writer writer(s.shared);
    S::Reader reader(s.shared, 0);
    Sample got{};
    ASSERT_EQ(reader.read(got), Status::ok);
    for (std::uint32_t i = 1; i < 10; ++i) {
        writer.update({0, i});
        ASSERT_EQ(reader.read(got), Status::ok) << i;
        EXPECT_EQ(got.number, i);
    }
}

TEST(Snapshot, DoesNotTrustThePeersWords) {
    using S = Snapshot<Sample, 1>;
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
    };
    one(std::integral_constant<std::size_t, 1>{});
    one(std::integral_constant<std::size_t, 2>{});
    one(std::integral_constant<std::size_t, 3>{});
    one(std::integral_constant<std::size_t, 4>{});
    one(std::integral_constant<std::size_t, 5>{});
    one(std::integral_constant<std::size_t, 48>{});
    one(std::integral_constant<std::size_t, 1023>{});
    one(std::integral_constant<std::size_t, 1024>{});
}

}  // namespace
