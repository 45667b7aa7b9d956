// SPDX-License-Identifier: Apache-2.0
//
// One core whose tasks are periodic, or sporadic by a generator, and whose jobs run to their end on one
// stack: what `Executive` does with such tasks (tests/virtual/test_periodic.cpp compares them), in a tenth of
// the instructions. What a release needs is computed when the job before it ends; the interrupt moves the
// task from one list to another.
//
// A job may spin on its core for an answer. Ties, policies and the conditions for jobs that are not begun any
// more are those of dispatch.hpp and executive.hpp. Insertion into a list takes a step for each task in it.
//
// How a port uses it, interrupts disabled:
//
//     timer();       // in the interrupt that it was armed for
//     dispatch();    // before what was interrupted goes on
//
//     while (busy()) { dispatch(); idle(); }    // the loop of the core
#pragma once

#include <concepts>
#include <cstdint>

#include "consort/app/dispatch.hpp"
#include "consort/app/release.hpp"

namespace consort::app {

struct PeriodicPlan {
    Time period = 1;
    Time offset = 0;
    Time deadline = 1;
    // Of no account under earliest deadline first. The smaller key is the more urgent; a job that has begun
    // is preempted only by keys below `level`: that of its task, of its preemption threshold or, where no job
    // is preempted, the least of all.
    std::uint32_t key = 0;
    std::uint32_t level = 0;
    // Whether a job is not begun any more after release + max(period, deadline).
    bool skips = true;
};

// A task; a port derives its own from it. `release` and `due` are of the job in hand or, between two jobs, of
// the next one, whose number is `seq`.
struct PeriodicTask {
    Time release = 0;
    Time due = 0;
    Time last_begin = never;
    Time key = 0;    // the smaller is the more urgent
    Time level = 0;  // what a key must be below to go before its job
    Time at = 0;     // when the timer is to look at it: the release, or at once where that has passed
    PeriodicTask* next = nullptr;
    std::uint32_t seq = 0;
    bool late = false;
    PeriodicPlan plan{};
};

// What is asked of a port; all but `execute` and `enable` are called with interrupts disabled.
//
//   now      the instant, in ticks
//   begin    the instant at which a job begins; any value where no task skips jobs
//   arm      call timer() at this instant, or at once where it has passed; replaces the instant armed before
//   disarm   no longer call timer()
//   prepare  release, due and seq are now those of the next job
//   execute  the job, which begins now, to its end, with interrupts enabled; false: `stop`
//   skip     the job is not executed: record it
//   until    no job that is due then or later is released
//   stopped  the same as `until() <= now`, if a job has said so
//   settle   called after a job has ended, before the next is chosen
//   gap      optional: by how much more than the period the task's job `seq` comes after the one before it
//   delay    optional, with `ready`: chooses when the job that is due at `release` is released; called before
//            prepare
//   ready    that instant, never before that of the job before it
template <class P, class T>
concept PeriodicPort = std::derived_from<T, PeriodicTask> && requires(P& port, T& task, Time time) {
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

// A port derives from it: so nothing has to be looked up on the way from the interrupt to the job.
template <class Port, class Task>
class PeriodicExecutive {
  public:
    PeriodicExecutive() = default;
    PeriodicExecutive(const PeriodicExecutive&) = delete;
    PeriodicExecutive& operator=(const PeriodicExecutive&) = delete;

    // Before the first release; `begin`: the instant that offsets count from. Plans stand in the tasks, in
    // the order of the description, and outlive the run.
    [[gnu::cold]] void start(Task* tasks, std::uint32_t count, Dispatch policy, Time begin) noexcept {
        earliest_first_ = policy == Dispatch::edf;
        waiting_ = ready_ = nullptr;
        running_ = never;
        for (std::uint32_t i = 0; i < count; ++i) {
            Task& task = tasks[i];
            task.seq = 0;
            arrange(task, begin + task.plan.offset);
            await_release(task, begin);
        }
        arm();
    }

    // Everything that is due at the instant for which the timer was armed, in the order of tasks.
    void timer() noexcept {
        release_due();
        arm();
    }
    // The same, and the caller arms the timer for next_release().
    void release_due() noexcept {
        if (waiting_ == nullptr) {
            return;
        }
        const Time at = waiting_->at;
        do {
            PeriodicTask& task = *waiting_;
            waiting_ = task.next;
            if (task.late || comes_too_late(task)) [[unlikely]] {
                release_late(of(task));
            } else if (!port().stopped()) {
                make_ready(task);
            }
        } while (waiting_ != nullptr && waiting_->at <= at);
    }

    // Whether a job is ready or will be.
    [[nodiscard]] bool busy() const noexcept { return waiting_ != nullptr || ready_ != nullptr; }
    // Whether a release is left, and when the next one is.
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
            const bool goes_on = port().execute(task, now);
            port().disable();
            end(task, goes_on);
            running_ = below;
            ran = true;
        }
        if (ran && below != never) {
            ++preemptions_;
        }
    }

