// SPDX-License-Identifier: Apache-2.0
//
// The remote against a driver that behaves as Linux's: names, contents, back-pressure, restarts.
#include <gtest/gtest.h>

#include <random>

#include "joined.hpp"

namespace {

using namespace consort::rpmsg;
using namespace consort::rpmsg::testing;

std::string text(std::mt19937& random, std::uint32_t longest = payload_bytes) {
    std::string made(random() % (longest + 1), '\0');
    for (char& each : made) {
        each = static_cast<char>(random());
    }
    return made;
}

// linux/remoteproc.h, byte by byte.
TEST(Rpmsg, TableIsRemoteprocs) {
    Joined joined;
    joined.begin();
    std::vector<std::uint32_t> words(sizeof(Shared::First::table) / 4);
    std::memcpy(words.data(), static_cast<const void*>(&joined.shared->first.table), words.size() * 4);
    ASSERT_EQ(words.size(), 29U);
    EXPECT_EQ(words[0], 1U);   // ver
    EXPECT_EQ(words[1], 2U);   // num
    EXPECT_EQ(words[4], 24U);  // offset[0], offset[1]
    EXPECT_EQ(words[5], 48U);
    EXPECT_EQ(words[6], 128U);   // RSC_VENDOR_START
    EXPECT_EQ(words[12], 3U);    // RSC_VDEV
    EXPECT_EQ(words[13], 7U);    // VIRTIO_ID_RPMSG
    EXPECT_EQ(words[15], 1U);    // dfeatures: VIRTIO_RPMSG_F_NS
    EXPECT_EQ(words[17], 0U);    // config_len
    EXPECT_EQ(words[18], 512U);  // status 0, num_of_vrings 2
    for (std::uint32_t i = 0; i < 2; ++i) {
        EXPECT_EQ(words[19 + 5 * i], window_at + 4096 * (1 + i));  // da
        EXPECT_EQ(words[20 + 5 * i], 64U);                         // align
        EXPECT_EQ(words[21 + 5 * i], entries);                     // num
        EXPECT_EQ(words[22 + 5 * i], i);                           // notifyid
    }
    EXPECT_EQ(words[10], window_at + 3 * 4096U);  // our own: the buffers
}

TEST(Rpmsg, NamesAreAnnouncedOnceForEachDriver) {
    Joined joined;
    joined.begin();
    joined.settle();
    EXPECT_EQ(joined.remote->state(), State::waiting);
    for (int round = 0; round < 3; ++round) {
        ASSERT_TRUE(joined.attach());
        joined.settle();
        EXPECT_TRUE(joined.remote->announced());
        const std::vector<std::pair<std::string, std::uint32_t>> all{{"rpmsg-raw", 0x400},
                                                                     {"monitor", 0x401}};
        EXPECT_EQ(joined.linux_side.names(), all);
        joined.linux_side.detach();
        joined.settle();
        EXPECT_EQ(joined.remote->state(), State::waiting);
    }
}

TEST(Rpmsg, NoNamesForADriverThatKnowsNone) {
    Joined joined;
    joined.begin();
    ASSERT_TRUE(joined.attach());
    joined.shared->first.table.device.takes.store(0);
    joined.settle();
    EXPECT_TRUE(joined.remote->announced());
    EXPECT_TRUE(joined.linux_side.names().empty());
}

// More messages than a head counts, of every length, as fast as buffers come back.
TEST(Rpmsg, MessagesComeBackWholeAndInOrder) {
    Joined joined;
    joined.echoes = true;
    joined.begin();
    ASSERT_TRUE(joined.attach());
    joined.settle();
    std::mt19937 random(1);
    std::deque<std::pair<std::uint32_t, std::string>> sent;
    std::uint32_t answers = 0;
    while (answers < 70000) {
        switch (random() % 3) {
            case 0: {
                const std::uint32_t to = 0x400 + random() % 2;
                const std::string payload = text(random, random() % 16 == 0 ? payload_bytes : 24);
                if (joined.linux_side.send(to, payload)) {
                    sent.emplace_back(to, payload);
                }
                break;
            }
            case 1:
                static_cast<void>(joined.step());
                break;
            default:
                joined.linux_side.poll();
                for (; !joined.linux_side.heard().empty(); joined.linux_side.heard().pop_front()) {
                    const Heard& heard = joined.linux_side.heard().front();
                    ASSERT_EQ(heard.from, sent.front().first);
                    ASSERT_EQ(heard.to, Linux<entries>::local);
                    ASSERT_EQ(heard.payload, sent.front().second);
                    sent.pop_front();
                    ++answers;
                }
        }
    }
    EXPECT_EQ(joined.linux_side.wrong(), 0);
    EXPECT_EQ(joined.remote->faults() + joined.remote->dropped(), 0U);
}

TEST(Rpmsg, WhatFindsNoBufferComesLater) {
    Joined joined;
    joined.begin();
    const std::uint32_t word = 7;
    EXPECT_EQ(joined.remote->try_send(0, 1024, &word, 4), Sent::later);
    ASSERT_TRUE(joined.attach());
    for (int i = 0; i < 100; ++i) {
        static_cast<void>(joined.step());  // the driver takes nothing
    }
    std::uint32_t room = 0;
    while (joined.remote->try_send(0, 1024, &word, 4) == Sent::ok) {
        ++room;
    }
    EXPECT_EQ(room, entries - 2);
    EXPECT_EQ(joined.remote->try_send(0, 1024, &word, 4), Sent::later);
    joined.linux_side.poll();
    EXPECT_EQ(joined.remote->try_send(0, 1024, &word, 4), Sent::ok);
    std::array<char, payload_bytes + 1> longer{};
    EXPECT_EQ(joined.remote->try_send(0, 1024, longer.data(), longer.size()), Sent::refused);
    EXPECT_EQ(joined.remote->try_send(2, 1024, &word, 4), Sent::refused);
    EXPECT_EQ(joined.remote->faults(), 0U);
}

TEST(Rpmsg, WhatIsForNobodyIsCounted) {
    Joined joined;
    joined.begin();
    ASSERT_TRUE(joined.attach());
    joined.settle();
    ASSERT_TRUE(joined.linux_side.send(0x402, "nobody"));
    ASSERT_TRUE(joined.linux_side.send(0x401, "monitor"));
    joined.settle();
    EXPECT_EQ(joined.remote->dropped(), 1U);
    ASSERT_EQ(joined.heard.size(), 1U);
    EXPECT_EQ(joined.heard[0].payload, "monitor");
    EXPECT_EQ(joined.linux_side.free(), entries);
}

// Either side begins anew at any step: nobody stumbles over rings of before, and messages that arrive are
// those of this epoch, whole and in order.
TEST(Rpmsg, EitherSideRestartsAtAnyMoment) {
    for (std::uint32_t seed = 0; seed < 40; ++seed) {
        Joined joined;
        joined.echoes = true;
        joined.begin();
        std::mt19937 random(seed);
        std::uint32_t remote_epoch = 0;
        std::uint32_t number = 0;
        std::uint32_t last_here = 0;
        std::uint32_t arrived = 0;
        const auto attach = [&] {
            remote_epoch = joined.shared->first.handshake.device.epoch.load();
            ASSERT_TRUE(joined.attach());
        };
        attach();
        for (int turn = 0; turn < 20000; ++turn) {
            switch (random() % 64) {
                case 0:
                    joined.begin();
                    break;
                case 1:  // without a word
                    attach();
                    break;
                case 2:
                    joined.linux_side.detach();
                    for (std::uint32_t i = random() % 4; i > 0; --i) {
                        static_cast<void>(joined.step());
                    }
                    attach();
                    break;
                default:
                    break;
            }
            // As the driver that looks after the remote.
            if (joined.shared->first.handshake.device.epoch.load() != remote_epoch && random() % 8 == 0) {
                joined.linux_side.detach();
                attach();
            }
            if (random() % 2 == 0) {
                static_cast<void>(joined.step());
            }
            if (random() % 3 == 0 && joined.linux_side.send(0x400, std::to_string(number + 1))) {
                ++number;
            }
            joined.linux_side.poll();
            for (; !joined.linux_side.heard().empty(); joined.linux_side.heard().pop_front()) {
                const auto got =
                    static_cast<std::uint32_t>(std::stoul(joined.linux_side.heard().front().payload));
                ASSERT_GT(got, last_here);
                ASSERT_LE(got, number);
                last_here = got;
                ++arrived;
            }
        }
        ASSERT_EQ(joined.linux_side.wrong(), 0);
        ASSERT_EQ(joined.remote->faults(), 0U) << "seed " << seed;
        ASSERT_GT(arrived, 100U);
    }
}

// Without the handshake the same is a matter of luck: rings that were set to zero under the remote's feet.
TEST(Rpmsg, WithoutTheHandshakeARestartIsAFault) {
    int faults = 0;
    for (std::uint32_t seed = 0; seed < 40; ++seed) {
        Joined joined;
        joined.echoes = true;
        joined.begin();
        std::mt19937 random(seed);
        ASSERT_TRUE(joined.attach());
        for (int turn = 0; turn < 2000; ++turn) {
            if (random() % 64 == 0) {
                ASSERT_TRUE(joined.attach(false));
            }
            static_cast<void>(joined.linux_side.send(0x400, "x"));
            static_cast<void>(joined.step());
            joined.linux_side.poll();
        }
        faults += joined.remote->state() == State::fault || joined.linux_side.wrong() != 0 ? 1 : 0;
    }
    EXPECT_GT(faults, 20);
}

}  // namespace
