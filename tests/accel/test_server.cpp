// SPDX-License-Identifier: Apache-2.0
//
// Server and clients in one thread, on a clock that the test sets.
#include <gtest/gtest.h>

#include <memory>

#include "consort/accel.hpp"

namespace {

using namespace consort::accel;
using consort::Status;
using consort::Ticks;

struct Clock {
    inline static Ticks time = 0;
    static Ticks now() noexcept { return time; }
    static Ticks ticks_per_second() noexcept { return 1; }
    // Whoever waits lets time pass.
    static void relax() noexcept { ++time; }
    static void clean(const void* /*begin*/, std::size_t /*bytes*/) noexcept {}
    static void invalidate(const void* /*begin*/, std::size_t /*bytes*/) noexcept {}
    static std::uint32_t core_id() noexcept { return 0; }
};

struct Block {
    std::uint32_t words[8];
};

class Accel : public ::testing::Test {
  protected:
    using Client = consort::accel::Client<Block, Block, Clock>;
    using Server = consort::accel::Server<Block, Block, Clock, 2, 3>;
    static constexpr Operation operations[3] = {{10, 16}, {20, 32}, {30, 32}};

    void SetUp() override { Clock::time = 0; }

    Server server(Arbitration rule) {
        return Server(rule, 50, 0, operations, {{{0, 0, 20, 20, 100}, 0b011}, {{1, 20, 30, 30, 100}, 0b110}},
                      {&boxes[0], &boxes[1]});
    }
    static std::uint32_t poll(Server& server) {
        return server.poll([](std::uint32_t operation, const Block& in, std::uint32_t size, Block& out) {
            out.words[0] = in.words[0] + 100 * operation + size;
        });
    }
    // Asks without waiting; the answer, if there is one then, is that of `answered`.
    static Outcome ask(Client& client, std::uint32_t operation, std::uint32_t size, Ticks patience = 0) {
        Block out{};
        return client.request(operation, Block{{7}}, size, out, Clock::time + patience);
    }
    static void write_raw(Server::Box::Client& side, std::uint32_t sequence, std::uint32_t operation,
                          std::uint32_t size) {
        ASSERT_EQ(side.try_write({sequence, operation, size, {}}), Status::ok);
    }

