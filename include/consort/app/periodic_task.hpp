// SPDX-License-Identifier: Apache-2.0
//
// A task of the periodic executive (periodic.hpp), and what that asks of its port.
#pragma once

#include <concepts>
#include <cstdint>

#include "consort/app/plan.hpp"
#include "consort/app/release.hpp"

namespace consort::app {

// A task; a port derives its own from it. R: its releases; at the job in hand or, between two jobs, at the
// next one. Before the run the port gives the row and the releases.
template <class R>
struct PeriodicTask {
    using Releases = R;

    // Its row of the plan. The smaller rank is the more urgent; a job that has begun is preempted only from
    // below the threshold.
    const plan::Task* plan = nullptr;
    R releases;
    Time due = 0;
    Time last_begin = never;
    Time key = 0;    // the smaller is the more urgent
    Time level = 0;  // what a key must be below to go before its job
    // When the timer is to look at it: the release, or at once where that has passed; of a job that waits off
    // the core, when it waits no longer.
    Time at = 0;
    PeriodicTask* next = nullptr;
    bool late = false;
    bool away = false;  // its job has left the core: what is to come is its second part
};

// Requirements on a port; all but `execute` and `enable` are called with interrupts disabled.
//
//   now      the instant, in ticks
//   begin    the instant at which a job begins; any value where no task skips jobs
//   arm      call timer() at this instant, or at once where it has passed; replaces the instant armed before
//   disarm   no longer call timer()
//   prepare  releases and due are now at the next job
//   execute  the job, which begins now, to its end, with interrupts enabled; false: `stop`
//   skip     the job is not executed: record it
//   until    no job that is due then or later is released
//   stopped  the same as `until() <= now`, if a job has said so
//   settle   called after a job has ended, before the next is chosen
//   depart   optional, with the next four, of a task whose jobs leave the core: the first part of a job, as
//            `execute`, which is the second one then
//   leaves   whether the task's jobs leave the core
//   left     called after that, as `settle`
//   answered whether what the job waits for is there
//   give_up  when it waits no longer; asked when it has left the core
template <class P, class T>
concept PeriodicPort = std::derived_from<T, PeriodicTask<typename T::Releases>> &&
    requires(P& port, T& task, Time time) {
    { port.now() }
    noexcept->std::same_as<Time>;
    { port.begin() }
    noexcept->std::same_as<Time>;
    { port.arm(time) }
    noexcept;
    { port.disarm() }
    noexcept;
    { port.prepare(task) }
    noexcept;
    { port.execute(task, time) }
    noexcept->std::same_as<bool>;
    { port.skip(task) }
    noexcept;
    { port.until() }
    noexcept->std::same_as<Time>;
    { port.stopped() }
    noexcept->std::same_as<bool>;
    { port.stop() }
    noexcept;
    { port.settle() }
    noexcept;
    { port.enable() }
    noexcept;
    { port.disable() }
    noexcept;
};

}  // namespace consort::app
