// SPDX-License-Identifier: Apache-2.0
//
// A stand-in on this port: it executes for a time of its thread's own.
#pragma once

#include <time.h>

#include <cstdint>
#include <memory>

#include "consort/app/stand_in.hpp"
#include "consort/linux/executive/channels.hpp"
#include "consort/task.hpp"

namespace consort::linux_port {

using app::StandInIn;
using app::StandInOut;
using app::StandInState;

// Executes for `ns` of the thread's own processor time: what preempts it does not count.
inline void execute_for(std::uint64_t ns) noexcept {
    const auto executed = [] {
        timespec time{};
        ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
        return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U +
               static_cast<std::uint64_t>(time.tv_nsec);
    };
    // Reading the clock is part of the execution, and the caller's own clock sees a little more of it: better
    // a little early than above the WCET.
    constexpr std::uint64_t reading = 3000;
    const std::uint64_t until = executed() + (ns > reading ? ns - reading : 0);
    std::uint32_t word = 1;
    while (executed() < until) {
        for (int i = 0; i < 64; ++i) {
            word = word * 1664525U + 1013904223U;
            asm volatile("" : "+r"(word));
        }
    }
}

inline void stand_in_step(const StandInIn& in, StandInState& state, StandInOut& out) noexcept {
    execute_for(in.execution_ns);
    ++state.jobs;
    out.job = in.job;
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
