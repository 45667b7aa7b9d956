// SPDX-License-Identifier: Apache-2.0
//
// The channels between real threads: every value checked, the amount of work fixed, no time asserted. Also
// run under ThreadSanitizer, which checks the orderings that the compiler was told.

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "consort/icc.hpp"
#include "pattern.hpp"

namespace {

using consort::Duplex;
using consort::Mailbox;
using consort::Queue;
using consort::Snapshot;
using consort::Status;
using consort::test::Pattern;

// Machines with fewer processors than threads would otherwise wait a whole time slice for each message.
struct Polite {
    static void relax() noexcept { std::this_thread::yield(); }
};

template <class Channel>
struct Storage {
    alignas(64) typename Channel::Shared shared{};
};

constexpr std::uint32_t messages = 50000;

TEST(Stress, MailboxDeliversEachMessageOnceInOrderAndWhole) {
    // One line, and many.
    const auto run = []<class Value>(Value) {
        using Box = Mailbox<Value>;
        Storage<Box> storage;
        std::uint32_t written = 0;
        std::thread writer([&] {
            typename Box::Writer box(storage.shared);
            for (std::uint32_t i = 0; i < messages; ++i) {
                written += box.template write<Polite>(Value::of(i)) == Status::ok ? 1 : 0;
            }
        });
        typename Box::Reader box(storage.shared);
        std::uint32_t wrong = 0;
        for (std::uint32_t i = 0; i < messages; ++i) {
            Value got{};
            const Status status = box.template read<Polite>(got);
            wrong += status == Status::ok && got.whole() && got.number() == i ? 0 : 1;
        }
        writer.join();
        EXPECT_EQ(wrong, 0U);
        EXPECT_EQ(written, messages);
    };
    run(Pattern<4>{});
    run(Pattern<100>{});
}

TEST(Stress, DuplexAnswersEachRequest) {
    using Value = Pattern<4>;
    using Side = Duplex<Value, Value>;
    Storage<Mailbox<Value>> there;
    Storage<Mailbox<Value>> back;
    std::uint32_t worker_wrong = 0;
    std::thread worker([&] {
        Side side(back.shared, there.shared);
        for (std::uint32_t i = 0; i < messages; ++i) {
            Value got{};
            const bool read = side.read<Polite>(got) == Status::ok && got.whole() && got.number() == i;
            // The request brought the acknowledgement of the last answer, so this never has to wait.
            const bool answered = side.try_write(Value::of(i + 7)) == Status::ok;
            worker_wrong += read && answered ? 0 : 1;
        }
    });
    Side side(there.shared, back.shared);
    std::uint32_t wrong = 0;
    for (std::uint32_t i = 0; i < messages; ++i) {
        Value got{};
        const bool asked = side.write<Polite>(Value::of(i)) == Status::ok;
        const bool read = side.read<Polite>(got) == Status::ok && got.whole() && got.number() == i + 7;
        wrong += asked && read ? 0 : 1;
    }
    worker.join();
    EXPECT_EQ(wrong, 0U);
    EXPECT_EQ(worker_wrong, 0U);
}

TEST(Stress, QueueKeepsOrderAndCountsWhatDidNotFit) {
    using Value = Pattern<4>;
    using Ring = Queue<Value, 8>;
    Storage<Ring> storage;
    std::atomic<bool> done{false};
    std::uint32_t overruns = 0;
    std::thread producer([&] {
        Ring::Writer ring(storage.shared);
        for (std::uint32_t i = 0; i < messages; i += 5) {
            Value batch[5];
            for (std::uint32_t j = 0; j < 5; ++j) {
                batch[j] = Value::of(i + j);
            }
            static_cast<void>(ring.write_batch(batch, 5));
            if (i % 50 == 0) {
                Polite::relax();
            }
        }
        overruns = ring.overruns();
        done.store(true, std::memory_order_release);
    });
    Ring::Reader ring(storage.shared);
    std::uint32_t read = 0;
    std::uint32_t wrong = 0;
    std::int64_t last = -1;
    for (bool finished = false;;) {
        Value got[3];
        const std::uint32_t count = ring.read_batch(got, 3);
        for (std::uint32_t j = 0; j < count; ++j) {
            wrong += got[j].whole() && got[j].number() > last && got[j].number() < messages ? 0 : 1;
            last = got[j].number();
        }
        read += count;
        if (count == 0) {
            // Empty after the producer had finished: nothing can follow.
            if (finished) {
                break;
            }
            finished = done.load(std::memory_order_acquire);
            Polite::relax();
        }
    }
    producer.join();
    EXPECT_EQ(wrong, 0U);
    EXPECT_EQ(read + overruns, messages);
    EXPECT_EQ(ring.overruns(), overruns);
}

TEST(Stress, QueueLosesNothingWhenTheProducerWaits) {
    using Value = Pattern<2>;
    using Ring = Queue<Value, 4>;
    Storage<Ring> storage;
    std::thread producer([&] {
        Ring::Writer ring(storage.shared);
        for (std::uint32_t i = 0; i < messages; ++i) {
            EXPECT_EQ(ring.write<Polite>(Value::of(i)), Status::ok);
        }
    });
    Ring::Reader ring(storage.shared);
    std::uint32_t wrong = 0;
    for (std::uint32_t i = 0; i < messages; ++i) {
        Value got{};
        wrong += ring.read<Polite>(got) == Status::ok && got.whole() && got.number() == i ? 0 : 1;
    }
    producer.join();
    EXPECT_EQ(wrong, 0U);
}

TEST(Stress, SnapshotIsWholeFreshAndNeverGoesBack) {
    constexpr std::uint32_t readers = 3;
    constexpr std::uint32_t updates = 50000;
    using Value = Pattern<64>;
    using Channel = Snapshot<Value, readers>;
    Storage<Channel> storage;
    // The last update that is known to be complete: no read that begins later may be older.
    std::atomic<std::uint32_t> completed{0};
    struct Result {
        std::uint32_t torn = 0, stale = 0, back = 0, other = 0, last = 0;
    };
    std::vector<Result> results(readers);
    std::vector<std::thread> threads;
    for (std::uint32_t index = 0; index < readers; ++index) {
        threads.emplace_back([&, index] {
            Channel::Reader reader(storage.shared, index);
            Result result;
            Value value{};
            while (result.last < updates) {
                const std::uint32_t floor = completed.load(std::memory_order_acquire);
                const Status status = reader.read(value);
                if (status == Status::ok) {
                    result.torn += value.whole() ? 0 : 1;
                    result.back += value.number() > result.last ? 0 : 1;
                    result.last = value.number();
                } else if (status == Status::would_block) {
                    Polite::relax();
                } else {
                    ++result.other;
                }
                result.stale += result.last >= floor ? 0 : 1;
                if (result.torn + result.stale + result.back + result.other != 0) {
                    break;
                }
            }
            results[index] = result;
        });
    }
    Channel::Writer writer(storage.shared);
    for (std::uint32_t i = 1; i <= updates; ++i) {
        writer.update(Value::of(i));
        completed.store(i, std::memory_order_release);
        if (i % 64 == 0) {
            Polite::relax();
        }
    }
    for (auto& thread : threads) {
        thread.join();
    }
    for (const Result& result : results) {
        EXPECT_EQ(result.torn, 0U);
        EXPECT_EQ(result.stale, 0U);
        EXPECT_EQ(result.back, 0U);
        EXPECT_EQ(result.other, 0U);
        EXPECT_EQ(result.last, updates);
    }
}

}  // namespace
