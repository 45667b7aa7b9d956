// SPDX-License-Identifier: Apache-2.0
//
// Looks for schedules that exceed a bound: random task sets at the edge of what the bound accepts, and for
// each a hill climb over releases, gaps and execution times.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "spm/bound.hpp"
#include "spm/random.hpp"
#include "spm/replay.hpp"

namespace consort::engine::spm {

// One way in which a task set can run.
struct Scenario {
    std::vector<Arrivals> arrivals;
    std::vector<Time> delays;  // of a round robin's grants
    Time until = 0;
};

struct Climb {
    int restarts = 3;
    int steps = 100;
};

// Observed response times, from when a job was due, of the longest job of each task [ticks]; 0 for a task
// without a job. Ends after `max_jobs`.
std::vector<Time> observe(std::span<const Task> tasks, Tdma tdma, Method method, Unload unload,
                          const Scenario& scenario, std::size_t max_jobs = 2000);

struct Finding {
    std::vector<Time> worst;  // the longest response of each task over all scenarios
    std::size_t task = 0;     // with the largest ratio of response to bound
    double ratio = 0;
    Scenario scenario;  // that shows it
    std::uint64_t simulations = 0;
};

// Climbs towards the largest ratio of simulated response to bound.
Finding climb(std::span<const Task> tasks, Tdma tdma, const Options& options, Unload unload,
              std::span<const Time> bound, Random& random, const Climb& effort);

struct Campaign {
    Options options{};
    Unload unload = Unload::fifo;
    int cores_low = 1;  // M
    int cores_high = 4;
    std::uint64_t sets = 1000;
    std::uint64_t seed = 1;
    int threads = 1;
    Climb effort{};
    bool jitter = false;  // most tasks have some
};

struct Counterexample {
    std::vector<Task> tasks;
    Tdma tdma;
    std::vector<Time> bound;
    Finding finding;
};

struct Outcome {
    static constexpr std::size_t bins = 50;
    std::uint64_t sets = 0;
    std::uint64_t simulations = 0;
    std::uint64_t violated_sets = 0;
    double largest_ratio = 0;
    // The largest simulated response over its bound of each task of each set, in bins of 2 % (above 1: not
    // counted).
    std::array<std::uint64_t, bins> tightness{};
    // The violation with the fewest tasks, among those the one with the largest ratio.
    std::optional<Counterexample> example;
};

// The same sets and findings for the same seed whatever the number of threads.
Outcome run(const Campaign& campaign);

}  // namespace consort::engine::spm
