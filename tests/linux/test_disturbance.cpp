// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <new>

#include "consort/linux/disturbance.hpp"
#include "consort/linux/executive/thread_watch.hpp"
#include "consort/linux/executive/waiting.hpp"
#include "consort/linux/interrupt_mark.hpp"

using namespace consort::linux_port;
using consort::Event;

namespace {

constexpr std::uint64_t ms = 1'000'000;
constexpr std::uint64_t late_ns = 50'000;

ThreadUsage usage(std::uint64_t cpu_ns, std::uint64_t switches) {
    ThreadUsage result;
    result.cpu_ns = cpu_ns;
    result.switches = switches;
    return result;
}

}  // namespace

// A gap of 50 ms within 60 ms, of which the thread ran for 10: it stood still in all of the gap.
TEST(Disturbance, CpuTimeThatStandsStillIsAStop) {
    EXPECT_EQ(cause_of(50 * ms, 60 * ms, usage(0, 3), usage(10 * ms, 5)), Event::stopped);
}

TEST(Disturbance, CpuTimeThatRunsOnIsAnInterrupt) {
    EXPECT_EQ(cause_of(50 * ms, 60 * ms, usage(0, 3), usage(60 * ms, 3)), Event::interrupted);
}

// A short preemption before, too short to be a gap, does not turn the interrupt into a stop.
TEST(Disturbance, EarlierSwitchDoesNotNameALaterInterrupt) {
    EXPECT_EQ(cause_of(50 * ms, 60 * ms, usage(0, 3), usage(59 * ms, 5)), Event::interrupted);
}

// Kernels that charge interrupts apart let the CPU time stand still in one; no switch tells them apart.
TEST(Disturbance, InterruptThatIsChargedToNobodyIsNoStop) {
    EXPECT_EQ(cause_of(50 * ms, 60 * ms, usage(0, 3), usage(10 * ms, 3)), Event::interrupted);
}

TEST(Disturbance, MoreCpuTimeThanElapsedIsNoUnderflow) {
    EXPECT_EQ(cause_of(50 * ms, 60 * ms, usage(0, 3), usage(61 * ms, 4)), Event::interrupted);
}

