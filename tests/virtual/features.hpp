// SPDX-License-Identifier: Apache-2.0
//
// Features of a random system: a comparison says nothing about features that it never met.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "random_systems.hpp"

namespace virtual_tests {

enum class Feature : std::uint8_t {
    fixed_priority,
    non_preemptive,
    edf,
    threshold,  // that keeps some task of the core from preempting
    worker,
    tdma,
    round_robin,
    offset,
    jitter,
    sporadic,
    distances,  // that keep some releases apart
    given_releases,
    skipping,
    arrivals,
    arrivals_let,
    arrivals_across,  // the writer's core is another one
    suspension,
    spinning_master,
    context_switch,
    holds,
    falls_back,
    stops,
    several_masters_of_a_worker,
    implicit,
    let,
    let_across_kinds,
    implicit_across_kinds,
    all_kinds,             // releasing core, worker and three-phase core with tasks each
    all_kinds_with_a_let,  // and a LET channel between two of them
    count,
};
inline constexpr auto feature_count = static_cast<std::size_t>(Feature::count);
inline constexpr std::array<const char*, feature_count> feature_names = {
    "fixed priorities",
    "fixed priorities without preemption",
    "earliest deadline first",
    "preemption thresholds",
    "offloaded to a worker",
    "three-phase, TDMA",
    "three-phase, round robin",
    "offsets",
    "jitter",
    "sporadic releases",
    "least distances",
    "given releases",
    "skipped releases",
    "releases by blocks",
    "releases by blocks of LET channels",
    "releases by blocks from another core",
    "self-suspension",
    "a master that spins",
    "context switches",
    "on a miss: hold the last output",
    "on a miss: local fallback",
    "on a miss: stop",
    "a worker with several masters",
    "implicit channels",
    "LET channels",
    "LET between unlike kinds of core",
    "implicit between unlike kinds of core",
    "local, offloaded and three-phase tasks in one",
    "these, with LET between unlike kinds of core",
};

using Features = std::array<std::uint64_t, feature_count>;

// 1 for each feature that the system has.
inline Features features_of(const Case& c) {
    Features found{};
    const auto has = [&found](Feature f, bool it = true) {
        found[static_cast<std::size_t>(f)] |= it ? 1U : 0U;
    };
    const auto& cores = c.system.cores;
    bool local = false;
    bool three_phase = false;
    for (const sim::Task& t : c.system.tasks) {
        const sim::Core& core = cores[t.core];
        const sim::Core& master = cores[t.master];
        has(Feature::fixed_priority, master.policy == sim::Policy::preemptive);
        has(Feature::non_preemptive, master.policy == sim::Policy::non_preemptive);
        has(Feature::edf, master.policy == sim::Policy::edf);
        for (const sim::Task& other : c.system.tasks) {
            has(Feature::threshold,
                t.threshold && other.master == t.master && other.rank < t.rank && other.rank >= *t.threshold);
        }
        has(Feature::worker, t.offloaded);
        if (core.policy == sim::Policy::three_phase) {
            const bool turns = c.system.dmas[core.dma].round_robin;
            has(turns ? Feature::round_robin : Feature::tdma);
            three_phase = true;
        }
        local = local || (!t.offloaded && core.policy != sim::Policy::three_phase);
        has(Feature::offset, t.offset != 0);
        has(Feature::jitter, t.jitter != 0);
        has(Feature::sporadic, t.extra_gap != 0);
        has(Feature::distances, !t.distances.empty() && t.releases.empty());
        has(Feature::given_releases, !t.releases.empty());
        has(Feature::skipping, t.skip);
        has(Feature::arrivals, t.arrival.has_value());
        has(Feature::arrivals_let, t.arrival && t.arrival->let);
        has(Feature::arrivals_across, t.arrival && c.system.tasks[t.arrival->writer].master != t.master);
        has(Feature::suspension, t.suspension != 0);
        has(Feature::spinning_master, t.offloaded && master.keeps);
        has(Feature::context_switch, master.context_switch != 0);
        if (t.offloaded) {
            has(Feature::holds, t.on_miss == consort::OnMiss::hold_last_output);
            has(Feature::falls_back, t.on_miss == consort::OnMiss::local_fallback);
            has(Feature::stops, t.on_miss == consort::OnMiss::stop);
            for (const sim::Task& other : c.system.tasks) {
                has(Feature::several_masters_of_a_worker,
                    other.offloaded && other.core == t.core && other.master != t.master);
            }
        }
    }
    // The kind of the core that computes a task.
    const auto kind = [&](std::uint32_t task) {
        const sim::Policy policy = cores[c.system.tasks[task].core].policy;
        return policy == sim::Policy::worker ? 1 : policy == sim::Policy::three_phase ? 2 : 0;
    };
    bool let_across = false;
    for (const auto& channel : c.channels) {
        has(channel.let ? Feature::let : Feature::implicit);
        const bool across = std::any_of(channel.readers.begin(), channel.readers.end(),
                                        [&](std::uint32_t r) { return kind(r) != kind(channel.writer); });
        has(Feature::let_across_kinds, across && channel.let);
        has(Feature::implicit_across_kinds, across && !channel.let);
        let_across = let_across || (across && channel.let);
    }
    const bool all = local && three_phase && found[static_cast<std::size_t>(Feature::worker)] != 0;
    has(Feature::all_kinds, all);
    has(Feature::all_kinds_with_a_let, all && let_across);
    return found;
}

}  // namespace virtual_tests
