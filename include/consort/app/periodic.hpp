// SPDX-License-Identifier: Apache-2.0
//
// One core whose tasks are periodic, or sporadic by a generator, and whose jobs run to their end on one
// stack: what `Executive` does with such tasks (tests/virtual/test_periodic.cpp compares them), in a tenth of
// the instructions. What a release needs is computed when the job before it ends; the interrupt moves the
// task from one list to another.
//
// A job may spin on its core for an answer, or leave the core while it waits: then it is two parts, which run
// to their ends each, and in between its task is in a list of those whose answers are looked for whenever the
// core chooses what it executes. Ties, policies and the conditions for jobs that are not begun any more are
// those of dispatch.hpp and executive.hpp, but that a first part which has begun runs to its end whatever has
// become of its answer. Insertion into a list takes a step for each task in it.
//
// How a port uses it, interrupts disabled:
//
//     timer();       // in the interrupt that it was armed for
//     dispatch();    // before what was interrupted goes on
//
//     while (busy()) { dispatch(); idle(); }    // the loop of the core
#pragma once

#include <cstdint>

#include "consort/app/dispatch.hpp"
#include "consort/app/periodic_task.hpp"
#include "consort/app/release.hpp"

namespace consort::app {

// A port derives from it: so nothing has to be looked up on the way from the interrupt to the job.
template <class Port, class Task>
class PeriodicExecutive {
  public:
    PeriodicExecutive() = default;
    PeriodicExecutive(const PeriodicExecutive&) = delete;
    PeriodicExecutive& operator=(const PeriodicExecutive&) = delete;

    // Before the first release; `begin`: the instant from which it counts. The tasks, in the order of the
    // description, have their rows and releases, and outlive the run.
    [[gnu::cold]] void start(Task* tasks, std::uint32_t count, Dispatch policy, Time begin) noexcept {
        earliest_first_ = policy == Dispatch::edf;
        waiting_ = ready_ = away_ = nullptr;
        running_ = never;
        for (std::uint32_t i = 0; i < count; ++i) {
            Task& task = tasks[i];
            arrange(task);
            await_release(task, begin);
        }
        arm();
    }

    // Everything that is due at the instant for which the timer was armed, in the order of tasks: first jobs
    // that wait no longer, then releases.
    void timer() noexcept {
        if constexpr (parts()) {
            wake();
            if (waiting_ != nullptr && waiting_->at <= port().now()) {
                release_due();
            }
        } else {
            release_due();
        }
        arm();
    }
    // The same, and the caller arms the timer for next_release().
    void release_due() noexcept {
        if (waiting_ == nullptr) {
            return;
        }
        const Time at = waiting_->at;
        do {
            Link& task = *waiting_;
            waiting_ = task.next;
            if (task.late || comes_too_late(task)) [[unlikely]] {
                release_late(of(task));
            } else if (!port().stopped()) {
                make_ready(task);
            }
        } while (waiting_ != nullptr && waiting_->at <= at);
    }

    // True if a job is ready or will be.
    [[nodiscard]] bool busy() const noexcept {
        return waiting_ != nullptr || ready_ != nullptr || away_ != nullptr;
    }
    // How many jobs wait off the core.
    [[nodiscard]] std::uint32_t away() const noexcept {
        std::uint32_t found = 0;
        for (const Link* task = away_; task != nullptr; task = task->next) {
            ++found;
        }
        return found;
    }
    // True if a release is left, and the instant of the next one.
    [[nodiscard]] bool awaits() const noexcept { return waiting_ != nullptr; }
    [[nodiscard]] Time next_release() const noexcept { return waiting_->at; }
    [[nodiscard]] std::uint32_t preemptions() const noexcept { return preemptions_; }

    // Runs whatever goes before what the core executes.
    void dispatch() noexcept {
        const Time below = running_;
        bool ran = false;
        while (urgent()) {
            Task& task = of(*ready_);
            ready_ = task.next;
            const Time now = port().begin();
            if (now > task.last_begin) [[unlikely]] {
                pass_over(task);
                continue;
            }
            running_ = task.level;
            port().enable();
            execute(task, now);
            running_ = below;
            ran = true;
        }
        if (ran && below != never) {
            ++preemptions_;
        }
    }

  private:
    using Link = PeriodicTask<typename Task::Releases>;

    [[nodiscard]] Port& port() noexcept { return static_cast<Port&>(*this); }
    // True if jobs may leave the core and wait.
    [[nodiscard]] static constexpr bool parts() noexcept {
        return requires(Port & port, Task & task) {
            port.answered(task);
        };
    }

