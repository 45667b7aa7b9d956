// SPDX-License-Identifier: Apache-2.0
//
// One core that releases tasks: from the timer to the end of each job. Local jobs, jobs that suspend
// themselves once, and the master's side of offloaded jobs (send, wait, receive; what happens when the
// answer does not come). docs/explanation/simulator.md has the rules, docs/explanation/executive.md who
// calls what.
//
// A job that waits off the core is two parts that run to completion each, so that one stack carries all
// tasks. A core whose jobs spin keeps its job on the stack while it waits.
//
// Everything is called with interrupts disabled but for Port::execute and Port::wait. Nothing blocks.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

#include "consort/app/dispatch.hpp"
#include "consort/app/ordered.hpp"
#include "consort/app/plan.hpp"
#include "consort/app/release.hpp"
#include "consort/task/job.hpp"

namespace consort::app {

// One job. Instants; `absent`: it did not happen.
struct JobTimes {
    Time release = absent;  // when it was due: responses and deadlines count from here
    Time ready = absent;    // when it was released
    Time start = absent;    // of its first part on a core
    Time finish = absent;
    Time sent = absent;
    Time worker_receive = absent;
    Time worker_send = absent;
    Time received = absent;
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

// The executive's requirements on a port.
//   now      the instant, in ticks
//   arm      the timer is to call timer() at this instant (`never`: not at all); replaces the one before
//   begin    a part is about to begin on the core: the cost of switching to it
//   execute  that part, until it has taken `length` of the core's time or its frame has a signal. On a
//            machine it calls the part's code, which ends by itself
//   wait     until the topmost frame has a signal: the core does nothing else, but can be preempted
//   send     the request of an offloaded job is on its way to its worker
//   finished the job is over: its record
//   begun    the job begins: it reads its input now
//   until    no job that is due then or later is released
//   stop     `until` is now, on all cores
template <class P>
concept ExecutivePort = requires(P& port, Frame& frame, Time time, std::uint32_t task, const JobTimes& job,
                                 Phase phase) {
    { port.now() }
    noexcept->std::same_as<Time>;
    { port.arm(time) }
    noexcept;
    { port.begin(frame) }
    noexcept;
    { port.execute(frame, phase, time) }
    noexcept;
    { port.wait(frame) }
    noexcept;
    { port.send(task, job) }
    noexcept;
    { port.begun(task, job) }
    noexcept;
    { port.finished(task, job) }
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

struct ExecutiveSettings {
    Dispatch policy = Dispatch::fixed_priority;
    // While a job waits for an answer, its core is kept from what is less urgent.
    bool spins = false;
    std::uint64_t seed = 0;
    Spread execution = Spread::uniform;
    Spread arrival = Spread::uniform;
};

template <class Port>
class Executive {
  public:
    using Settings = ExecutiveSettings;
    using Dispatching = Dispatcher<Executive>;
    using Timers = Ordered<Time>;

    // A task of the core: its row of the plan, what no row has, and its state.
    struct State {
        const plan::Task* plan = nullptr;
        std::uint32_t id = 0;  // its place in the description: what random choices go by
        Draw draw;
        Releases releases;
        const Time* executions = nullptr;  // where given: of its jobs, in turn
        std::size_t execution_count = 0;
        Phase phase = Phase::idle;
        bool late_answer = false;
        Time key = 0;
        Time remaining = 0;
        Time second = 0;
        Time away = 0;
        JobTimes job{};
    };
    // Memory for n tasks: n states, frames, ready cells and releases, 2 n waits.
    struct Memory {
        State* states;
        Frame** frames;
        typename Dispatching::Cell* ready;
        typename Timers::Cell* releases;
        typename Timers::Cell* waits;
    };

    explicit Executive(Port& port) noexcept : port_(&port), dispatcher_(*this, Dispatch::fixed_priority) {}
    Executive(const Executive&) = delete;
    Executive& operator=(const Executive&) = delete;

    // Before the first release. The tasks, in the order of the description, stand in `memory`, which outlives
    // the run as their rows do.
    void start(std::uint32_t tasks, const Settings& settings, const Memory& memory) noexcept {
        settings_ = settings;
        tasks_ = tasks;
        states_ = memory.states;
        releases_ = Timers(memory.releases, tasks);
        waits_ = Timers(memory.waits, 2 * tasks);
        dispatcher_ = Dispatching(*this, settings.policy);
        dispatcher_.reset(memory.ready, memory.frames, tasks);
        for (std::uint32_t t = 0; t < tasks; ++t) {
            wait_for_release(t, 0);
        }
        arm();
    }

    [[nodiscard]] Dispatching& dispatcher() noexcept { return dispatcher_; }
    [[nodiscard]] const JobTimes& job(std::uint32_t task) const noexcept { return states_[task].job; }
    [[nodiscard]] Phase phase(std::uint32_t task) const noexcept { return states_[task].phase; }

    // --- a change of mode: start() again with the new mode's tasks once the core is idle.

    // `until` has come down to now: what is due from then on is not released any more.
    void withhold() noexcept {
        for (std::uint32_t t = 0; t < tasks_; ++t) {
            if (states_[t].releases.cause() >= port_->until()) {
                releases_.remove(t);
            }
        }
        arm();
    }
    // No job is under way, and none waits for its release.
    [[nodiscard]] bool idle() const noexcept {
        for (std::uint32_t t = 0; t < tasks_; ++t) {
            if (states_[t].phase != Phase::idle) {
                return false;
            }
        }
        return releases_.empty();
    }
    // The number of the task's next job.
    [[nodiscard]] std::uint64_t next_job(std::uint32_t task) const noexcept {
        return states_[task].releases.job();
    }

    // --- what interrupts do. Whoever calls these calls dispatch() before the interrupted part goes on.

    // Everything that the timer was armed for: suspensions end, then masters give up, then jobs are released,
    // each in the order of tasks.
    void timer() noexcept {
        do {
            end_waits();
            release_jobs();
        } while (wait_due());
    }
    // The same in two steps, for a port that brings the messages and timers of all cores into one order:
    // what ends a wait, then the releases. A release may begin a wait that is over at once.
    void end_waits() noexcept {
        const Time now = port_->now();
        while (due(waits_, now)) {
            const std::uint32_t wait = waits_.top();
            waits_.remove(wait);
            if (wait < tasks_) {
                states_[wait].phase = Phase::second;
                begin_part(wait, states_[wait].second);
            } else {
                give_up(wait - tasks_, now);
            }
        }
        arm();
    }
    void release_jobs() noexcept {
        const Time now = port_->now();
        while (due(releases_, now)) {
            const std::uint32_t task = releases_.top();
            releases_.remove(task);
            release(task);
        }
        arm();
    }
    [[nodiscard]] bool wait_due() const noexcept { return due(waits_, port_->now()); }

    // Blocks that release the task were announced, or a job of it that a block released is over: before the
    // next release_jobs().
    void arrived(std::uint32_t t) noexcept {
        if (states_[t].releases.look()) {
            wait_for_release(t, port_->now());
            arm();
        }
    }
    // For the job in hand: the time by which its block came before it was due.
    [[nodiscard]] Time early(std::uint32_t t) const noexcept { return states_[t].releases.early(); }

    // The worker's answer to job `seq` of this task is there.
    void answer(std::uint32_t t, std::uint32_t seq) noexcept {
        State& s = states_[t];
        if (s.phase == Phase::away && s.job.seq == seq) {
            s.job.received = port_->now();
            s.phase = Phase::second;
            waits_.remove(tasks_ + t);
            begin_part(t, s.second);
            arm();
        } else if (s.phase != Phase::idle) {
            s.job.status |= job_status::late_answer;
        } else {
            s.late_answer = true;
        }
    }
    // The worker's record of the job in hand; a job given up since has no part in it.
    void worker_began(std::uint32_t t, std::uint32_t seq, Time at) noexcept {
        if (waits_for(t, seq)) {
            states_[t].job.worker_receive = at;
        }
    }
    void worker_ended(std::uint32_t t, std::uint32_t seq, Time at) noexcept {
        if (waits_for(t, seq)) {
            states_[t].job.worker_send = at;
        }
    }

    // The port counts a preemption of what runs before it calls dispatch().
    void preempted(const Frame& frame) noexcept { ++states_[frame.part].job.preemptions; }

    // --- what the dispatcher calls

    // Skips jobs of the task that may not begin any more.
    [[nodiscard]] bool admit(std::uint32_t t) noexcept {
        State& s = states_[t];
        const Time now = port_->now();
        if (!s.plan->skips || s.phase != Phase::first || s.job.start != absent || now <= limit(s)) {
            return true;
        }
        dispatcher_.withdraw(t);
        s.phase = Phase::idle;
        waits_.remove(tasks_ + t);
        skip(s);
        if (s.releases.cause() < port_->until()) {
            if (s.releases.actual() <= now) {
                release(t);
            } else {
                wait_for_release(t, now);
            }
        }
        arm();
        return false;
    }

    // The key below which a job goes before a job of the task that has begun.
    [[nodiscard]] Time level(std::uint32_t t, Time key) const noexcept {
        const plan::Task& plan = *states_[t].plan;
        return plan.threshold < plan.rank ? Time{plan.threshold} : key;
    }

    void run(Frame& frame) noexcept {
        State& s = states_[frame.part];
        begins(frame.part);
        port_->begin(frame);
        for (;;) {
            const bool waits = s.phase == Phase::away;
            if (waits) {
                port_->wait(frame);
            } else {
                port_->execute(frame, s.phase, s.remaining);
            }
            if (frame.signal == Frame::Signal::withdrawn) {
                return;
            }
            if (frame.signal == Frame::Signal::changed) {
                frame.signal = Frame::Signal::none;
                continue;
            }
            port_->disable();
            end_part(frame.part);
            port_->enable();
            if (s.phase != Phase::away || !keeps(s)) {
                return;
            }
        }
    }

    void settle() noexcept { port_->settle(); }
    void enable() noexcept { port_->enable(); }
    void disable() noexcept { port_->disable(); }

  private:
    [[nodiscard]] static bool due(const Timers& timers, Time now) noexcept {
        return !timers.empty() && timers.top_key() <= now;
    }
    void arm() noexcept {
        const Time wait = waits_.empty() ? never : waits_.top_key();
        const Time release = releases_.empty() ? never : releases_.top_key();
        port_->arm(wait < release ? wait : release);
    }

    [[nodiscard]] bool waits_for(std::uint32_t t, std::uint32_t seq) const noexcept {
        return states_[t].phase == Phase::away && states_[t].job.seq == seq;
    }

    [[nodiscard]] static bool offloaded(const State& s) noexcept { return s.plan->worker != plan::none; }
    [[nodiscard]] static Time limit(const State& s) noexcept {
        return begin_limit(s.releases.nominal(), s.plan->period, s.plan->deadline);
    }

    // The task's next job becomes ready at its release, or now if that has passed.
    void wait_for_release(std::uint32_t t, Time now) noexcept {
        const Releases& r = states_[t].releases;
        if (r.cause() < port_->until()) {
            releases_.set(t, r.actual() < now ? now : r.actual());
        }
    }

    // The job in hand comes to nothing.
    void skip(State& s) noexcept {
        s.job = JobTimes{};
        s.job.release = s.releases.nominal();
        s.job.ready = s.releases.actual();
        s.job.seq = static_cast<std::uint32_t>(s.releases.job());
        s.job.status = job_status::missed | job_status::unserved;
        port_->finished(static_cast<std::uint32_t>(&s - states_), s.job);
        s.releases.next();
    }

    void release(std::uint32_t t) noexcept {
        State& s = states_[t];
        const Time now = port_->now();
        const plan::Task& plan = *s.plan;
        for (;;) {
            if (s.releases.cause() >= port_->until()) {
                return;  // a stop came in between, or no block
            }
            if (s.releases.actual() > now) {
                wait_for_release(t, now);
                return;
            }
            if (!plan.skips || now <= limit(s)) {
                break;
            }
            skip(s);
        }
        const Releases& r = s.releases;
        const ExecutionRule rule{plan.bcet, plan.wcet, s.executions, s.execution_count};
        const Time execution = rule.of(s.draw, settings_.execution, r.job());
        s.job = JobTimes{};
        s.job.release = r.nominal();
        s.job.ready = r.actual();
        s.job.compute = execution;
        s.job.seq = static_cast<std::uint32_t>(r.job());
        s.job.status = s.late_answer ? job_status::late_answer : 0U;
        s.late_answer = false;
        s.key = settings_.policy == Dispatch::edf ? after(r.nominal(), plan.deadline) : Time{plan.rank};
        s.phase = Phase::first;
        Time first = execution;
        if (offloaded(s)) {
            first = plan.send;
            s.second = plan.receive;
            const Time give_up_at = after(r.nominal(), plan.give_up);
            waits_.set(tasks_ + t, give_up_at < now ? now : give_up_at);
        } else if (plan.suspension != 0) {
            s.away = s.draw(settings_.execution, Choice::suspension, r.job(), 0, plan.suspension);
            // Anywhere in the job, also at its very beginning or end.
            first = s.draw(settings_.arrival, Choice::split, r.job(), 0, execution);
            s.second = execution - first;
        }
        begin_part(t, first);
    }

    // A job that suspends itself gives its core up, whatever the core does for those that wait for an answer.
    [[nodiscard]] bool keeps(const State& s) const noexcept { return settings_.spins && offloaded(s); }

    // A part that takes no time needs no core: whoever makes it ready does it. Of a job that keeps its core
    // while it waits it does need the core.
    void begin_part(std::uint32_t t, Time length) noexcept {
        State& s = states_[t];
        s.remaining = length;
        Frame* frame = dispatcher_.frame(t);
        if (frame != nullptr && keeps(s)) {
            // It goes on where it waits, or will when it is no longer preempted.
            frame->signal = Frame::Signal::changed;
            return;
        }
        if (length == 0 && !keeps(s)) {
            begins(t);
            end_part(t);
            return;
        }
        dispatcher_.activate(t, s.key);
    }

    void begins(std::uint32_t t) noexcept {
        JobTimes& job = states_[t].job;
        if (job.start == absent) {
            job.start = port_->now();
            port_->begun(t, job);
        }
    }

    void end_part(std::uint32_t t) noexcept {
        State& s = states_[t];
        const Time now = port_->now();
        if (s.phase != Phase::first || (!offloaded(s) && s.plan->suspension == 0)) {
            finish(t, now);
            return;
        }
        s.phase = Phase::away;
        if (offloaded(s)) {
            s.job.sent = now;
            port_->send(t, s.job);
        } else {
            waits_.set(t, after(now, s.away));
            arm();
        }
    }

    void finish(std::uint32_t t, Time now) noexcept {
        State& s = states_[t];
        s.job.finish = now;
        if (now > after(s.job.release, s.plan->deadline)) {
            s.job.status |= job_status::missed;
        }
        if ((s.job.status & job_status::held) != 0) {
            s.job.compute = 0;
        }
        s.phase = Phase::idle;
        waits_.remove(tasks_ + t);
        port_->finished(t, s.job);
        s.releases.next();
        wait_for_release(t, now);
        arm();
    }

    void give_up(std::uint32_t t, Time now) noexcept {
        State& s = states_[t];
        Frame* frame = dispatcher_.frame(t);
        const bool falls_back = s.plan->on_miss == OnMiss::local_fallback;
        if (!(falls_back && settings_.spins && frame != nullptr && frame == dispatcher_.top())) {
            dispatcher_.withdraw(t);
        }
        begins(t);
        if (falls_back) {
            s.job.status |= job_status::fallback;
            s.job.compute = s.plan->fallback;
            s.phase = Phase::fallback;
            begin_part(t, s.plan->fallback);
            return;
        }
        s.job.status |= job_status::missed | job_status::held;
        if (s.plan->on_miss == OnMiss::stop && now < port_->until()) {
            port_->stop();
        }
        finish(t, now);
    }

    Port* port_;
    Settings settings_{};
    Dispatching dispatcher_;
    // When the suspension of task t ends: t; when its master gives up: tasks_ + t.
    Timers waits_;
    Timers releases_;
    State* states_ = nullptr;
    std::uint32_t tasks_ = 0;
};

}  // namespace consort::app
