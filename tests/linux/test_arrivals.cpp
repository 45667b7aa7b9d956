// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>
#include <vector>

#include "consort/linux/executive/arrivals.hpp"

using namespace consort::linux_port;
using consort::Ticks;

// Releases against the definition of the arrival curve, job by job.
TEST(Arrivals, ReleasesKeepTheArrivalCurve) {
    std::mt19937 random(1);
    for (int round = 0; round < 200; ++round) {
        const Ticks distance = 1 + random() % 100;
        const Ticks jitter = random() % 3 == 0 ? 0 : random() % 150;
        ArrivalLine line;
        Announcement writer(line, nullptr);
        ArrivalReleases releases(line, distance, jitter);
        Ticks arrival = 1000;
        Ticks before = 0;
        for (std::uint32_t job = 0; job < 100; ++job) {
            EXPECT_FALSE(releases.known());
            arrival += random() % (2 * distance);
            writer.announce(arrival);
            ASSERT_TRUE(releases.known());
            const Ticks least = job == 0 ? 0 : before + distance;
            EXPECT_EQ(releases.job(), job);
            EXPECT_EQ(releases.nominal(), std::max(least, arrival - jitter));
            EXPECT_EQ(releases.actual(), std::max(arrival, releases.nominal()));
            EXPECT_EQ(releases.early(), releases.actual() - arrival);
            before = releases.nominal();
            releases.next();
        }
    }
}

// Bursts: of three blocks the third waits, and the fourth until the first lies far enough behind.
TEST(Arrivals, ReleasesKeepTheirDistances) {
    std::mt19937 random(2);
    for (int round = 0; round < 200; ++round) {
        const Ticks jitter = random() % 3 == 0 ? 0 : random() % 150;
        std::vector<std::int64_t> least(1 + random() % (round % 8 == 0 ? 40 : 4));
        std::int64_t distance = 0;
        for (std::int64_t& one : least) {
            one = distance += 1 + random() % 60;
        }
        ArrivalLine line;
        Announcement writer(line, nullptr);
        ArrivalReleases releases(line, 1, jitter, {least.data(), least.size()});
        Ticks arrival = 1000;
        std::vector<Ticks> before;
        for (std::uint32_t job = 0; job < 100; ++job) {
            arrival += random() % 40;
            writer.announce(arrival);
            ASSERT_TRUE(releases.known());
            Ticks earliest = arrival;
            for (std::size_t back = 0; back < least.size() && back < before.size(); ++back) {
                earliest =
                    std::max(earliest, before[before.size() - 1 - back] + static_cast<Ticks>(least[back]));
            }
            EXPECT_EQ(releases.actual(), earliest);
            EXPECT_EQ(releases.early(), earliest - arrival);
            EXPECT_LE(releases.nominal(), releases.actual());
            EXPECT_LE(releases.actual() - releases.nominal(), jitter);
            before.push_back(releases.actual());
            releases.next();
        }
    }
}

// A reader that is so far behind that instants are overwritten releases every job, and none as if it had
// come later than it did.
TEST(Arrivals, AReaderFarBehindSeesEveryJob) {
    ArrivalLine line;
    Announcement writer(line, nullptr);
    ArrivalReleases releases(line, 10, 0);
    constexpr std::uint32_t blocks = 5 * ArrivalLine::kept;
    for (std::uint32_t i = 0; i < blocks; ++i) {
        writer.announce(1000 + 10 * Ticks{i});
    }
    std::uint32_t jobs = 0;
    for (; releases.known(); releases.next()) {
        EXPECT_LE(releases.nominal(), 1000 + 10 * Ticks{jobs});
        ++jobs;
    }
    EXPECT_EQ(jobs, blocks);
}

// A writer at full speed on another processor: no job is lost, none is released after its instant.
TEST(Arrivals, NoJobIsLostBesideAWriter) {
    ArrivalLine line;
    ArrivalReleases releases(line, 1, 0);
    constexpr std::uint32_t blocks = 20000;
    std::thread thread([&line] {
        Announcement writer(line, nullptr);
        for (std::uint32_t i = 0; i < blocks; ++i) {
            writer.announce(1 + 2 * Ticks{i});
        }
    });
    for (std::uint32_t job = 0; job < blocks; ++job) {
        while (!releases.known()) {
            releases.sleep(Clock::now() + Clock::from_ns(1'000'000));
        }
        EXPECT_LE(releases.nominal(), 1 + 2 * Ticks{job});
        releases.next();
    }
    thread.join();
    EXPECT_FALSE(releases.known());
}

// A block that found no room releases nobody.
TEST(Arrivals, ADroppedBlockIsNotAnnounced) {
    struct Full final : WriteTarget {
        Transferred write(const std::byte* /*from*/, Ticks /*visible*/) noexcept override {
            return {1, 0, consort::Operation::write_dropped};
        }
    };
    ArrivalLine line;
    const auto target = announcing(std::make_shared<Full>(), {Announcement(line, nullptr)});
    target->write(nullptr, 0);
    EXPECT_EQ(line.announced.load(), 0U);
}
