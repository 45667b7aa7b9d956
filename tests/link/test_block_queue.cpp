// SPDX-License-Identifier: Apache-2.0
//
// Queues over a link: order, room, failures, restarts of either side and of the engine, hostile words.

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <optional>
#include <thread>

#include "consort/link.hpp"
#include "consort/linux/link_engine.hpp"
#include "joined.hpp"

namespace of_block_queue {

using namespace consort;
using link::BlockQueue;
using link::Outcome;

struct Block {
    std::uint64_t number;
    std::uint32_t words[30];

    [[nodiscard]] bool whole() const {
        for (const std::uint32_t word : words) {
            if (word != static_cast<std::uint32_t>(number) * 2654435761U) {
                return false;
            }
        }
        return true;
    }
};

Block block(std::uint64_t number) {
    Block made{number, {}};
    for (std::uint32_t& word : made.words) {
        word = static_cast<std::uint32_t>(number) * 2654435761U;
    }
    return made;
}

// Copies, and fails or hangs where a test says so.
struct Copying : linux_port::CopyEngine {
    bool fails = false;
    bool hangs = false;
    bool failed = false;
    using CopyEngine::CopyEngine;
    void start(const spm::Transfer& transfer) noexcept {
        failed = fails;
        CopyEngine::start(transfer);
    }
    bool advance() noexcept { return !failed && !hangs && CopyEngine::advance(); }
    [[nodiscard]] spm::DmaState state() const noexcept {
        return failed ? spm::DmaState::error : CopyEngine::state();
    }
};

template <std::uint32_t N>
struct Joined {
    using Q = BlockQueue<Block, N>;
    using Engine = link::Engine<Copying, 1, Q::descriptors>;
    std::unique_ptr<typename Q::Shared> shared = std::make_unique<typename Q::Shared>();
    Copying dma;
    std::optional<typename Q::Writer> writer{std::in_place, *shared};
    std::optional<typename Q::Reader> reader{std::in_place, *shared};
    std::optional<Engine> engine;

