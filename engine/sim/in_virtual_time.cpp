// SPDX-License-Identifier: Apache-2.0
#include "sim/in_virtual_time.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "consort/virtual/from_plan.hpp"
#include "sim/draw.hpp"

namespace consort::engine::sim {

namespace {

app::plan::Policy policy_of(Policy policy) {
    switch (policy) {
        case Policy::non_preemptive:
            return app::plan::Policy::fixed_priority_non_preemptive;
        case Policy::edf:
            return app::plan::Policy::edf;
        case Policy::worker:
            return app::plan::Policy::worker;
        case Policy::three_phase:
            return app::plan::Policy::three_phase;
        default:
            return app::plan::Policy::fixed_priority;
    }
}

virtual_time::Core core_of(const System& system, std::size_t index) {
    const Core& core = system.cores[index];
    if (core.supply.period != 0) {
        throw std::invalid_argument("core " + std::to_string(index) +
                                    ": in virtual time a core has all of its time, and no supply");
    }
    if (core.cache_reload != 0 || core.set_reload != 0) {
        throw std::invalid_argument("core " + std::to_string(index) +
                                    ": in virtual time a preempted job loads nothing again");
    }
    virtual_time::Core made{};
    made.policy = policy_of(core.policy);
    made.context_switch = core.context_switch;
    made.wait = core.keeps ? app::plan::Wait::spin : app::plan::Wait::sleep;
    made.service = core.by_rank ? app::plan::Service::by_rank : app::plan::Service::oldest_first;
    made.dma = core.dma;
    made.slot = core.slot;
    if (core.policy != Policy::three_phase) {
        return made;
    }
    const std::string where = "core " + std::to_string(index);
    if (core.partitions != 2) {
        throw std::invalid_argument(where + ": the kernel of three-phase cores has two partitions");
    }
    Time begin = 0;
    Time round = 0;
    for (std::size_t c = 0; c < system.cores.size(); ++c) {
        const Core& other = system.cores[c];
        if (other.policy == Policy::three_phase && other.dma == core.dma) {
            begin += c < index ? other.slot : 0;
            round += other.slot;
        }
    }
    const Dma& dma = system.dmas[core.dma];
    if (!dma.round_robin && (core.slot_phase != begin || dma.round != round)) {
        throw std::invalid_argument(where +
                                    ": slots follow one another in the order of the cores, from 0 on");
    }
    return made;
}

// The channel whose blocks release a task, by its place: one that data goes through, or one more.
std::uint32_t channel_of(virtual_time::System& system, const Arrival& arrival) {
    std::vector<virtual_time::Channel>& channels = system.channels;
    const auto found = std::find_if(channels.begin(), channels.end(), [&](const virtual_time::Channel& c) {
        return c.writer == arrival.writer && c.let == arrival.let;
    });
    const auto place = static_cast<std::uint32_t>(found - channels.begin());
    if (found == channels.end()) {
        channels.push_back({arrival.writer, {}, arrival.let});
    }
    return place;
}

// The row of the task; what it refers to is added to the system that is being made.
app::plan::Task task_of(const Task& task, std::uint32_t id, virtual_time::System& system) {
    if (!task.sections.empty()) {
        throw std::invalid_argument("task " + std::to_string(id) +
                                    ": in virtual time no job holds a resource");
    }
    if (!task.demands.empty()) {
        throw std::invalid_argument("task " + std::to_string(id) +
                                    ": in virtual time no job asks an accelerator");
    }
    app::plan::Task row = virtual_time::plain_row();
    row.core = task.master;
    row.worker = task.offloaded ? task.core : app::plan::none;
    row.period = task.period;
    row.extra_gap = task.extra_gap;
    row.offset = task.offset;
    row.jitter = task.jitter;
    row.bcet = task.bcet;
    row.wcet = task.wcet;
    row.deadline = task.deadline;
    row.rank = task.rank;
    row.threshold = task.threshold.value_or(task.rank);
    row.suspension = task.suspension;
    row.on_miss = task.on_miss;
    row.give_up = task.give_up;
    row.send = task.send;
    row.receive = task.receive;
    row.fallback = task.fallback;
    row.skips = task.skip;
    row.worker_rank = task.worker_rank;
    row.request = task.request;
    row.response = task.response;
    row.load = task.load;
    row.unload = task.unload;
    row.one_in_flight = task.one_in_flight;
    row.rests = task.rests;
    row.until_deadline = task.until_deadline;
    row.distances = {static_cast<std::uint32_t>(system.times.size()),
                     static_cast<std::uint32_t>(std::min(task.distances.size(), app::Distances::most))};
    system.times.insert(system.times.end(), task.distances.begin(),
                        task.distances.begin() + row.distances.count);
    if (task.arrival) {
        row.arrival = channel_of(system, *task.arrival);
    }
    return row;
}

Time instant_of(Ticks recorded) {
    return recorded == 0 ? absent : static_cast<Time>(recorded) - virtual_time::origin;
}

JobRow row_of(const Job& job, std::uint32_t preemptions, Time deadline) {
    JobRow row{};
    row.release = instant_of(job.release);
    row.ready = instant_of(job.ready);
    row.start = instant_of(job.start);
    row.finish = instant_of(job.finish);
    row.deadline = add(row.release, deadline);
    row.sent = instant_of(job.sent);
    row.worker_receive = instant_of(job.worker_receive);
    row.worker_send = instant_of(job.worker_send);
    row.received = instant_of(job.received);
    row.compute = static_cast<Time>(job.compute);
    row.seq = job.seq;
    row.status = job.status;
    row.task = job.task;
    row.preemptions = preemptions;
    return row;
}

void take_slices(const virtual_time::Trace& recorded, Sink<true>& sink) {
    for (const Slice& s : recorded.slices) {
        sink.slice(s.begin, s.end, s.task, s.seq, s.core, s.doing);
    }
}

// The machine's record in the simulator's own form.
ModesOutcome run_machine(virtual_time::Machine& machine, const virtual_time::Modes& given,
                         const virtual_time::Settings& settings, Trace* trace,
                         std::vector<Operation>* operations) {
    virtual_time::Trace recorded;
    ModesOutcome outcome;
    outcome.stopped = machine.run(given, settings, &recorded).stopped;
    outcome.changes = recorded.changes;
    outcome.figures.assign(given.modes.size(), std::vector<Figures>(given.modes[0].tasks.size()));
    // A job belongs to the mode in which it is due.
    const auto mode_at = [&](Time release) {
        std::uint32_t mode = given.first;
        for (const app::ModeChanged& change : recorded.changes) {
            mode = change.released <= release ? change.to : mode;
        }
        return mode;
    };
    Trace rows;
    for (const virtual_time::Early& job : recorded.early) {
        ++outcome.figures[mode_at(job.release)][job.task].early;
    }
    for (std::size_t i = 0; i < recorded.jobs.size(); ++i) {
        const Job& job = recorded.jobs[i];
        const std::uint32_t mode = mode_at(instant_of(job.release));
        Sink<true> sink(outcome.figures[mode], &rows, nullptr);
        sink.job(row_of(job, recorded.preemptions[i], given.modes[mode].tasks[job.task].deadline));
    }
    Sink<true> sink(outcome.figures[given.first], &rows, nullptr);
    take_slices(recorded, sink);
    if (trace != nullptr) {
        *trace = std::move(rows);
    }
    if (operations != nullptr) {
        *operations = std::move(recorded.operations);
    }
    return outcome;
}

// The system outlives what is made of it.
virtual_time::System for_virtual_time(const System& system,
                                      const std::vector<virtual_time::Channel>& channels) {
    virtual_time::System made;
    made.channels = channels;
    for (std::size_t c = 0; c < system.cores.size(); ++c) {
        made.cores.push_back(core_of(system, c));
    }
    for (const Dma& dma : system.dmas) {
        made.dmas.push_back(
            {dma.round_robin ? app::plan::Arbitration::round_robin : app::plan::Arbitration::tdma});
    }
    for (std::uint32_t t = 0; t < system.tasks.size(); ++t) {
        const Task& task = system.tasks[t];
        if (task.suspension != 0 && (task.offloaded || task.stretches != 1)) {
            throw std::invalid_argument(
                "task " + std::to_string(t) +
                ": the executive's jobs suspend themselves once, offloaded ones never");
        }
        made.tasks.push_back(task_of(task, t, made));
        made.given.push_back({task.releases, task.executions});
    }
    return made;
}

virtual_time::Settings for_virtual_time(const Settings& settings) {
    return {settings.duration, settings.seed, settings.execution, settings.arrival};
}

}  // namespace

Outcome run_in_virtual_time(virtual_time::Machine& machine, const System& system, const Settings& settings,
                            Trace* trace, const std::vector<virtual_time::Channel>& channels,
                            std::vector<Operation>* operations) {
    check(system, settings);
    const virtual_time::System made = for_virtual_time(system, channels);
    virtual_time::Trace recorded;
    Outcome outcome;
    outcome.stopped = machine.run(made, for_virtual_time(settings), &recorded).stopped;
    outcome.figures.assign(system.tasks.size(), {});
    for (const virtual_time::Early& job : recorded.early) {
        ++outcome.figures[job.task].early;
    }
    Trace rows;
    Sink<true> sink(outcome.figures, &rows, nullptr);
    for (std::size_t i = 0; i < recorded.jobs.size(); ++i) {
        const Job& job = recorded.jobs[i];
        sink.job(row_of(job, recorded.preemptions[i], system.tasks[job.task].deadline));
    }
    take_slices(recorded, sink);
    if (trace != nullptr) {
        *trace = std::move(rows);
    }
    if (operations != nullptr) {
        *operations = std::move(recorded.operations);
        // Nothing else of a channel that only releases.
        std::erase_if(*operations, [&](const Operation& o) { return o.channel >= channels.size(); });
    }
    return outcome;
}

ModesOutcome run_in_virtual_time(virtual_time::Machine& machine, const Modes& given, const Settings& settings,
                                 Trace* trace, const std::vector<virtual_time::Channel>& channels,
                                 std::vector<Operation>* operations) {
    check(given, settings);
    virtual_time::Modes made;
    for (const System& mode : given.modes) {
        made.modes.push_back(for_virtual_time(mode, channels));
    }
    made.first = given.first;
    made.agreement = given.agreement;
    for (const ModeRequest& request : given.requests) {
        made.requests.push_back({request.at, request.to});
    }
    return run_machine(machine, made, for_virtual_time(settings), trace, operations);
}

ModesOutcome run_plan(virtual_time::Machine& machine, const app::plan::Image& image, Trace* trace,
                      std::vector<Operation>* operations) {
    const virtual_time::Given given = virtual_time::from_plan(image);
    return run_machine(machine, given.modes, given.settings, trace, operations);
}

}  // namespace consort::engine::sim