TEST(GapDetector, FindsOnlyWhatIsLongerThanTheThreshold) {
    GapDetector detector(1000);
    detector.resume();
    const std::uint64_t begin = Clock::now() + 1'000'000'000'000U;
    EXPECT_TRUE(detector.look(begin).has_value());
    detector.resume();
    const std::uint64_t from = Clock::now();
    EXPECT_FALSE(detector.look(from - 5'000).has_value()) << "a reading that lies before the last one";
}

// A real gap: another process stops this thread for a time that both can see.
TEST(GapDetector, NamesAStopOfARealThread) {
    struct Shared {
        std::atomic<std::uint32_t> spinning{0};
        std::atomic<std::uint64_t> stopped{0};
        std::atomic<std::uint64_t> longest_stop{0};
    };
    void* memory = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    auto* shared = ::new (memory) Shared;
    Clock::info();
    const pid_t child = ::fork();
    if (child == 0) {
        GapDetector detector(Clock::from_ns(GapDetector::default_threshold_ns));
        detector.resume();
        shared->spinning.store(1);
        while (shared->spinning.load(std::memory_order_relaxed) != 2) {
            if (const auto gap = detector.look(Clock::now())) {
                if (gap->cause == Event::stopped && gap->ticks() > shared->longest_stop.load()) {
                    shared->longest_stop.store(gap->ticks());
                }
            }
        }
        ::_exit(0);
    }
    ASSERT_GT(child, 0);
    while (shared->spinning.load() != 1) {
        ::usleep(100);
    }
    int status = 0;
    std::uint64_t lasted = 0;
    // A stop may fall into the detector's own system calls, where it is not a gap: then once more.
    for (int attempt = 0; attempt < 20 && (attempt == 0 || shared->longest_stop.load() < lasted); ++attempt) {
        ::kill(child, SIGSTOP);
        ASSERT_EQ(::waitpid(child, &status, WUNTRACED), child);
        ASSERT_TRUE(WIFSTOPPED(status));
        // From here on it is stopped for certain.
        const std::uint64_t begin = Clock::now();
        ::usleep(30'000);
        lasted = Clock::now() - begin;
        ::kill(child, SIGCONT);
        const std::uint64_t give_up = Clock::now() + Clock::from_ns(2'000'000'000U);
        while (shared->longest_stop.load() < lasted && Clock::now() < give_up) {
            ::usleep(100);
        }
    }
    shared->spinning.store(2);
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_GE(shared->longest_stop.load(), lasted);
    ::munmap(memory, sizeof(Shared));
}

// Work between two looks is a gap in which the thread ran. One undisturbed try is enough.
TEST(GapDetector, NamesAGapInWhichTheThreadRan) {
    const std::uint64_t work = Clock::from_ns(200'000);
    bool seen = false;
    for (int attempt = 0; attempt < 1000 && !seen; ++attempt) {
        GapDetector detector(Clock::from_ns(100'000));
        detector.resume();
        const std::uint64_t begin = Clock::now();
        while (Clock::now() - begin < work) {
        }
        const auto gap = detector.look(Clock::now());
        ASSERT_TRUE(gap.has_value());
        EXPECT_GE(gap->ticks(), work);
        seen = gap->cause == Event::interrupted;
    }
    EXPECT_TRUE(seen);
}

// A timer's interrupt every few milliseconds; in some stretch of a second there is one. Right after the mark
// was set there is none, in one of many tries.
TEST(InterruptMark, IsHitByAnInterruptAndByNothingElse) {
    if (!InterruptMark::available) {
        GTEST_SKIP() << "this processor has no such mark";
    }
    bool quiet = false;
    for (int attempt = 0; attempt < 1000 && !quiet; ++attempt) {
        InterruptMark::clear();
        quiet = !InterruptMark::hit();
    }
    EXPECT_TRUE(quiet);
    InterruptMark::clear();
    const std::uint64_t give_up = Clock::now() + Clock::from_ns(5'000'000'000U);
    while (!InterruptMark::hit() && Clock::now() < give_up) {
    }
    EXPECT_TRUE(InterruptMark::hit());
    InterruptMark::clear();
}

namespace {

// The record of a watch: the last event in a ring of its own.
struct Watched {
    Watched() {
        memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        ring = ::new (memory) consort::app::RingMemory;
        ring->capacity = capacity;
    }
    ~Watched() { ::munmap(memory, bytes); }
    Watched(const Watched&) = delete;
    Watched& operator=(const Watched&) = delete;

    // All events so far, the last one kept.
    int drained() {
        int count = 0;
        consort::app::RingReader reader(*ring);
        reader.drain([&](const consort::app::RecordHead&, const std::byte* body) {
            before_last = last;
            std::memcpy(&last, body, sizeof last);
            ++count;
        });
        return count;
    }

    static constexpr std::uint32_t capacity = 1U << 20U;
    static constexpr std::size_t bytes = consort::app::RingMemory::bytes_for(capacity);
    void* memory = nullptr;
    consort::app::RingMemory* ring = nullptr;
    Event last{};
    Event before_last{};
};

}  // namespace

// A short job that nothing interrupts leaves no event, in one of many tries; one that a tick interrupts
// leaves one whose cause says so and whose length is at most the job's.
TEST(ThreadWatch, RecordsAJobThatWasInterrupted) {
    if (!InterruptMark::available) {
        GTEST_SKIP() << "what interrupts a job of a known length is looked for by CPU time here";
    }
    Watched watched;
    consort::app::RingWriter writer(*watched.ring);
    ThreadWatch watch(writer, 3, late_ns);
    bool quiet = false;
    for (int attempt = 0; attempt < 1000 && !quiet; ++attempt) {
        watch.job_begins(Clock::now());
        watch.job_ended(7, Clock::now());
        quiet = watched.drained() == 0;
    }
    EXPECT_TRUE(quiet);
    watch.job_begins(Clock::now());
    const std::uint64_t since = Clock::now();
    const std::uint64_t give_up = since + Clock::from_ns(5'000'000'000U);
    while (!InterruptMark::hit() && Clock::now() < give_up) {
    }
    watch.job_ended(7, since);
    ASSERT_EQ(watched.drained(), 2);
    EXPECT_EQ(watched.last.kind, Event::executed);
    EXPECT_EQ(watched.before_last.kind, Event::disturbed);
    EXPECT_EQ(watched.before_last.task, 7);
    EXPECT_EQ(watched.before_last.core, 3);
    EXPECT_TRUE(watched.before_last.cause == Event::interrupted ||
                watched.before_last.cause == Event::stopped);
    EXPECT_LE(watched.before_last.value, Clock::now() - since);
}

// A job begins once its thread's CPU time is known, which is asked for after each sleep, and not before jobs
// between which the thread stayed awake.
TEST(ThreadWatch, AJobBeginsAfterItsCpuTimeIsAskedFor) {
    Watched watched;
    consort::app::RingWriter writer(*watched.ring);
    ThreadWatch watch(writer, 3, late_ns);
    const std::uint64_t first = Clock::now();
    watch.slept();
    EXPECT_GT(watch.job_begins(first), first);
    const std::uint64_t next = Clock::now();
    EXPECT_EQ(watch.job_begins(next), next);
}

// CPU time of a job: what it executed, and not what it slept.
TEST(ThreadWatch, SaysWhatAnInterruptedJobExecuted) {
    Watched watched;
    consort::app::RingWriter writer(*watched.ring);
    ThreadWatch watch(writer, 3, late_ns);
    const std::uint64_t before = Clock::now();
    watch.slept();
    const std::uint64_t since = Clock::now();
    watch.job_begins(since);
    const std::uint64_t used = consort::linux_port::clock_ns(CLOCK_THREAD_CPUTIME_ID);
    const std::uint64_t begun = Clock::now();
    timespec time{0, 30'000'000};
    ::clock_nanosleep(CLOCK_MONOTONIC, 0, &time, nullptr);
    while (consort::linux_port::clock_ns(CLOCK_THREAD_CPUTIME_ID) - used < 5'000'000U ||
           (InterruptMark::available && !InterruptMark::hit())) {
    }
    watch.job_ended(7, since);
    const std::uint64_t lasted = Clock::now() - since;
    ASSERT_EQ(watched.drained(), 2);
    EXPECT_EQ(watched.last.kind, Event::executed);
    EXPECT_EQ(watched.last.time, watched.before_last.time);
    EXPECT_LE(watched.last.value + Clock::from_ns(29'000'000), lasted);
    EXPECT_GE(watched.last.value + (begun - before), Clock::from_ns(4'900'000));
}

// Of a job that others of its core came into: how long it was off its processor, and no more.
TEST(ThreadWatch, SaysHowLongAPreemptedJobWasOffItsProcessor) {
    Watched watched;
    consort::app::RingWriter writer(*watched.ring);
    ThreadWatch watch(writer, 3, late_ns);
    watch.slept();
    const std::uint64_t before = consort::linux_port::clock_ns(CLOCK_THREAD_CPUTIME_ID);
    const std::uint64_t since = Clock::now();
    watch.job_begins(since);
    timespec time{0, 30'000'000};
    ::clock_nanosleep(CLOCK_MONOTONIC, 0, &time, nullptr);
    while (consort::linux_port::clock_ns(CLOCK_THREAD_CPUTIME_ID) - before < 5'000'000U) {
    }
    watch.job_was_preempted(7, since);
    const std::uint64_t lasted = Clock::now() - since;
    ASSERT_EQ(watched.drained(), 1);
    EXPECT_EQ(watched.last.kind, Event::preempted);
    EXPECT_EQ(watched.last.task, 7);
    EXPECT_GE(watched.last.value, Clock::from_ns(30'000'000));
    EXPECT_LE(watched.last.value + Clock::from_ns(4'900'000), lasted);
}

TEST(ThreadWatch, NamesALateWakeUp) {
    Watched watched;
    consort::app::RingWriter writer(*watched.ring);
    ThreadWatch watch(writer, 0, late_ns);
    const std::uint64_t due = Clock::now();
    watch.woke(1, due, due + Clock::from_ns(late_ns / 2));
    EXPECT_EQ(watched.drained(), 0) << "as late as timers are";
    const std::uint64_t late = Clock::from_ns(2 * late_ns);
    watch.woke(1, due, due + late);
    ASSERT_EQ(watched.drained(), 1);
    EXPECT_EQ(watched.last.cause, Event::woken_late);
    EXPECT_EQ(watched.last.value, late);
    EXPECT_EQ(watched.last.time, due + late);
}

// A time between two looks at the clock, longer than any pair of looks: after a sleep it is not a gap.
TEST(ThreadWatch, NamesAGapWhileItSpins) {
    Watched watched;
    consort::app::RingWriter writer(*watched.ring);
    ThreadWatch watch(writer, 0, late_ns);
    watch.spins(Clock::now(), true);
    const std::uint64_t begin = Clock::now();
    const std::uint64_t lasted = Clock::from_ns(200'000);
    while (Clock::now() - begin < lasted) {
    }
    const std::uint64_t now = Clock::now();
    watch.look(2, now);
    ASSERT_EQ(watched.drained(), 1);
    EXPECT_NE(watched.last.cause, Event::unknown);
    EXPECT_GE(watched.last.value, lasted);
    watch.spins(Clock::now(), false);
    watch.look(2, Clock::now() - lasted);
    EXPECT_EQ(watched.drained(), 0) << "a job between two waits is not a gap";
}

// A gap between two looks in which no interrupt came is the hypervisor's (here: the thread's own work plays
// it); one in which an interrupt came is not.
TEST(ThreadWatch, TellsAnInterruptFromWhatIsTakenWithoutOne) {
    if (!InterruptMark::available) {
        GTEST_SKIP() << "interrupts leave no mark here";
    }
    Watched watched;
    consort::app::RingWriter writer(*watched.ring);
    ThreadWatch watch(writer, 0, late_ns);
    const std::uint64_t lasted = Clock::from_ns(20'000);
    bool seen = false;
    for (int attempt = 0; attempt < 1000 && !seen; ++attempt) {
        const std::uint64_t begin = Clock::now();
        watch.spins(begin, false);
        while (Clock::now() - begin < lasted) {
        }
        watch.look(2, Clock::now());
        seen = watched.drained() == 1 && watched.last.cause == Event::taken;
    }
    EXPECT_TRUE(seen);
    const std::uint64_t begin = Clock::now();
    watch.spins(begin, false);
    while (!InterruptMark::hit() || Clock::now() - begin < lasted) {
    }
    watch.look(2, Clock::now());
    ASSERT_EQ(watched.drained(), 1);
    EXPECT_TRUE(watched.last.cause == Event::interrupted || watched.last.cause == Event::stopped);
}

// No bound counts what a core that spins gives the kernel's threads: each time is in the record.
TEST(ReleaseWait, RestsInOneOfSomeWaitsAndSaysSo) {
    Watched watched;
    consort::app::RingWriter writer(*watched.ring);
    ThreadWatch watch(writer, 1, 0);
    CoreConfig core;
    core.time_base = TimeBase::hybrid;
    core.margin_ns = 10'000'000'000U;
    core.sleep_one_in = 3;
    ReleaseWait wait(core);
    const auto next = [&] {
        watched.drained();
        const std::uint64_t due = Clock::now() + Clock::from_ns(1'000'000);
        const std::uint64_t woke = wait.until(due, watch, 4, true);
        EXPECT_GE(woke, due);
        return woke - due;
    };
    for (int round = 0; round < 3; ++round) {
        next();
        next();
        watched.last = {};
        const std::uint64_t late = next();
        EXPECT_EQ(watched.drained(), late != 0 ? 1 : 0);
        EXPECT_EQ(watched.last.value, late);
        EXPECT_TRUE(late == 0 || watched.last.cause == Event::rested);
    }
}

// Where it sleeps until the margin it need not rest.
TEST(ReleaseWait, RestsNowhereThatItSleepsAnyway) {
    Watched watched;
    consort::app::RingWriter writer(*watched.ring);
    ThreadWatch watch(writer, 1, 0);
    CoreConfig core;
    core.time_base = TimeBase::hybrid;
    core.margin_ns = 1;
    core.sleep_one_in = 1;
    ReleaseWait wait(core);
    for (int round = 0; round < 5; ++round) {
        const std::uint64_t due = Clock::now() + Clock::from_ns(1'000'000);
        const std::uint64_t woke = wait.until(due, watch, 4, true);
        EXPECT_GE(woke, due);
        while (watched.drained() != 0) {
            EXPECT_NE(watched.last.cause, Event::rested);
        }
    }
}
