// SPDX-License-Identifier: Apache-2.0
//
// The executive (consort/app/executive.hpp) where jobs are stretches of time rather than code: local ones,
// ones that suspend themselves once, and the master's side of offloaded ones (send, wait, receive; what
// happens when the answer does not come). docs/explanation/simulator.md has the rules.
//
// A core whose jobs spin keeps its job on the stack while it waits. A part that takes no time needs no core:
// whoever makes it ready does it.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

#include "consort/app/executive.hpp"
#include "consort/task/job.hpp"
#include "consort/task/miss_policy.hpp"

namespace consort::virtual_time {

using app::Time;

// One job. Instants; `absent`: it did not happen.
struct JobTimes {
    Time release = app::absent;  // when it was due: responses and deadlines count from here
    Time ready = app::absent;    // when it was released
    Time start = app::absent;    // of its first part on a core
    Time finish = app::absent;
    Time sent = app::absent;
    Time worker_receive = app::absent;
    Time worker_send = app::absent;
    Time received = app::absent;
    Time compute = 0;  // its execution time
    std::uint32_t seq = 0;
    std::uint32_t status = 0;  // job_status
    std::uint32_t preemptions = 0;
};

enum class Phase : std::uint8_t {
    idle,
    first,     // the whole job, or what comes before it waits
    away,      // at its worker, or suspended
    second,    // what comes after
    fallback,  // the master computes the step itself
};

struct Frame;

// A task of a core: what a row does not say, and its state.
struct TimedTask : app::Task<app::Releases, true, true> {
    std::uint32_t id = 0;  // its place in the description: what random choices go by
    app::Draw draw;
    const Time* executions = nullptr;  // where given: of its jobs, in turn
    std::size_t execution_count = 0;

    Phase phase = Phase::idle;
    bool late_answer = false;
    Time remaining = 0;
    Time second = 0;
    Time suspended = 0;
    JobTimes job{};
    Frame* frame = nullptr;  // of the part that has begun

    [[nodiscard]] bool offloaded() const noexcept { return app::plan::offloaded(*plan); }
};

// A part of a job that has begun and not ended: it lives on the stack, below the parts that preempted it.
struct Frame {
    // An event that reached it while it was interrupted or waited.
    enum class Signal : std::uint8_t {
        none,
        changed,    // it has something else to do: leave what it does
        withdrawn,  // it was given up: it ends where it is, at no cost
    };
    TimedTask* task;
    Signal signal;
    Frame* below;
};

// A port derives from it and has:
//   now, until, enable, disable
//            as app::ExecutivePort has them
//   switched a part is about to begin on the core: the cost of switching to it
//   spend    the part's time on the core: so much of it (`never`: a wait), or until its frame has a signal
//   send     the request of an offloaded job is on its way to its worker
//   begun    the job begins: it reads its input now
//   finished the job is over: its record
//   end      `until` is now, on all cores
//   decide   a part has ended: what else happens at this instant comes before the next is chosen
template <class Port>
class TimedExecutive : public app::Executive<TimedExecutive<Port>, TimedTask> {
    using Base = app::Executive<TimedExecutive, TimedTask>;
    using Part = typename Base::Part;
    friend Base;

  public:
    // The tasks, in the order of the description, outlive the run.
    void start(TimedTask* tasks, std::uint32_t count, const app::plan::Core& core, app::Spread execution,
               app::Spread arrival, Time begin) noexcept {
        spins_ = core.wait == app::plan::Wait::spin;
        execution_ = execution;
        arrival_ = arrival;
        tasks_ = tasks;
        top_ = nullptr;
        Base::start(tasks, count, core.policy, begin);
    }

    [[nodiscard]] const TimedTask& task(std::uint32_t t) const noexcept { return tasks_[t]; }
    // When timer(), or end_waits() and release_jobs(), are to be called; `never`: not at all.
    [[nodiscard]] Time armed() const noexcept { return armed_; }
    // The frame that the core executes; null: nothing.
    [[nodiscard]] Frame* top() const noexcept { return top_; }

    // --- what interrupts do. Whoever calls these calls dispatch() before the interrupted part goes on.

