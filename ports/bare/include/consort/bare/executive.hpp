// SPDX-License-Identifier: Apache-2.0
//
// One core of a plan on bare metal: the executive (consort/app/executive.hpp) with the core's clock and
// timer. Jobs run to completion on one stack; where there is a timer interrupt it dispatches what is more
// urgent on top. Each task records into a ring of its own, which the host reads.
//
// Beside a process whose time is not the board's the run is untimed: the executive's instants are logical
// then, and advance to the next release when the core is idle. Every release is served, one job after the
// other; a job is due, and begins, when the core comes to it; no answer is given up and nothing is late.
//
// `consort run` writes the program around it: the tasks' types, and `Values`, the order in which the host
// leaves the plan's numbers in the control block.
#pragma once

#include <cstddef>
#include <cstdint>

#include "consort/app/executive.hpp"
#include "consort/bare/core_run.hpp"

namespace consort::bare {

// How many loops of a stand-in it takes a core to look for an answer.
inline constexpr std::uint32_t look_loops = 30;

template <class Values>
using CoreReleases =
    app::ReleasesBy<const app::plan::Task*, app::ReleaseForms{Values::sporadic, Values::jitter, false}>;

// A task on its core; Values: see CoreRun. `computation`: a job of `self`, or its last part where the job
// leaves the core while it waits.
template <class Values>
struct CoreTask : app::Task<CoreReleases<Values>, Values::sleeps> {
    using Departure = void (*)(void* self, Runner& runner) noexcept;
    using Answered = bool (*)(void* self) noexcept;

