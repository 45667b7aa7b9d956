// SPDX-License-Identifier: Apache-2.0
//
// A core's process handles one of its tasks in a change of modes (consort/app/mode_steps.hpp): it withholds
// its releases, says when its last job has ended, gives it away or takes it over, and goes on in the new
// mode.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

#include "consort/linux/executive/doorbell.hpp"
#include "consort/linux/executive/fail_over.hpp"
#include "consort/linux/executive/mode_hand_over.hpp"
#include "consort/linux/executive/prepared_task.hpp"
#include "consort/linux/executive/shared.hpp"
#include "consort/linux/executive/waiting.hpp"

namespace consort::linux_port {

using ModeSteps = app::ModeSteps<>;

// The coordinator sleeps for acknowledgements.
inline void note_acknowledgement(const SharedRun& shared) noexcept {
    ring_doorbell(shared.run[0].acknowledgements, shared.run[0].acknowledgements_awaited);
}

struct NextJob {
    static constexpr Ticks never = ~Ticks{0};
    Ticks due;                  // never: only another step, or a block, brings one
    bool over = false;          // there is none any more
    bool awaits_block = false;  // a block releases it, and is not there
};

// A task of a run that stays in its mode: nothing but its releases ends a wait.
class LastingMember {
  public:
    explicit LastingMember(PreparedTask& task) noexcept : task_(&task) {}

    [[nodiscard]] PreparedTask& task() const noexcept { return *task_; }
    void begin(Ticks start, app::Time duration) { task_->begin(start, duration); }
    [[nodiscard]] static constexpr bool active() noexcept { return true; }
    [[nodiscard]] static constexpr std::uint32_t entered() noexcept { return 0; }
    NextJob look() noexcept {
        task_->skip_passed(Clock::now());
        if (task_->done()) {
            return {NextJob::never, true};
        }
        const bool known = task_->released();
        return {known ? task_->ready() : NextJob::never, false, !known};
    }
    static constexpr void ask() noexcept {}
    void sleep() const noexcept { task_->sleep_for_arrival(); }
    void sleep_until(Ticks /*until*/) const noexcept { sleep(); }
    [[nodiscard]] static constexpr bool called() noexcept { return false; }
    [[nodiscard]] static constexpr NoCall call() noexcept { return {}; }

  private:
    PreparedTask* task_;
};

// A task of a run that goes from mode to mode.
class ChangingMember {
  public:
    ChangingMember(const RunConfig& config, std::uint16_t core, PreparedTask& task, SharedRun& shared,
                   const HandOverMemory& memory)
        : config_(&config),
          core_(core),
          task_(&task),
          shared_(&shared),
          line_(&shared.tasks[task.index()]),
          sides_(&memory.sides(task.index())),
          hand_over_(memory, task.index(), core, task),
          member_(shared.modes[0], shared.acknowledgement(core, task.index())),
          watched_(config.fail_over(core).has_value()),
          longest_sleep_(
              watched_ ? std::min(PreparedTask::longest_sleep(), FailOver(config, shared).pulse_interval())
                       : PreparedTask::longest_sleep()) {}

    [[nodiscard]] PreparedTask& task() const noexcept { return *task_; }
    // Its releases count from the step that enters a mode.
    static constexpr void begin(Ticks /*start*/, app::Time /*duration*/) noexcept {}
    // True if this core releases the task in the present mode.
    [[nodiscard]] bool active() const noexcept { return active_; }
    // The step that was taken up last: a change of it ends a sleep.
    [[nodiscard]] std::uint32_t seen() const noexcept { return member_.number(); }
    // Counts the modes that were entered.
    [[nodiscard]] std::uint32_t entered() const noexcept { return entered_; }