    void timer() noexcept {
        do {
            this->end_waits();
            this->release_jobs();
        } while (armed_ <= port().now());
    }
    void arrived(std::uint32_t t) noexcept { Base::arrived(tasks_[t]); }
    // The worker's answer to job `seq` of this task is there.
    void answer(std::uint32_t t, std::uint32_t seq) noexcept {
        TimedTask& task = tasks_[t];
        if (waits_for(t, seq)) {
            task.job.received = port().now();
            task.phase = Phase::second;
            this->wait_no_longer(task);
            begin_part(task, task.second);
            Base::arm();
        } else if (task.phase != Phase::idle) {
            task.job.status |= job_status::late_answer;
        } else {
            task.late_answer = true;
        }
    }
    // The worker's record of the job in hand; a job given up since has no part in it.
    void worker_began(std::uint32_t t, std::uint32_t seq, Time at) noexcept {
        if (waits_for(t, seq)) {
            tasks_[t].job.worker_receive = at;
        }
    }
    void worker_ended(std::uint32_t t, std::uint32_t seq, Time at) noexcept {
        if (waits_for(t, seq)) {
            tasks_[t].job.worker_send = at;
        }
    }

  private:
    [[nodiscard]] Port& port() noexcept { return static_cast<Port&>(*this); }

    // --- what the executive calls
    [[nodiscard]] Time now() noexcept { return port().now(); }
    [[nodiscard]] Time begin() noexcept { return port().now(); }
    void arm(Time at) noexcept { armed_ = at; }
    void disarm() noexcept { arm(app::never); }
    void prepare(const TimedTask& /*task*/) noexcept {}
    [[nodiscard]] Time until() noexcept { return port().until(); }
    void enable() noexcept { port().enable(); }
    [[nodiscard]] bool unwinds() const noexcept {
        return top_ != nullptr && top_->signal == Frame::Signal::withdrawn;
    }
    // The job in hand comes to nothing.
    void skip(TimedTask& task) noexcept {
        task.phase = Phase::idle;
        task.job = due(task);
        task.job.status = job_status::missed | job_status::unserved;
        port().finished(task, task.job);
    }
    [[nodiscard]] bool released(TimedTask& task) noexcept {
        const app::plan::Task& plan = *task.plan;
        const std::uint64_t number = task.releases.job();
        const app::ExecutionRule rule{plan.bcet, plan.wcet, task.executions, task.execution_count};
        const Time execution = rule.of(task.draw, execution_, number);
        task.job = due(task);
        task.job.compute = execution;
        if (task.late_answer) {
            task.job.status = job_status::late_answer;
            task.late_answer = false;
        }
        task.phase = Phase::first;
        task.remaining = execution;
        if (task.offloaded()) {
            task.remaining = plan.send;
            task.second = plan.receive;
            const Time give_up_at = app::after(task.job.release, plan.give_up);
            task.at = give_up_at < now() ? now() : give_up_at;
            return true;
        }
        if (plan.suspension != 0) {
            using app::Choice;
            task.suspended = task.draw(execution_, Choice::suspension, number, 0, plan.suspension);
            // Anywhere in the job, also at its very beginning or end.
            task.remaining = task.draw(arrival_, Choice::split, number, 0, execution);
            task.second = execution - task.remaining;
        }
        return false;
    }
    // Of a job that keeps its core while it waits a part does need the core.
    [[nodiscard]] bool instant(const TimedTask& task) const noexcept {
        return task.remaining == 0 && !keeps(task);
    }
    [[nodiscard]] Part pass(TimedTask& task) noexcept {
        begins(task);
        return end_part(task);
    }
    void run(TimedTask& task) noexcept {
        Frame frame{&task, Frame::Signal::none, top_};
        task.frame = top_ = &frame;
        begins(task);
        port().switched();
        const bool ended = run_parts(frame);
        port().disable();
        // A part that was given up may be ready anew by now.
        if (task.frame == &frame) {
            task.frame = nullptr;
        }
        if (ended) {
            this->over(task, task.phase == Phase::away ? Part::away : Part::last);
        }
        // The preempted part goes on only when that is decided.
        port().decide();
        top_ = frame.below;
    }
    // A job that suspended itself goes on.
    [[nodiscard]] bool answered(TimedTask& task) noexcept {
        if (task.phase != Phase::away || task.offloaded() || task.at > now()) {
            return false;
        }
        task.phase = Phase::second;
        task.remaining = task.second;
        return true;
    }
    [[nodiscard]] Time give_up(const TimedTask& task) noexcept {
        return task.offloaded() ? task.at : app::after(now(), task.suspended);
    }
    void gave_up(TimedTask& task) noexcept {
        const Remedy remedy = remedy_of(task.plan->on_miss);
        if (!(remedy.computes && spins_ && task.frame != nullptr && task.frame == top_)) {
            this->withdraw(task);
            if (task.frame != nullptr) {
                task.frame->signal = Frame::Signal::withdrawn;
                task.frame = nullptr;
            }
        }
        begins(task);
        task.job.status |= remedy.status;
        if (remedy.computes) {
            task.job.compute = task.plan->fallback;
            task.phase = Phase::fallback;
            begin_part(task, task.plan->fallback);
            return;
        }
        if (remedy.stops && now() < until()) {
            port().end();
        }
        finish(task);
        this->over(task, Part::last);
    }

