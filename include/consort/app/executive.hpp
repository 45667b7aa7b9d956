// SPDX-License-Identifier: Apache-2.0
//
// One core that releases tasks, on a board and in virtual time: releases, dispatching, jobs that leave the
// core and come back, jobs that are not begun any more. docs/explanation/simulator.md has the rules,
// docs/explanation/executive.md who calls what. What a port lacks is not compiled (task.hpp).
//
// Jobs run to completion on one stack, and what is more urgent runs on top of what it preempts, called from
// the interrupt that made it ready (basic tasks of OSEK, the rules of Samek's "super simple tasker").
//
//   fixed_priority                 the most urgent ready part runs; a more urgent one preempts it, if that is
//                                  above the threshold of what has begun (Wang and Saksena 1999)
//   fixed_priority_non_preemptive  the same, but what has begun runs to its end
//   edf                            the earliest absolute deadline, which is fixed at the release
//
// Ties: what runs goes on. Of others the one made ready first goes first, one that was preempted before all
// that came after it. So a preempted part is always resumed before an equally urgent one begins, and one
// stack is enough under all three policies.
//
// What a release needs is computed when the job before it ends; the interrupt moves the task from one list to
// another. A job that leaves its core while it waits is two parts; in between its task is in a list of those
// that wait. A part that is code runs to its end, whatever has become of its answer meanwhile; one that is a
// stretch of time is given up in its midst. Insertion into a list takes a step for each task in it.
//
// How a port uses it, interrupts disabled:
//
//     timer();       // in the interrupt that it was armed for
//     dispatch();    // before what was interrupted goes on
//
//     while (busy()) { dispatch(); idle(); }    // the loop of the core
#pragma once

#include <cstdint>

#include "consort/app/plan.hpp"
#include "consort/app/release.hpp"
#include "consort/app/task.hpp"

namespace consort::app {

// A port derives from it: so nothing has to be looked up on the way from the interrupt to the job.
template <class Port, class Task>
class Executive {
    static constexpr bool parts = Task::may_wait;
    static constexpr bool timed = Task::is_time;

  public:
    Executive() = default;
    Executive(const Executive&) = delete;
    Executive& operator=(const Executive&) = delete;

    // Before the first release; `begin`: the instant from which it counts. The tasks, in the order of the
    // description, have their rows and releases, and outlive the run.
    [[gnu::cold]] void start(Task* tasks, std::uint32_t count, plan::Policy policy, Time begin) noexcept {
        policy_ = policy;
        waiting_ = ready_ = away_ = nullptr;
        running_ = never;
        for (std::uint32_t i = 0; i < count; ++i) {
            arrange(tasks[i]);
            await_release(tasks[i], begin);
        }
        arm();
    }

