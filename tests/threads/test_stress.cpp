// SPDX-License-Identifier: Apache-2.0
//
// The channels between real threads: every value checked, no time asserted. Also run under ThreadSanitizer,
// which checks the orderings that the code states.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include "consort/icc.hpp"
#include "fewer.hpp"
#include "pattern.hpp"

namespace {

using consort::Duplex;
using consort::Mailbox;
using consort::Queue;
using consort::Snapshot;
using consort::Status;
using consort::Versions;
using consort::test::fewer;
using consort::test::Pattern;

// Machines with fewer processors than threads would otherwise wait a whole time slice for each message.
struct Polite {
    static void relax() noexcept { std::this_thread::yield(); }
};

template <class Channel>
struct Storage {
    alignas(64) typename Channel::Shared shared{};
};

constexpr std::uint32_t messages = fewer(50000);

// How many messages two sides exchange that wait for one another: fewer where other work has the processors,
// and each message costs a time slice.
class Total {
  public:
    // The writing side calls it before message `i`; whoever reads that message can read this.
    void before(std::uint32_t i) noexcept {
        if (i % 16 == 0 && std::chrono::steady_clock::now() - begun_ > std::chrono::seconds(4)) {
            total_.store(i + 1, std::memory_order_relaxed);
        }
    }
    std::uint32_t get() const noexcept { return total_.load(std::memory_order_relaxed); }