    // --- a job
    [[nodiscard]] static JobTimes due(const TimedTask& task) noexcept {
        JobTimes job;
        job.release = task.releases.nominal();
        job.ready = task.releases.actual();
        job.seq = static_cast<std::uint32_t>(task.releases.job());
        return job;
    }
    [[nodiscard]] bool waits_for(std::uint32_t t, std::uint32_t seq) const noexcept {
        return tasks_[t].phase == Phase::away && tasks_[t].job.seq == seq;
    }
    // A job that suspends itself gives its core up, whatever the core does for those that wait for an answer.
    [[nodiscard]] bool keeps(const TimedTask& task) const noexcept { return spins_ && task.offloaded(); }
    void begin_part(TimedTask& task, Time length) noexcept {
        task.remaining = length;
        if (task.frame != nullptr && keeps(task)) {
            // It goes on where it waits, or will when it is no longer preempted.
            task.frame->signal = Frame::Signal::changed;
        } else {
            this->become_ready(task);
        }
    }
    // True: a part has ended, and the job does not keep the core. Otherwise it was given up.
    [[nodiscard]] bool run_parts(Frame& frame) noexcept {
        TimedTask& task = *frame.task;
        for (;;) {
            const bool waits = task.phase == Phase::away;
            port().spend(frame, waits ? app::never : task.remaining);
            if (frame.signal == Frame::Signal::withdrawn) {
                return false;
            }
            if (frame.signal == Frame::Signal::changed) {
                frame.signal = Frame::Signal::none;
                continue;
            }
            port().disable();
            const Part part = end_part(task);
            if (part == Part::last || !keeps(task)) {
                return true;
            }
            port().enable();
        }
    }
    void begins(TimedTask& task) noexcept {
        if (task.job.start == app::absent) {
            task.job.start = now();
            task.last_begin = app::never;
            port().begun(task, task.job);
        }
    }
    [[nodiscard]] Part end_part(TimedTask& task) noexcept {
        if (task.phase != Phase::first || (!task.offloaded() && task.plan->suspension == 0)) {
            finish(task);
            return Part::last;
        }
        task.phase = Phase::away;
        if (task.offloaded()) {
            task.job.sent = now();
            port().send(task, task.job);
        }
        return Part::away;
    }
    void finish(TimedTask& task) noexcept {
        JobTimes& job = task.job;
        job.finish = now();
        const bool held = (job.status & job_status::held) != 0;
        if (held || job.finish > app::after(job.release, task.plan->deadline)) {
            job.status |= job_status::missed;
        }
        job.compute = held ? 0 : job.compute;
        task.phase = Phase::idle;
        port().finished(task, job);
    }

    bool spins_ = false;  // while a job waits for an answer, its core is kept from what is less urgent
    app::Spread execution_ = app::Spread::uniform;
    app::Spread arrival_ = app::Spread::uniform;
    TimedTask* tasks_ = nullptr;
    Frame* top_ = nullptr;
    Time armed_ = app::never;
};

}  // namespace consort::virtual_time