    // Everything that is due at the instant for which the timer was armed, in the order of tasks: first jobs
    // that wait no longer, then releases.
    void timer() noexcept {
        if constexpr (parts) {
            wake();
            if (waiting_ != nullptr && waiting_->at <= port().now()) {
                release_due();
            }
        } else {
            release_due();
        }
        arm();
    }
    // The same in two, for a port that brings the messages and timers of all cores into one order. A release
    // may begin a wait that is over at once.
    void end_waits() noexcept requires(timed) {
        wake();
        arm();
    }
    void release_jobs() noexcept requires(timed) {
        while (waiting_ != nullptr && waiting_->at <= port().now()) {
            release_due();
        }
        arm();
    }
    // The releases alone, and the caller arms the timer for next_release().
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
            } else if (!withheld(task)) {
                release(task);
            }
        } while (waiting_ != nullptr && waiting_->at <= at);
    }
    // Blocks that release the task were announced, or a job of it that a block released is over.
    void arrived(Task& task) noexcept requires(timed) {
        if (task.releases.look()) {
            arrange(task);
            await_release(task, port().now());
            arm();
        }
    }
    // `until` has come down to now: what is due from then on is not released any more.
    void withhold() noexcept requires(timed) {
        Link** link = &waiting_;
        while (*link != nullptr) {
            if ((*link)->releases.cause() >= port().until()) {
                *link = (*link)->next;
            } else {
                link = &(*link)->next;
            }
        }
        arm();
    }

    // True if a job is ready or will be.
    [[nodiscard]] bool busy() const noexcept {
        return waiting_ != nullptr || ready_ != nullptr || away_ != nullptr;
    }
    // True if nothing is busy, nor begun.
    [[nodiscard]] bool idle() const noexcept { return !busy() && running_ == never; }
    // How many jobs wait off the core.
    [[nodiscard]] std::uint32_t away() const noexcept {
        std::uint32_t found = 0;
        if constexpr (parts) {
            for (const Link* task = away_; task != nullptr; task = task->next_wait) {
                ++found;
            }
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
    // True if a ready task goes before the one that the core executes.
    [[nodiscard]] bool urgent() noexcept {
        if constexpr (timed) {
            if (port().unwinds()) {
                return false;
            }
        } else if constexpr (parts) {
            wake();
        }
        return ready_ != nullptr && ready_->key < running_;
    }
    // The same, of those that may still begin.
    [[nodiscard]] bool preempts() noexcept requires(timed) {
        while (urgent()) {
            Task& task = of(*ready_);
            if (port().begin() <= task.last_begin) {
                return true;
            }
            ready_ = task.next;
            pass_over(task);
        }
        return false;
    }

  protected:
    // For ports whose jobs are stretches of time.

    // What has become of a part that has ended.
    enum class Part : std::uint8_t { last, away };
    void over(Task& task, Part part) noexcept requires(timed) {
        if (part == Part::away) {
            leave(task);
        } else {
            wait_no_longer(task);
            next_job(task);
        }
    }
    // The part that is to come.
    void become_ready(Task& task) noexcept requires(timed) {
        if (port().instant(task)) {
            over(task, port().pass(task));
        } else {
            make_ready(task);
        }
    }
    // What it waits for is there, or it waits no longer.
    void wait_no_longer(Task& task) noexcept requires(timed) {
        for (Link** link = &away_; *link != nullptr; link = &(*link)->next_wait) {
            if (*link == &task) {
                *link = task.next_wait;
                return;
            }
        }
    }
    void withdraw(Task& task) noexcept requires(timed) {
        for (Link** link = &ready_; *link != nullptr; link = &(*link)->next) {
            if (*link == &task) {
                *link = task.next;
                return;
            }
        }
    }
    void arm() noexcept {
        if constexpr (parts) {
            Time at = awaits() ? next_release() : never;
            for (const Link* task = away_; task != nullptr; task = task->next_wait) {
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

  private:
    using Link = app::Task<typename Task::Releases, Task::may_wait, Task::is_time>;

    [[nodiscard]] Port& port() noexcept { return static_cast<Port&>(*this); }
    static Task& of(Link& task) noexcept { return static_cast<Task&>(task); }

    // The job, or the part of it that is to come; called with interrupts enabled, which it disables.
    void execute(Task& task, Time now) noexcept {
        if constexpr (timed) {
            port().run(task);
        } else {
            if constexpr (parts) {
                if (port().leaves(task) && !task.away) {
                    port().depart(task, now);
                    port().disable();
                    leave(task);
                    port().left();
                    return;
                }
            }
            const bool goes_on = port().execute(task, now);
            port().disable();
            end(task, goes_on);
        }
    }
    // A jitter may be longer than a job can be late.
    [[nodiscard]] static bool comes_too_late(const Link& task) noexcept {
        if constexpr (Task::Releases::delays) {
            return task.releases.actual() > task.last_begin;
        } else {
            return false;
        }
    }
    [[nodiscard]] bool withheld(const Link& task) noexcept {
        if constexpr (requires { port().stopped(); }) {
            return port().stopped();
        } else {
            return task.releases.cause() >= port().until();
        }
    }

    [[gnu::noinline]] void end(Task& task, bool goes_on) noexcept {
        if (!goes_on) {
            port().stop();
        }
        if constexpr (parts) {
            task.away = false;
        }
        next_job(task);
        // The preempted job goes on only when jobs that have become due in between are ready.
        port().settle();
    }
    void next_job(Task& task) noexcept {
        next(task);
        await_release(task, port().now());
        arm();
    }
    // The job's first part is over.
    [[gnu::noinline]] void leave(Task& task) noexcept {
        task.away = true;
        task.at = port().give_up(task);
        task.last_begin = never;
        wait(task);
        arm();
    }
    void wait(Link& task) noexcept {
        Link** link = &away_;
        while (*link != nullptr && *link < &task) {
            link = &(*link)->next_wait;
        }
        if (*link != &task) {
            task.next_wait = *link;
            *link = &task;
        }
    }
    // Jobs whose answers are there become ready, and then those that wait no longer, each in the order of
    // tasks.
    void wake() noexcept {
        if (away_ != nullptr) [[unlikely]] {
            wake_all();
        }
    }
    [[gnu::noinline]] void wake_all() noexcept {
        const auto goes_on = [this](Task& task) {
            if constexpr (timed) {
                become_ready(task);
            } else {
                make_ready(task);
            }
        };
        wake_if([this](Task& task) { return port().answered(task); }, goes_on);
        const Time now = port().now();
        wake_if([now](const Task& task) { return task.at <= now; },
                [&](Task& task) {
                    if constexpr (timed) {
                        port().gave_up(task);
                    } else {
                        goes_on(task);
                    }
                });
    }
    template <class Which, class Then>
    void wake_if(const Which& which, const Then& then) noexcept {
        Link** link = &away_;
        while (*link != nullptr) {
            Task& task = of(**link);
            if (which(task)) {
                *link = task.next_wait;
                then(task);
            } else {
                link = &task.next_wait;
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
        if (policy_ != plan::Policy::edf) {
            task.key = plan.rank;
            task.level = policy_ == plan::Policy::fixed_priority ? plan.threshold : 0;
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
        if constexpr (timed) {
            wait_no_longer(task);
        }
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

    void release(Link& task) noexcept {
        if constexpr (timed) {
            if (port().released(of(task))) {
                wait(task);
            }
            become_ready(of(task));
        } else {
            make_ready(task);
        }
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
                release(task);
                return;
            }
            skip(task);
        }
    }

    Link* waiting_ = nullptr;  // for their releases, the earliest first
    Link* ready_ = nullptr;    // the most urgent first
    Link* away_ = nullptr;     // their jobs wait; in the order of tasks
    Time running_ = never;     // what a key must be below to go before what the core executes
    plan::Policy policy_ = plan::Policy::fixed_priority;
    std::uint32_t preemptions_ = 0;
};

}  // namespace consort::app
