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
#include <new>

#include "consort/app/executive.hpp"
#include "consort/bare/data_flow.hpp"
#include "consort/bare/polling.hpp"
#include "consort/bare/stack.hpp"
#include "consort/bare/tasks.hpp"

namespace consort::bare {

// Values: an enumeration of the core's numbers and one of each task's, each with `count` at its end, made by
// the host, with `policies` and `on_miss` in the order of its numbers.
template <class Values, std::uint32_t tasks>
class CoreExecutive {
  public:
    using Exec = app::Executive<CoreExecutive>;
    using Core = typename Values::Core;
    using Of = typename Values::Task;

    explicit CoreExecutive(const ControlBlock& block) noexcept
        : block_(block),
          executive_(*this),
          lines_(window() + core_value(Core::lines), static_cast<std::uint32_t>(core_value(Core::cores)),
                 static_cast<std::uint32_t>(core_value(Core::number))),
          untimed_(core_value(Core::untimed) != 0) {}

    [[nodiscard]] OnMiss on_miss(std::uint32_t place) const noexcept {
        return Values::on_miss[task_value(place, Of::on_miss)];
    }
    // Task: LocalTask or OffloadedTask. What `ends` points to outlives the run.
    template <class Task>
    void add(std::uint32_t place, Task& task, const Ends& ends = {}) noexcept {
        using T = typename Task::Type;
        const auto value = [&](Of what) { return task_value(place, what); };
        app::TaskPlan& plan = plans_[place];
        plan.release.period = static_cast<app::Time>(value(Of::period));
        plan.release.offset = static_cast<app::Time>(value(Of::offset));
        plan.deadline = static_cast<app::Time>(value(Of::deadline));
        plan.priority = static_cast<std::int64_t>(value(Of::rank));
        plan.id = static_cast<std::uint32_t>(value(Of::number));
        plan.on_miss = on_miss(place);
        plan.skips = true;
        // What a job takes is what its step takes; 0 would mean that it needs no core.
        plan.execution.best = plan.execution.worst = 1;
        auto* memory = new (window() + value(Of::ring))
            app::RingMemory{static_cast<std::uint32_t>(value(Of::ring_bytes))};
        rings_[place] = app::RingWriter(*memory);
        app::TaskSetup setup;
        setup.task = static_cast<std::uint16_t>(plan.id);
        setup.core = static_cast<std::uint16_t>(core_value(Core::number));
        // Untimed, no start is late.
        setup.period = untimed_ ? ~Ticks{0} : value(Of::period);
        setup.deadline = value(Of::deadline);
        setup.give_up = value(Of::give_up);
        setup.on_miss = on_miss(place);
        setup.row_count = value(Of::rows);
        setup.rows =
            setup.row_count == 0 ? nullptr : reinterpret_cast<std::byte*>(window() + value(Of::rows_at));
        setup.in = task.in();
        setup.in_bytes = sizeof(typename T::In);
        setup.out = task.out();
        setup.out_bytes = sizeof(typename T::Out);
        setup.reads = ends.reads;
        setup.read_count = ends.read_count;
        setup.writes = ends.writes;
        setup.write_count = ends.write_count;
        setup.computation = task.computation(runners_[place]);
        runners_[place] = Runner(setup, rings_[place]);
    }

    // Until no release is left before the run's end. Interrupts are disabled before and afterwards. False:
    // the host has ended the run before all cores were there.
    [[nodiscard]] bool run() noexcept {
        if (!lines_.meet(static_cast<std::uint32_t>(core_value(Core::masters)), block_)) {
            return false;
        }
        start_ = RunTime::start = ThisPort::now() + core_value(Core::lead);
        until_ = static_cast<app::Time>(core_value(Core::until));
        CoreTimer::start();
        executive_.start(plans_, tasks, {Values::policies[core_value(Core::policy)]},
                         {states_, frames_, ready_, releases_, waits_});
        while (armed_ != app::never || pending_) {
            pending_ = false;
            executive_.dispatcher().dispatch();
            if (armed_ != app::never && untimed_) {
                advance();
            } else if (armed_ != app::never) {
                CoreTimer::idle();
            }
        }
        CoreTimer::arm(never_interrupts);
        lines_.finish();
        return true;
    }
    [[nodiscard]] const RunLines& lines() const noexcept { return lines_; }
    // A number that the core's program has beside those of `Values`.
    [[nodiscard]] std::uint64_t extra(std::uint32_t place) const noexcept {
        return value_at(block_, static_cast<std::uint32_t>(Core::count) +
                                    tasks * static_cast<std::uint32_t>(Of::count) + place);
    }
    // Results: 0 jobs, 1 ticks a second, 2 and 3 the tick of the run's start, 4 preemptions, and the stack's.
    void report(ControlBlock& block) const noexcept {
        report_stack(block);
        block.result(0, finished_);
        block.result(1, static_cast<std::uint32_t>(ThisPort::ticks_per_second()));
        block.result(2, static_cast<std::uint32_t>(start_));
        block.result(3, static_cast<std::uint32_t>(start_ >> 32U));
        block.result(4, preemptions_);
    }