  private:
    std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
    std::atomic<std::uint32_t> total_{messages};
};

TEST(Stress, MailboxDeliversEachMessageOnceInOrderAndWhole) {
    // One line, and many.
    const auto run = []<class Value>(Value) {
        using Box = Mailbox<Value>;
        Storage<Box> storage;
        std::uint32_t written = 0;
        Total total;
        std::thread writer([&] {
            typename Box::Writer box(storage.shared);
            for (std::uint32_t i = 0; i < total.get(); ++i) {
                total.before(i);
                written += box.template write<Polite>(Value::of(i)) == Status::ok ? 1 : 0;
            }
        });
        typename Box::Reader box(storage.shared);
        std::uint32_t wrong = 0;
        for (std::uint32_t i = 0; i < total.get(); ++i) {
            Value got{};
            const Status status = box.template read<Polite>(got);
            wrong += status == Status::ok && got.whole() && got.number() == i ? 0 : 1;
        }
        writer.join();
        EXPECT_EQ(wrong, 0U);
        EXPECT_EQ(written, total.get());
    };
    run(Pattern<4>{});
    run(Pattern<100>{});
}

// A line for both directions, and lines for each.
template <class Value>
void answer_each_request() {
    using Call = Duplex<Value, Value>;
    Storage<Call> storage;
    std::uint32_t worker_wrong = 0;
    Total total;
    std::thread worker([&] {
        typename Call::Server side(storage.shared);
        for (std::uint32_t i = 0; i < total.get(); ++i) {
            Value got{};
            const bool read =
                side.template read<Polite>(got) == Status::ok && got.whole() && got.number() == i;
            // The request brought the acknowledgement of the last answer, so this never has to wait.
            const bool answered = side.try_write(Value::of(i + 7)) == Status::ok;
            worker_wrong += read && answered ? 0 : 1;
        }
    });
    typename Call::Client side(storage.shared);
    std::uint32_t wrong = 0;
    for (std::uint32_t i = 0; i < total.get(); ++i) {
        total.before(i);
        Value got{};
        const bool asked = side.template write<Polite>(Value::of(i)) == Status::ok;
        const bool read =
            side.template read<Polite>(got) == Status::ok && got.whole() && got.number() == i + 7;
        wrong += asked && read ? 0 : 1;
    }
    worker.join();
    EXPECT_EQ(wrong, 0U);
    EXPECT_EQ(worker_wrong, 0U);
}

TEST(Stress, DuplexAnswersEachRequest) {
    static_assert(Duplex<Pattern<4>, Pattern<4>>::one_line);
    answer_each_request<Pattern<4>>();
    answer_each_request<Pattern<20>>();
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
    Total total;
    std::thread producer([&] {
        Ring::Writer ring(storage.shared);
        for (std::uint32_t i = 0; i < total.get(); ++i) {
            total.before(i);
            EXPECT_EQ(ring.write<Polite>(Value::of(i)), Status::ok);
        }
    });
    Ring::Reader ring(storage.shared);
    std::uint32_t wrong = 0;
    for (std::uint32_t i = 0; i < total.get(); ++i) {
        Value got{};
        wrong += ring.read<Polite>(got) == Status::ok && got.whole() && got.number() == i ? 0 : 1;
    }
    producer.join();
    EXPECT_EQ(wrong, 0U);
}

template <class Value>
void read_the_latest() {
    constexpr std::uint32_t readers = 3;
    constexpr std::uint32_t updates = 50000;
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
            typename Channel::Reader reader(storage.shared, index);
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
    typename Channel::Writer writer(storage.shared);
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

TEST(Stress, SnapshotIsWholeFreshAndNeverGoesBack) {
    static_assert(Snapshot<Pattern<8>, 3>::small && !Snapshot<Pattern<64>, 3>::small);
    read_the_latest<Pattern<8>>();
    read_the_latest<Pattern<64>>();
}

// Readers at every distance behind a writer that never pauses: what is answered is whole and the very version
// that the release asks for; nothing is answered that was overwritten.
TEST(Stress, VersionsAreTheOnesAskedForOrOvertaken) {
    constexpr std::uint32_t readers = 3;
    constexpr std::uint32_t versions = 100000;
    using Value = Pattern<64>;
    using Channel = Versions<Value, 4>;
    Storage<Channel> storage;
    // The last version that is known to be complete.
    std::atomic<std::uint32_t> completed{0};
    struct Result {
        std::uint32_t torn = 0, wrong = 0, other = 0, ok = 0, overtaken = 0;
    };
    std::vector<Result> results(readers);
    std::vector<std::thread> threads;
    for (std::uint32_t index = 0; index < readers; ++index) {
        threads.emplace_back([&, index] {
            Channel::Reader reader(storage.shared);
            Result result;
            for (std::uint32_t turn = 0;; ++turn) {
                const std::uint32_t newest = completed.load(std::memory_order_acquire);
                if (newest == 0) {
                    Polite::relax();
                    continue;
                }
                const std::uint32_t back = (turn + index) % 5;
                const std::uint32_t wanted = newest > back ? newest - back : newest;
                const Value before = Value::of(~turn);
                Value value = before;
                // Instants are 10 apart: between two of them the older one counts.
                const consort::VersionRead read =
                    reader.read_as_of(value, 10 * consort::Ticks{wanted} + turn % 10);
                if (read.status == Status::ok) {
                    ++result.ok;
                    result.torn += value.whole() ? 0 : 1;
                    result.wrong += value.number() == wanted && read.sequence == wanted &&
                                            read.publication == 10 * consort::Ticks{wanted}
                                        ? 0
                                        : 1;
                } else {
                    result.other +=
                        read.status == Status::overtaken && value.number() == before.number() && value.whole()
                            ? 0
                            : 1;
                    ++result.overtaken;
                }
                if (newest == versions && turn >= 1000) {
                    break;
                }
                if (turn % 16 == 0) {
                    Polite::relax();
                }
            }
            results[index] = result;
        });
    }
    Channel::Writer writer(storage.shared);
    for (std::uint32_t i = 1; i <= versions; ++i) {
        writer.publish(Value::of(i), 10 * consort::Ticks{i});
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
        EXPECT_EQ(result.wrong, 0U);
        EXPECT_EQ(result.other, 0U);
        EXPECT_GT(result.ok, 0U);
        EXPECT_GT(result.overtaken, 0U) << "4 back of 4 versions is gone: the test would show nothing";
    }
}

}  // namespace
