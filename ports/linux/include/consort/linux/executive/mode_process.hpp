// SPDX-License-Identifier: Apache-2.0
//
// The coordinator of a run that goes from mode to mode: a process above all tasks that announces each step of
// the protocol (consort/app/mode_change.hpp, consort/app/mode_steps.hpp) and waits until all have done it.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "consort/app/mode_change.hpp"
#include "consort/linux/executive/core_process.hpp"
#include "consort/linux/executive/mode_member.hpp"

namespace consort::linux_port {

class ModeProcess {
  public:
    // `priority`: above every task's.
    ModeProcess(const RunConfig& config, SharedRun& shared, int priority)
        : config_(&config),
          shared_(&shared),
          fail_over_(config, shared),
          handled_(config.cores.size()),
          priority_(priority),
          events_(shared.rings.of_modes()),
          coordinator_(shared.modes[0]),
          change_(config.image.head().first,
                  static_cast<app::Time>(ticks_of(config.image.head().agreement))) {
        for (std::uint16_t core = 0; core < config.cores.size(); ++core) {
            for (std::size_t task = 0; task < config.tasks.size(); ++task) {
                if (config.releases(core, task)) {
                    members_.push_back({core, false, &shared.acknowledgement(core, task)});
                }
            }
            if (config.is_worker(core)) {
                members_.push_back({core, true, &shared.acknowledgement(core)});
                workers_.push_back(core);
            }
        }
    }

    [[nodiscard]] static bool needed(const RunConfig& config) { return config.changes_modes(); }

    int run() {
        RealtimeOptions options = realtime_options(*config_, {}, priority_);
        const RealtimeGuard guard(options);
        const Ticks start = wait_for_start(*shared_);
        if (start == 0) {
            return 0;
        }
        const plan::Image& image = config_->image;
        for (std::uint32_t i = 0; i < image.count(plan::Table::requests); ++i) {
            const plan::Request& request = image.request(i);
            if (request.at < config_->duration()) {
                requests_.push_back({start + ticks_of(request.at), request.to});
            }
        }
        event(Event::mode_entered, start, change_.mode());
        enter(start, change_.mode());
        const Ticks end = start + ticks_of(config_->duration());
        while (!shared_->stopping()) {
            const bool timed = next_ < requests_.size();
            // A job's output or a command may ask until the run's end.
            if (!timed && Clock::now() >= end) {
                break;
            }
            // A little early: no core's timer comes before it knows.
            const Ticks due = timed ? requests_[next_].at - Clock::from_ns(lead_ns) : end;
            sleep_until(due, true);
            bool leaves = take_asked(end);
            leaves = take_deaths() || leaves;
            if (!leaves && timed && Clock::now() >= due) {
                leaves = request(requests_[next_++]);
            }
            while (leaves && !shared_->stopping()) {
                leaves = carry_out(end);
            }
        }
        step_.last = 1;
        announce(step_);
        return 0;
    }

  private:
    static constexpr std::uint64_t lead_ns = 200'000;
    static constexpr std::uint64_t longest_sleep_ns = 20'000'000;
    struct Request {
        Ticks at;
        std::uint32_t to;
    };
    struct Member {
        std::uint16_t core;
        bool worker;
        ModeSteps::Acknowledgement* acknowledgement;
    };

    // From a request to the next mode's release. True: a request that came meanwhile ends that one again.
    bool carry_out(Ticks end) {
        const std::uint32_t left = change_.mode();
        say_change(left);
        const auto request = static_cast<Ticks>(change_.change().requested);
        step_.stage = app::ModeStep::withheld;
        step_.until = request;
        announce(step_);
        step_.stage = app::ModeStep::drained;
        announce(step_);
        // One that was requested before its mode's release left it at that.
        Ticks idle = std::max({Clock::now(), request, step_.release});
        for (std::uint32_t i = 0; i < config_->tasks.size(); ++i) {
            if (!config_->image.task(left, i).rests) {
                idle = std::max<Ticks>(idle, shared_->tasks[i].published.load(std::memory_order_relaxed));
            }
        }
        sleep_until(idle);
        take_requests(idle);
        take_asked(end);
        take_deaths();
        if (shared_->stopping()) {
            return false;
        }
        change_.drained(static_cast<app::Time>(idle));
        const auto release = static_cast<Ticks>(change_.change().released);
        const std::uint32_t mode = change_.change().to;
        enter(release, mode);
        sleep_until(release - std::min(release, Clock::from_ns(lead_ns)));
        take_requests(release);
        take_asked(end);
        take_deaths();
        const app::ModeChanged done = change_.change();
        event(Event::mode_requested, static_cast<Ticks>(done.requested), mode);
        event(Event::mode_idle, idle, left);
        event(Event::mode_entered, release, mode);
        shared_->run[0].change.store(0, std::memory_order_relaxed);
        return change_.release();
    }

