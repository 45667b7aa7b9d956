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

// A policy's effect on a layout is compared like the type.
struct CachedPort {
    static consort::Ticks now() noexcept { return 0; }
    static consort::Ticks ticks_per_second() noexcept { return 1; }
    static void relax() noexcept {}
    static void clean(const void* /*begin*/, std::size_t /*bytes*/) noexcept {}
    static void invalidate(const void* /*begin*/, std::size_t /*bytes*/) noexcept {}
    static std::uint32_t core_id() noexcept { return 0; }
};

template <class Makes, class Opens, template <class> class Channel>
consort::Refusal opened_across() {
    Memory memory;
    auto maker = RegionMaker<Makes>::begin(memory.bytes.data(), size, {}).value();
    EXPECT_TRUE(maker.template add<Channel<Makes>>("channel").ok());
    EXPECT_TRUE(maker.publish().ok());
    return Region<Opens>::attach(memory.bytes.data(), size)
        .value()
        .template open<Channel<Opens>>("channel")
        .refusal();
}
template <class A>
using Box = Mailbox<In, A>;
template <class A>
using Call = consort::Duplex<std::uint64_t, std::uint32_t, A>;
template <class A>
using LargeCall = consort::Duplex<std::array<Gains, 9>, std::uint32_t, A>;
template <class A>
using Latest = Snapshot<Gains, 2, A>;
template <class A>
using LargeLatest = Snapshot<std::array<Gains, 9>, 2, A>;
template <class A>
using Trace = Queue<std::uint32_t, 64, A>;

template <template <class> class Channel, bool FollowsPolicy>
void expect_form_to_be_checked() {
    using consort::access::Coherent;
    using consort::access::Device;
    using consort::access::SystemBarrier;
    using Cleaning = consort::access::NonCoherent<CachedPort>;
    using Beside = consort::access::WholeLines<Coherent>;
    const auto alike = [](const consort::Refusal& r) { return r.reason == Reason::none; };
    EXPECT_TRUE(alike(opened_across<Coherent, SystemBarrier, Channel>()));
    EXPECT_TRUE(alike(opened_across<Device, Coherent, Channel>()));
    EXPECT_TRUE(alike(opened_across<Beside, Cleaning, Channel>()));
    EXPECT_TRUE(alike(opened_across<Cleaning, Beside, Channel>()));
    const auto unlike = opened_across<Coherent, Cleaning, Channel>();
    EXPECT_EQ(unlike.reason, FollowsPolicy ? Reason::wrong_form : Reason::none);
    EXPECT_EQ(unlike.found, FollowsPolicy ? 1U : 0U);
    EXPECT_EQ(alike(opened_across<Cleaning, SystemBarrier, Channel>()), !FollowsPolicy);
}

TEST(Region, RefusesALayoutForTheOtherKindOfPolicy) {
    expect_form_to_be_checked<Box, true>();
    expect_form_to_be_checked<Call, true>();
    expect_form_to_be_checked<Latest, true>();
    expect_form_to_be_checked<LargeCall, false>();
    expect_form_to_be_checked<LargeLatest, false>();
    expect_form_to_be_checked<Trace, false>();
}

TEST(Region, TheFingerprintOfAnObjectHoldsKindParameterAndForm) {
    using consort::detail::object_fingerprint;
    using Cleaning = consort::access::NonCoherent<CachedPort>;
    EXPECT_NE(object_fingerprint<Box<consort::access::Coherent>>, object_fingerprint<Box<Cleaning>>);
    EXPECT_NE((object_fingerprint<Queue<int, 2>>), (object_fingerprint<Queue<int, 4>>));
    EXPECT_NE((object_fingerprint<Mailbox<int>>), (object_fingerprint<consort::DoubleBuffer<int>>));
}

