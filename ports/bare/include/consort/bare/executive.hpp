// SPDX-License-Identifier: Apache-2.0
//
// One core of a plan on bare metal: the executive (consort/app/periodic.hpp) with the core's clock and
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

#include "consort/app/periodic.hpp"
#include "consort/app/stand_in.hpp"
#include "consort/bare/clocks.hpp"
#include "consort/bare/data_flow.hpp"
#include "consort/bare/polling.hpp"
#include "consort/bare/stack.hpp"
#include "consort/bare/tasks.hpp"

namespace consort::bare {

// A task on its core. `computation`: a job of `self`.
struct CoreTask : app::PeriodicTask {
    bool (*computation)(void* self, Runner& runner) noexcept = nullptr;
    void* self = nullptr;
    Runner runner;
    app::Time ready = 0;  // where jobs are released later than they are due
    app::RingWriter ring;
};

// Values: an enumeration of the core's numbers and one of each task's, each with `count` at its end, made by
// the host, with `policies` and `on_miss` in the order of its numbers. The executive's instants are ticks of
// the core's clock. Timer: the core's, or what stands for it (consort/bare/synchronize.hpp).
template <class Values, std::uint32_t tasks, class Timer = CoreTimer>
class CoreExecutive : public app::PeriodicExecutive<CoreExecutive<Values, tasks, Timer>, CoreTask> {
  public:
    using Core = typename Values::Core;
    using Of = typename Values::Task;

    [[gnu::cold]] explicit CoreExecutive(const ControlBlock& block) noexcept
        : untimed_(core_value(block, Core::untimed) != 0),
          block_(block),
          lines_(window() + core_value(block, Core::lines),
                 static_cast<std::uint32_t>(core_value(block, Core::cores)),
                 static_cast<std::uint32_t>(core_value(block, Core::number))) {}

    [[nodiscard]] OnMiss on_miss(std::uint32_t place) const noexcept {
        return Values::on_miss[task_value(place, Of::on_miss)];
    }
    // Task: LocalTask or OffloadedTask. What `ends` points to outlives the run.
    template <class Task>
    void add(std::uint32_t place, Task& task, const Ends& ends = {}) noexcept {
        using T = typename Task::Type;
        app::TaskSetup setup;
        setup.in = task.in();
        setup.in_bytes = sizeof(typename T::In);
        setup.out = task.out();
        setup.out_bytes = app::is_stand_in<T> ? 0 : sizeof(typename T::Out);
        tasks_[place].computation = &Task::computation;
        tasks_[place].self = &task;
        add(place, setup, ends);
    }

    // Until no release is left before the run's end. Interrupts are disabled before and afterwards. False:
    // the host has ended the run before all cores were there.
    [[nodiscard, gnu::cold]] bool run() noexcept {
        start_ = ThisPort::now() + core_value(block_, Core::lead);
        if constexpr (Values::masters > 1) {
            if (!untimed_) {
                CoreClocks clocks(window() + core_value(block_, Core::clocks),
                                  static_cast<std::uint32_t>(core_value(block_, Core::masters)),
                                  static_cast<std::uint32_t>(core_value(block_, Core::number)), block_);
                if (!awaited([&] { return clocks.begin(core_value(block_, Core::lead), start_); })) {
                    return false;
                }
                release_all();
                await_others();
                return awaited([&] { return clocks.end(); });
            }
        }
        release_all();
        return true;
    }
    [[nodiscard]] const RunLines& lines() const noexcept { return lines_; }
    // A number that the core's program has beside those of `Values`.
    [[nodiscard]] std::uint64_t extra(std::uint32_t place) const noexcept {
        return value_at(block_, static_cast<std::uint32_t>(Core::count) +
                                    tasks * static_cast<std::uint32_t>(Of::count) + place);
    }
    // Results: 0 jobs, 1 ticks a second, 2 and 3 the tick of the run's start, 4 preemptions, and the stack's;
    // of several cores in one time also those of CoreClocks.
    void report(ControlBlock& block) const noexcept {
        report_stack(block);
        block.result(0, finished_);
        block.result(1, static_cast<std::uint32_t>(ThisPort::ticks_per_second()));
        block.result(2, static_cast<std::uint32_t>(start_));
        block.result(3, static_cast<std::uint32_t>(start_ >> 32U));
        block.result(4, this->preemptions());
    }