    void enter(Ticks release, std::uint32_t mode) {
        step_ = {};
        step_.mode = mode;
        step_.release = release;
        announce(step_);
    }

    // Those that come until then; of several the last one counts.
    void take_requests(Ticks until) {
        while (next_ < requests_.size() && requests_[next_].at <= until) {
            if (change_.stage() == app::ModeChange::Stage::agreed && requests_[next_].at == until) {
                return;  // at the release: it is a change of its own
            }
            request(requests_[next_++]);
        }
        say_change(change_.mode());
    }

    // Nobody goes to a mode that has something on a dead core. True: the releases of the mode end now.
    bool request(const Request& wanted) {
        return fail_over_.possible(wanted.to) &&
               change_.request(wanted.to, static_cast<app::Time>(wanted.at));
    }
    // Cores that died since it was looked: each death is a request, at the instant at which it was known.
    bool take_deaths() {
        bool leaves = false;
        while (const auto core = unhandled_death()) {
            handled_[*core] = true;
            leaves = request({shared_->cores[*core].died_at.load(), *config_->fail_over(*core)}) || leaves;
        }
        return leaves;
    }
    [[nodiscard]] std::optional<std::uint32_t> unhandled_death() const {
        for (std::uint32_t core = 0; core < handled_.size(); ++core) {
            if (!handled_[core] && fail_over_.dead(core)) {
                return core;
            }
        }
        return std::nullopt;
    }

    // Takes a job's request since the last look. True: the releases of the mode end now.
    bool take_asked(Ticks end) {
        const std::uint32_t asked = shared_->run[0].asked.exchange(0, std::memory_order_acquire);
        const Ticks now = Clock::now();
        return asked != 0 && now < end && request({now, asked - 1});
    }

    // Returns once all have acknowledged the step, or the run ends.
    void announce(const app::ModeStep& step) {
        coordinator_.announce(step);
        auto& number = shared_->modes[0].number;
        ::syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&number), FUTEX_WAKE, INT_MAX, nullptr, nullptr,
                  0);
        for (const std::uint16_t worker : workers_) {
            ring_doorbell(shared_->cores[worker].requests, shared_->cores[worker].sleeping);
        }
        RunLine& line = shared_->run[0];
        while (!shared_->stopping()) {
            const std::uint32_t rung = line.acknowledgements.load(std::memory_order_seq_cst);
            if (all_acknowledged()) {
                return;
            }
            sleep_for_doorbell(line.acknowledgements, line.acknowledgements_awaited, rung,
                               Clock::now() + Clock::from_ns(longest_sleep_ns));
        }
    }
    // A worker that died has nothing to do; one that is started again takes part from then on. A core that is
    // dead for good takes part in nothing.
    [[nodiscard]] bool all_acknowledged() const {
        return std::all_of(members_.begin(), members_.end(), [this](const Member& member) {
            return coordinator_.acknowledged(*member.acknowledgement) || fail_over_.dead(member.core) ||
                   (member.worker && shared_->cores[member.core].alive.load() == 0);
        });
    }

    // `asked`: or until a job's output asks for a mode.
    void sleep_until(Ticks until, bool asked = false) const {
        RunLine& line = shared_->run[0];
        while (!shared_->stopping() && Clock::now() < until) {
            const std::uint32_t rung = line.acknowledgements.load(std::memory_order_seq_cst);
            if (asked && (line.asked.load(std::memory_order_relaxed) != 0 || unhandled_death())) {
                return;
            }
            sleep_for_doorbell(line.acknowledgements, line.acknowledgements_awaited, rung,
                               std::min(until, Clock::now() + Clock::from_ns(longest_sleep_ns)));
        }
    }
    // For whoever has to say what a core's end interrupted.
    void say_change(std::uint32_t from) const {
        shared_->run[0].change.store(1 + (from << 16U) + change_.change().to, std::memory_order_relaxed);
    }
    void event(Event::Kind kind, Ticks at, std::uint32_t mode) {
        const Event made{at, mode, kind, Event::none, Event::none, 0};
        events_.put(app::RecordTable::event, Event::none, &made, sizeof made);
    }

    const RunConfig* config_;
    SharedRun* shared_;
    FailOver fail_over_;
    std::vector<bool> handled_;  // by core: its death was a request
    int priority_;
    app::RingWriter events_;
    ModeSteps::Coordinator coordinator_;
    app::ModeChange change_;
    std::vector<Member> members_;
    std::vector<std::uint16_t> workers_;
    std::vector<Request> requests_;
    std::size_t next_ = 0;
    app::ModeStep step_;  // that was announced last
};

}  // namespace consort::linux_port