    // Takes part in the newest step as far as it can at once, and says when the task's next job is due.
    NextJob look() noexcept {
        give_sign();
        if (member_.observe()) {
            // Announced again, as the last one, it changes nothing.
            const app::ModeStep& step = member_.step();
            taking_up_ = step.stage == app::ModeStep::entered && step.release != release_;
            if (taking_up_) {
                release_ = step.release;
                leave();
            }
        }
        if (member_.number() == 0) {
            return {NextJob::never};
        }
        const app::ModeStep& step = member_.step();
        if (taking_up_ && !take_up(step)) {
            // The other core is about to give the task away.
            return {Clock::now() + Clock::from_ns(10'000)};
        }
        const bool released = step.stage == app::ModeStep::entered;
        if (active_ && (released || step.stage == app::ModeStep::withheld)) {
            const Ticks until = released ? NextJob::never : step.until;
            task_->skip_passed(Clock::now(), until);
            if (!task_->done() && task_->nominal() < until) {
                return {task_->ready()};
            }
        }
        if (!member_.acknowledged()) {
            if (active_) {
                leave_word();
            }
            acknowledge();
        }
        return {NextJob::never, released && step.last != 0};
    }

    // After a job: what its output asks for.
    void ask() const noexcept {
        if ((task_->runner().job().status & job_status::held) != 0) {
            return;
        }
        if (const auto mode = asked_mode(*config_, task_->index(), task_->out());
            mode && *mode != member_.step().mode) {
            shared_->run[0].asked.store(1 + *mode, std::memory_order_release);
            note_acknowledgement(*shared_);
        }
    }

    // Until another step is announced, or for a while.
    void sleep() const noexcept { sleep_until(Clock::now() + longest_sleep_); }
    // Until then, or until another step is announced.
    void sleep_until(Ticks until) const noexcept {
        auto& word = shared_->modes[0].number;
        for (Ticks now = Clock::now(); now < until && !called(); now = Clock::now()) {
            // In pieces, so that the run's end is seen.
            const std::uint64_t ns = Clock::to_ns(std::min(until - now, longest_sleep_));
            timespec time{};
            time.tv_sec = static_cast<time_t>(ns / 1'000'000'000U);
            time.tv_nsec = static_cast<long>(ns % 1'000'000'000U);
            ::syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAIT, seen(), &time, nullptr,
                      0);
        }
    }
    // True if a step was announced that was not looked at, or the run ends.
    [[nodiscard]] bool called() const noexcept {
        give_sign();
        return shared_->stopping() || shared_->modes[0].number.load(std::memory_order_relaxed) != seen();
    }

    // Ends waits for releases.
    [[nodiscard]] const ChangingMember& call() const noexcept { return *this; }

  private:
    // The core that releases the task in the mode of a step; none: it rests.
    [[nodiscard]] std::uint32_t core_in(const app::ModeStep& step) const {
        const plan::Task& next = config_->image.task(step.mode, task_->index());
        return next.rests ? plan::none : next.core;
    }
    // Another core goes on with the task: it is given away, if it is here.
    void leave() noexcept {
        const std::uint32_t next = core_in(member_.step());
        if (active_ && next == plan::none) {
            task_->discard_for(member_.step().mode);
        }
        active_ = false;
        if (sides_->size() > 1 && hand_over_.mine() && next != plan::none && next != core_) {
            line_->prepared.store(std::max<Ticks>(since_idle(Clock::now()), 1), std::memory_order_relaxed);
            hand_over_.give();
            line_->copied.store(since_idle(hand_over_.copied()), std::memory_order_relaxed);
            // The task's record is the other side's from now on, which writes what is to be said of it.
            line_->given.store(since_idle(Clock::now()), std::memory_order_relaxed);
        }
    }
    // False: the task is still on its way here.
    bool take_up(const app::ModeStep& step) noexcept {
        if (core_in(step) == core_) {
            if (!hand_over_.mine()) {
                if (shared_->cores[other_side()].dead.load(std::memory_order_acquire) != 0) {
                    hand_over_.take_from_the_dead();
                    line_->prepared.store(0, std::memory_order_relaxed);
                } else if (!hand_over_.take()) {
                    return false;
                }
                note_hand_over();
            }
            task_->enter(step.mode);
            const std::uint64_t before = Clock::to_ns(step.release - shared_->run[0].start.load());
            task_->begin(step.release,
                         std::max<app::Time>(config_->duration() - static_cast<app::Time>(1000 * before), 0),
                         line_->next_job.load(std::memory_order_relaxed));
            active_ = true;
            ++entered_;
        }
        taking_up_ = false;
        acknowledge();
        return true;
    }
    void acknowledge() noexcept {
        member_.acknowledge();
        note_acknowledgement(*shared_);
    }
    // Leaves the mode's data for the core that goes on with the task.
    void leave_word() noexcept {
        line_->next_job.store(task_->next_job(), std::memory_order_relaxed);
        const Job& job = task_->runner().job();
        const bool waits = task_->publishes_at_deadline() && job.release != 0 &&
                           (job.status & (job_status::held | job_status::unserved)) == 0;
        line_->published.store(waits ? job.release + static_cast<Ticks>(task_->row().deadline) : 0,
                               std::memory_order_relaxed);
    }
    [[nodiscard]] Ticks idle() const noexcept {
        return member_.step().release - ticks_of(config_->image.head().agreement);
    }
    [[nodiscard]] Ticks since_idle(Ticks at) const noexcept { return at > idle() ? at - idle() : 0; }
    // The task is here: when each part of that was done, from the idle instant on. A dead core did none.
    void note_hand_over() noexcept {
        const auto put = [&](Event::Kind kind, Ticks after, std::uint16_t core) {
            const Event made{idle() + after, after, kind, task_->index(), core, 0};
            task_->record().put(app::RecordTable::event, task_->index(), &made, sizeof made);
        };
        if (line_->prepared.load(std::memory_order_relaxed) != 0) {
            put(Event::state_prepared, line_->prepared.load(std::memory_order_relaxed), other_side());
            put(Event::state_copied, line_->copied.load(std::memory_order_relaxed), other_side());
            put(Event::state_given, line_->given.load(std::memory_order_relaxed), other_side());
        }
        put(Event::state_taken, since_idle(Clock::now()), core_);
    }
    [[nodiscard]] std::uint16_t other_side() const noexcept {
        return (*sides_)[0] == core_ ? (*sides_)[1] : (*sides_)[0];
    }
    // The core runs its threads.
    void give_sign() const noexcept {
        if (watched_) {
            shared_->cores[core_].pulse.store(Clock::now(), std::memory_order_relaxed);
        }
    }

    const RunConfig* config_;
    std::uint16_t core_;
    PreparedTask* task_;
    SharedRun* shared_;
    TaskLine* line_;
    const std::vector<std::uint16_t>* sides_;
    HandOverSide hand_over_;
    ModeSteps::Member member_;
    Ticks release_ = 0;
    std::uint32_t entered_ = 0;
    bool active_ = false;
    bool taking_up_ = false;
    // True if others go on if this core dies.
    bool watched_;
    Ticks longest_sleep_;
};

}  // namespace consort::linux_port
