// SPDX-License-Identifier: Apache-2.0
//
// The system that a machine in virtual time runs, and its record. Times are in ticks of the caller's choice.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "consort/app/mode_change.hpp"
#include "consort/app/plan.hpp"
#include "consort/task/job.hpp"
#include "consort/virtual/timed_executive.hpp"

namespace consort::virtual_time {

// As in a plan.
using app::plan::Core;
using app::plan::Dma;
using app::plan::Policy;

// True if the core releases tasks and executes them itself.
[[nodiscard]] constexpr bool releases_tasks(const Core& core) {
    return core.policy != Policy::worker && core.policy != Policy::three_phase;
}

// The row of a task that is released by time, computed by its core, and no more.
[[nodiscard]] constexpr app::plan::Task plain_row() {
    app::plan::Task row{};
    row.worker = row.arrival = app::plan::none;
    row.period = row.deadline = row.give_up = row.bcet = row.wcet = 1;
    return row;
}

// The core that computes the task.
[[nodiscard]] constexpr std::uint32_t computed_on(const app::plan::Task& row) noexcept {
    return app::plan::offloaded(row) ? row.worker : row.core;
}

// Times of a task's jobs that no plan has: where given, exactly these releases, in order, and these
// executions, in turn. They outlive the run.
struct GivenTimes {
    std::span<const Time> releases;
    std::span<const Time> executions;
};

// Carries blocks from one task to others. Implicit: a job reads the newest block when it begins (three-phase:
// when its load begins) and its own is there when it ends. LET: it reads what was there when it was due, and
// its block is there at its deadline. A job that holds its output writes nothing.
struct Channel {
    std::uint32_t writer = app::plan::none;  // of which nothing is followed
    std::vector<std::uint32_t> readers;
    bool let = false;
};

// One mode.
struct System {
    std::vector<Core> cores;
    std::vector<Dma> dmas;
    // Rows of a plan that refer to these cores, channels and times. Their ends are not looked at: the
    // channels say who writes and reads them. A task that blocks release has no offset, no gap and no other
    // release; neither it nor the channel's writer is three-phase, and no modes change.
    std::vector<app::plan::Task> tasks;
    std::vector<Time> times;
    std::vector<Channel> channels;
    std::vector<GivenTimes> given{};  // by task; empty: none has such

    [[nodiscard]] GivenTimes given_of(std::uint32_t task) const noexcept {
        return given.empty() ? GivenTimes{} : given[task];
    }
    // Of a task that refers to times that there are.
    [[nodiscard]] app::Distances distances_of(std::uint32_t task) const noexcept {
        const app::plan::Rows& rows = tasks[task].distances;
        return rows.count == 0 ? app::Distances{} : app::Distances{&times[rows.first], rows.count};
    }
    [[nodiscard]] app::ReleaseRule release_rule(std::uint32_t task) const noexcept {
        const app::plan::Task& row = tasks[task];
        const std::span<const Time> releases = given_of(task).releases;
        app::ReleaseRule rule{row.period, row.extra_gap,   row.offset,
                              row.jitter, releases.data(), releases.size()};
        rule.distances = distances_of(task);
        return rule;
    }
    [[nodiscard]] app::ExecutionRule execution_rule(std::uint32_t task) const noexcept {
        const std::span<const Time> executions = given_of(task).executions;
        return {tasks[task].bcet, tasks[task].wcet, executions.data(), executions.size()};
    }
};

// A system in one mode or more: the same cores, tasks and channels in each, by their places; what tasks and
// cores do may differ. Where modes change: no three-phase cores, no given releases, no task whose policy is
// `stop`.
struct Modes {
    std::vector<System> modes;
    std::uint32_t first = 0;
    Time agreement = 1;  // above 0 where modes change: from the idle instant to the new mode's releases
    struct Request {
        Time at;
        std::uint32_t to;
    };
    std::vector<Request> requests;  // in order; those before the end of the duration are taken
};

struct Settings {
    Time duration = 0;  // jobs that are due before are released
    std::uint64_t seed = 0;
    app::Spread execution = app::Spread::uniform;
    app::Spread arrival = app::Spread::uniform;
};

// In records 0 says that something did not happen: the instant t of the run is recorded as t + origin.
inline constexpr Time origin = 1;

// A job whose block came before it was due.
struct Early {
    std::uint32_t task;
    Time release;  // without the origin
};

struct Trace {
    std::vector<Job> jobs;                   // in the order in which they end
    std::vector<std::uint32_t> preemptions;  // of each of them
    std::vector<Slice> slices;               // instants of the run, without the origin
    std::vector<Operation> operations;       // in the order in which jobs begin and end
    std::vector<app::ModeChanged> changes;   // without the origin
    std::vector<Early> early;                // in the order in which they begin
};

// For a three-phase job: when its load began and ended, its execution ended, its unload began.
struct Transfers {
    Time load = app::absent;
    Time loaded = app::absent;
    Time executed = app::absent;
    Time unload = app::absent;
};

// Follows the data of a run. Steps take no time of the host: a job is computed when it begins, its output
// appears when the channel says so. Of one instant, jobs end before others begin.
class Observer {
  public:
    virtual ~Observer() = default;
    // A job begins at `now`; a three-phase job's load does.
    virtual void begun(std::uint32_t task, const JobTimes& job, Time now);
    // A job is over, or its release was skipped. One that is given up before it began is over before it
    // begins.
    virtual void finished(std::uint32_t task, const JobTimes& job, const Transfers& moved, Time now);
    // The job's input is block `sequence` of the channel (0: none is there yet).
    virtual void read(std::uint32_t task, std::uint32_t seq, std::uint32_t channel, std::uint64_t sequence);
    // The block that released the job came so long before the job was due. After begun().
    virtual void early(std::uint32_t task, const JobTimes& job, Time by);
    // A change of mode is complete: entered() follows.
    virtual void changed(const app::ModeChanged& change);
    // The mode's jobs are released from now on; also at the beginning of a run with modes.
    virtual void entered(std::uint32_t mode, Time now);
    // After all its reads.
    virtual void compute(std::uint32_t task, std::uint32_t seq);
    // Its result is block `sequence` of the channel.
    virtual void write(std::uint32_t task, std::uint32_t seq, std::uint32_t channel, std::uint64_t sequence);
};

}  // namespace consort::virtual_time