  private:
    [[nodiscard]] Port& port() noexcept { return static_cast<Port&>(*this); }
    // Whether a ready task goes before what the core executes.
    [[nodiscard]] bool urgent() const noexcept { return ready_ != nullptr && ready_->key < running_; }
    static Task& of(PeriodicTask& task) noexcept { return static_cast<Task&>(task); }
    // When the job at hand is released: as it is due, or later by its jitter.
    [[nodiscard]] Time released(PeriodicTask& task) noexcept {
        if constexpr (requires { port().ready(of(task)); }) {
            return port().ready(of(task));
        } else {
            return task.release;
        }
    }
    // A jitter may be longer than a job can be late.
    [[nodiscard]] bool comes_too_late(PeriodicTask& task) noexcept {
        if constexpr (requires { port().ready(of(task)); }) {
            return port().ready(of(task)) > task.last_begin;
        } else {
            return false;
        }
    }

    void arm() noexcept {
        if (awaits()) {
            port().arm(next_release());
        } else {
            port().disarm();
        }
    }

    [[gnu::noinline]] void end(Task& task, bool goes_on) noexcept {
        if (!goes_on) {
            port().stop();
        }
        next(task);
        await_release(task, port().now());
        arm();
        // What it preempted goes on only when what has become due in between is ready.
        port().settle();
    }

    // The job at hand is the one that is released then.
    [[gnu::noinline]] void arrange(Task& task, Time release) noexcept {
        const PeriodicPlan& plan = task.plan;
        task.release = release;
        task.due = after(release, plan.deadline);
        task.last_begin = plan.skips ? begin_limit(release, plan.period, plan.deadline) : never;
        task.key = task.level = task.due;
        if (!earliest_first_) {
            task.key = plan.key;
            task.level = plan.level;
        }
        if constexpr (requires { port().delay(task); }) {
            port().delay(task);
        }
        port().prepare(task);
    }
    [[gnu::noinline]] void next(Task& task) noexcept {
        ++task.seq;
        Time apart = task.plan.period;
        if constexpr (requires { port().gap(task); }) {
            apart = after(apart, port().gap(task));
        }
        arrange(task, after(task.release, apart));
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
    [[gnu::noinline]] void await_release(PeriodicTask& task, Time now) noexcept {
        if (task.release >= port().until()) {
            return;
        }
        const Time at = released(task);
        task.late = at < now;
        task.at = task.late ? now : at;
        PeriodicTask** link = &waiting_;
        while (*link != nullptr && ((*link)->at < task.at || ((*link)->at == task.at && *link < &task))) {
            link = &(*link)->next;
        }
        task.next = *link;
        *link = &task;
    }

    void make_ready(PeriodicTask& task) noexcept {
        if (ready_ == nullptr || task.key < ready_->key) {
            task.next = ready_;
            ready_ = &task;
        } else {
            queue_behind(*ready_, task);
        }
    }
    [[gnu::noinline]] static void queue_behind(PeriodicTask& first, PeriodicTask& task) noexcept {
        PeriodicTask* before = &first;
        while (before->next != nullptr && before->next->key <= task.key) {
            before = before->next;
        }
        task.next = before->next;
        before->next = &task;
    }

    // Jobs that can begin no more are passed over.
    [[gnu::noinline, gnu::cold]] void release_late(Task& task) noexcept {
        const Time now = port().now();
        while (task.release < port().until()) {
            if (released(task) > now) {
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

    PeriodicTask* waiting_ = nullptr;  // for their releases, the earliest first
    PeriodicTask* ready_ = nullptr;    // the most urgent first
    Time running_ = never;             // what a key must be below to go before what the core executes
    bool earliest_first_ = false;
    std::uint32_t preemptions_ = 0;
};

}  // namespace consort::app
