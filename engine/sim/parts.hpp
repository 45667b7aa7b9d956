// SPDX-License-Identifier: Apache-2.0
//
// The parts of a job between its waits, and between its critical sections.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "sim/draw.hpp"
#include "sim/model.hpp"

namespace consort::engine::sim {

// The draws of critical sections, apart from those of stretches of suspension.
inline constexpr std::uint64_t section_choices = std::uint64_t{1} << 40;
// And those of requests to accelerators.
inline constexpr std::uint64_t demand_choices = std::uint64_t{1} << 43;

// A part that a job executes on the core that released it before it waits, or ends.
struct Part {
    Time length;
    Time away;       // how long it suspends itself then
    bool asks;       // or it sends its request and waits for the answer
    bool goes_on{};  // or the next part follows at once: a section begins or ends
    bool holds{};    // it holds a resource
    Time ceiling{};  // the key of that resource's most urgent user
    std::uint32_t resource{};
    bool inherits{};  // or the holder's priority is that of who waits for it
    // The request to an accelerator before it waits, and the time that the accelerator then computes.
    const Demand* demand{};
    Time computes{};
};

// Cuts jobs into their parts.
class Division {
  public:
    explicit Division(const Settings& settings) : settings_(settings) {}

    // For the jobs of these tasks of the system.
    void prepare(const System& system, std::span<const std::uint32_t> mine) {
        ceilings_.clear();
        inherits_.clear();
        for (const std::uint32_t t : mine) {
            const Task& task = system.tasks[t];
            const bool edf = system.cores[task.master].policy == Policy::edf;
            for (const std::uint32_t resource : system.cores[task.master].inherits) {
                inherits_.resize(std::max<std::size_t>(inherits_.size(), resource + 1), false);
                inherits_[resource] = true;
            }
            for (const Section& section : task.sections) {
                ceilings_.resize(std::max<std::size_t>(ceilings_.size(), section.resource + 1), never);
                ceilings_[section.resource] =
                    std::min(ceilings_[section.resource], edf ? task.deadline : Time{task.rank});
            }
        }
    }

    // Cuts a job where it waits: anywhere in what its own core executes, also at its very beginning or end.
    void divide(const Task& task, std::uint32_t id, const Draw& own_draw, std::uint64_t job, Time execution,
                std::vector<Part>& parts) {
        if (!task.sections.empty() && execution != 0) {
            divide_by_sections(task, id, job, execution, parts);
            return;
        }
        const Time own = task.offloaded ? add(task.send, task.receive) : execution;
        cuts_.clear();
        Time rest = task.suspension == 0
                        ? 0
                        : own_draw(settings_.execution, Choice::suspension, job, 0, task.suspension);
        for (std::uint32_t k = 0; task.suspension != 0 && k < task.stretches; ++k) {
            // The first stretch has the choices of the task itself.
            const Draw draw = k == 0 ? own_draw : Draw(app::mix(settings_.seed + k), id);
            const Time at = draw(settings_.arrival, Choice::split, job, 0, own);
            const bool last = k + 1 == task.stretches;
            const Time away = last ? rest : draw(settings_.arrival, Choice::suspension, job, 0, rest);
            rest -= away;
            cuts_.push_back({at, away, false});
        }
        if (task.offloaded) {
            cuts_.push_back({task.send, 0, true});
        }
        append_demands(task, id, job, own);
        // `length` is the instant of the cut so far.
        std::stable_sort(cuts_.begin(), cuts_.end(),
                         [](const Part& a, const Part& b) { return a.length < b.length; });
        parts.clear();
        Time before = 0;
        Time received = 0;  // of the answer that the part begins with
        for (const Part& cut : cuts_) {
            parts.push_back({received + cut.length - before, cut.away, cut.asks});
            received = 0;
            if (cut.demand != nullptr) {
                Part& made = parts.back();
                made.length += cut.demand->send;
                made.demand = cut.demand;
                made.computes = cut.computes;
                received = cut.demand->receive;
            }
            before = cut.length;
        }
        parts.push_back({received + own - before, 0, false});
    }

  private:
    void append_demands(const Task& task, std::uint32_t id, std::uint64_t job, Time own) {
        std::uint64_t n = 0;
        for (const Demand& demand : task.demands) {
            const Draw often(app::mix(settings_.seed + demand_choices + n++), id);
            const Time times = often(settings_.execution, Choice::gap, job, 0, demand.times);
            for (Time k = 0; k < times; ++k) {
                const Draw draw(app::mix(settings_.seed + demand_choices + n++), id);
                Part cut{draw(settings_.arrival, Choice::split, job, 0, own), 0, false};
                cut.demand = &demand;
                cut.computes = draw(settings_.execution, Choice::execution, job, demand.bcet, demand.wcet);
                cuts_.push_back(cut);
            }
        }
    }

    // Where a job holds resources: its sections one after another, anywhere in what it executes.
    void divide_by_sections(const Task& task, std::uint32_t id, std::uint64_t job, Time execution,
                            std::vector<Part>& parts) {
        const auto draw = [&](std::size_t n) {
            return Draw(app::mix(settings_.seed + section_choices + n), id);
        };
        cuts_.clear();
        Time rest = execution;
        for (const Section& section : task.sections) {
            const bool inherits = section.resource < inherits_.size() && inherits_[section.resource];
            for (std::uint32_t k = 0; k < section.times; ++k) {
                const Time most = std::min(section.length, rest);
                const Time length = draw(cuts_.size())(settings_.execution, Choice::suspension, job, 0, most);
                rest -= length;
                cuts_.push_back(
                    {length, 0, false, true, true, ceilings_[section.resource], section.resource, inherits});
            }
        }
        // `away` is the instant of what is not a section at which one begins, until the job is cut.
        for (std::size_t n = 0; n < cuts_.size(); ++n) {
            cuts_[n].away = draw(n)(settings_.arrival, Choice::split, job, 0, rest);
        }
        std::stable_sort(cuts_.begin(), cuts_.end(),
                         [](const Part& a, const Part& b) { return a.away < b.away; });
        parts.clear();
        Time before = 0;
        const auto append = [&parts](const Part& part) {
            if (part.length != 0) {
                parts.push_back(part);
            }
        };
        for (Part cut : cuts_) {
            append({cut.away - before, 0, false, true, false, 0});
            before = std::exchange(cut.away, 0);
            append(cut);
        }
        append({rest - before, 0, false, true, false, 0});
    }

    const Settings& settings_;
    std::vector<Part> cuts_;      // scratch
    std::vector<Time> ceilings_;  // by resource: the key of its most urgent user
    std::vector<bool> inherits_;  // by resource
};

}  // namespace consort::engine::sim
