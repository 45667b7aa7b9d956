// SPDX-License-Identifier: Apache-2.0
//
// A segment reads as what was written to it, whatever its cache holds: against a plain array.
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <random>
#include <stdexcept>
#include <thread>
#include <tuple>

#include "remote_support.hpp"

namespace {

using namespace remote_test;

enum class Way { shared, tcp, mapped };

class EachWay : public Remote, public testing::WithParamInterface<std::tuple<Faults, Way>> {
  protected:
    void SetUp() override {
        Remote::SetUp();
        std::string why;
        if (!can_page(std::get<0>(GetParam()), why)) {
            GTEST_SKIP() << why;
        }
        start();
    }
    [[nodiscard]] SegmentOptions chosen(std::size_t bytes, std::size_t cache) const {
        const Way way = std::get<1>(GetParam());
        SegmentOptions made = options(way == Way::tcp ? tcp() : path, bytes, cache);
        made.pages = way == Way::mapped ? Pages::mapped : Pages::copied;
        made.faults = std::get<0>(GetParam());
        return made;
    }
};

TEST_P(EachWay, RandomAccessEqualsAnArray) {
    const std::size_t count = 4 * mib / sizeof(std::uint32_t);
    const Segment segment(chosen(4 * mib, mib));
    auto* remote = static_cast<std::uint32_t*>(segment.data());
    std::vector<std::uint32_t> array(count, 0);
    std::mt19937 random(7);
    for (int i = 0; i < 4'000; ++i) {
        const std::size_t at = random() % count;
        if (random() % 2 == 0) {
            array[at] = remote[at] = random();
        } else {
            ASSERT_EQ(remote[at], array[at]) << i;
        }
    }
    EXPECT_TRUE(std::equal(array.begin(), array.end(), remote));
    const Counters counted = segment.counters();
    EXPECT_GT(counted.evicted, 0U);
    EXPECT_EQ(counted.stored > 0, std::get<1>(GetParam()) != Way::mapped);
    EXPECT_GT(counted.fetched, 0U);
}

// The mapped pages of this process; mincore(2) would count those that a shared file has.
std::size_t mapped_pages(const Segment& segment) {
    std::vector<std::uint64_t> entries(segment.bytes() / page_bytes);
    const auto bytes = static_cast<ssize_t>(entries.size() * sizeof entries[0]);
    const auto from =
        static_cast<off_t>(reinterpret_cast<std::uintptr_t>(segment.data()) / page_bytes * sizeof entries[0]);
    const int file = ::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    EXPECT_EQ(::pread(file, entries.data(), static_cast<std::size_t>(bytes), from), bytes);
    ::close(file);
    return static_cast<std::size_t>(
        std::count_if(entries.begin(), entries.end(), [](std::uint64_t entry) { return entry >> 63U != 0; }));
}

TEST_P(EachWay, TheCacheHoldsNoMoreThanItsSize) {
    const Segment segment(chosen(8 * mib, 2 * mib));
    auto* bytes = static_cast<unsigned char*>(segment.data());
    for (int pass = 0; pass < 2; ++pass) {
        for (std::size_t at = 0; at < segment.bytes(); at += page_bytes) {
            bytes[at] = static_cast<unsigned char>(bytes[at] + 1);
        }
        EXPECT_LE(mapped_pages(segment), 2 * mib / page_bytes);
    }
    for (std::size_t at = 0; at < segment.bytes(); at += page_bytes) {
        ASSERT_EQ(bytes[at], 2) << at;
    }
}

// Four threads add to all counters of a segment while it is evicted: a write that went to a page which was
// already on its way home must not be lost.
TEST_P(EachWay, NoWriteIsLostWhilePagesAreEvicted) {
    constexpr std::size_t threads = 4;
    constexpr std::size_t passes = 6;
    const Segment segment(chosen(4 * mib, mib));
    auto* counters = static_cast<std::uint64_t*>(segment.data());
    std::vector<std::thread> all;
    for (std::size_t t = 0; t < threads; ++t) {
        all.emplace_back([&, t] {
            std::mt19937 random(static_cast<unsigned>(t));
            std::vector<std::size_t> pages(segment.bytes() / page_bytes);
            for (std::size_t i = 0; i < pages.size(); ++i) {
                pages[i] = i;
            }
            for (std::size_t pass = 0; pass < passes; ++pass) {
                std::shuffle(pages.begin(), pages.end(), random);
                for (const std::size_t page : pages) {
                    // Several writes to a page, at its both ends, each thread in words of its own.
                    std::uint64_t* words = counters + page * page_bytes / 8;
                    ++words[t];
                    ++words[page_bytes / 8 - 1 - t];
                    ++words[t];
                }
            }
        });
    }
    for (std::thread& each : all) {
        each.join();
    }
    for (std::size_t page = 0; page < segment.bytes() / page_bytes; ++page) {
        const std::uint64_t* words = counters + page * page_bytes / 8;
        for (std::size_t t = 0; t < threads; ++t) {
            ASSERT_EQ(words[t], 2 * passes) << page;
            ASSERT_EQ(words[page_bytes / 8 - 1 - t], passes) << page;
        }
    }
}

TEST_P(EachWay, WhatIsDiscardedReadsAsZeros) {
    Segment segment(chosen(4 * mib, mib));
    auto* bytes = static_cast<char*>(segment.data());
    std::memset(bytes, 'x', segment.bytes());
    segment.discard(mib, 2 * mib);
    EXPECT_EQ(bytes[mib - 1], 'x');
    EXPECT_EQ(bytes[3 * mib], 'x');
    EXPECT_TRUE(std::all_of(bytes + mib, bytes + 3 * mib, [](char c) { return c == 0; }));
}

// Pages are discarded while the evicting thread copies them home: it must not find them gone.
TEST_P(EachWay, PagesAreDiscardedWhileTheyAreEvicted) {
    Segment segment(chosen(4 * mib, mib));
    auto* bytes = static_cast<char*>(segment.data());
    for (int round = 0; round < 30; ++round) {
        std::memset(bytes, 'a' + round % 26, segment.bytes());
        segment.discard(segment.bytes() / 2, segment.bytes() / 2);
        ASSERT_EQ(bytes[0], 'a' + round % 26);
        ASSERT_EQ(bytes[segment.bytes() - 1], 0);
    }
}

TEST_P(EachWay, SystemCallsReachAbsentPagesOrFail) {
    const Segment segment(chosen(4 * mib, mib));
    auto* bytes = static_cast<char*>(segment.data());
    std::memset(bytes, 'x', segment.bytes());  // the first page is evicted by then
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe(ends.data()), 0);
    const ssize_t written = ::write(ends[1], bytes, 1000);
    if (std::get<0>(GetParam()) == Faults::in_thread) {
        EXPECT_EQ(written, -1);
        EXPECT_EQ(errno, EFAULT);
    } else {
        EXPECT_EQ(written, 1000);
        EXPECT_EQ(::read(ends[0], bytes + 2 * mib, 1000), 1000);
        EXPECT_EQ(bytes[2 * mib], 'x');
    }
    ::close(ends[0]);
    ::close(ends[1]);
}

