// SPDX-License-Identifier: Apache-2.0
//
// Cores that execute out of scratchpads which one DMA loads and unloads (spm-centric-os, sections III to V):
// Rule 1, Rule 2, first in first out. Under TDMA each core is simulated alone.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/draw.hpp"
#include "sim/record.hpp"

namespace consort::engine::sim {

template <bool traced>
class ThreePhase {
  public:
    ThreePhase(const System& system, const Settings& settings, Sink<traced>& sink)
        : system_(system), settings_(settings), sink_(sink) {}

    // One core with own slots at phase + k * round.
    void run_tdma(std::uint32_t core, std::span<const std::uint32_t> mine, Time until) {
        cores_.resize(1);
        prepare(cores_[0], core, mine, until);
        CoreState& s = cores_[0];
        const Time round = system_.dmas[system_.cores[core].dma].round;
        const Time phase = system_.cores[core].slot_phase;
        Time after = 0;  // the last slot's end
        for (;;) {
            const Time wanted = wanted_by(s);
            if (wanted == never) {
                return;
            }
            const Time at = std::max(wanted, after);
            const Time now = at <= phase ? phase : add(phase, mul(ceil_div(at - phase, round), round));
            sink_.at(now);
            after = add(now, s.slot);
            serve(s, now, after);
        }
    }

    // All cores of one DMA, which serves them in turn and takes no longer than each operation needs.
    void run_round_robin(std::span<const std::uint32_t> cores,
                         std::span<const std::vector<std::uint32_t>> tasks, Time until) {
        cores_.resize(cores.size());
        for (std::size_t c = 0; c < cores.size(); ++c) {
            prepare(cores_[c], cores[c], tasks[c], until);
        }
        Time free = 0;
        std::size_t turn = 0;
        for (;;) {
            Time wanted = never;
            for (const CoreState& s : cores_) {
                wanted = std::min(wanted, wanted_by(s));
            }
            if (wanted == never) {
                return;
            }
            const Time now = std::max(wanted, free);
            sink_.at(now);
            while (wanted_by(cores_[turn]) > now) {
                turn = turn + 1 == cores_.size() ? 0 : turn + 1;
            }
            CoreState& s = cores_[turn];
            turn = turn + 1 == cores_.size() ? 0 : turn + 1;
            const TaskState* next = to_load(s, now);
            const Task& task = *(next != nullptr ? next->task : s.loaded.front().task);
            const Time length = next != nullptr ? task.load : task.unload;
            free = add(now, length == 0 ? s.slot : length);
            serve(s, now, free);
        }
    }

  private:
    struct Loaded {
        const Task* task;
        JobRow job;
        Time executed;  // when its execution ends
    };

    struct CoreState {
        std::uint32_t id = 0;
        Time slot = 0;
        Time context_switch = 0;
        std::size_t partitions = 2;
        Time cpu_free = 0;
        std::vector<TaskState> tasks;  // the most urgent first
        std::vector<Loaded> loaded;    // in load order
    };

    void prepare(CoreState& s, std::uint32_t core, std::span<const std::uint32_t> mine, Time until) {
        const Core& c = system_.cores[core];
        s.id = core;
        s.slot = c.slot;
        s.context_switch = c.context_switch;
        s.partitions = c.partitions;
        s.cpu_free = 0;
        s.loaded.clear();
        s.tasks.clear();
        for (const std::uint32_t t : mine) {
            s.tasks.emplace_back(system_, settings_, t);
        }
        std::stable_sort(s.tasks.begin(), s.tasks.end(),
                         [](const TaskState& a, const TaskState& b) { return a.task->rank < b.task->rank; });
        until_ = until;
    }

    // When the task has a job to load.
    [[nodiscard]] Time next_release(const CoreState& s, const TaskState& t) const {
        const bool waits =
            t.task->one_in_flight && std::any_of(s.loaded.begin(), s.loaded.end(),
                                                 [&](const Loaded& other) { return other.task == t.task; });
        return t.releases.nominal() < until_ && !waits ? t.releases.actual() : never;
    }

    // From when on the core has something for the DMA to do.
    [[nodiscard]] Time wanted_by(const CoreState& s) const {
        Time wanted = s.loaded.empty() ? never : s.loaded.front().executed;
        if (s.loaded.size() < s.partitions) {
            for (const TaskState& t : s.tasks) {
                wanted = std::min(wanted, next_release(s, t));
            }
        }
        return wanted;
    }

    // Rule 1: the most urgent job that is released and not loaded, if a partition is empty. Of equally urgent
    // ones the one released first.
    [[nodiscard]] TaskState* to_load(CoreState& s, Time now) const {
        if (s.loaded.size() == s.partitions) {
            return nullptr;
        }
        TaskState* found = nullptr;
        Time earliest = never;
        for (TaskState& t : s.tasks) {
            if (found != nullptr && t.task->rank > found->task->rank) {
                break;
            }
            const Time at = next_release(s, t);
            if (at <= now && at < earliest) {
                found = &t;
                earliest = at;
            }
        }
        return found;
    }

    void serve(CoreState& s, Time now, Time end_of_operation) {
        TaskState* next = to_load(s, now);
        if (next != nullptr) {
            const Task& task = *next->task;
            Releases& r = next->releases;
            const Time execution = execution_of(task, next->draw, settings_.execution, r.job());
            const Time begin = std::max(end_of_operation, s.cpu_free);
            const Time start = add(begin, s.context_switch);
            const Time end = add(start, execution);
            const auto seq = static_cast<std::uint32_t>(r.job());
            s.cpu_free = end;
            s.loaded.push_back({&task,
                                {r.nominal(), r.actual(), begin, absent, add(r.nominal(), task.deadline),
                                 absent, absent, absent, absent, execution, seq, 0, next->id, 0},
                                end});
            sink_.slice(now, end_of_operation, next->id, seq, s.id, Doing::load);
            sink_.slice(begin, start, next->id, seq, s.id, Doing::context_switch);
            sink_.slice(start, end, next->id, seq, s.id, Doing::execute);
            r.next();
            return;
        }
        // Rule 2: the oldest of the loaded jobs, which has completed.
        JobRow& job = s.loaded.front().job;
        job.finish = end_of_operation;
        if (job.finish > job.deadline) {
            job.status |= job_status::missed;
        }
        sink_.slice(now, end_of_operation, job.task, job.seq, s.id, Doing::unload);
        sink_.job(job);
        s.loaded.erase(s.loaded.begin());
    }

    const System& system_;
    const Settings& settings_;
    Sink<traced>& sink_;
    Time until_ = 0;
    std::vector<CoreState> cores_;
};

}  // namespace consort::engine::sim
