// SPDX-License-Identifier: Apache-2.0
//
// Versions: every answer of a read, restarts, wrap-around, peers that misbehave, and the number of versions
// that the header derives, held against writers and readers that use every freedom they have.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <random>
#include <type_traits>
#include <utility>
#include <vector>

#include "consort/icc.hpp"

namespace of_versions {

using consort::Status;
using consort::Ticks;
using consort::VersionRead;
using consort::Versions;
using consort::versions_needed;

struct Sample {
    float position;
    std::uint32_t number;
};

template <class C>
struct Storage {
    alignas(64) typename C::Shared shared{};
};

TEST(Versions, GivesTheNewestPublishedByTheRelease) {
    using V = Versions<Sample, 4>;
    Storage<V> s;
    V::Writer writer(s.shared);
    V::Reader reader(s.shared);
    Sample got{-1, 99};
    EXPECT_EQ(reader.read_as_of(got, ~Ticks{0}).status, Status::would_block) << "nothing written yet";
    for (std::uint32_t i = 1; i <= 4; ++i) {
        writer.publish({0, i}, Ticks{100} * i);
        EXPECT_EQ(writer.sequence(), i);
    }
    EXPECT_EQ(reader.read_as_of(got, 99).status, Status::would_block) << "none counts yet";
    EXPECT_EQ(got.number, 99U) << "the variable is untouched";
    for (const auto& [release, number] : std::vector<std::pair<Ticks, std::uint32_t>>{
             {100, 1}, {199, 1}, {200, 2}, {250, 2}, {399, 3}, {400, 4}, {~Ticks{0}, 4}, {100, 1}}) {
        const VersionRead read = reader.read_as_of(got, release);
        EXPECT_EQ(read.status, Status::ok) << release;
        EXPECT_EQ(read.sequence, number) << release;
        EXPECT_EQ(read.publication, 100U * number) << release;
        EXPECT_EQ(got.number, number) << release;
    }
}

TEST(Versions, AnswersOvertakenForAVersionThatIsGone) {
    using V = Versions<Sample, 3>;
    Storage<V> s;
    V::Writer writer(s.shared);
    V::Reader reader(s.shared);
    Sample got{-1, 99};
    for (std::uint32_t i = 1; i <= 20; ++i) {
        writer.publish({0, i}, Ticks{10} * i);
        for (std::uint32_t back = 0; back < i; ++back) {
            const VersionRead read = reader.read_as_of(got, Ticks{10} * (i - back));
            ASSERT_EQ(read.status, back < 3 ? Status::ok : Status::overtaken) << i << " - " << back;
            ASSERT_EQ(read.sequence, back < 3 ? i - back : 0);
        }
        const VersionRead before_all = reader.read_as_of(got, 9);
        EXPECT_EQ(before_all.status, i <= 3 ? Status::would_block : Status::overtaken)
            << "after more than K versions nobody knows what was there";
    }
}

TEST(Versions, OfEqualInstantsTheNewestCounts) {
    using V = Versions<std::uint32_t, 3>;
    Storage<V> s;
    V::Writer writer(s.shared);
    V::Reader reader(s.shared);
    writer.publish(1, 10);
    writer.publish(2, 10);
    std::uint32_t got = 0;
    EXPECT_EQ(reader.read_as_of(got, 10).sequence, 2U);
    EXPECT_EQ(got, 2U);
}

TEST(Versions, AnyNumberOfReadersChangeNothing) {
    using V = Versions<Sample, 2>;
    Storage<V> s;
    V::Writer writer(s.shared);
    writer.publish({0, 1}, 1);
    std::array<unsigned char, sizeof(s.shared)> before{};
    std::memcpy(before.data(), static_cast<const void*>(&s.shared), sizeof(s.shared));
    for (int i = 0; i < 100; ++i) {
        V::Reader reader(s.shared);
        Sample got{};
        ASSERT_EQ(reader.read_as_of(got, 1).status, Status::ok);
    }
    EXPECT_EQ(std::memcmp(before.data(), static_cast<const void*>(&s.shared), sizeof(s.shared)), 0);
}

TEST(Versions, IsTakenOverByARestartedWriter) {
    using V = Versions<Sample, 3>;
    Storage<V> s;
    V::Reader reader(s.shared);
    EXPECT_EQ(reader.peer_epoch(), 0U);
    Sample got{};
    for (std::uint32_t i = 1; i <= 20; ++i) {
        V::Writer writer(s.shared);
        EXPECT_EQ(writer.sequence(), i - 1) << "numbers go on";
        EXPECT_EQ(reader.peer_epoch(), i) << "the restart is seen";
        writer.publish({0, i}, i);
        for (std::uint32_t back = 0; back < std::min(i, 3U); ++back) {
            EXPECT_EQ(reader.read_as_of(got, i - back).sequence, i - back)
                << "the versions outlive their writer";
            EXPECT_EQ(got.number, i - back);
        }
    }
}

// Coherent memory; a copy of a Value, in or out, calls `interruption` once, after `interrupt_after` words.
using Value = std::array<std::uint32_t, 8>;
struct Interrupted {
    using Word = consort::access::Coherent::Word;
    static inline std::function<void()> in_put;
    static inline std::function<void()> in_get;
    static inline std::size_t interrupt_after = 4;

