// SPDX-License-Identifier: Apache-2.0
//
// Pages that come before they are asked for: by equal steps, and of a recorded working set.
#include <cstring>
#include <random>

#include "prefetch.hpp"
#include "remote_support.hpp"

namespace {

using namespace remote_test;

// Faults at equal steps: after a few of them each brings several pages.
int faults_of(std::uint32_t first, std::int32_t step, int touches) {
    Sequences sequences;
    std::vector<std::uint32_t> here;
    int faults = 0;
    std::uint32_t page = first;
    for (int i = 0; i < touches; ++i, page += static_cast<std::uint32_t>(step)) {
        if (std::find(here.begin(), here.end(), page) == here.end()) {
            ++faults;
            const consort::remote::Run run = sequences.expected(page, most_pages);
            for (std::uint32_t k = 0; k < run.count; ++k) {
                here.push_back(run.page(k));
            }
            sequences.brought(run);
        }
    }
    return faults;
}

TEST(SequencesOfFaults, EqualStepsAreTakenUp) {
    for (const std::int32_t step : {1, 2, 7, 100, -1, -3}) {
        EXPECT_LT(faults_of(1'000'000, step, 640), 30) << step;
    }
    EXPECT_EQ(faults_of(1'000'000, 5000, 100), 100);
}

TEST(SequencesOfFaults, NoneIsSeenInRandomFaults) {
    Sequences sequences;
    std::mt19937 random(1);
    unsigned brought = 0;
    for (int i = 0; i < 1000; ++i) {
        const consort::remote::Run run = sequences.expected(random() % 1'000'000, most_pages);
        brought += run.count;
        sequences.brought(run);
    }
    EXPECT_LT(brought, 1100U);
}

TEST(WorkingSets, AreTextsThatAPersonCanRead) {
    const std::vector<std::uint32_t> pages{7, 8, 9, 3, 100, 101};
    EXPECT_EQ(write_pages(pages), "7+3\n3\n100+2\n");
    EXPECT_EQ(read_pages(write_pages(pages), 102), pages);
    for (const char* wrong : {"x", "7+", "7+0", "101+2", "102", "-1", "7 8", "99999999999"}) {
        EXPECT_THROW(static_cast<void>(read_pages(wrong, 102)), std::invalid_argument) << wrong;
    }
}

class Ahead : public Remote, public testing::WithParamInterface<std::tuple<Faults, bool>> {
  protected:
    void SetUp() override {
        Remote::SetUp();
        std::string why;
        if (!can_page(std::get<0>(GetParam()), why)) {
            GTEST_SKIP() << why;
        }
        start();
    }
    [[nodiscard]] SegmentOptions chosen(std::size_t cache) const {
        const auto [faults, over_tcp] = GetParam();
        SegmentOptions made = options(over_tcp ? tcp() : path, 16 * mib, cache);
        made.faults = faults;
        made.record = true;
        return made;
    }
};

// The first pages, at home, with room in the cache for all of them.
TEST_P(Ahead, PagesAtEqualStepsComeTogether) {
    constexpr std::size_t pages = 1024;
    Segment segment(chosen(8 * mib));
    auto* bytes = static_cast<unsigned char*>(segment.data());
    for (std::size_t page = 0; page < segment.bytes() / page_bytes; ++page) {
        bytes[page * page_bytes] = static_cast<unsigned char>(page % 251);
    }
    segment.discard(pages * page_bytes, segment.bytes() - pages * page_bytes);
    const Counters before = segment.counters();
    for (std::size_t page = 5; page < pages / 2; page += 3) {
        ASSERT_EQ(bytes[page * page_bytes], page % 251);
    }
    for (std::size_t page = pages - 1; page > pages / 2; --page) {
        ASSERT_EQ(bytes[page * page_bytes], page % 251);
    }
    const Counters after = segment.counters();
    EXPECT_GT(after.prefetched - before.prefetched, 500U);
    EXPECT_LT(after.faults - before.faults, 60U);
}

TEST_P(Ahead, ARecordedWorkingSetIsBroughtBack) {
    Segment segment(chosen(4 * mib));
    auto* bytes = static_cast<unsigned char*>(segment.data());
    const auto touch = [&](std::size_t page) { return bytes[page * page_bytes]; };
    std::vector<std::uint32_t> wanted;
    std::mt19937 random(3);
    for (int i = 0; i < 300; ++i) {
        const auto page = static_cast<std::uint32_t>(random() % (segment.bytes() / page_bytes));
        bytes[page * page_bytes] = static_cast<unsigned char>(page % 251 + 1);
        wanted.push_back(page);
    }
    const std::vector<std::uint32_t> recorded =
        read_pages(write_pages(segment.recorded()), static_cast<std::uint32_t>(segment.bytes() / page_bytes));
    for (const std::uint32_t page : wanted) {
        EXPECT_NE(std::find(recorded.begin(), recorded.end(), page), recorded.end()) << page;
    }
    // Something else takes the cache.
    for (std::size_t pass = 0; pass < 2; ++pass) {
        for (std::size_t page = 0; page < segment.bytes() / page_bytes; ++page) {
            static_cast<void>(*const_cast<volatile unsigned char*>(bytes + page * page_bytes));
        }
    }
    // Room for the working set: the cache is emptied of what nobody wants back.
    const std::uint64_t before = segment.counters().prefetched;
    std::vector<bool> is_wanted(segment.bytes() / page_bytes);
    for (const std::uint32_t page : wanted) {
        is_wanted[page] = true;
    }
    for (std::size_t page = 0; page < is_wanted.size(); ++page) {
        if (!is_wanted[page]) {
            segment.discard(page * page_bytes, page_bytes);
        }
    }
    segment.prefetch(recorded);
    for (int tries = 0; segment.counters().prefetched - before < 200 && tries < 6000; ++tries) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    EXPECT_GE(segment.counters().prefetched - before, 200U);
    const std::uint64_t faults = segment.counters().faults;
    for (const std::uint32_t page : wanted) {
        ASSERT_EQ(touch(page), page % 251 + 1);
    }
    EXPECT_LT(segment.counters().faults - faults, 100U);
}

INSTANTIATE_TEST_SUITE_P(
    All, Ahead, testing::Combine(testing::Values(Faults::in_thread, Faults::handler), testing::Bool()),
    [](const auto& info) {
        const bool in_thread = std::get<0>(info.param) == Faults::in_thread;
        return std::string(in_thread ? "InThread" : "Handler") + (std::get<1>(info.param) ? "Tcp" : "Shared");
    });

}  // namespace
