// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <limits>

#include "consort/linux/clock.hpp"
#include "consort/linux/release_timer.hpp"
#include "temporary.hpp"

using namespace consort::linux_port;

TEST(Scale, IsExactWhereAProductWouldOverflow) {
    EXPECT_EQ(scale(10'000'000'000'000'000'000U, 1'000'000'000U, 10'000'000'000U),
              1'000'000'000'000'000'000U);
    EXPECT_EQ(scale(7, 1'000'000'000U, 2'596'100'000U), 2U);
    // A clock of picoseconds: whole multiples, to which the split of smaller rates does not go.
    EXPECT_EQ(scale(1'234'567'890'123'456U, 1'000'000'000'000U, 1'000'000'000U), 1'234'567'890'123'456'000U);
    EXPECT_EQ(scale(1'234'567'890'123'456'789U, 1'000'000'000U, 1'000'000'000'000U), 1'234'567'890'123'456U);
    EXPECT_EQ(scale(std::numeric_limits<std::uint64_t>::max() / 999, 1'000'000'000'000U, 1'000'000'000U),
              std::numeric_limits<std::uint64_t>::max());
    EXPECT_EQ(scale(0, 3, 5), 0U);
}

TEST(Scale, SaturatesInsteadOfWrapping) {
    EXPECT_EQ(scale(std::numeric_limits<std::uint64_t>::max(), 10'000'000'000U, 1'000'000'000U),
              std::numeric_limits<std::uint64_t>::max());
    EXPECT_EQ(scale(std::numeric_limits<std::uint64_t>::max(), 5, 5),
              std::numeric_limits<std::uint64_t>::max());
}

TEST(Picoseconds, AreExactWhereAProductWouldOverflow) {
    EXPECT_EQ(ticks_of_ps(1, 1'000'000'000U), 0U);
    EXPECT_EQ(ticks_of_ps(1'999, 1'000'000'000U), 1U);
    // 2.5961 ticks a nanosecond: whole nanoseconds and what is left of one belong together.
    EXPECT_EQ(ticks_of_ps(1'155, 2'596'100'000U), 2U);
    EXPECT_EQ(ticks_of_ps(1'156, 2'596'100'000U), 3U);
    EXPECT_EQ(ticks_of_ps(86'400'000'000'000'001, 18'000'000'000U), 1'555'200'000'000'000U);
    EXPECT_EQ(ticks_of_ps(123'456'789'012'345'678, 1'000'000'000'000U), 123'456'789'012'345'678U);
}

TEST(Clock, ConvertsThereAndBackWithinOneTick) {
    for (const std::uint64_t ns :
         {0ULL, 1ULL, 999'999'999ULL, 3'600'000'000'000ULL, 31'536'000'000'000'000ULL}) {
        const std::uint64_t back = Clock::to_ns(Clock::from_ns(ns));
        const std::uint64_t tick_ns = 1'000'000'000U / Clock::ticks_per_second() + 1;
        EXPECT_LE(back, ns);
        EXPECT_LE(ns - back, tick_ns);
    }
}

TEST(Clock, NeverRunsBackwardsInOneThread) {
    std::uint64_t previous = Clock::now();
    for (int i = 0; i < 100'000; ++i) {
        const std::uint64_t current = Clock::now();
        ASSERT_GE(current, previous);
        previous = current;
    }
}

TEST(Clock, FencedReadingsAreOrdered) {
    for (int i = 0; i < 1'000; ++i) {
        const std::uint64_t begin = Clock::begin();
        const std::uint64_t end = Clock::end();
        ASSERT_GE(end, begin);
    }
}

TEST(Clock, SaysWhatItIs) {
    const ClockInfo& info = Clock::info();
    EXPECT_FALSE(info.name.empty());
    EXPECT_FALSE(info.source.empty());
    EXPECT_GT(info.hz, 0U);
    EXPECT_GT(info.resolution, 0U);
}

// A second calibration of the same counter: both clocks are the kernel's, so the machine's speed does not
// matter.
TEST(Clock, TwoCalibrationsAgree) {
    const double again = detail::calibrate([] { return Clock::now(); });
    ASSERT_GT(again, 0.0);
    EXPECT_NEAR(again / static_cast<double>(Clock::ticks_per_second()), 1.0, 1e-3);
}

TEST(Calibration, RejectsWindowsThatWereDisturbed) {
    std::vector<detail::Bracket> brackets;
    for (std::uint64_t i = 0; i < 9; ++i) {
        brackets.push_back({1'000 + i * 2'500'000, 50, 77 + i * 1'000'000});
    }
    EXPECT_NEAR(detail::fitted_rate(brackets), 2.5e9, 1.0);
    brackets[4].tick += 900'000;  // preempted between the two readings: far off, and wide
    brackets[4].width = 1'800'000;
    EXPECT_NEAR(detail::fitted_rate(brackets), 2.5e9, 1.0);
}

TEST(Calibration, GivesUpWithTooFewGoodWindows) {
    EXPECT_EQ(detail::fitted_rate({{0, 10, 0}, {100, 10, 100}, {200, 1'000, 200}, {300, 1'000, 300}}), 0.0);
}

TEST(Calibration, CounterWithoutTheTwoPropertiesIsNoClock) {
#if defined(__x86_64__) || defined(__i386__)
    const Temporary folder;
    folder.write("good", "processor : 0\nflags\t: fpu tsc constant_tsc nonstop_tsc\n");
    folder.write("stops", "processor : 0\nflags\t: fpu tsc constant_tsc\n");
    EXPECT_TRUE(detail::counter_is_a_clock(folder.path / "good"));
    EXPECT_FALSE(detail::counter_is_a_clock(folder.path / "stops"));
    EXPECT_FALSE(detail::counter_is_a_clock(folder.path / "absent"));
#else
    GTEST_SKIP() << "only x86 leaves this question open";
#endif
}

class ReleaseModes : public testing::TestWithParam<TimeBase> {};

TEST_P(ReleaseModes, NeverWakesEarly) {
    const ReleaseTimer timer(GetParam());
    for (const std::uint64_t ns : {0U, 1'000U, 300'000U, 3'000'000U}) {
        const std::uint64_t release = Clock::now() + Clock::from_ns(ns);
        const std::uint64_t woke = timer.wait_until(release);
        EXPECT_GE(woke, release);
        EXPECT_LE(woke, Clock::now());
    }
}

TEST_P(ReleaseModes, ReturnsAtOnceWhenTheReleaseHasPassed) {
    const std::uint64_t before = Clock::now();
    EXPECT_GE(ReleaseTimer(GetParam()).wait_until(0), before);
}

INSTANTIATE_TEST_SUITE_P(All, ReleaseModes,
                         testing::Values(TimeBase::spin, TimeBase::sleep, TimeBase::hybrid));

TEST(TimeBaseName, KnowsThreeNames) {
    EXPECT_EQ(time_base_named("spin"), TimeBase::spin);
    EXPECT_EQ(time_base_named("sleep"), TimeBase::sleep);
    EXPECT_EQ(time_base_named("hybrid"), TimeBase::hybrid);
    EXPECT_EQ(time_base_named("Spin"), std::nullopt);
}
