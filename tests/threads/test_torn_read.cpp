// SPDX-License-Identifier: Apache-2.0
//
// A torn read, made on purpose and on every machine alike: the reader's copy is stopped half-way, two updates
// are made, the copy goes on. The double buffer returns a mixture, the snapshot one value, in the same
// schedule; a small one notices that its first copy was disturbed.

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <type_traits>
#include <utility>

#include "consort/icc.hpp"
#include "pattern.hpp"

namespace {

using consort::Status;
using Value = consort::test::Pattern<8>;

// Coherent, but the copy of a Value out of its cell calls `interruption` after `interrupt_after` words.
template <bool SharesLines>
struct Interrupted {
    using Word = consort::access::Coherent::Word;
    static constexpr bool shares_lines = SharesLines;
    static inline std::function<void()> interruption;
    static inline std::size_t interrupt_after = 0;

    template <consort::SyncPoint E>
    [[nodiscard]] static std::uint32_t load(const Word& word) noexcept {
        return consort::access::Coherent::load<E>(word);
    }
    template <consort::SyncPoint E>
    static void store(Word& word, std::uint32_t value) noexcept {
        consort::access::Coherent::store<E>(word, value);
    }

    // As the copy in words of a small value's newest update.
    template <consort::SyncPoint E>
    static void load_words(const Word* from, std::uint32_t* to, std::uint32_t words) {
        for (std::uint32_t i = 0; i < words; ++i) {
            if (i == interrupt_after && interruption) {
                const auto now = std::exchange(interruption, nullptr);
                now();
            }
            consort::access::Coherent::load_words<E>(from + i, to + i, 1);
        }
    }
    template <consort::SyncPoint E>
    static void store_words(Word* to, const std::uint32_t* from, std::uint32_t words) noexcept {
        consort::access::Coherent::store_words<E>(to, from, words);
    }

    template <class T, std::uint32_t Alignment = 16>
    struct Cell : consort::access::Coherent::Cell<T, Alignment> {
        void get(T& value) const {
            const std::size_t half =
                std::is_same_v<T, Value> ? interrupt_after * sizeof(std::uint32_t) : sizeof(T);
            auto* to = reinterpret_cast<unsigned char*>(&value);
            std::memcpy(to, this->bytes, half);
            if (std::is_same_v<T, Value> && interruption) {
                // Once: what the interruption itself does is not interrupted.
                const auto now = std::exchange(interruption, nullptr);
                now();
            }
            std::memcpy(to + half, this->bytes + half, sizeof(T) - half);
        }
    };
};

using Pairs = Interrupted<false>;
using Small = Interrupted<true>;

// The value that a read returns when `updates` updates fall into it after `after` words.
Value double_buffer_read(std::size_t after, std::uint32_t updates) {
    using Channel = consort::DoubleBuffer<Value, Pairs>;
    alignas(64) Channel::Shared shared{};
    Channel::Writer writer(shared);
    const Channel::Reader reader(shared);
    writer.update(Value::of(1));
    Pairs::interrupt_after = after;
    Pairs::interruption = [&] {
        for (std::uint32_t i = 0; i < updates; ++i) {
            writer.update(Value::of(2 + i));
        }
    };
    Value got{};
    EXPECT_EQ(reader.read_latest(got), Status::ok);
    EXPECT_FALSE(Pairs::interruption) << "the read was not interrupted";
    return got;
}

template <class A, std::uint32_t Readers>
Value snapshot_read(std::size_t after, std::uint32_t updates, Value& next) {
    using Channel = consort::Snapshot<Value, Readers, A>;
    static_assert(Channel::small == A::shares_lines);
    alignas(64) typename Channel::Shared shared{};
    typename Channel::Writer writer(shared);
    typename Channel::Reader reader(shared, 0);
    writer.update(Value::of(1));
    A::interrupt_after = after;
    A::interruption = [&] {
        for (std::uint32_t i = 0; i < updates; ++i) {
            writer.update(Value::of(2 + i));
        }
    };
    Value got{};
    EXPECT_EQ(reader.read(got), Status::ok);
    EXPECT_FALSE(A::interruption) << "the read was not interrupted";
    // A small one has read them all already.
    EXPECT_EQ(reader.read(next), A::shares_lines ? Status::would_block : Status::ok);
    return got;
}

class TornRead : public testing::TestWithParam<std::size_t> {};

TEST_P(TornRead, DoubleBufferReturnsAMixtureAfterTwoUpdates) {
    const Value got = double_buffer_read(GetParam(), 2);
    EXPECT_FALSE(got.whole());
    // Old before the interruption, the second update after it.
    for (std::size_t i = 0; i < 8; ++i) {
        EXPECT_EQ(got.word[i], Value::of(i < GetParam() ? 1 : 3).word[i]) << "word " << i;
    }
}

TEST_P(TornRead, DoubleBufferIsWholeAfterOneUpdate) {
    const Value got = double_buffer_read(GetParam(), 1);
    EXPECT_TRUE(got.whole());
    EXPECT_EQ(got.number(), 1U);
}

TEST_P(TornRead, SnapshotIsWholeInTheSameSchedule) {
    for (const std::uint32_t updates : {1U, 2U, 3U, 10U}) {
        Value next{};
        const Value one = snapshot_read<Pairs, 1>(GetParam(), updates, next);
        EXPECT_TRUE(one.whole()) << updates << " updates";
        EXPECT_EQ(one.number(), 1U);
        EXPECT_TRUE(next.whole());
        EXPECT_EQ(next.number(), 1 + updates);
        const Value three = snapshot_read<Pairs, 3>(GetParam(), updates, next);
        EXPECT_TRUE(three.whole()) << updates << " updates";
        EXPECT_EQ(three.number(), 1U);
        EXPECT_EQ(next.number(), 1 + updates);
    }
}

TEST_P(TornRead, ASmallSnapshotIsWholeInTheSameSchedule) {
    for (const std::uint32_t updates : {1U, 2U, 3U, 10U}) {
        Value next{};
        const Value got = snapshot_read<Small, 1>(GetParam(), updates, next);
        EXPECT_TRUE(got.whole()) << updates << " updates";
        EXPECT_EQ(got.number(), 1 + updates) << "the pairs hold what disturbed the first copy";
    }
}

INSTANTIATE_TEST_SUITE_P(Positions, TornRead, testing::Values(1, 2, 3, 4, 5, 6, 7));

}  // namespace