    template <consort::SyncPoint E>
    [[nodiscard]] static std::uint32_t load(const Word& word) noexcept {
        return consort::access::Coherent::load<E>(word);
    }
    template <consort::SyncPoint E>
    static void store(Word& word, std::uint32_t value) noexcept {
        consort::access::Coherent::store<E>(word, value);
    }
    template <consort::SyncPoint E>
    static void fence() noexcept {
        consort::access::Coherent::fence<E>();
    }

    template <class T>
    struct RacingCell : consort::access::Coherent::RacingCell<T> {
        void put(const T& value) {
            move(this->bytes, reinterpret_cast<const unsigned char*>(&value), in_put);
        }
        void get(T& value) const { move(reinterpret_cast<unsigned char*>(&value), this->bytes, in_get); }

      private:
        static void move(unsigned char* to, const unsigned char* from, std::function<void()>& interruption) {
            const std::size_t half = std::is_same_v<T, Value> ? interrupt_after * 4 : sizeof(T);
            std::memcpy(to, from, half);
            if (std::is_same_v<T, Value> && interruption) {
                const auto now = std::exchange(interruption, nullptr);
                now();
            }
            std::memcpy(to + half, from + half, sizeof(T) - half);
        }
    };
};

Value value_of(std::uint32_t number) {
    Value value{};
    for (std::uint32_t i = 0; i < value.size(); ++i) {
        value[i] = number * 16 + i;
    }
    return value;
}

// A copy that is interrupted by `during` publications, of the version `back` before the newest of 10.
template <std::uint32_t K>
void overtake(std::uint32_t back, std::uint32_t during, std::size_t after) {
    using V = Versions<Value, K, Interrupted>;
    alignas(64) typename V::Shared shared{};
    typename V::Writer writer(shared);
    typename V::Reader reader(shared);
    for (std::uint32_t i = 1; i <= 10; ++i) {
        writer.publish(value_of(i), i);
    }
    Interrupted::interrupt_after = after;
    Interrupted::in_get = [&] {
        for (std::uint32_t i = 11; i <= 10 + during; ++i) {
            writer.publish(value_of(i), i);
        }
    };
    Value got = value_of(77);
    const VersionRead read = reader.read_as_of(got, 10 - back);
    EXPECT_FALSE(Interrupted::in_get) << "the read was not interrupted";
    if (back + during < K) {
        EXPECT_EQ(read.status, Status::ok) << back << " back, " << during << " during";
        EXPECT_EQ(read.sequence, 10 - back);
        EXPECT_EQ(got, value_of(10 - back));
    } else {
        EXPECT_EQ(read.status, Status::overtaken) << back << " back, " << during << " during";
        EXPECT_EQ(got, value_of(77)) << "the mixture reached the caller";
    }
}

TEST(Versions, AReaderOvertakenInItsCopyNoticesAndNoOther) {
    for (const std::size_t after : {1U, 4U, 7U}) {
        for (std::uint32_t during = 0; during < 12; ++during) {
            for (std::uint32_t back = 0; back < 2; ++back) {
                overtake<2>(back, during, after);
                overtake<3>(back, during, after);
                overtake<5>(back, during, after);
            }
        }
    }
}

TEST(Versions, AWriterThatDiesInAPublicationSpoilsTheOldestOnly) {
    using V = Versions<Value, 3, Interrupted>;
    alignas(64) V::Shared shared{};
    alignas(64) unsigned char left[sizeof(V::Shared)];
    {
        V::Writer writer(shared);
        for (std::uint32_t i = 1; i <= 7; ++i) {
            writer.publish(value_of(i), i);
        }
        // A dead writer leaves nothing but the region's content at this moment.
        Interrupted::in_put = [&] { std::memcpy(left, static_cast<const void*>(&shared), sizeof(left)); };
        writer.publish(value_of(8), 8);
        ASSERT_FALSE(Interrupted::in_put);
    }
    std::memcpy(static_cast<void*>(&shared), left, sizeof(left));
    V::Reader reader(shared);
    Value got = value_of(77);
    EXPECT_EQ(reader.read_as_of(got, 100).sequence, 7U) << "the eighth was never published";
    EXPECT_EQ(got, value_of(7));
    EXPECT_EQ(reader.read_as_of(got, 6).sequence, 6U);
    EXPECT_EQ(reader.read_as_of(got, 5).status, Status::overtaken);
    EXPECT_EQ(got, value_of(6));
    V::Writer writer(shared);
    EXPECT_EQ(writer.sequence(), 7U);
    writer.publish(value_of(80), 9);
    EXPECT_EQ(reader.read_as_of(got, 100).sequence, 8U) << "its number was never used";
    EXPECT_EQ(got, value_of(80));
    EXPECT_EQ(reader.read_as_of(got, 6).sequence, 6U);
}

TEST(Versions, PositionsWrapAtAMultipleOfK) {
    const auto run = []<std::uint32_t K>(std::integral_constant<std::uint32_t, K>) {
        using V = Versions<std::uint32_t, K>;
        static_assert(V::positions % K == 0 && V::positions > 0xffffffffU - K);
        Storage<V> s;
        // As after 2^40 versions, three before the wrap.
        const std::uint64_t start = std::uint64_t{1} << 40U;
        s.shared.writer.latest = V::positions - 3;
        s.shared.writer.begun = V::positions - 3;
        s.shared.slots[(V::positions - 4) % K].stamp.put({start, 0});
        typename V::Writer writer(s.shared);
        typename V::Reader reader(s.shared);
        for (std::uint32_t i = 1; i <= 3 * K + 10; ++i) {
            writer.publish(i, i);
            std::uint32_t got = 0;
            for (std::uint32_t back = 0; back < std::min(i, K); ++back) {
                const VersionRead read = reader.read_as_of(got, i - back);
                ASSERT_EQ(read.status, Status::ok) << i << " - " << back;
                ASSERT_EQ(read.sequence, start + i - back);
                ASSERT_EQ(got, i - back);
            }
            if (i > K) {
                ASSERT_EQ(reader.read_as_of(got, i - K).status, Status::overtaken) << i;
            }
        }
    };
    run(std::integral_constant<std::uint32_t, 2>{});
    run(std::integral_constant<std::uint32_t, 3>{});
    run(std::integral_constant<std::uint32_t, 7>{});
}

TEST(Versions, DoesNotTrustTheWritersWords) {
    using V = Versions<Sample, 4>;
    Storage<V> s;
    V::Writer writer(s.shared);
    V::Reader reader(s.shared);
    for (std::uint32_t i = 1; i <= 5; ++i) {
        writer.publish({0, i}, i);
    }
    Sample got{0, 77};
    s.shared.writer.latest = V::positions + 1;
    EXPECT_EQ(reader.read_as_of(got, 5).status, Status::peer_fault);
    s.shared.writer.latest = 5;
    for (const std::uint32_t nonsense : {0U, V::positions + 1}) {
        s.shared.writer.begun = nonsense;
        EXPECT_EQ(reader.read_as_of(got, 5).status, Status::peer_fault) << nonsense;
    }
    s.shared.writer.begun = 3;
    EXPECT_EQ(reader.read_as_of(got, 5).status, Status::overtaken)
        << "before what is complete: a lap of the circle";
    s.shared.writer.begun = 5;
    s.shared.slots[0].stamp.put({4711, 5});
    EXPECT_EQ(reader.read_as_of(got, 4).status, Status::peer_fault)
        << "the newest has another number than it says";
    s.shared.slots[0].stamp.put({0, 5});
    EXPECT_EQ(reader.read_as_of(got, 5).status, Status::peer_fault);
    EXPECT_EQ(reader.read_as_of(got, 4).status, Status::peer_fault);
    EXPECT_EQ(got.number, 77U) << "nothing was copied";
    s.shared.slots[0].stamp.put({5, 5});
    EXPECT_EQ(reader.read_as_of(got, 5).status, Status::ok);
}

struct Signal {};

TEST(Versions, OfAnEmptyTypeAreInstantsAlone) {
    using V = Versions<Signal, 2>;
    Storage<V> s;
    V::Writer writer(s.shared);
    V::Reader reader(s.shared);
    writer.publish({}, 5);
    Signal got;
    EXPECT_EQ(reader.read_as_of(got, 4).status, Status::would_block);
    EXPECT_EQ(reader.read_as_of(got, 5).publication, 5U);
}

TEST(Versions, AValueOf48BytesSharesItsStampsLine) {
    static_assert(sizeof(Versions<std::array<unsigned char, 48>, 2>::Slot) == consort::line_bytes);
    static_assert(sizeof(Versions<std::array<unsigned char, 49>, 2>::Slot) ==
                  std::size_t{2} * consort::line_bytes);
}

TEST(Versions, LivesInARegion) {
    alignas(64) static unsigned char memory[8192];
    auto maker = consort::RegionMaker<>::begin(memory, sizeof(memory), {}).value();
    ASSERT_TRUE((maker.add<Versions<Sample, 3>>("let").ok()));
    ASSERT_TRUE(maker.publish().ok());
    const auto region = consort::Region<>::attach(memory, sizeof(memory)).value();
    const auto four = region.open<Versions<Sample, 4>>("let");
    EXPECT_EQ(four.refusal().reason, consort::Reason::wrong_kind);
    EXPECT_EQ(four.refusal().found, 3U);
    const auto snapshot = region.open<consort::Snapshot<Sample, 3>>("let");
    EXPECT_EQ(snapshot.refusal().reason, consort::Reason::wrong_kind);
    struct Other {
        float position;
        float number;
    };
    const auto other = region.open<Versions<Other, 3>>("let");
    EXPECT_EQ(other.refusal().reason, consort::Reason::wrong_layout);
    EXPECT_EQ(other.refusal().member.view(), "number");
    auto opened = region.open<Versions<Sample, 3>>("let");
    ASSERT_TRUE(opened.ok());
    Versions<Sample, 3>::Writer writer(*opened.value());
    Versions<Sample, 3>::Reader reader(*opened.value());
    Sample got{};
    EXPECT_EQ(reader.read_as_of(got, 0).status, Status::would_block);
    writer.publish({1.5F, 1}, 1);
    EXPECT_EQ(reader.read_as_of(got, 1).status, Status::ok);
    EXPECT_EQ(got.position, 1.5F);
}

// Two processors with caches that do not see one another: each has a copy of the memory, and only what its
// port cleans or invalidates moves between its copy and the memory, in whole lines.
template <class C>
struct TwoCaches {
    static inline unsigned char* memory = nullptr;
    static inline unsigned char* copies[2] = {};
    static inline bool maintained = true;