TEST(Region, NamesTheDirectionOfADuplexThatDiffers) {
    using There = consort::Duplex<In, std::uint32_t>;
    using Here = consort::Duplex<In, float>;
    Memory memory;
    auto maker = RegionMaker<>::begin(memory.bytes.data(), size, {}).value();
    ASSERT_TRUE(maker.add<There>("call").ok());
    ASSERT_TRUE(maker.publish().ok());
    const auto refusal = Region<>::attach(memory.bytes.data(), size).value().open<Here>("call").refusal();
    EXPECT_EQ(refusal.reason, Reason::wrong_layout);
    EXPECT_EQ(refusal.member.view(), "to_client");
    EXPECT_STREQ(refusal.aspect, "kind");
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
    template <consort::SyncPoint E>
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
    EXPECT_EQ(reason_after([](Memory&, RegionHeader& h) { h.version = RegionHeader::format_version + 1; }),
              Reason::wrong_version);
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

// A peer that writes into the memory at the worst of times: right after each of this side's steps that
// synchronize with it (a word loaded, a range observed). `step` counts them.
struct Hostile : consort::access::Coherent {
    inline static int step = 0;
    inline static void (*act)(int step) = nullptr;

    static void next() {
        if (act != nullptr) {
            act(step++);
        }
    }
    template <consort::SyncPoint E>
    [[nodiscard]] static std::uint32_t load(const Word& word) noexcept {
        const std::uint32_t value = consort::access::Coherent::load<E>(word);
        next();
        return value;
    }
    static void observe_range(const void* /*begin*/, std::size_t /*bytes*/) noexcept { next(); }
};

struct Attacked {
    static inline Memory memory;
    static inline int at = 0;
    static inline int field = 0;

    static RegionHeader& header() { return *reinterpret_cast<RegionHeader*>(memory.bytes.data()); }
    static consort::ObjectEntry& entry(std::size_t index) {
        return reinterpret_cast<consort::ObjectEntry*>(memory.bytes.data() +
                                                       consort::detail::RegionMap::table_offset)[index];
    }
    // One 32-bit field of header or first entry says "very much".
    static void poison(int step) {
        if (step != at) {
            return;
        }
        constexpr std::uint32_t much = 0xfffffff0U;
        std::uint32_t* fields[] = {&header().bytes,      &header().object_count,  &header().object_capacity,
                                   &header().leaf_count, &header().leaf_capacity, &entry(0).offset,
                                   &entry(0).bytes,      &entry(0).first_leaf,    &entry(0).leaf_count};
        *fields[field] = much;
    }
    static constexpr int fields = 9;

    static void renew() {
        Hostile::act = nullptr;
        memory = Memory{};
        make(memory);
    }
    static bool within(const void* pointer, std::size_t bytes) {
        const auto* begin = memory.bytes.data();
        const auto* there = static_cast<const unsigned char*>(pointer);
        return there >= begin && there + bytes <= begin + size;
    }
};

// Would crash in the checksum, or attach to what was checked before it was changed.
TEST(HostilePeer, ChangesAnyFieldWhileItIsAttachedTo) {
    for (Attacked::at = 0; Attacked::at < 5; ++Attacked::at) {
        for (Attacked::field = 0; Attacked::field < Attacked::fields; ++Attacked::field) {
            Attacked::renew();
            Hostile::step = 0;
            Hostile::act = Attacked::poison;
            auto attached = Region<Hostile>::attach(Attacked::memory.bytes.data(), size);
            Hostile::act = nullptr;
            if (!attached.ok()) {
                continue;
            }
            EXPECT_EQ(attached.value().header().bytes, size);
            EXPECT_EQ(attached.value().header().object_count, 3U);
            auto box = attached.value().open<Mailbox<In, Hostile>>("servo.in");
            EXPECT_TRUE(!box.ok() || Attacked::within(box.value(), sizeof(*box.value())));
        }
    }
}

TEST(HostilePeer, ChangesAnyFieldBeforeAndWhileAnObjectIsOpened) {
    for (Attacked::at = -1; Attacked::at < 3; ++Attacked::at) {
        for (Attacked::field = 0; Attacked::field < Attacked::fields; ++Attacked::field) {
            Attacked::renew();
            auto attached = Region<Hostile>::attach(Attacked::memory.bytes.data(), size).value();
            if (Attacked::at < 0) {
                Attacked::poison(-1);
            }
            Hostile::step = 0;
            Hostile::act = Attacked::poison;
            auto box = attached.open<Mailbox<In, Hostile>>("servo.in");
            auto gains = attached.open<Snapshot<Gains, 2, Hostile>>("gains");
            Hostile::act = nullptr;
            const bool of_entry = Attacked::field >= 5;
            EXPECT_EQ(box.ok(), !of_entry || Attacked::at > 1) << Attacked::at << ' ' << Attacked::field;
            EXPECT_TRUE(!box.ok() || Attacked::within(box.value(), sizeof(*box.value())));
            ASSERT_TRUE(gains.ok()) << Attacked::at << ' ' << Attacked::field;
            EXPECT_TRUE(Attacked::within(gains.value(), sizeof(*gains.value())));
            EXPECT_FALSE(attached.object(3).ok());
            EXPECT_FALSE(attached.leaf(attached.header().leaf_count).ok());
            EXPECT_EQ(attached.object(0).ok(), !of_entry);
        }
    }
}

// A maker whose memory a peer has mapped already writes where its own numbers say.
TEST(HostilePeer, ChangesTheHeaderWhileTheRegionIsMade) {
    Memory memory;
    auto& header = *reinterpret_cast<RegionHeader*>(memory.bytes.data());
    auto maker = RegionMaker<>::begin(memory.bytes.data(), size, {.object_capacity = 2}).value();
    header.object_capacity = 0x7fffffffU;
    header.object_count = 0xffffffffU;
    header.leaf_count = 0x00ffffffU;
    header.leaf_capacity = 0xffffffffU;
    header.bytes = 0xffffffffU;
    auto added = maker.add<Mailbox<In>>("servo.in");
    ASSERT_TRUE(added.ok());
    EXPECT_LT(reinterpret_cast<unsigned char*>(added.value()), memory.bytes.data() + size);
    EXPECT_EQ((maker.add<Queue<std::uint32_t, 65536>>("q").refusal().reason), Reason::region_full);
    auto region = maker.publish();
    ASSERT_TRUE(region.ok());
    EXPECT_EQ(region.value().header().bytes, size);
    EXPECT_TRUE(region.value().open<Mailbox<In>>("servo.in").ok());
}

// As an attacker on another core would: it writes without a pause while this side attaches and opens.
TEST(HostilePeer, WritesAllTheTime) {
    Attacked::renew();
    std::atomic<bool> stop{false};
    std::thread attacker([&] {
        const auto flip = [](std::uint32_t& field, std::uint32_t wrong) {
            const std::uint32_t right = __atomic_load_n(&field, __ATOMIC_RELAXED);
            __atomic_store_n(&field, wrong, __ATOMIC_RELAXED);
            __atomic_store_n(&field, right, __ATOMIC_RELAXED);
        };
        while (!stop.load(std::memory_order_relaxed)) {
            flip(Attacked::header().object_count, 0x00ffffffU);
            flip(Attacked::header().object_capacity, 0xffffffffU);
            flip(Attacked::header().leaf_capacity, 0xffffffffU);
            flip(Attacked::header().bytes, 0xffffffffU);
            flip(Attacked::entry(0).offset, 0xffffffc0U);
            flip(Attacked::entry(0).first_leaf, 0x7fffffffU);
            flip(Attacked::entry(0).bytes, 0xffffffffU);
        }
    });
    int attached_to = 0;
    int opened = 0;
    for (int round = 0; round < 100000 || attached_to == 0 || opened == 0; ++round) {
        auto region = Region<>::attach(Attacked::memory.bytes.data(), size);
        if (!region.ok()) {
            continue;
        }
        ++attached_to;
        for (int again = 0; again < 20; ++again) {
            auto box = region.value().open<Mailbox<In>>("servo.in");
            if (box.ok()) {
                ++opened;
                ASSERT_TRUE(Attacked::within(box.value(), sizeof(*box.value())));
            }
        }
    }
    stop = true;
    attacker.join();
    EXPECT_GT(opened, 0);
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
