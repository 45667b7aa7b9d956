// SPDX-License-Identifier: Apache-2.0
//
// Records the effects of the machine on a thread of the executive as events of its core: gaps while it
// spun, late wake-ups, and jobs in the middle of which it was interrupted or stopped.
#pragma once

#include <algorithm>
#include <cstdint>

#include "consort/app/ring.hpp"
#include "consort/linux/disturbance.hpp"
#include "consort/linux/interrupt_mark.hpp"
#include "consort/task/job.hpp"

namespace consort::linux_port {

class ThreadWatch {
  public:
    // Between two readings of the clock that lie tens of nanoseconds apart there is nothing that takes
    // as long as an interrupt; `consort probe` leaves out what takes longer, too.
    static constexpr std::uint64_t gap_ns = 1'000;
    // `events`: a ring that this thread alone writes. `late_ns`: a wake-up may be so late.
    ThreadWatch(app::RingWriter& events, std::uint16_t core, std::uint64_t late_ns)
        : events_(&events), core_(core), detector_(Clock::from_ns(gap_ns)), late_(Clock::from_ns(late_ns)) {
        detector_.resume();
        static_cast<void>(detector_.preempted());
    }

    // The thread begins to spin, at `now`. `slept`: it was asleep since it spun last.
    void spins(Ticks now, bool slept) noexcept {
        InterruptMark::clear();
        if (slept) {
            detector_.resume();
        } else {
            detector_.skip_to(now);
        }
    }
    // It spins, and read the clock.
    void look(std::uint16_t task, Ticks now) noexcept {
        if (const auto gap = detector_.look(now)) {
            const bool taken =
                InterruptMark::available && gap->cause == Event::interrupted && !InterruptMark::hit();
            InterruptMark::clear();
            put(task, now, gap->ticks(), taken ? Event::taken : gap->cause);
        }
    }

    // It slept since it looked at the clock last.
    void slept() noexcept { slept_ = true; }

    // It slept until `due`, and woke now.
    void woke(std::uint16_t task, Ticks due, Ticks now) noexcept {
        if (now > due && now - due > late_) {
            put(task, now, now - due, Event::woken_late);
        }
    }

    // It gave its processor away in a wait that it spins through else, and was missing from `since` on.
    void rested(std::uint16_t task, Ticks since, Ticks now) noexcept {
        if (now > since) {
            put(task, now, now - since, Event::rested);
        }
    }

    // Around a job, which begins at `now`. What interrupts it is known; how long that took is not, and at
    // most as long as the job. How much CPU time the job had says how much of it was the job's own. Returns
    // when it begins, which is later where that had to be asked for.
    Ticks job_begins(Ticks now) noexcept {
        if (slept_) {
            // It spins again only after resume().
            now = detector_.take_cpu_time();
            slept_ = false;
        } else if (!InterruptMark::available || detector_.stale(now)) {
            detector_.resume();
        }
        InterruptMark::clear();
        return now;
    }
    void job_ended(std::uint16_t task, Ticks since) noexcept {
        if constexpr (InterruptMark::available) {
            if (InterruptMark::hit()) [[unlikely]] {
                const Ticks now = Clock::now();
                put_job(task, now, now - since, Clock::from_ns(detector_.ran_since(since)), now - since);
            }
        } else {
            const Ticks now = Clock::now();
            const Ticks ran = Clock::from_ns(detector_.ran_since(since));
            if (now - since > ran + Clock::from_ns(GapDetector::default_threshold_ns)) {
                put_job(task, now, now - since - ran, ran, now - since);
            }
        }
    }
    // Jobs of other tasks of its core came into it. How long it was off its processor for theirs is in the
    // record; what is more, the machine took.
    void job_was_preempted(std::uint16_t task, Ticks since) noexcept {
        const Ticks now = Clock::now();
        const Ticks ran = std::min(Clock::from_ns(detector_.ran_since(since)), now - since);
        const Event made{now, now - since - ran, Event::preempted, task, core_, 0};
        events_->put(app::RecordTable::event, task, &made, sizeof made);
    }

  private:
    void put_job(std::uint16_t task, Ticks now, Ticks lasted, Ticks ran, Ticks whole) noexcept {
        // Switched away from and back at once it was not stopped.
        const bool off = whole > ran + Clock::from_ns(GapDetector::default_threshold_ns);
        put(task, now, lasted, detector_.preempted() && off ? Event::stopped : Event::interrupted);
        const Event made{now, std::min(ran, whole), Event::executed, task, core_, 0};
        events_->put(app::RecordTable::event, task, &made, sizeof made);
        detector_.resume();
    }
    void put(std::uint16_t task, Ticks now, Ticks lasted, Event::Cause cause) noexcept {
        const Event made{now, lasted, Event::disturbed, task, core_, cause};
        events_->put(app::RecordTable::event, task, &made, sizeof made);
    }

    app::RingWriter* events_;
    std::uint16_t core_;
    GapDetector detector_;
    Ticks late_;
    bool slept_ = false;
};

}  // namespace consort::linux_port