    bool (*computation)(void* self, Runner& runner) noexcept = nullptr;
    void* self = nullptr;
    // The parts before it, of a job that leaves the core.
    [[no_unique_address]] app::IfThere<Values::sleeps, Departure, 7> departure{};
    [[no_unique_address]] app::IfThere<Values::sleeps, Answered, 8> answered{};
    Runner runner;
    app::RingWriter ring;
};

// Values: see CoreRun. The executive's instants are ticks of the core's clock. Timer: the core's, or what
// stands for it (consort/bare/synchronize.hpp).
template <class Values, std::uint32_t tasks, class Timer = CoreTimer>
class CoreExecutive : public app::Executive<CoreExecutive<Values, tasks, Timer>, CoreTask<Values>>,
                      public CoreRun<Values, tasks, Timer> {
    using Run = CoreRun<Values, tasks, Timer>;

  public:
    using Task = CoreTask<Values>;
    using Core = typename Run::Core;
    using Of = typename Run::Of;
    using Run::CoreRun;
    using Run::extra;
    using Run::lines;

    // Kind: LocalStep or OffloadedStep. What `ends` points to outlives the run.
    template <class Kind>
    void add(std::uint32_t place, Kind& task, const Ends& ends = {}) noexcept {
        using T = typename Kind::Type;
        app::JobData data;
        data.in = task.in();
        data.in_bytes = sizeof(typename T::In);
        data.out = task.out();
        data.out_bytes = app::is_stand_in<T> ? 0 : sizeof(typename T::Out);
        tasks_[place].computation = &Kind::computation;
        if constexpr (Kind::leaves) {
            tasks_[place].departure = &Kind::departure;
            tasks_[place].answered = &Kind::answered;
        }
        tasks_[place].self = &task;
        add(place, data, ends);
    }

    // Until no release is left before the run's end. Interrupts are disabled before and afterwards. False:
    // the host has ended the run before all cores were there.
    [[nodiscard, gnu::cold]] bool run() noexcept {
        return Run::run([this] { release_all(); });
    }
    void report(ControlBlock& block) const noexcept { Run::report(block, this->preemptions()); }
    // Where a stand-in may be preempted, on a core that polls: the loops that looking about has taken.
    [[nodiscard]] std::uint32_t preemption_point() noexcept {
        Timer::look();
        const std::uint32_t looks = this->away();
        this->dispatch();
        return looks * look_loops;
    }

    // --- the core's interrupt
    void timer_interrupt() noexcept {
        if (!is_due<Timer>()) [[unlikely]] {
            return;
        }
        if constexpr (Values::sleeps) {
            this->timer();
            Timer::request_dispatch();
            return;
        }
        this->release_due();
        if (this->awaits()) {
            arm_and_dispatch<Timer>(static_cast<Ticks>(this->next_release()));
        } else {
            Timer::disarm();
            Timer::request_dispatch();
        }
    }

    // --- the executive's port
    [[nodiscard]] app::Time now() const noexcept {
        if (untimed_) {
            return logical_;
        }
        return static_cast<app::Time>(now_undisturbed<ThisPort>());
    }
    // Untimed, no task skips jobs.
    [[nodiscard]] app::Time begin() const noexcept {
        return static_cast<app::Time>(now_undisturbed<ThisPort>());
    }
    void arm(app::Time at) noexcept { Timer::arm(static_cast<Ticks>(at)); }
    void disarm() noexcept { Timer::disarm(); }
    void prepare(Task& task) noexcept {
        task.runner.prepare(static_cast<Ticks>(task.releases.nominal()),
                            static_cast<Ticks>(task.releases.actual()), static_cast<Ticks>(task.due),
                            task.releases.job());
    }
    bool execute(Task& task, app::Time now) noexcept {
        if (!Values::sleeps || !task.away) {
            begin_job(task, now);
        }
        return task.computation(task.self, task.runner);
    }
    void depart(Task& task, app::Time now) noexcept requires(Values::sleeps) {
        begin_job(task, now);
        task.departure(task.self, task.runner);
    }
    void left() noexcept requires(Values::sleeps) {
        check_stack();
        Timer::look();
    }
    [[nodiscard]] bool answered(Task& task) const noexcept requires(Values::sleeps) {
        return task.answered(task.self);
    }
    [[nodiscard]] static bool leaves(const Task& task) noexcept requires(Values::sleeps) {
        return task.departure != nullptr;
    }
    [[nodiscard]] app::Time give_up(const Task& task) const noexcept requires(Values::sleeps) {
        return untimed_ ? app::never : static_cast<app::Time>(task.runner.give_up());
    }
    void skip(Task& task) noexcept {
        task.runner.skip(static_cast<Ticks>(task.releases.nominal()),
                         static_cast<Ticks>(task.releases.actual()), task.releases.job());
        count_job();
    }
    [[nodiscard]] app::Time until() const noexcept { return stopped() ? 0 : until_; }
    [[nodiscard]] bool stopped() const noexcept { return lines_.stopped(); }
    void stop() noexcept { lines_.stop(); }
    void settle() noexcept {
        count_job();
        Timer::look();
    }
    void enable() noexcept { Timer::enable(); }
    void disable() noexcept { Timer::disable(); }

  private:
    void begin_job(Task& task, app::Time now) const noexcept {
        const auto start = static_cast<Ticks>(now);
        if (untimed_) [[unlikely]] {
            task.runner.prepare(start, start, ~Ticks{0}, task.releases.job());
        }
        task.runner.job().start = start;
    }
    // From the first release until no more is left.
    [[gnu::cold]] void release_all() noexcept {
        RunTime::start = start_;
        logical_ = static_cast<app::Time>(start_);
        until_ = logical_ + static_cast<app::Time>(core_value(block_, Core::until));
        // A timer that was not started never interrupts, whatever it is armed for.
        if (!untimed_) {
            Timer::start();
        }
        for (Task& task : tasks_) {
            const app::plan::Run& run = image_.head().run;
            const auto number = static_cast<std::uint64_t>(task.plan - &image_.task(0, 0));
            task.releases = {task.plan, app::Draw(run.seed, number), run.arrival, logical_};
        }
        this->start(tasks_, tasks, this->own_core().policy, logical_);
        while (this->busy()) {
            this->dispatch();
            if (untimed_) {
                advance();
            } else if (this->busy()) {
                Timer::idle([this] { return this->busy(); });
            }
        }
        Timer::disarm();
        lines_.finish();
    }
    // The part that is the same for all types of tasks.
    [[gnu::cold, gnu::noinline]] void add(std::uint32_t place, app::JobData& data,
                                          const Ends& ends) noexcept {
        const app::plan::Task& planned = this->planned(place);
        Task& task = tasks_[place];
        task.plan = &planned;
        this->set_up(place, planned, data, ends, task.runner, task.ring);
    }
    // Untimed, and the core is idle: to the next instant at which something is due.
    void advance() noexcept {
        if (this->away() != 0) {
            // Work that has been begun comes first, whatever an answer takes.
            ThisPort::relax();
        } else if (this->awaits()) {
            const app::Time at = this->next_release();
            logical_ = at > logical_ ? at : logical_;
            this->timer();
        }
    }
    using Run::block_;
    using Run::core_value;
    using Run::count_job;
    using Run::image_;
    using Run::lines_;
    using Run::start_;
    using Run::task_value;
    using Run::untimed_;

    app::Time logical_ = 0;
    app::Time until_ = 0;
    Task tasks_[tasks];
};

}  // namespace consort::bare
