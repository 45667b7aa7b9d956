// SPDX-License-Identifier: Apache-2.0
//
// Streams over a wire that loses, doubles and overtakes, between sides that begin anew at any moment.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "consort/rpmsg/stream.hpp"

namespace {

using namespace consort::rpmsg;
using Under = Stream<32, 4>;

struct Side {
    std::unique_ptr<Under::Shared> kept = std::make_unique<Under::Shared>();
    std::uint32_t identity;
    std::optional<Under> stream;
    std::uint32_t written = 0;
    std::vector<std::string> used;  // by the application
    std::vector<std::string> arriving;

    explicit Side(std::uint32_t number) : identity(number) { begin(); }
    void begin() { stream.emplace(*kept, identity, 10); }
};

struct Wire {
    std::mt19937 random;
    bool loses = true;

    void send(Side& from, Side& to, consort::Ticks now) {
        Under::Datagram datagram{};
        if (!from.stream->next(datagram, now)) {
            return;
        }
        if (loses && random() % 8 == 0) {
            from.stream->unsent();
            return;
        }
        const std::string said(reinterpret_cast<const char*>(datagram.at), datagram.bytes);
        if (!loses || random() % 4 != 0) {
            to.arriving.push_back(said);
        }
        if (loses && random() % 8 == 0) {
            to.arriving.push_back(said);
        }
    }
    // One of those that are under way.
    void deliver(Side& to, consort::Ticks now, bool restarts) {
        if (to.arriving.empty()) {
            return;
        }
        const std::size_t which = loses ? random() % to.arriving.size() : 0;
        const std::string datagram = to.arriving[which];
        to.arriving.erase(to.arriving.begin() + static_cast<std::ptrdiff_t>(which));
        StreamMessage message{};
        if (!to.stream->hear(datagram.data(), static_cast<std::uint32_t>(datagram.size()), now, message)) {
            return;
        }
        // The application keeps the number with its result: what it has used it does not use again.
        if (message.number > to.used.size()) {
            to.used.emplace_back(reinterpret_cast<const char*>(message.payload), message.bytes);
        }
        if (restarts && random() % 16 == 0) {
            to.begin();
            return;
        }
        to.stream->taken();
    }
};

std::string words_of(std::uint32_t side, std::uint32_t number) {
    return std::string(number % 33, static_cast<char>('a' + (side + number) % 26));
}

TEST(RpmsgStream, WhatWasWrittenIsUsedOnceInOrder) {
    for (std::uint32_t seed = 0; seed < 60; ++seed) {
        Wire wire{std::mt19937(seed)};
        Side sides[2] = {Side(11), Side(12)};
        consort::Ticks now = 0;
        constexpr std::uint32_t messages = 200;
        const auto over = [&] {
            return sides[0].stream->acknowledged() == messages && sides[1].stream->acknowledged() == messages;
        };
        // From a time on nothing is lost and nobody restarts: all arrives.
        for (int turn = 0; turn < 400000 && !over(); ++turn, ++now) {
            wire.loses = turn < 200000;
            const std::uint32_t who = wire.random() % 2;
            Side& side = sides[who];
            Side& other = sides[1 - who];
            if (wire.loses && wire.random() % 50 == 0) {
                side.begin();
                // Messages under way to it may be lost with it.
                if (wire.random() % 2 == 0) {
                    side.arriving.clear();
                }
            }
            if (side.written < messages) {
                const std::string payload = words_of(who, side.written + 1);
                if (side.stream->try_write(payload.data(), static_cast<std::uint32_t>(payload.size()))) {
                    ++side.written;
                }
            }
            wire.send(side, other, now);
            wire.deliver(side, now, wire.loses);
        }
        ASSERT_TRUE(over()) << "seed " << seed;
        for (std::uint32_t who = 0; who < 2; ++who) {
            ASSERT_EQ(sides[1 - who].used.size(), messages);
            for (std::uint32_t i = 0; i < messages; ++i) {
                ASSERT_EQ(sides[1 - who].used[i], words_of(who, i + 1));
            }
            EXPECT_EQ(sides[who].stream->refused() + sides[who].stream->strangers(), 0U);
        }
    }
}

TEST(RpmsgStream, TakesNoMoreThanIsKept) {
    Side side(1);
    for (int i = 0; i < 4; ++i) {
        EXPECT_TRUE(side.stream->try_write("abc", 3));
    }
    EXPECT_FALSE(side.stream->try_write("abc", 3));
    const std::string longer(33, 'x');
    Side other(2);
    EXPECT_FALSE(other.stream->try_write(longer.data(), 33));
    EXPECT_EQ(other.stream->written(), 0U);
}

TEST(RpmsgStream, IsSentAgainAfterAWhileAndNotBefore) {
    Side side(1);
    ASSERT_TRUE(side.stream->try_write("abc", 3));
    Under::Datagram datagram{};
    ASSERT_TRUE(side.stream->next(datagram, 100));
    EXPECT_FALSE(side.stream->next(datagram, 109));
    EXPECT_TRUE(side.stream->next(datagram, 110));
    EXPECT_FALSE(side.stream->next(datagram, 111));
}

// Nothing of a datagram is believed that cannot be.
TEST(RpmsgStream, WhatMakesNoSenseChangesNothing) {
    std::mt19937 random(9);
    Side side(1);
    ASSERT_TRUE(side.stream->try_write("abc", 3));
    Under::Datagram datagram{};
    ASSERT_TRUE(side.stream->next(datagram, 0));
    StreamMessage message{};
    const auto hears = [&](StreamHead head, std::uint32_t bytes) {
        std::vector<unsigned char> said(sizeof head + 64);
        std::memcpy(said.data(), &head, sizeof head);
        return side.stream->hear(said.data(), bytes, 0, message);
    };
    const StreamHead good{Under::magic, 2, 1, 0};
    ASSERT_TRUE(hears(good, 20));
    EXPECT_FALSE(hears(good, 15));
    EXPECT_FALSE(hears(good, 49));
    EXPECT_FALSE(hears({Under::magic + 1, 2, 1, 0}, 20));
    EXPECT_FALSE(hears({Under::magic, 0, 1, 0}, 20));
    EXPECT_FALSE(hears({Under::magic, 2, 1, 2}, 20));  // acknowledges what was never sent
    EXPECT_EQ(side.stream->refused(), 5U);
    EXPECT_FALSE(hears({Under::magic, 3, 1, 1}, 20));  // another memory
    EXPECT_EQ(side.stream->strangers(), 1U);
    EXPECT_FALSE(hears({Under::magic, 2, 2, 0}, 20));  // not the next one
    for (int i = 0; i < 100000; ++i) {
        const auto any = [&] { return static_cast<std::uint32_t>(random()); };
        const StreamHead head{any() % 2 ? Under::magic : any(), any() % 4,
                              any() % 8 == 0 ? any() | 2U : any() % 4 + 2, any() % 2 ? any() | 2U : 0};
        ASSERT_FALSE(hears(head, any() % 80));
    }
    EXPECT_EQ(side.stream->acknowledged(), 0U);
    EXPECT_EQ(side.stream->messages_taken(), 0U);
    EXPECT_TRUE(hears(good, 20));
}

}  // namespace