    // True if a ready task goes before the one that the core executes.
    [[nodiscard]] bool urgent() noexcept {
        if constexpr (parts()) {
            wake();
        }
        return ready_ != nullptr && ready_->key < running_;
    }
    // The job, or the part of it that is to come; called with interrupts enabled, which it disables.
    void execute(Task& task, Time now) noexcept {
        if constexpr (parts()) {
            if (port().leaves(task) && !task.away) {
                port().depart(task, now);
                port().disable();
                leave(task);
                return;
            }
        }
        const bool goes_on = port().execute(task, now);
        port().disable();
        end(task, goes_on);
    }
    static Task& of(Link& task) noexcept { return static_cast<Task&>(task); }
    // A jitter may be longer than a job can be late.
    [[nodiscard]] static bool comes_too_late(const Link& task) noexcept {
        if constexpr (Task::Releases::delays) {
            return task.releases.actual() > task.last_begin;
        } else {
            return false;
        }
    }

    void arm() noexcept {
        if constexpr (parts()) {
            Time at = awaits() ? next_release() : never;
            for (const Link* task = away_; task != nullptr; task = task->next) {
                at = task->at < at ? task->at : at;
            }
            if (at != never) {
                port().arm(at);
            } else {
                port().disarm();
            }
        } else if (awaits()) {
            port().arm(next_release());
        } else {
            port().disarm();
        }
    }

    [[gnu::noinline]] void end(Task& task, bool goes_on) noexcept {
        if (!goes_on) {
            port().stop();
        }
        if constexpr (parts()) {
            task.away = false;
        }
        next(task);
        await_release(task, port().now());
        arm();
        // The preempted job goes on only when jobs that have become due in between are ready.
        port().settle();
    }
    // The job's first part is over.
    [[gnu::noinline]] void leave(Task& task) noexcept {
        task.away = true;
        task.at = port().give_up(task);
        task.last_begin = never;
        Link** link = &away_;
        while (*link != nullptr && *link < &task) {
            link = &(*link)->next;
        }
        task.next = *link;
        *link = &task;
        arm();
        port().left();
    }
    // Jobs whose answers are there become ready, and then those that wait no longer, each in the order of
    // tasks.
    void wake() noexcept {
        if (away_ != nullptr) [[unlikely]] {
            wake_all();
        }
    }
    [[gnu::noinline]] void wake_all() noexcept {
        wake_if([this](Task& task) { return port().answered(task); });
        const Time now = port().now();
        wake_if([now](const Task& task) { return task.at <= now; });
    }
    template <class Which>
    void wake_if(const Which& which) noexcept {
        Link** link = &away_;
        while (*link != nullptr) {
            Link& task = **link;
            if (which(of(task))) {
                *link = task.next;
                make_ready(task);
            } else {
                link = &task.next;
            }
        }
    }

    // The job at hand is the one that is released then.
    [[gnu::noinline]] void arrange(Task& task) noexcept {
        const plan::Task& plan = *task.plan;
        const Time release = task.releases.nominal();
        task.due = after(release, plan.deadline);
        task.last_begin = plan.skips ? begin_limit(release, plan.period, plan.deadline) : never;
        task.key = task.level = task.due;
        if (!earliest_first_) {
            task.key = plan.rank;
            task.level = plan.threshold;
        }
        port().prepare(task);
    }
    [[gnu::noinline]] void next(Task& task) noexcept {
        task.releases.next();
        arrange(task);
    }
    void skip(Task& task) noexcept {
        port().skip(task);
        next(task);
    }
    [[gnu::noinline, gnu::cold]] void pass_over(Task& task) noexcept {
        skip(task);
        release_late(task);
        arm();
    }

    // The task's next job becomes ready at its release, or at once if that has passed.
    [[gnu::noinline]] void await_release(Link& task, Time now) noexcept {
        if (task.releases.cause() >= port().until()) {
            return;
        }
        const Time at = task.releases.actual();
        task.late = at < now;
        task.at = task.late ? now : at;
        Link** link = &waiting_;
        while (*link != nullptr && ((*link)->at < task.at || ((*link)->at == task.at && *link < &task))) {
            link = &(*link)->next;
        }
        task.next = *link;
        *link = &task;
    }

    void make_ready(Link& task) noexcept {
        if (ready_ == nullptr || task.key < ready_->key) {
            task.next = ready_;
            ready_ = &task;
        } else {
            queue_behind(*ready_, task);
        }
    }
    [[gnu::noinline]] static void queue_behind(Link& first, Link& task) noexcept {
        Link* before = &first;
        while (before->next != nullptr && before->next->key <= task.key) {
            before = before->next;
        }
        task.next = before->next;
        before->next = &task;
    }

    // Jobs that can begin no more are passed over.
    [[gnu::noinline, gnu::cold]] void release_late(Task& task) noexcept {
        const Time now = port().now();
        while (task.releases.cause() < port().until()) {
            if (task.releases.actual() > now) {
                await_release(task, now);
                return;
            }
            if (now <= task.last_begin) {
                make_ready(task);
                return;
            }
            skip(task);
        }
    }

    Link* waiting_ = nullptr;  // for their releases, the earliest first
    Link* ready_ = nullptr;    // the most urgent first
    Link* away_ = nullptr;     // their jobs wait off the core; in the order of tasks
    Time running_ = never;     // what a key must be below to go before what the core executes
    bool earliest_first_ = false;
    std::uint32_t preemptions_ = 0;
};

}  // namespace consort::app