    Server::Box::Shared boxes[2]{};
};

TEST_F(Accel, TheMostUrgentRequestIsServedFirst) {
    Server s = server(Arbitration::fixed_priority);
    Client first(boxes[0]);
    Client second(boxes[1]);
    EXPECT_EQ(poll(s), nobody);
    EXPECT_EQ(ask(second, 1, 4), Outcome::timeout);
    EXPECT_EQ(ask(first, 0, 4), Outcome::timeout);
    EXPECT_EQ(poll(s), 0U);
    EXPECT_EQ(poll(s), 1U);
    EXPECT_EQ(poll(s), nobody);
    EXPECT_EQ(s.counts(0).served, 1U);
}

TEST_F(Accel, AnAnswerThatComesTooLateIsThrownAway) {
    Server s = server(Arbitration::fixed_priority);
    Client client(boxes[0]);
    EXPECT_EQ(ask(client, 0, 4, 5), Outcome::timeout);
    EXPECT_EQ(Clock::time, 5U);
    EXPECT_EQ(poll(s), 0U);
    EXPECT_EQ(ask(client, 0, 4), Outcome::timeout);
    EXPECT_EQ(client.late_answers(), 1U);
    EXPECT_EQ(poll(s), 0U);
    EXPECT_EQ(ask(client, 0, 4), Outcome::timeout);
    EXPECT_EQ(client.late_answers(), 2U);
}

TEST_F(Accel, ARequestThatTheServerHasNotTakenLeavesNoRoom) {
    Client client(boxes[0]);
    EXPECT_EQ(ask(client, 0, 4), Outcome::timeout);
    EXPECT_EQ(ask(client, 0, 4, 3), Outcome::no_room);
    EXPECT_EQ(Clock::time, 3U);
}

TEST_F(Accel, WhatAClientMayNotHaveIsRefusedInItsTurn) {
    Server s = server(Arbitration::fixed_priority);
    struct Case {
        std::uint32_t operation;
        std::uint32_t size;
        Answer answer;
    };
    Server::Box::Client side(boxes[0]);
    std::uint32_t sequence = 0;
    for (const Case& c : {Case{0, 16, Answer::served}, Case{0, 17, Answer::oversized},
                          Case{1, 33, Answer::oversized}, Case{2, 4, Answer::not_allowed},
                          Case{3, 4, Answer::unknown_operation}, Case{~0U, ~0U, Answer::unknown_operation}}) {
        write_raw(side, ++sequence, c.operation, c.size);
        EXPECT_EQ(poll(s), 0U);
        Response<Block> response{};
        ASSERT_EQ(side.try_read(response), Status::ok);
        EXPECT_EQ(response.sequence, sequence);
        EXPECT_EQ(static_cast<Answer>(response.answer), c.answer);
    }
    EXPECT_EQ(s.counts(0).served, 1U);
    EXPECT_EQ(s.counts(0).refused, 5U);
}

TEST_F(Accel, ARefusalTakesTheTurnOfTheLongestOperation) {
    // 20 is all of the first client's budget, and of its slot.
    Server s = server(Arbitration::budget);
    Server::Box::Client side(boxes[0]);
    write_raw(side, 1, 99, 4);
    EXPECT_EQ(poll(s), 0U);
    Response<Block> response{};
    ASSERT_EQ(side.try_read(response), Status::ok);
    write_raw(side, 2, 0, 4);
    EXPECT_EQ(poll(s), nobody);
    Clock::time = 100;
    EXPECT_EQ(poll(s), 0U);
}

TEST_F(Accel, ATdmaClientIsServedInItsSlotAlone) {
    Server s = server(Arbitration::tdma);
    Client second(boxes[1]);
    EXPECT_EQ(ask(second, 1, 4), Outcome::timeout);
    for (Clock::time = 0; Clock::time < 20; ++Clock::time) {
        EXPECT_EQ(poll(s), nobody);
    }
    EXPECT_EQ(poll(s), 1U);
}

TEST_F(Accel, AFloodWaitsForItsOwnTurn) {
    Server s = server(Arbitration::fixed_priority);
    Server::Box::Client flood(boxes[1]);
    Client client(boxes[0]);
    std::uint32_t sequence = 0;
    for (int n = 0; n < 20; ++n) {
        while (flood.try_write({++sequence, 2, 4, {}}) == Status::ok) {
            EXPECT_NE(poll(s), 0U);
        }
        EXPECT_EQ(ask(client, 0, 4), Outcome::timeout);
        EXPECT_EQ(poll(s), 0U);
    }
    // It never takes an answer: one was served, and no request after it.
    EXPECT_EQ(s.counts(1).served, 1U);
    EXPECT_EQ(s.counts(0).served, 20U);
}

TEST_F(Accel, AClientThatDamagesItsWordsIsCutOff) {
    Server s = server(Arbitration::fixed_priority);
    {
        Server::Box::Client side(boxes[1]);
        boxes[1].client.sequence.store(1U << 20U, std::memory_order_relaxed);
    }
    EXPECT_EQ(poll(s), nobody);
    EXPECT_TRUE(s.counts(1).cut_off);
    Client client(boxes[0]);
    EXPECT_EQ(ask(client, 0, 4), Outcome::timeout);
    EXPECT_EQ(poll(s), 0U);
    EXPECT_FALSE(s.counts(0).cut_off);
}

TEST_F(Accel, WhatIsAskedBeforeTheServerIsThereIsVoid) {
    Server::Box::Client side(boxes[0]);
    EXPECT_EQ(side.peer_epoch(), 0U);
    write_raw(side, 1, 0, 4);
    Server s = server(Arbitration::fixed_priority);
    EXPECT_NE(side.peer_epoch(), 0U) << "by which a client knows when to ask";
    EXPECT_EQ(poll(s), nobody);
    write_raw(side, 2, 0, 4);
    EXPECT_EQ(poll(s), 0U);
    Response<Block> response{};
    EXPECT_EQ(side.try_read(response), Status::ok);
    EXPECT_EQ(response.sequence, 2U);
}

TEST_F(Accel, AClientThatFollowsADeadOneGetsItsOwnAnswers) {
    Server s = server(Arbitration::fixed_priority);
    {
        Client dead(boxes[0]);
        EXPECT_EQ(ask(dead, 0, 4), Outcome::timeout);
        EXPECT_EQ(poll(s), 0U);
        EXPECT_EQ(ask(dead, 0, 4), Outcome::timeout);
    }
    Client next(boxes[0]);
    // The dead one's second request is served first: it was there before.
    EXPECT_EQ(ask(next, 1, 8), Outcome::no_room);
    EXPECT_EQ(poll(s), 0U);
    EXPECT_EQ(ask(next, 1, 8), Outcome::timeout);
    EXPECT_EQ(poll(s), 0U);
}

}  // namespace
