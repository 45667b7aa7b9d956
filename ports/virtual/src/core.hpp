// SPDX-License-Identifier: Apache-2.0
//
// The cores of a machine in virtual time. Each has a fiber on which the target library's code runs; handlers
// of interrupts run in the clock's own context, in the order of the instant (clock.hpp).
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "clock.hpp"
#include "consort/app/serve.hpp"
#include "consort/virtual/fiber.hpp"
#include "consort/virtual/system.hpp"
#include "consort/virtual/timed_executive.hpp"

namespace consort::virtual_time {

// The common part of all kinds of core.
class Processor {
  public:
    explicit Processor(Clock& clock) : clock_(&clock) {}

    // When it completes what it executes.
    [[nodiscard]] Time completes() const noexcept { return completes_; }
    void resume() { fiber_.resume(); }

  protected:
    void begin(std::uint16_t id, Time context_switch, void (*loop)(void*), void* self) {
        id_ = id;
        switch_ = context_switch;
        completes_ = app::never;
        begins_ = 0;
        settling_ = false;
        fiber_.start(loop, self);
    }
    // Until the clock says something. True: what was executed is complete.
    bool pass_time() noexcept {
        fiber_.yield();
        return clock_->stage == Stage::completing;
    }
    // After a completion: what else happens at this instant comes before the next decision.
    void wait_for_decision() noexcept {
        if (clock_->stage == Stage::completing) {
            settling_ = true;
            fiber_.yield();
            settling_ = false;
        }
    }
    void slice(Time begin, Time end, std::uint32_t task, std::uint32_t seq, Doing doing) noexcept {
        if (clock_->trace != nullptr && begin < end) {
            clock_->trace->slices.push_back({begin, end, task, seq, id_, doing});
        }
    }

    Clock* clock_;
    Fiber fiber_;
    std::uint16_t id_ = 0;
    Time switch_ = 0;
    Time begins_ = 0;  // when the switch to what it executes is over
    Time completes_ = app::never;
    bool settling_ = false;
};

// Where a job's life is written down.
class Journal {
  public:
    virtual ~Journal() = default;
    virtual void begun(std::uint32_t task, const JobTimes& job) = 0;
    virtual void finished(std::uint32_t task, const JobTimes& job, const Transfers& moved) = 0;
    virtual void send(std::uint32_t task, const JobTimes& job) = 0;
};

// A core that releases tasks.
class ReleasingCore : public Processor, public TimedExecutive<ReleasingCore> {
  public:
    ReleasingCore(Clock& clock, Journal& journal) : Processor(clock), journal_(&journal) {}

    void start(std::uint16_t id, const Core& core, std::vector<TimedTask> tasks, const Settings& settings) {
        tasks_ = std::move(tasks);
        Processor::begin(
            id, core.context_switch, [](void* self) { static_cast<ReleasingCore*>(self)->loop(); }, this);
        TimedExecutive::start(tasks_.data(), static_cast<std::uint32_t>(tasks_.size()), core,
                              settings.execution, settings.arrival, 0);
    }

    [[nodiscard]] Time next() noexcept {
        Time next = std::min(completes_, armed());
        if (top() != nullptr && clock_->now < begins_ && urgent()) {
            next = std::min(next, begins_);  // a switch under way is not interrupted
        }
        return next;
    }
    // True if the fiber has to decide something at this instant.
    [[nodiscard]] bool attention() noexcept {
        if (settling_ || (top() != nullptr && top()->signal != Frame::Signal::none)) {
            return true;
        }
        return (top() == nullptr || clock_->now >= begins_) && urgent();
    }

