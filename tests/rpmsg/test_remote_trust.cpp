// SPDX-License-Identifier: Apache-2.0
//
// A driver that writes what no driver writes: each such thing is a fault that a new epoch ends, and nothing
// outside of what is the remote's to write changes.
#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "joined.hpp"

namespace {

using namespace consort::rpmsg;
using namespace consort::rpmsg::testing;

// The ring's words, as 32-bit numbers.
std::uint32_t* words(void* at) {
    return static_cast<std::uint32_t*>(at);
}

struct Wrong {
    const char* what;
    // Done to what the driver sends with (one descriptor is offered already) or receives with.
    std::function<void(Joined&)> act;
};

const Wrong wrongs[] = {
    {"a head further than a ring",
     [](Joined& j) { j.shared->ring[1].ring.available.flags_head.store((entries + 1) << 16U); }},
    {"a head behind", [](Joined& j) { j.shared->ring[1].ring.available.flags_head.store(0xffffU << 16U); }},
    {"an index that is none",
     [](Joined& j) {
         static_cast<void>(j.linux_side.send(0x400, "x"));
         j.shared->ring[1].ring.available.indices[0].store(entries);
     }},
    {"a buffer before the buffers",
     [](Joined& j) { j.linux_side.sending().post(0, j.linux_side.place(0) - 4, 20, 0); }},
    {"a buffer behind the buffers",
     [](Joined& j) { j.linux_side.sending().post(0, j.linux_side.place(2 * entries), 20, 0); }},
    {"a buffer that ends behind the buffers",
     [](Joined& j) { j.linux_side.sending().post(0, j.linux_side.place(2 * entries) - 16, 20, 0); }},
    {"a buffer above 4 GiB",
     [](Joined& j) {
         j.linux_side.sending().post(0, j.linux_side.place(0) + (std::uint64_t{1} << 32U), 20, 0);
     }},
    {"a length that wraps",
     [](Joined& j) { j.linux_side.sending().post(0, j.linux_side.place(1), 0xffffffffU, 0); }},
    {"an address that is not a word's",
     [](Joined& j) { j.linux_side.sending().post(0, j.linux_side.place(0) + 2, 20, 0); }},
    {"a chain", [](Joined& j) { j.linux_side.sending().post(0, j.linux_side.place(0), 20, 1); }},
    {"a table of descriptors",
     [](Joined& j) { j.linux_side.sending().post(0, j.linux_side.place(0), 20, 4); }},
    {"a buffer to write, to read from",
     [](Joined& j) { j.linux_side.sending().post(0, j.linux_side.place(0), 20, 2); }},
};

TEST(RpmsgTrust, EachWrongWordIsAFaultThatANewEpochEnds) {
    for (const Wrong& wrong : wrongs) {
        Joined joined;
        joined.begin();
        ASSERT_TRUE(joined.attach());
        joined.settle();
        wrong.act(joined);
        joined.settle();
        EXPECT_EQ(joined.remote->state(), State::fault) << wrong.what;
        EXPECT_EQ(joined.shared->first.handshake.device.faults.load(), 1U) << wrong.what;
        EXPECT_TRUE(joined.heard.empty()) << wrong.what;
        const std::uint32_t word = 1;
        EXPECT_EQ(joined.remote->try_send(0, 1024, &word, 4), Sent::fault) << wrong.what;
        ASSERT_TRUE(joined.attach()) << wrong.what;
        joined.settle();
        EXPECT_TRUE(joined.remote->announced()) << wrong.what;
        EXPECT_EQ(joined.linux_side.names().size(), 2U) << wrong.what;
    }
}

// A senseless message is not a fault of the ring: it is counted and thrown away.
TEST(RpmsgTrust, MessagesThatMakeNoSenseAreDropped) {
    Joined joined;
    joined.begin();
    ASSERT_TRUE(joined.attach());
    joined.settle();
    auto* payload_there = words(joined.shared->buffers);
    payload_there[1] = 0x400;
    payload_there[3] = 100;  // and only 4 bytes come
    joined.linux_side.sending().post(0, joined.linux_side.place(0), 20, 0);
    joined.linux_side.sending().post(1, joined.linux_side.place(0), 12, 0);  // no whole header
    payload_there[128 + 1] = 0x400;
    payload_there[128 + 3] = 513;  // longer than a buffer of rpmsg
    joined.linux_side.sending().post(2, joined.linux_side.place(1), 1024, 0);
    joined.settle();
    EXPECT_EQ(joined.remote->dropped(), 3U);
    EXPECT_EQ(joined.remote->state(), State::up);
    EXPECT_TRUE(joined.heard.empty());
}

TEST(RpmsgTrust, BuffersThatAreTooShortToReceiveInAreAFault) {
    Joined joined;
    joined.begin();
    ASSERT_TRUE(joined.attach());
    joined.linux_side.receiving().begin();
    joined.linux_side.receiving().post(0, joined.linux_side.place(0), 40, 2);
    joined.settle();
    EXPECT_EQ(joined.remote->state(), State::fault);
}

// Words at random, anywhere and at any time: the remote ends each step, writes its own words, the used rings,
// the table and buffers, and nothing else. (The sanitizer's presets find what lies outside of the window.)
TEST(RpmsgTrust, NothingElseIsWrittenWhateverTheDriverWrites) {
    std::mt19937 random(3);
    std::uint32_t faults = 0;
    std::size_t messages = 0;
    for (int round = 0; round < 600; ++round) {
        Joined joined;
        joined.echoes = true;
        joined.begin();
        ASSERT_TRUE(joined.attach());
        auto* all = words(joined.shared.get());
        for (int turn = 0; turn < 60; ++turn) {
            static_cast<void>(joined.linux_side.send(0x400 + random() % 3, "something"));
            for (std::uint32_t i = random() % 4; i > 0; --i) {
                // Mostly where something is read.
                auto* ring = words(&joined.shared->ring[random() % 2]);
                const std::uint32_t at = random() % (sizeof(Shared::Paged) / 4 / 8);
                const std::uint32_t old = ring[at];
                const std::uint32_t bits = 1U << random() % 32;
                ring[at] = random() % 2 == 0 ? old ^ bits : static_cast<std::uint32_t>(random());
            }
            if (random() % 8 == 0) {
                all[random() % (sizeof(Shared) / 4)] ^= 1U << random() % 32;
            }
            const auto driver_owns = [&] {
                std::vector<std::uint32_t> kept;
                for (auto& paged : joined.shared->ring) {
                    auto* ring = words(&paged);
                    constexpr auto used = offsetof(Vring<entries>::Shared, used) / 4;
                    kept.insert(kept.end(), ring, ring + used);
                    kept.insert(kept.end(), ring + sizeof(paged.ring) / 4, ring + sizeof(paged) / 4);
                }
                const auto& line = joined.shared->first.handshake.driver;
                kept.push_back(line.epoch.load());
                kept.push_back(line.doorbell.load());
                return kept;
            };
            const auto before = driver_owns();
            static_cast<void>(joined.step());
            ASSERT_EQ(before, driver_owns());
        }
        faults += joined.remote->faults();
        messages += joined.heard.size();
    }
    // Both happened, or nothing was tested.
    EXPECT_GT(faults, 200U);
    EXPECT_GT(messages, 200U);
}

}  // namespace
