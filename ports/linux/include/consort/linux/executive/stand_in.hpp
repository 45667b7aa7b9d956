// SPDX-License-Identifier: Apache-2.0
//
// A stand-in on this port: it executes for a time of its thread's own.
#pragma once

#include <time.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

#include "consort/app/stand_in.hpp"
#include "consort/linux/clock.hpp"
#include "consort/linux/executive/channels.hpp"
#include "consort/task.hpp"

namespace consort::linux_port {

using app::StandInIn;
using app::StandInOut;
using app::StandInState;

// The thread's own processor time [ns]: what preempts it does not count.
inline std::uint64_t executed_ns() noexcept {
    timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U +
           static_cast<std::uint64_t>(time.tv_nsec);
}

// The least that a reading of a thread's clock takes, and that a piece of work with one takes [ns].
struct Pace {
    std::uint64_t reading = ~std::uint64_t{0};
    std::uint64_t round = ~std::uint64_t{0};
};

template <class Executed, class Work>
Pace pace_of(const Executed& executed, const Work& work) noexcept {
    Pace pace;
    for (int i = 0; i < 16; ++i) {
        const std::uint64_t begin = executed();
        const std::uint64_t read = executed();
        work();
        pace.reading = std::min(pace.reading, read - begin);
        pace.round = std::min(pace.round, executed() - read);
    }
    return pace;
}

// A first reading takes several times the least where the caches have forgotten it; a longer one was
// interrupted.
inline constexpr std::uint64_t cold_readings = 16;

// In a round the two clocks differ by less, however unlike their rates.
inline constexpr std::uint64_t least_stop_ns = 1'000;

// Works for at most `ns` from `entered` on: it ends where one more round would not fit, and begins only if
// the first one does. `wall`: a clock that costs nothing, and goes on where the thread's stands still. By it
// a job is timed, and its rate is another one, by tens of millionths: what it shows counts, without stops.
// The thread that calls it sees as much as two readings more, before `entered` and after the last.
template <class Wall, class Executed, class Work>
void work_for(std::uint64_t ns, const Pace& pace, std::uint64_t entered, const Wall& wall,
              const Executed& executed, const Work& work) noexcept {
    const std::uint64_t begin = executed();
    const std::uint64_t first = std::min(wall() - entered, cold_readings * pace.reading);
    // It leaves as cold as it came.
    const std::uint64_t others = 2 * first + 2 * pace.reading;
    std::uint64_t round = pace.round;
    std::uint64_t last = begin;
    std::uint64_t before = round;
    const std::uint64_t seen_first = wall();
    std::uint64_t seen = seen_first;
    std::uint64_t stopped = 0;
    const auto spent = [&] { return std::max(last - begin, seen - seen_first - stopped); };
    while (spent() + std::max(round, before) + others <= ns) {
        work();
        const std::uint64_t now = executed();
        const std::uint64_t passed = wall() - seen;
        stopped += passed > now - last + least_stop_ns ? passed - (now - last) : 0;
        seen += passed;
        // Of the last two: an interrupt makes one long.
        before = std::exchange(round, now - last);
        last = now;
    }
}

inline void piece_of_work() noexcept {
    std::uint32_t word = 1;
    for (int i = 0; i < 64; ++i) {
        word = word * 1664525U + 1013904223U;
        asm volatile("" : "+r"(word));
    }
}

// Measured before any job.
inline const Pace pace_here = pace_of(executed_ns, piece_of_work);

inline std::uint64_t wall_ns() noexcept {
    return Clock::to_ns(Clock::now());
}

inline void stand_in_step(const StandInIn& in, StandInState& state, StandInOut& out) noexcept {
    const std::uint64_t entered = wall_ns();
    ++state.jobs;
    out.job = in.job;
    // Where nothing fits not even the clock is read.
    if (in.execution_ns > pace_here.round + 3 * pace_here.reading) {
        work_for(in.execution_ns, pace_here, entered, wall_ns, executed_ns, piece_of_work);
    }
}

using StandIn = Task<&stand_in_step>;

template <class C, class Binding>
std::shared_ptr<ReadSource> open_stand_in_reader(const Region<>& region, const Binding& binding) {
    return std::make_shared<SourceOf<app::StandInReader<C>>>(
        *open_or_refuse<typename C::Channel>(region, object_name(binding.source)), binding.reader);
}

template <class C, class Binding>
std::shared_ptr<WriteTarget> open_stand_in_writer(const Region<>& region, const Binding& binding) {
    return std::make_shared<TargetOf<app::StandInWriter<LinuxPort, C>>>(
        *open_or_refuse<typename C::Channel>(region, object_name(binding.source)));
}

}  // namespace consort::linux_port