    // --- the port
    [[nodiscard]] Time now() const noexcept { return clock_->now; }
    void switched() noexcept { begins_ = app::after(clock_->now, switch_); }
    // Spends the core's time on the topmost frame until `left` of it has passed or the frame has a signal.
    void spend(Frame& frame, Time left) noexcept {
        TimedTask& task = *frame.task;
        // Given up, it may be followed by its task's next job before this returns.
        const std::uint32_t seq = task.job.seq;
        const Doing what = doing(task);
        const auto interrupted = [&] {
            return clock_->stage == Stage::deciding && clock_->now >= begins_ && preempts();
        };
        for (;;) {
            if (interrupted()) {
                // As at the exit of the outermost interrupt.
                ++task.job.preemptions;
                dispatch();
                if (frame.signal == Frame::Signal::withdrawn) {
                    return;
                }
                begins_ = app::after(clock_->now, switch_);
                if (frame.signal != Frame::Signal::none) {
                    return;
                }
            }
            const Time since = clock_->now;
            const Time from = std::max(begins_, since);
            completes_ = left == app::never ? app::never : app::after(from, left);
            bool complete = pass_time();
            while (!complete && frame.signal == Frame::Signal::none && !interrupted()) {
                complete = pass_time();
            }
            const Time now = clock_->now;
            completes_ = app::never;
            slice(since, std::min(begins_, now), task.id, seq, Doing::context_switch);
            if (now > from) {
                slice(from, now, task.id, seq, what);
                left -= left == app::never ? 0 : now - from;
            }
            if (complete || frame.signal != Frame::Signal::none) {
                return;
            }
        }
    }
    void send(const TimedTask& task, const JobTimes& job) noexcept { journal_->send(task.id, job); }
    void begun(const TimedTask& task, const JobTimes& job) noexcept { journal_->begun(task.id, job); }
    void finished(const TimedTask& task, const JobTimes& job) noexcept {
        journal_->finished(task.id, job, {});
    }
    [[nodiscard]] Time until() const noexcept { return clock_->until; }
    void end() noexcept { clock_->stopped = clock_->until = clock_->now; }
    void decide() noexcept { wait_for_decision(); }
    void enable() noexcept {}
    void disable() noexcept {}

  private:
    [[noreturn]] void loop() noexcept {
        for (;;) {
            dispatch();
            fiber_.yield();
        }
    }
    [[nodiscard]] static Doing doing(const TimedTask& task) noexcept {
        switch (task.phase) {
            case Phase::away:
                return Doing::wait;
            case Phase::fallback:
                return Doing::fallback;
            case Phase::first:
                return task.offloaded() ? Doing::send : Doing::execute;
            default:
                return task.offloaded() ? Doing::receive : Doing::execute;
        }
    }

    Journal* journal_;
    std::vector<TimedTask> tasks_;
};

// Computes what masters send it, one request after another, and does nothing else.
class WorkerCore : public Processor {
  public:
    // The masters that it reports to.
    class Masters {
      public:
        virtual ~Masters() = default;
        virtual void began(const app::Request& request) = 0;
        virtual void ended(const app::Request& request) = 0;
    };

    WorkerCore(Clock& clock, Masters& masters) : Processor(clock), masters_(&masters) {}

    void start(std::uint16_t id, const Core& core, std::size_t tasks) {
        memory_.resize(tasks);
        requests_ = app::Requests(memory_.data(), core.service == app::plan::Service::oldest_first);
        idle_ = true;
        Processor::begin(
            id, 0, [](void* self) { static_cast<WorkerCore*>(self)->loop(); }, this);
    }

    void arrive(const app::Request& request) noexcept { requests_.arrive(request); }
    [[nodiscard]] bool idle() const noexcept { return idle_ && requests_.empty(); }
    [[nodiscard]] bool attention() const noexcept { return settling_ || (idle_ && !requests_.empty()); }

  private:
    [[noreturn]] void loop() noexcept {
        for (;;) {
            while (requests_.empty()) {
                fiber_.yield();
            }
            idle_ = false;
            const app::Request request = requests_.take();
            masters_->began(request);
            const Time since = clock_->now;
            completes_ = app::after(since, request.execution);
            fiber_.yield();
            completes_ = app::never;
            slice(since, clock_->now, request.task, request.seq, Doing::execute);
            masters_->ended(request);
            idle_ = true;
            wait_for_decision();
        }
    }

    Masters* masters_;
    std::vector<app::Request> memory_;
    app::Requests requests_;
    bool idle_ = true;
};

}  // namespace consort::virtual_time
