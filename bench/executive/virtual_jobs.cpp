// SPDX-License-Identifier: Apache-2.0
//
// How many jobs a second the executive in virtual time gets through: every job and slice recorded, cores with
// eight tasks each under preemptive fixed priorities, loaded to about two thirds, periods from 1 to 128. The
// floor is the least that any simulation by events does for a job: its release comes out of a queue of all
// tasks' releases, the next one goes in, and a row is kept of it.
//
//   virtual_jobs [SECONDS]    of CPU time for each number of cores (0.5)
//
// Prints one line of JSON; rates are of CPU time of the one thread that runs it. Both take turns: a ratio is
// the median of those of the turns.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "consort/virtual/machine.hpp"

namespace {

namespace vt = consort::virtual_time;

struct Figures {
    double jobs_per_s = 0;
    double over_floor = 0;
    double slices_per_job = 0;
    double preemptions_per_job = 0;
    std::uint64_t jobs = 0;
};

vt::System system_of(unsigned cores) {
    constexpr vt::Time periods[] = {1000, 2000, 4000, 8000, 16000, 32000, 64000, 128000};
    vt::System system;
    for (unsigned c = 0; c < cores; ++c) {
        system.cores.push_back({});
        for (unsigned t = 0; t < 8; ++t) {
            auto task = vt::plain_row();
            task.core = c;
            task.period = periods[t] + 7 * static_cast<vt::Time>(c);
            task.deadline = task.period;
            task.offset = 13 * static_cast<vt::Time>(t);
            task.wcet = periods[t] / 6;
            task.bcet = periods[t] / 8;
            task.rank = task.threshold = t;
            system.tasks.push_back(task);
        }
    }
    return system;
}

double cpu_seconds() {
    return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

struct FloorRow {
    vt::Time release;
    std::array<vt::Time, 6> times;
    unsigned task;
};

// The CPU time of so many jobs by the floor.
double floor_seconds(const vt::System& system, std::uint64_t jobs, std::vector<FloorRow>& rows) {
    using Release = std::pair<vt::Time, unsigned>;
    std::priority_queue<Release, std::vector<Release>, std::greater<>> releases;
    for (unsigned t = 0; t < system.tasks.size(); ++t) {
        releases.emplace(system.tasks[t].offset, t);
    }
    rows.clear();
    const double before = cpu_seconds();
    for (std::uint64_t job = 0; job < jobs; ++job) {
        const auto [at, task] = releases.top();
        releases.pop();
        releases.emplace(at + system.tasks[task].period, task);
        rows.push_back({at, {}, task});
    }
    return cpu_seconds() - before;
}

Figures measure(unsigned cores, double seconds) {
    const vt::System system = system_of(cores);
    vt::Machine machine;
    vt::Settings settings;
    settings.duration = 20'000'000 / cores;
    std::uint64_t slices = 0;
    std::uint64_t preemptions = 0;
    Figures found;
    vt::Trace trace;
    std::vector<FloorRow> rows;
    std::vector<double> ratios;
    // Touches the memory.
    static_cast<void>(floor_seconds(system, machine.run(system, settings, &trace).jobs, rows));
    double spent = 0;
    while (spent < seconds) {
        ++settings.seed;
        const double before = cpu_seconds();
        const std::uint64_t jobs = machine.run(system, settings, &trace).jobs;
        const double took = cpu_seconds() - before;
        ratios.push_back(took / floor_seconds(system, jobs, rows));
        found.jobs += jobs;
        spent += took;
        slices += trace.slices.size();
        for (const std::uint32_t n : trace.preemptions) {
            preemptions += n;
        }
    }
    const auto jobs = static_cast<double>(found.jobs);
    found.jobs_per_s = jobs / spent;
    const auto middle = ratios.begin() + static_cast<std::ptrdiff_t>(ratios.size() / 2);
    std::nth_element(ratios.begin(), middle, ratios.end());
    found.over_floor = *middle;
    found.slices_per_job = static_cast<double>(slices) / jobs;
    found.preemptions_per_job = static_cast<double>(preemptions) / jobs;
    return found;
}

}  // namespace

int main(int argc, char** argv) {
    char* end = nullptr;
    const double seconds = argc == 2 ? std::strtod(argv[1], &end) : 0.5;
    if (argc > 2 || (argc == 2 && (*end != '\0' || seconds <= 0))) {
        std::fprintf(stderr, "usage: virtual_jobs [SECONDS]\n");
        return 2;
    }
    constexpr unsigned numbers[] = {1, 2, 4, 8};
    double most = 0;
    std::printf("{\"by_cores\": {");
    for (const unsigned cores : numbers) {
        const Figures f = measure(cores, seconds);
        most = std::max(most, f.over_floor);
        std::printf(
            "%s\"%u\": {\"virtual_over_floor\": %.3f, \"virtual_jobs_per_s\": %.0f, \"jobs\": %llu, "
            "\"slices_per_job\": %.2f, \"preemptions_per_job\": %.3f}",
            cores == 1 ? "" : ", ", cores, f.over_floor, f.jobs_per_s,
            static_cast<unsigned long long>(f.jobs), f.slices_per_job, f.preemptions_per_job);
    }
    // The goal holds for every number of cores.
    std::printf("}, \"virtual_over_floor\": %.3f}\n", most);
    return 0;
}