    template <int Side>
    struct Port {
        static Ticks now() noexcept { return 0; }
        static Ticks ticks_per_second() noexcept { return 1; }
        static void relax() noexcept {}
        static void clean(const void* begin, std::size_t bytes) noexcept { each_line(begin, bytes, true); }
        static void invalidate(const void* begin, std::size_t bytes) noexcept {
            each_line(begin, bytes, false);
        }
        static std::uint32_t core_id() noexcept { return Side; }

      private:
        static void each_line(const void* begin, std::size_t bytes, bool out) noexcept {
            if (!maintained) {
                return;
            }
            const auto at = static_cast<std::size_t>(static_cast<const unsigned char*>(begin) - copies[Side]);
            for (std::size_t line = at / 64 * 64; line < at + bytes; line += 64) {
                if (out) {
                    std::memcpy(memory + line, copies[Side] + line, 64);
                } else {
                    std::memcpy(copies[Side] + line, memory + line, 64);
                }
            }
        }
    };
};

TEST(Versions, TravelBetweenCachesThatAreNotCoherent) {
    struct Tag;
    using Machine = TwoCaches<Tag>;
    using W = Versions<Value, 3, consort::access::NonCoherent<Machine::Port<0>>>;
    using R = Versions<Value, 3, consort::access::NonCoherent<Machine::Port<1>>>;
    static_assert(sizeof(W::Shared) == sizeof(R::Shared));
    for (const bool maintained : {true, false}) {
        alignas(64) unsigned char memory[sizeof(W::Shared)] = {};
        Storage<W> mine;
        Storage<R> theirs;
        Machine::memory = memory;
        Machine::copies[0] = reinterpret_cast<unsigned char*>(&mine.shared);
        Machine::copies[1] = reinterpret_cast<unsigned char*>(&theirs.shared);
        Machine::maintained = maintained;
        W::Writer writer(mine.shared);
        R::Reader reader(theirs.shared);
        std::uint32_t right = 0;
        for (std::uint32_t i = 1; i <= 50; ++i) {
            writer.publish(value_of(i), i);
            Value got{};
            right += reader.read_as_of(got, i).sequence == i && got == value_of(i) ? 1 : 0;
            right +=
                i == 1 || (reader.read_as_of(got, i - 1).sequence == i - 1 && got == value_of(i - 1)) ? 1 : 0;
        }
        EXPECT_EQ(right, maintained ? 100U : 1U) << "without maintenance the test would show nothing";
    }
}

TEST(VersionsNeeded, FollowsTheDerivation) {
    EXPECT_EQ(versions_needed(0, 0, 10), 2U) << "one slot could not be written while it is read";
    EXPECT_EQ(versions_needed(10, 0, 10), 2U);
    EXPECT_EQ(versions_needed(10, 1, 10), 3U);
    EXPECT_EQ(versions_needed(10, 10, 10), 3U);
    EXPECT_EQ(versions_needed(10, 11, 10), 4U);
    EXPECT_EQ(versions_needed(3, 100, 10), 12U);
    EXPECT_EQ(versions_needed(Ticks{1} << 61U, Ticks{1} << 61U, 1), (Ticks{1} << 62U) + 1);
}

// One writer and one reader in simulated time, with the real channel. A write takes effect at one instant, as
// does each half of a copy, so a copy covers the time between. The result of the worst read.
struct Counted {
    std::uint32_t overtaken = 0;
    std::uint32_t wrong = 0;
    std::uint32_t reads = 0;
};

struct Timing {
    Ticks period, to_publication, to_copied;
};

// `choose(n)` picks a number from 0 to n: how late a job of the writer is released beyond its period, when it
// writes, when a reader is released, when it begins to copy and when it ends.
template <std::uint32_t K, class Choose>
Counted simulate(const Timing& timing, Choose choose) {
    using V = Versions<Value, K, Interrupted>;
    alignas(64) typename V::Shared shared{};
    typename V::Writer writer(shared);
    typename V::Reader reader(shared);
    struct Write {
        Ticks written, published;
    };
    std::vector<Write> writes;
    Ticks release = 0;
    for (std::uint32_t i = 0; i < 12 * K; ++i) {
        writes.push_back({release + choose(0, timing.to_publication), release + timing.to_publication});
        // Jobs of one task write in the order of their releases.
        if (i != 0) {
            writes[i].written = std::max(writes[i].written, writes[i - 1].written);
        }
        release += timing.period + choose(1, timing.period);
    }
    std::size_t next = 0;
    const auto write_until = [&](Ticks now) {
        while (next < writes.size() && writes[next].written <= now) {
            writer.publish(value_of(static_cast<std::uint32_t>(next + 1)), writes[next].published);
            ++next;
        }
    };
    Counted run;
    Interrupted::interrupt_after = 4;
    for (Ticks at = 0;;) {
        const Ticks released = at + choose(2, timing.period);
        const Ticks begin = released + choose(3, timing.to_copied);
        const Ticks end = begin + choose(4, released + timing.to_copied - begin);
        if (end >= writes.back().written) {
            break;
        }
        write_until(begin);
        // The last word is copied at the copy's end; a write of that very instant comes after it.
        Interrupted::in_get = [&] {
            if (end > begin) {
                write_until(end - 1);
            }
        };
        Value got = value_of(77777);
        const VersionRead read = reader.read_as_of(got, released);
        Interrupted::in_get = nullptr;
        // The value that follows from the releases alone.
        std::uint64_t logical = 0;
        while (logical < writes.size() && writes[logical].published <= released) {
            ++logical;
        }
        ++run.reads;
        if (read.status == Status::overtaken) {
            ++run.overtaken;
        } else if (read.status == Status::would_block) {
            run.wrong += logical == 0 ? 0 : 1;
        } else {
            run.wrong +=
                read.sequence == logical && got == value_of(static_cast<std::uint32_t>(logical)) ? 0 : 1;
        }
        write_until(end);
        at = end;
    }
    return run;
}

template <std::uint32_t K>
void check_number_of_versions(std::mt19937& random) {
    for (int system = 0; system < 300; ++system) {
        Timing timing{};
        timing.period = 1 + random() % 20;
        // All D_w + L for which K is the answer.
        const Ticks sum = (K - 2) * timing.period + 1 + random() % timing.period;
        timing.to_publication = random() % (sum + 1);
        timing.to_copied = sum - timing.to_publication;
        ASSERT_EQ(versions_needed(timing.to_publication, timing.to_copied, timing.period), K);
        const auto any = [&](int, Ticks most) { return most == 0 ? 0 : random() % (most + 1); };
        // The adversary: writes at once, is released as often as allowed; readers copy as long as they may.
        const auto adversary = [&](int what, Ticks most) {
            return what == 2 ? (most == 0 ? 0 : random() % (most + 1)) : what == 4 ? most : Ticks{0};
        };
        for (int again = 0; again < 4; ++again) {
            const Counted free = simulate<K>(timing, any);
            ASSERT_EQ(free.overtaken + free.wrong, 0U)
                << timing.period << ' ' << timing.to_publication << ' ' << timing.to_copied;
            const Counted worst = simulate<K>(timing, adversary);
            ASSERT_EQ(worst.overtaken + worst.wrong, 0U)
                << timing.period << ' ' << timing.to_publication << ' ' << timing.to_copied;
        }
    }
}

TEST(VersionsNeeded, NoReaderIsOvertakenAndEachGetsTheLogicalVersion) {
    std::mt19937 random(1);
    check_number_of_versions<2>(random);
    check_number_of_versions<3>(random);
    check_number_of_versions<4>(random);
    check_number_of_versions<6>(random);
}

TEST(VersionsNeeded, OneVersionFewerIsOvertaken) {
    std::mt19937 random(1);
    std::uint32_t overtaken = 0;
    std::uint32_t wrong = 0;
    const auto adversary = [&](int what, Ticks most) {
        return what == 2 ? random() % (most + 1) : what == 4 ? most : Ticks{0};
    };
    // D_w = T_w and a copy that lasts to the end of the period: three versions, of which two do not suffice.
    const Timing timing{20, 20, 20};
    ASSERT_EQ(versions_needed(timing.to_publication, timing.to_copied, timing.period), 3U);
    for (int again = 0; again < 50; ++again) {
        const Counted run = simulate<2>(timing, adversary);
        overtaken += run.overtaken;
        wrong += run.wrong;
    }
    EXPECT_GT(overtaken, 0U);
    EXPECT_EQ(wrong, 0U) << "overtaken readers learn it, and never get another version";
}

}  // namespace of_versions
