// SPDX-License-Identifier: Apache-2.0
//
// Names what kept a real-time thread from running while it spun: found as a gap between two clock reads that
// should lie some tens of nanoseconds apart.
//
//   stopped      the thread was not on its processor: throttled by the kernel's limit on real-time time,
//                displaced by the fair server, or preempted by a thread of higher priority
//   interrupted  the thread was on its processor, but something else used it: an interrupt with its soft
//                interrupts, a system-management interrupt, or the hypervisor
//
// Two pieces of evidence decide. The thread's CPU time stands still while it is stopped. So does it during an
// interrupt on kernels that charge interrupts or stolen time apart (CONFIG_IRQ_TIME_ACCOUNTING,
// CONFIG_PARAVIRT_TIME_ACCOUNTING); but without a context switch a thread cannot have been stopped.
#pragma once

#include <sys/resource.h>
#include <time.h>

#include <cstdint>
#include <optional>

#include "consort/linux/clock.hpp"
#include "consort/task/job.hpp"

namespace consort::linux_port {

// The kernel's figures on the calling thread. Reading it takes two system calls (under 1 µs).
struct ThreadUsage {
    std::uint64_t tick = 0;      // when it was read, ticks of Clock
    std::uint64_t cpu_ns = 0;    // CPU time since the thread's start
    std::uint64_t switches = 0;  // context switches, voluntary and not, since the thread's start

    [[nodiscard]] static ThreadUsage now() noexcept {
        rusage usage{};
        ::getrusage(RUSAGE_THREAD, &usage);
        ThreadUsage result;
        result.switches =
            static_cast<std::uint64_t>(usage.ru_nvcsw) + static_cast<std::uint64_t>(usage.ru_nivcsw);
        result.cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
        result.tick = Clock::now();
        return result;
    }
};

struct Gap {
    std::uint64_t begin = 0;  // ticks of Clock: the last read before the gap
    std::uint64_t end = 0;    // the first read after it
    Event::Cause cause = Event::stopped;

    [[nodiscard]] std::uint64_t ticks() const noexcept { return end - begin; }
};

// The cause of a gap of `gap_ns` that lies between two readings of the thread's usage, `elapsed_ns` apart.
// The thread must not have slept or blocked of its own accord between the two.
[[nodiscard]] constexpr Event::Cause cause_of(std::uint64_t gap_ns, std::uint64_t elapsed_ns,
                                              const ThreadUsage& before, const ThreadUsage& after) noexcept {
    if (after.switches == before.switches) {
        return Event::interrupted;
    }
    const std::uint64_t ran_ns = after.cpu_ns - before.cpu_ns;
    const std::uint64_t off_ns = elapsed_ns > ran_ns ? elapsed_ns - ran_ns : 0;
    // Off its processor for most of the gap. Not for all of it: the switches themselves are charged.
    return 2 * off_ns >= gap_ns ? Event::stopped : Event::interrupted;
}

// Watches one spinning thread; every member is called by that thread.
//
//     GapDetector detector(Clock::from_ns(threshold_ns));
//     detector.resume();                                   // also after every sleep
//     while (now < release) {
//         now = Clock::now();
//         if (const auto gap = detector.look(now)) { record(*gap); }
//     }
class GapDetector {
  public:
    // Longer than a tick's interrupt, shorter than what a period of 50 µs can spare.
    static constexpr std::uint64_t default_threshold_ns = 20'000;

    explicit GapDetector(std::uint64_t threshold_ticks) noexcept : threshold_(threshold_ticks) {}

    // Begins to watch. What came before (a sleep, a blocking call, a job) is not a gap. Takes about 1 µs.
    void resume() noexcept {
        usage_ = ThreadUsage::now();
        last_ = usage_.tick;
    }

    // As resume() for one that sleeps and never spins, where look() is not called: its switches are not read,
    // which takes half the time. Returns the tick from which its CPU time is known.
    std::uint64_t take_cpu_time() noexcept {
        usage_.cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
        usage_.tick = Clock::now();
        return usage_.tick;
    }

    // As resume(), but without its system calls: after a job, and not after a sleep.
    void skip_to(std::uint64_t now) noexcept { last_ = now; }

    // The thread's CPU time from `since` on, at least [ns]. From the last resume() or gap until then it spun,
    // at most for as long as that.
    [[nodiscard]] std::uint64_t ran_since(std::uint64_t since) const noexcept {
        const std::uint64_t ran = clock_ns(CLOCK_THREAD_CPUTIME_ID) - usage_.cpu_ns;
        const std::uint64_t before = since > usage_.tick ? Clock::to_ns(since - usage_.tick) : 0;
        return ran > before ? ran - before : 0;
    }
    // True if the thread's known CPU time is so old at `now` that two clocks may differ by much.
    [[nodiscard]] bool stale(std::uint64_t now) const noexcept {
        return now > usage_.tick && now - usage_.tick > stale_;
    }

    // True if the thread was switched away from against its will since the last call.
    [[nodiscard]] bool preempted() noexcept {
        rusage usage{};
        ::getrusage(RUSAGE_THREAD, &usage);
        const bool found = usage.ru_nivcsw != preemptions_;
        preemptions_ = usage.ru_nivcsw;
        return found;
    }

    // Call it with every clock reading of the loop. Costs a comparison, unless there was a gap longer than
    // the threshold, which it returns: then about 1 µs.
    [[nodiscard]] std::optional<Gap> look(std::uint64_t now) noexcept {
        const std::uint64_t before = last_;
        last_ = now;
        // A reading on another processor may lie before the last one: no gap.
        if (now <= before || now - before <= threshold_) [[likely]] {
            return std::nullopt;
        }
        const ThreadUsage after = ThreadUsage::now();
        const Event::Cause cause =
            cause_of(Clock::to_ns(now - before), Clock::to_ns(after.tick - usage_.tick), usage_, after);
        usage_ = after;
        last_ = after.tick;
        return Gap{before, now, cause};
    }

  private:
    std::uint64_t threshold_;
    // Clocks that are a hundred millionths apart differ by 1 µs after that.
    std::uint64_t stale_ = Clock::from_ns(10'000'000);
    std::uint64_t last_ = 0;
    ThreadUsage usage_;
    long preemptions_ = 0;
};

}  // namespace consort::linux_port
