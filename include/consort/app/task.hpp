// SPDX-License-Identifier: Apache-2.0
//
// A task on the core that releases it (executive.hpp), and what the executive asks of its port.
#pragma once

#include <concepts>
#include <cstdint>

#include "consort/app/plan.hpp"
#include "consort/app/release.hpp"

namespace consort::app {

// A port derives its own from it. R: its releases, which stand at the job in hand or, between two jobs, at
// the next one. waits: whether jobs may leave the core and wait. time: jobs are stretches of time, not code.
// Before the run the port gives row and releases.
template <class R, bool waits, bool time = false>
struct Task {
    using Releases = R;
    static constexpr bool may_wait = waits;
    static constexpr bool is_time = time;

    R releases;
    // Its row of the plan. A job that has begun is preempted only from below the row's threshold.
    const plan::Task* plan = nullptr;
    Time due = 0;
    Time last_begin = never;
    Time key = 0;    // the smaller is the more urgent
    Time level = 0;  // what a key must be below to go before its job
    // When the timer is to look at it: the release, or at once where that has passed; of a job that waits,
    // when it waits no longer.
    Time at = 0;
    Task* next = nullptr;
    bool late = false;
    bool away = false;  // its job has left the core: what is to come is its second part
    [[no_unique_address]] IfThere<waits, Task*, 6> next_wait{};
};

// Requirements on a port; all but `execute` and `enable` are called with interrupts disabled.
//
//   now      the instant, in ticks
//   begin    the instant at which a job begins; any value where no task skips jobs
//   arm      call timer() at this instant, or at once where it has passed; replaces the instant armed before
//   disarm   no longer call timer()
//   prepare  releases and due are now at the next job
//   skip     the job is not executed: record it
//   until    no job that is due then or later is released
//
// A port whose jobs are code, which the concept is about:
//
//   stop     `until` is now, on all cores
//   stopped  optional: whether that is so; then nothing is released any more
//   settle   called after a job has ended, before the next is chosen
//   execute  the job, which begins now, to its end, with interrupts enabled; false: `stop`
//   depart   optional, with the next four, of a task whose jobs leave the core: the first part of a job, as
//            `execute`, which is the second one then
//   leaves   whether the task's jobs leave the core
//   left     called after that, as `settle`
//   answered whether what the job waits for is there
//   give_up  when it waits no longer; asked when it has left the core
//
// A port whose jobs are stretches of time (consort/virtual/timed_executive.hpp) can end a part in its midst:
//
//   run      the part that is to come, until it ends or is given up; it calls over() if it has ended
//   unwinds  true if what the core executes was given up, and is about to return
//   released the job is released; true: it waits until `at` at most, whatever has become of it by then
//   instant  whether the part that is to come takes no time, and no core therefore
//   pass     that part
//   answered whether what the job waits for is there: it goes on
//   give_up  when it waits no longer; asked when it has left the core
//   gave_up  it waits no longer
template <class P, class T>
concept ExecutivePort = requires(P& port, T& task, Time time) {
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
    { port.skip(task) }
    noexcept;
    { port.until() }
    noexcept->std::same_as<Time>;
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