// Read-only pages are fetched and evicted as ever, in batches that cross their ends; a write ends with
// SIGSEGV.
TEST_P(EachWay, WhatMayOnlyBeRead) {
    EXPECT_EXIT(
        {
            Segment mine(chosen(4 * mib, mib));
            auto* first = static_cast<char*>(mine.data());
            std::memset(first, 'x', mine.bytes());
            static_cast<void>(mine.protect(mib, mib, Rights::read));
            first[mib - 1] = 'y';
            first[mib] = 'y';
        },
        testing::KilledBySignal(SIGSEGV), "");
    Segment segment(chosen(4 * mib, mib));
    auto* bytes = static_cast<char*>(segment.data());
    std::memset(bytes, 'x', segment.bytes());
    EXPECT_FALSE(segment.protect(1, page_bytes, Rights::read));
    EXPECT_FALSE(segment.protect(0, 8 * mib, Rights::read));
    for (std::size_t at = 0; at < segment.bytes(); at += 20 * page_bytes) {
        ASSERT_TRUE(segment.protect(at, 4 * page_bytes, Rights::read));
    }
    for (int pass = 0; pass < 2; ++pass) {
        for (std::size_t at = 0; at < segment.bytes(); at += page_bytes) {
            ASSERT_EQ(bytes[at], 'x') << at;
            if (at / page_bytes % 20 >= 4) {
                bytes[at + 1] = 'y';
            }
        }
    }
    ASSERT_TRUE(segment.protect(0, segment.bytes(), Rights::read_write));
    std::memset(bytes, 'z', segment.bytes());
    EXPECT_TRUE(std::all_of(bytes, bytes + segment.bytes(), [](char c) { return c == 'z'; }));
}

std::string name_of(const testing::TestParamInfo<std::tuple<Faults, Way>>& info) {
    const Faults faults = std::get<0>(info.param);
    const Way way = std::get<1>(info.param);
    const std::string who = faults == Faults::in_thread ? "InThread"
                            : faults == Faults::handler ? "Handler"
                                                        : "Polling";
    return who + (way == Way::tcp ? "Tcp" : way == Way::mapped ? "Mapped" : "Shared");
}

// The threads of a segment have copies of the descriptors of those before it: the server is to hear of their
// end all the same.
TEST_P(EachWay, WhatIsDetachedIsGivenBackWhileAYoungerSegmentStays) {
    auto older = std::make_unique<Segment>(chosen(32 * mib, mib));
    const Segment younger(chosen(32 * mib, mib));
    older.reset();
    std::unique_ptr<Segment> next;
    while (next == nullptr) {
        try {
            next = std::make_unique<Segment>(chosen(32 * mib, mib));
        } catch (const std::invalid_argument&) {
            // It has no room yet.
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
    }
    EXPECT_EQ(*static_cast<const char*>(next->data()), 0);
}

// Under a sanitizer, where all take ten times as long, each way of faults and each of pages comes once.
#if defined(__SANITIZE_THREAD__)
const auto ways =
    testing::Values(std::tuple(Faults::in_thread, Way::tcp), std::tuple(Faults::handler, Way::mapped),
                    std::tuple(Faults::polling, Way::shared));
#elif defined(__SANITIZE_ADDRESS__)
const auto ways =
    testing::Values(std::tuple(Faults::in_thread, Way::shared), std::tuple(Faults::handler, Way::tcp),
                    std::tuple(Faults::polling, Way::mapped));
#else
const auto ways = testing::Combine(testing::Values(Faults::in_thread, Faults::handler, Faults::polling),
                                   testing::Values(Way::shared, Way::tcp, Way::mapped));
#endif
INSTANTIATE_TEST_SUITE_P(All, EachWay, ways, name_of);

}  // namespace