    // --- the core's interrupt
    void timer_interrupt() noexcept {
        executive_.timer();
        pending_ = true;
        if (executive_.dispatcher().urgent()) {
            CoreTimer::request_dispatch();
        }
    }
    void dispatch() noexcept {
        auto& dispatcher = executive_.dispatcher();
        if (dispatcher.preempts()) {
            if (dispatcher.top() != nullptr) {
                executive_.preempted(*dispatcher.top());
            }
            dispatcher.dispatch();
        }
    }

    // --- the executive's port. Its instants count from the run's start.
    [[nodiscard]] app::Time now() const noexcept {
        if (untimed_) {
            return logical_;
        }
        return static_cast<app::Time>(ThisPort::now()) - static_cast<app::Time>(start_);
    }
    void arm(app::Time at) noexcept {
        armed_ = at;
        CoreTimer::arm(at == app::never || untimed_ ? never_interrupts : start_ + static_cast<Ticks>(at));
    }
    void begin(app::Frame& /*frame*/) noexcept {}
    void execute(app::Frame& frame, app::Phase /*phase*/, app::Time /*length*/) noexcept {
        const app::JobTimes& job = executive_.job(frame.part);
        Runner& runner = runners_[frame.part];
        if (untimed_) {
            const Ticks release = ThisPort::now();
            runner.begin(release, release, ~Ticks{0}, job.seq);
        } else {
            const Ticks release = start_ + static_cast<Ticks>(job.release);
            runner.begin(release, start_ + static_cast<Ticks>(job.ready),
                         release + static_cast<Ticks>(plans_[frame.part].deadline), job.seq);
        }
        if (!runner.finish()) {
            stop();
        }
    }
    void wait(app::Frame& /*frame*/) noexcept {}
    void send(std::uint32_t /*task*/, const app::JobTimes& /*job*/) noexcept {}
    void begun(std::uint32_t /*task*/, const app::JobTimes& /*job*/) noexcept {}
    void finished(std::uint32_t task, const app::JobTimes& job) noexcept {
        if ((job.status & job_status::unserved) != 0) {
            runners_[task].skip(start_ + static_cast<Ticks>(job.release),
                                start_ + static_cast<Ticks>(job.ready), job.seq);
        }
        check_stack();
        preemptions_ += job.preemptions;
        block_.progress(++finished_);
    }
    [[nodiscard]] app::Time until() const noexcept { return lines_.stopped() ? 0 : until_; }
    void stop() noexcept { lines_.stop(); }
    void settle() noexcept { CoreTimer::look(); }
    void enable() noexcept { CoreTimer::enable(); }
    void disable() noexcept { CoreTimer::disable(); }

  private:
    // Untimed, and the core is idle: to the next instant at which something is due.
    void advance() noexcept {
        logical_ = armed_ > logical_ ? armed_ : logical_;
        executive_.timer();
        pending_ = true;
    }
    [[nodiscard]] std::uint64_t core_value(Core what) const noexcept {
        return bare::core_value<Values>(block_, what);
    }
    [[nodiscard]] std::uint64_t task_value(std::uint32_t place, Of what) const noexcept {
        return value_at(block_, static_cast<std::uint32_t>(Core::count) +
                                    place * static_cast<std::uint32_t>(Of::count) +
                                    static_cast<std::uint32_t>(what));
    }

    ControlBlock block_;
    Exec executive_;
    RunLines lines_;
    bool untimed_;
    app::Time logical_ = 0;
    Ticks start_ = 0;
    app::Time until_ = 0;
    // Written by the interrupt handler as well; each use lies between disable and enable.
    app::Time armed_ = app::never;
    bool pending_ = true;
    std::uint32_t finished_ = 0;
    std::uint32_t preemptions_ = 0;
    app::TaskPlan plans_[tasks];
    app::RingWriter rings_[tasks];
    Runner runners_[tasks];
    typename Exec::State states_[tasks];
    app::Frame* frames_[tasks];
    typename Exec::Dispatching::Cell ready_[tasks];
    typename Exec::Timers::Cell releases_[tasks];
    typename Exec::Timers::Cell waits_[2 * tasks];
};

}  // namespace consort::bare
