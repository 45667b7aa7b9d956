// SPDX-License-Identifier: Apache-2.0
//
// Regions: made, attached to, and refused with the right reason.

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "consort/icc.hpp"

namespace {

using consort::Mailbox;
using consort::Queue;
using consort::Reason;
using consort::Region;
using consort::RegionHeader;
using consort::RegionMaker;
using consort::Snapshot;

struct Gains {
    float kp;
    float kd;
};
struct In {
    double reference;
    Gains gains;
    std::uint16_t flags;
    bool enable;
};

constexpr std::size_t size = 1U << 16U;

struct Memory {
    alignas(64) std::array<unsigned char, size> bytes{};
};

void make(Memory& memory) {
    auto begun = RegionMaker<>::begin(memory.bytes.data(), size, {.creator = 7, .object_capacity = 4});
    ASSERT_TRUE(begun.ok());
    auto& maker = begun.value();
    ASSERT_TRUE(maker.add<Mailbox<In>>("servo.in").ok());
    ASSERT_TRUE((maker.add<Snapshot<Gains, 2>>("gains").ok()));
    ASSERT_TRUE((maker.add<Queue<std::uint32_t, 64>>("trace").ok()));
    EXPECT_EQ(Region<>::attach(memory.bytes.data(), size).refusal().reason, Reason::not_ready);
    ASSERT_TRUE(maker.publish().ok());
}

TEST(Region, OpensWhatWasAdded) {
    Memory memory;
    make(memory);
    auto region = Region<>::attach(memory.bytes.data(), size);
    ASSERT_TRUE(region.ok());
    EXPECT_EQ(region.value().header().creator, 7U);
    EXPECT_EQ(region.value().header().generation, 1U);
    auto box = region.value().open<Mailbox<In>>("servo.in");
    ASSERT_TRUE(box.ok());
    Mailbox<In>::Writer writer(*box.value());
    Mailbox<In>::Reader reader(*box.value());
    EXPECT_EQ(writer.try_write({1.5, {2, 3}, 4, true}), consort::Status::ok);
    In got{};
    ASSERT_EQ(reader.try_read(got), consort::Status::ok);
    EXPECT_EQ(got.reference, 1.5);
    EXPECT_TRUE((region.value().open<Snapshot<Gains, 2>>("gains").ok()));
}

TEST(Region, WorksAtAnotherAddress) {
    Memory memory;
    make(memory);
    const auto moved = std::make_unique<Memory>(memory);
    EXPECT_TRUE(Region<>::attach(moved->bytes.data(), size).ok());
}

TEST(Region, RefusesOtherNamesKindsAndCapacities) {
    Memory memory;
    make(memory);
    auto region = Region<>::attach(memory.bytes.data(), size).value();
    EXPECT_EQ(region.open<Mailbox<In>>("servo").refusal().reason, Reason::no_such_object);
    EXPECT_EQ(region.open<consort::DoubleBuffer<In>>("servo.in").refusal().reason, Reason::wrong_kind);
    const auto other = region.open<Snapshot<Gains, 3>>("gains").refusal();
    EXPECT_EQ(other.reason, Reason::wrong_kind);
    EXPECT_EQ(other.expected, 3U);
    EXPECT_EQ(other.found, 2U);
}

namespace peers {

struct Narrow {  // as a peer with 4-byte double alignment lays `In` out, or with float for double
    float reference;
    Gains gains;
    std::uint16_t flags;
    bool enable;
};
struct Swapped {
    double reference;
    Gains gains;
    bool enable;
    std::uint16_t flags;
};
struct Signed {
    double reference;
    Gains gains;
    std::int16_t flags;
    bool enable;
};
struct Longer {
    double reference;
    Gains gains;
    std::uint16_t flags;
    bool enable;
    std::uint8_t more;
};
struct Deeper {
    double reference;
    struct {
        float kp;
        float kd[1];
        float ki;
    } gains;
    std::uint16_t flags;
    bool enable;
};

}  // namespace peers

template <class T>
consort::Refusal refusal_as() {
    Memory memory;
    make(memory);
    return Region<>::attach(memory.bytes.data(), size).value().open<Mailbox<T>>("servo.in").refusal();
}

TEST(Region, NamesTheFirstMemberThatDiffers) {
    const auto narrow = refusal_as<peers::Narrow>();
    EXPECT_EQ(narrow.reason, Reason::wrong_layout);
    EXPECT_EQ(narrow.member.view(), "reference");
    EXPECT_STREQ(narrow.aspect, "element size");
    EXPECT_EQ(narrow.expected, 4U);
    EXPECT_EQ(narrow.found, 8U);
    EXPECT_EQ(refusal_as<peers::Swapped>().member.view(), "enable");
    EXPECT_EQ(refusal_as<peers::Signed>().member.view(), "flags");
    EXPECT_STREQ(refusal_as<peers::Signed>().aspect, "kind");
    EXPECT_EQ(refusal_as<peers::Longer>().member.view(), "more");
    EXPECT_STREQ(refusal_as<peers::Longer>().aspect, "member count");
    EXPECT_EQ(refusal_as<peers::Deeper>().member.view(), "gains.ki");
    EXPECT_EQ(refusal_as<In>().reason, Reason::none);
}

TEST(Region, RefusesWhatIsNoRegion) {
    Memory zeros;
    EXPECT_EQ(Region<>::attach(zeros.bytes.data(), size).refusal().reason, Reason::not_a_region);
    EXPECT_EQ(Region<>::attach(zeros.bytes.data(), 16).refusal().reason, Reason::too_small);
    EXPECT_EQ(Region<>::attach(zeros.bytes.data() + 4, size - 4).refusal().reason, Reason::misaligned);
}

// Attaches between any two stores of shared words that a maker does, as another processor may.
struct Interrupted : consort::access::Coherent {
    inline static Memory memory;
    inline static std::vector<Reason> seen;

