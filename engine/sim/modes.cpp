// SPDX-License-Identifier: Apache-2.0
#include "sim/modes.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "sim/limits.hpp"

namespace consort::engine::sim {

namespace {

std::string named(const char* what, std::size_t index) {
    std::string text = what;
    text += ' ';
    text += std::to_string(index);
    return text;
}

void add_figures(Figures& sum, const Figures& more) {
    if (more.max_response > sum.max_response) {
        sum.max_response = more.max_response;
        sum.worst_job = more.worst_job;
    }
    sum.min_response = std::min(sum.min_response, more.min_response);
    sum.jobs += more.jobs;
    sum.misses += more.misses;
    sum.held += more.held;
    sum.fallbacks += more.fallbacks;
    sum.unserved += more.unserved;
}

// The rows of a mode whose time 0 is `start`.
void append(Trace& all, const Trace& mode, Time start) {
    for (JobRow row : mode.jobs) {
        for (Time* at : {&row.release, &row.ready, &row.start, &row.finish, &row.deadline, &row.sent,
                         &row.worker_receive, &row.worker_send, &row.received}) {
            *at += *at == absent ? 0 : start;
        }
        all.jobs.push_back(row);
    }
    for (Slice row : mode.slices) {
        row.begin += start;
        row.end += start;
        all.slices.push_back(row);
    }
}

}  // namespace

void check(const Modes& given, const Settings& settings) {
    require(given.first < given.modes.size(), named("mode", given.first), "there is no such mode");
    // Two modes share no instant.
    if (given.agreement <= 0 || given.agreement >= largest_time) {
        throw std::invalid_argument("the agreement must be above 0 and below 2^60");
    }
    Time before = 0;
    for (std::size_t r = 0; r < given.requests.size(); ++r) {
        const ModeRequest& request = given.requests[r];
        const std::string where = named("request", r);
        require(request.to < given.modes.size(), where, "there is no such mode");
        require(request.at >= before && request.at < largest_time, where,
                "requests must be 0 or more, in order, below 2^60");
        before = request.at;
    }
    for (std::size_t m = 0; m < given.modes.size(); ++m) {
        const System& mode = given.modes[m];
        const std::string where = named("mode", m);
        require(mode.cores.size() == given.modes[0].cores.size() &&
                    mode.tasks.size() == given.modes[0].tasks.size(),
                where, "all modes have the same cores and tasks");
        check(mode, settings);
        for (const Core& core : mode.cores) {
            require(core.policy != Policy::three_phase, where, "a three-phase core changes no mode");
            require(core.supply.period == 0, where, "a core with a supply changes no mode");
        }
        for (const Task& task : mode.tasks) {
            require(task.releases.empty(), where, "releases that are given belong to no mode");
            require(task.rests || !task.offloaded || task.on_miss != OnMiss::stop, where,
                    "a task that stops the run belongs to no mode");
        }
    }
}

ModesOutcome run_modes(const Modes& given, const Settings& settings, Trace* trace, Progress* progress) {
    check(given, settings);
    const std::size_t tasks = given.modes[0].tasks.size();
    ModesOutcome found;
    found.figures.assign(given.modes.size(), std::vector<Figures>(tasks));
    std::vector<std::uint64_t> jobs(tasks, 0);
    auto next = given.requests.begin();
    const auto requested = [&](Time by) {
        return next != given.requests.end() && next->at <= by && next->at < settings.duration;
    };
    std::uint32_t mode = given.first;
    ModeRequest wanted{0, mode};  // the last request since the idle instant, or the mode itself
    Time start = 0;
    for (;;) {
        ModeRequest ends{wanted.to == mode ? never : wanted.at, wanted.to};
        for (; ends.at == never && requested(never); ++next) {
            ends = next->to == mode ? ends : *next;
        }
        const Time until = std::min(settings.duration, std::max(start, ends.at));
        System system = given.modes[mode];
        for (std::size_t t = 0; t < tasks; ++t) {
            system.tasks[t].first_job = jobs[t];
        }
        Settings of_mode = settings;
        of_mode.duration = std::max<Time>(until - start, 0);
        Trace rows;
        const Outcome outcome = run(system, of_mode, trace != nullptr ? &rows : nullptr, progress);
        for (std::size_t t = 0; t < tasks; ++t) {
            add_figures(found.figures[mode][t], outcome.figures[t]);
        }
        jobs = outcome.next_jobs;
        if (trace != nullptr) {
            append(*trace, rows, start);
        }
        if (ends.at == never) {
            return found;
        }
        app::ModeChanged change{ends.at, absent, absent, mode, ends.to, 1};
        change.drained = std::max({start, ends.at, add(start, outcome.idle)});
        while (requested(change.drained)) {
            change.to = next++->to;
            ++change.requests;
        }
        change.released = add(change.drained, given.agreement);
        found.changes.push_back(change);
        mode = change.to;
        wanted = {0, mode};
        while (requested(change.released)) {
            wanted = *next++;
        }
        start = change.released;
    }
}

}  // namespace consort::engine::sim