    explicit Joined(Ticks limit = Engine::unlimited) { restart(limit); }
    void restart(Ticks limit = Engine::unlimited) {
        engine.emplace(dma, limit);
        ASSERT_TRUE(engine->attach(0, shared->ring, Q::near_window(*shared), Q::far_window(*shared)));
    }
    void serve(Ticks now = 0) {
        while (engine->step(now)) {
        }
    }
    Status write(std::uint64_t number) { return writer->try_write(block(number)); }
    // The next block's number; 0: none.
    std::uint64_t read() {
        Block got{};
        const Status status = reader->try_read(got);
        EXPECT_TRUE(status != Status::ok || got.whole());
        EXPECT_NE(status, Status::peer_fault);
        return status == Status::ok ? got.number : 0;
    }
};

TEST(BlockQueue, BlocksArriveOnceAndInOrderAroundTheRing) {
    Joined<3> q;
    for (std::uint64_t i = 1; i <= 1000; ++i) {
        ASSERT_EQ(q.write(i), Status::ok) << i;
        EXPECT_EQ(q.read(), 0U) << "before the engine moved it";
        q.serve();
        EXPECT_EQ(q.read(), i);
        EXPECT_EQ(q.read(), 0U);
    }
    EXPECT_EQ(q.writer->failures(), 0U);
}

template <std::uint32_t N>
void n_blocks_always_fit() {
    Joined<N> q;
    std::uint64_t written = 0;
    std::uint64_t read = 0;
    // N unread blocks; the reader takes one between two writes, as it may in the schedule that a bound
    // allows.
    for (int round = 0; round < 200; ++round) {
        while (written - read < N) {
            ASSERT_EQ(q.write(++written), Status::ok) << "N = " << N << ", block " << written;
            q.serve();
        }
        ASSERT_EQ(q.read(), ++read);
    }
}
TEST(BlockQueue, NBlocksFindRoomAlthoughTheWriterKnowsTheReaderLate) {
    n_blocks_always_fit<1>();
    n_blocks_always_fit<2>();
    n_blocks_always_fit<3>();
    n_blocks_always_fit<4>();
    n_blocks_always_fit<7>();
    n_blocks_always_fit<64>();
}

TEST(BlockQueue, WithoutRoomNothingIsOverwrittenAndTheWriterLearnsOfRoomLater) {
    Joined<2> q;
    std::uint64_t written = 0;
    while (q.write(written + 1) == Status::ok) {
        ++written;
        q.serve();
    }
    EXPECT_EQ(written, (BlockQueue<Block, 2>::places));
    q.serve();
    EXPECT_EQ(q.read(), 1U);
    // It asks, and knows when the engine has brought the answer.
    static_cast<void>(q.write(99));
    q.serve();
    EXPECT_EQ(q.write(written + 1), Status::ok);
    q.serve();
    for (std::uint64_t i = 2; i <= written + 1; ++i) {
        EXPECT_EQ(q.read(), i);
    }
}

TEST(BlockQueue, AnEngineThatIsAwayLetsTheWriterGoOnUntilThereIsNoRoom) {
    Joined<3> q;
    std::uint64_t written = 0;
    while (q.write(written + 1) == Status::ok) {
        ++written;
    }
    EXPECT_EQ(written, (BlockQueue<Block, 3>::places));
    EXPECT_EQ(q.read(), 0U);
    q.restart();
    q.serve();
    for (std::uint64_t i = 1; i <= written; ++i) {
        EXPECT_EQ(q.read(), i);
    }
}

TEST(BlockQueue, AFailedTransactionLosesItsBlockAndNoOther) {
    Joined<3> q;
    ASSERT_EQ(q.write(1), Status::ok);
    q.serve();
    q.dma.fails = true;
    ASSERT_EQ(q.write(2), Status::ok);
    q.serve();
    EXPECT_EQ(q.engine->last_outcome(), Outcome::dma_error);
    q.dma.fails = false;
    EXPECT_EQ(q.read(), 1U);
    EXPECT_EQ(q.read(), 0U);
    ASSERT_EQ(q.write(3), Status::ok);
    q.serve();
    EXPECT_EQ(q.read(), 3U);
    EXPECT_EQ(q.reader->lost(), 1U);
    EXPECT_EQ(q.writer->failures(), 2U) << "the block, and the word behind it";
}

TEST(BlockQueue, ATransactionThatHangsTimesOutAndIsLost) {
    Joined<3> q(100);
    q.dma.hangs = true;
    ASSERT_EQ(q.write(1), Status::ok);
    EXPECT_TRUE(q.engine->step(0));
    EXPECT_TRUE(q.engine->step(50));
    EXPECT_TRUE(q.engine->moving());
    EXPECT_TRUE(q.engine->step(100));
    EXPECT_FALSE(q.engine->moving());
    EXPECT_EQ(q.engine->last_outcome(), Outcome::timed_out);
    q.dma.hangs = false;
    ASSERT_EQ(q.write(2), Status::ok);
    q.serve(200);
    EXPECT_EQ(q.read(), 2U);
    EXPECT_EQ(q.reader->lost(), 1U);
}

// An engine that dies after any number of its steps: its successor repeats what was not complete.
TEST(BlockQueue, AnEngineMayDieAnywhereAndNothingIsLostOrTwice) {
    for (int steps = 0; steps < 40; ++steps) {
        Joined<3> q;
        std::uint64_t read = 0;
        for (std::uint64_t i = 1; i <= 3; ++i) {
            ASSERT_EQ(q.write(i), Status::ok);
        }
        for (int step = 0; step < steps; ++step) {
            q.engine->step(0);
            if (const std::uint64_t got = q.read(); got != 0) {
                ASSERT_EQ(got, ++read);
            }
        }
        q.restart();
        q.serve();
        while (const std::uint64_t got = q.read()) {
            ASSERT_EQ(got, ++read);
        }
        EXPECT_EQ(read, 3U) << "after " << steps << " steps";
        EXPECT_EQ(q.reader->lost(), 0U);
    }
}

TEST(BlockQueue, EitherSideMayBeRestarted) {
    Joined<3> q;
    std::uint64_t read = 0;
    for (std::uint64_t i = 1; i <= 100; ++i) {
        ASSERT_EQ(q.write(i), Status::ok);
        if (i % 3 == 0) {
            q.writer.emplace(*q.shared);
        }
        q.serve();
        if (i % 5 == 0) {
            q.reader.emplace(*q.shared);
        }
        ASSERT_EQ(q.read(), ++read);
        ASSERT_EQ(q.read(), 0U);
    }
}

TEST(BlockQueue, WordsThatTheProtocolCannotProduceAreFaults) {
    Joined<3> q;
    ASSERT_EQ(q.write(1), Status::ok);
    q.serve();
    q.shared->far.engine.arrived = 77;
    Block got{};
    EXPECT_EQ(q.reader->try_read(got), Status::peer_fault);
    q.shared->near.engine.taken = 50;
    EXPECT_EQ(q.write(2), Status::peer_fault);
}

TEST(BlockQueue, ThreadsOnAllThreeParts) {
    using Q = BlockQueue<Block, 7>;
    constexpr std::uint64_t count = 20'000;
    auto shared = std::make_unique<Q::Shared>();
    linux_port::LinkEngine<1, Q::descriptors> engine;
    ASSERT_TRUE(engine.attach(0, shared->ring, Q::near_window(*shared), Q::far_window(*shared)));
    engine.start();
    std::thread writing([&] {
        Q::Writer writer(*shared);
        for (std::uint64_t i = 1; i <= count; ++i) {
            while (writer.try_write(block(i)) != Status::ok) {
                std::this_thread::yield();
            }
        }
    });
    Q::Reader reader(*shared);
    std::uint64_t read = 0;
    bool good = true;
    while (read < count && good) {
        Block got{};
        const Status status = reader.try_read(got);
        if (status == Status::ok) {
            good = got.number == ++read && got.whole();
        } else {
            good = status == Status::would_block;
            std::this_thread::yield();
        }
    }
    EXPECT_TRUE(good) << "at block " << read;
    writing.join();
    engine.stop();
    EXPECT_EQ(reader.lost(), 0U);
}

}  // namespace of_block_queue