    static void look() { seen.push_back(Region<>::attach(memory.bytes.data(), size).refusal().reason); }
    template <consort::Edge E>
    static void store(Word& word, std::uint32_t value) noexcept {
        look();
        consort::access::Coherent::store<E>(word, value);
        look();
    }
};

TEST(Region, WhoComesWhileItIsMadeIsToldToAskAgain) {
    using enum Reason;
    auto& memory = Interrupted::memory;
    for (const Reason before : {not_a_region, none}) {  // in fresh memory, and again in the same
        Interrupted::seen.clear();
        auto begun = RegionMaker<Interrupted>::begin(memory.bytes.data(), size, {});
        ASSERT_TRUE(begun.ok());
        ASSERT_TRUE(begun.value().publish().ok());
        EXPECT_EQ(Interrupted::seen, (std::vector{before, not_ready, not_ready, not_ready, not_ready,
                                                  not_ready, not_ready, none}));
    }
}

TEST(Region, NobodyIsRefusedForGoodWhileOthersMakeIt) {
    for (int round = 0; round < 200; ++round) {
        Memory memory;
        std::atomic<bool> begin{false};
        std::thread maker([&] {
            while (!begin.load()) {
            }
            ASSERT_TRUE(RegionMaker<>::begin(memory.bytes.data(), size, {}).value().publish().ok());
        });
        begin = true;
        for (Reason reason = Reason::not_ready; reason != Reason::none;) {
            reason = Region<>::attach(memory.bytes.data(), size).refusal().reason;
            const bool again =
                reason == Reason::none || reason == Reason::not_ready || reason == Reason::not_a_region;
            EXPECT_TRUE(again) << static_cast<int>(reason);
            if (!again) {
                break;
            }
        }
        maker.join();
    }
}

template <class Change>
Reason reason_after(Change change) {
    Memory memory;
    make(memory);
    change(memory, *reinterpret_cast<RegionHeader*>(memory.bytes.data()));
    return Region<>::attach(memory.bytes.data(), size).refusal().reason;
}

TEST(Region, RefusesOtherMakersAndDamage) {
    EXPECT_EQ(reason_after([](Memory&, RegionHeader& h) { h.magic = __builtin_bswap32(h.magic); }),
              Reason::wrong_endianness);
    EXPECT_EQ(reason_after([](Memory&, RegionHeader& h) { h.version = 2; }), Reason::wrong_version);
    EXPECT_EQ(reason_after([](Memory&, RegionHeader& h) { h.line = 128; }), Reason::wrong_line_size);
    EXPECT_EQ(reason_after([](Memory&, RegionHeader& h) { h.creator += 1; }), Reason::corrupted);
    EXPECT_EQ(reason_after([](Memory&, RegionHeader& h) { h.object_count = 0xffffffffU; }),
              Reason::corrupted);
    EXPECT_EQ(reason_after([](Memory&, RegionHeader& h) { h.object_capacity = 0xffffffffU; }),
              Reason::corrupted);
    EXPECT_EQ(reason_after([](Memory&, RegionHeader& h) { h.leaf_capacity = 0x80000000U; }),
              Reason::corrupted);
    Memory memory;
    make(memory);
    EXPECT_EQ(Region<>::attach(memory.bytes.data(), size / 2).refusal().reason, Reason::truncated);
}

TEST(Region, EveryFlippedBitOfHeaderAndTableIsNoticed) {
    Memory memory;
    make(memory);
    const auto used = consort::detail::RegionMap::table_offset + 3 * sizeof(consort::ObjectEntry);
    for (std::size_t at = 0; at < used; ++at) {
        const bool padding = at >= sizeof(RegionHeader) && at < consort::detail::RegionMap::state_offset;
        const bool behind_state = at >= consort::detail::RegionMap::state_offset + 4 &&
                                  at < consort::detail::RegionMap::table_offset;
        if (padding || behind_state) {
            continue;
        }
        for (unsigned bit = 0; bit < 8; ++bit) {
            memory.bytes[at] ^= static_cast<unsigned char>(1U << bit);
            EXPECT_FALSE(Region<>::attach(memory.bytes.data(), size).ok()) << "byte " << at << " bit " << bit;
            memory.bytes[at] ^= static_cast<unsigned char>(1U << bit);
        }
    }
    EXPECT_TRUE(Region<>::attach(memory.bytes.data(), size).ok());
}

TEST(Region, RandomFillIsRefusedAlsoBehindATrueHeader) {
    std::mt19937 random(1);
    for (int round = 0; round < 200; ++round) {
        Memory memory;
        if (round % 2 == 1) {
            make(memory);
        }
        const std::size_t from = round % 2 == 1 ? 12 : 0;
        for (std::size_t i = from; i < 2048; ++i) {
            memory.bytes[i] = static_cast<unsigned char>(random());
        }
        EXPECT_FALSE(Region<>::attach(memory.bytes.data(), size).ok());
    }
}

TEST(Region, IsStaleWhenMadeAnewAndDeadWhenClosed) {
    Memory memory;
    make(memory);
    auto attached = Region<>::attach(memory.bytes.data(), size).value();
    EXPECT_EQ(attached.condition(), Reason::none);
    make(memory);
    EXPECT_EQ(attached.condition(), Reason::stale);
    EXPECT_EQ(attached.open<Mailbox<In>>("servo.in").refusal().reason, Reason::stale);
    EXPECT_EQ(Region<>::attach(memory.bytes.data(), size).value().header().generation, 2U);
    auto maker = RegionMaker<>::begin(memory.bytes.data(), size, {}).value();
    EXPECT_EQ(attached.condition(), Reason::stale) << "being made anew";
    ASSERT_TRUE(maker.publish().ok());
    maker.close();
    EXPECT_EQ(attached.condition(), Reason::closed);
    EXPECT_EQ(Region<>::attach(memory.bytes.data(), size).refusal().reason, Reason::closed);
}

TEST(RegionMaker, RefusesWhatDoesNotFit) {
    Memory memory;
    EXPECT_EQ(RegionMaker<>::begin(memory.bytes.data(), 256, {}).refusal().reason, Reason::too_small);
    auto maker =
        RegionMaker<>::begin(memory.bytes.data(), size, {.object_capacity = 2, .leaf_capacity = 8}).value();
    EXPECT_EQ(maker.add<Mailbox<float>>("").refusal().reason, Reason::name_too_long);
    EXPECT_EQ(maker.add<Mailbox<float>>(std::string(40, 'x')).refusal().reason, Reason::name_too_long);
    EXPECT_TRUE(maker.add<Mailbox<float>>(std::string(39, 'x')).ok());
    EXPECT_EQ(maker.add<Mailbox<float>>(std::string(39, 'x')).refusal().reason, Reason::duplicate_name);
    EXPECT_EQ((maker.add<Queue<std::uint32_t, 65536>>("q").refusal().reason), Reason::region_full);
    EXPECT_TRUE(maker.add<Mailbox<float>>("y").ok());
    EXPECT_EQ(maker.add<Mailbox<float>>("z").refusal().reason, Reason::table_full);
}

}  // namespace