    // --- the core's interrupt
    void timer_interrupt() noexcept {
        if (!is_due<Timer>()) [[unlikely]] {
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
    void prepare(CoreTask& task) noexcept {
        task.runner.prepare(static_cast<Ticks>(task.release), released(task), static_cast<Ticks>(task.due),
                            task.seq);
    }
    bool execute(CoreTask& task, app::Time now) noexcept {
        const auto start = static_cast<Ticks>(now);
        if (untimed_) [[unlikely]] {
            task.runner.prepare(start, start, ~Ticks{0}, task.seq);
        }
        task.runner.job().start = start;
        return task.computation(task.self, task.runner);
    }
    void skip(CoreTask& task) noexcept {
        task.runner.skip(static_cast<Ticks>(task.release), released(task), task.seq);
        count_job();
    }
    [[nodiscard]] app::Time until() const noexcept { return stopped() ? 0 : until_; }
    [[nodiscard]] bool stopped() const noexcept { return lines_.stopped(); }
    void stop() noexcept { lines_.stop(); }
    [[nodiscard]] app::Time gap(const CoreTask& task) const noexcept requires(Values::sporadic) {
        return drawn(task, app::Choice::gap);
    }
    void delay(CoreTask& task) const noexcept requires(Values::jitter) {
        const app::Time at = app::after(task.release, drawn(task, app::Choice::jitter));
        // Never before the job before it.
        task.ready = task.seq != 0 && at < task.ready ? task.ready : at;
    }
    [[nodiscard]] app::Time ready(const CoreTask& task) const noexcept requires(Values::jitter) {
        return task.ready;
    }
    void settle() noexcept {
        count_job();
        Timer::look();
    }
    void enable() noexcept { Timer::enable(); }
    void disable() noexcept { Timer::disable(); }

  private:
    // The numbers of a core with random releases: the seed, and for each task up to how many ticks more than
    // its period there are between two releases, and by how many a job is released later than it is due. The
    // worst are the shortest gap and the longest delay.
    [[nodiscard]] app::Time drawn(const CoreTask& task, app::Choice what) const noexcept {
        const auto place = static_cast<std::uint32_t>(&task - tasks_);
        const bool gap = what == app::Choice::gap;
        const auto most = static_cast<app::Time>(extra(Values::releases + 1 + 2 * place + (gap ? 0 : 1)));
        if (most == 0) {
            return 0;
        }
        const app::Draw draw(extra(Values::releases), task_value(place, Of::number));
        return draw(app::Spread::edges, what, task.seq, gap ? most : 0, gap ? 0 : most);
    }
    [[nodiscard]] static Ticks released(const CoreTask& task) noexcept {
        if constexpr (requires { requires Values::jitter; }) {
            return static_cast<Ticks>(task.ready);
        }
        return static_cast<Ticks>(task.release);
    }
    // Questions, and looks for them, would disturb the last jobs of others, where each stops the board.
    void await_others() const noexcept {
        if constexpr (requires { Timer::await([] { return true; }); }) {
            Timer::await([&] {
                return lines_.all_finished(static_cast<std::uint32_t>(core_value(block_, Core::masters))) ||
                       block_.stop_requested();
            });
        }
    }
    // What waits for other cores; some timers have to go on meanwhile.
    template <class Wait>
    static bool awaited(const Wait& wait) noexcept {
        if constexpr (requires { Timer::begin_waiting(); }) {
            Timer::begin_waiting();
            const bool done = wait();
            Timer::end_waiting();
            return done;
        } else {
            return wait();
        }
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
        this->start(tasks_, tasks, Values::policies[core_value(block_, Core::policy)], logical_);
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
    // What no type of a task changes.
    [[gnu::cold, gnu::noinline]] void add(std::uint32_t place, app::TaskSetup& setup,
                                          const Ends& ends) noexcept {
        const auto value = [&](Of what) { return task_value(place, what); };
        CoreTask& task = tasks_[place];
        task.plan.period = static_cast<app::Time>(value(Of::period));
        task.plan.offset = static_cast<app::Time>(value(Of::offset));
        task.plan.deadline = static_cast<app::Time>(value(Of::deadline));
        const std::uint64_t urgency = value(Of::urgency);
        task.plan.key = static_cast<std::uint32_t>(urgency);
        task.plan.level = static_cast<std::uint32_t>(urgency >> 32U);
        // Untimed, every release is served, and no start is late.
        task.plan.skips = !untimed_;
        setup.period = untimed_ ? ~Ticks{0} : value(Of::period);
        setup.task = static_cast<std::uint16_t>(value(Of::number));
        setup.core = static_cast<std::uint16_t>(core_value(block_, Core::number));
        setup.deadline = value(Of::deadline);
        setup.give_up = value(Of::give_up);
        setup.on_miss = on_miss(place);
        setup.row_count = value(Of::rows);
        setup.rows =
            setup.row_count == 0 ? nullptr : reinterpret_cast<std::byte*>(window() + value(Of::rows_at));
        setup.reads = ends.reads;
        setup.read_count = ends.read_count;
        setup.writes = ends.writes;
        setup.write_count = ends.write_count;
        auto* memory = new (window() + value(Of::ring))
            app::RingMemory{static_cast<std::uint32_t>(value(Of::ring_bytes))};
        task.ring = app::RingWriter(*memory);
        task.runner = Runner(setup, task.ring);
    }
    void count_job() noexcept {
        check_stack();
        block_.progress(++finished_);
    }
    // Untimed, and the core is idle: to the next instant at which something is due.
    void advance() noexcept {
        if (this->awaits()) {
            const app::Time at = this->next_release();
            logical_ = at > logical_ ? at : logical_;
            this->timer();
        }
    }
    [[nodiscard]] static std::uint64_t core_value(const ControlBlock& block, Core what) noexcept {
        return bare::core_value<Values>(block, what);
    }
    [[nodiscard]] std::uint64_t task_value(std::uint32_t place, Of what) const noexcept {
        return value_at(block_, static_cast<std::uint32_t>(Core::count) +
                                    place * static_cast<std::uint32_t>(Of::count) +
                                    static_cast<std::uint32_t>(what));
    }

    bool untimed_;
    ControlBlock block_;
    RunLines lines_;
    app::Time logical_ = 0;
    Ticks start_ = 0;
    app::Time until_ = 0;
    std::uint32_t finished_ = 0;
    CoreTask tasks_[tasks];
};

}  // namespace consort::bare
