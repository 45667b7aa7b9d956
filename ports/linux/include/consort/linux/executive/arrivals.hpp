// SPDX-License-Identifier: Apache-2.0
//
// Tasks that the blocks of a channel release. The channel's one writer announces when each block can be
// read; the task's thread sleeps until something is announced, and is released by it.
//
// When a job is due and released: app::ArrivalRelease. Its response time is counted from when it was due. A
// block that comes before that is an event.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "consort/app/release.hpp"
#include "consort/linux/clock.hpp"
#include "consort/linux/executive/channels.hpp"
#include "consort/linux/executive/doorbell.hpp"
#include "consort/linux/executive/shared.hpp"

namespace consort::linux_port {

// Where a channel's writer announces its blocks to one task.
class Announcement {
  public:
    // `core`: of the task, where one thread serves all tasks of its core; else null.
    Announcement(ArrivalLine& line, CoreLine* core) noexcept : line_(&line), core_(core) {}

    // A block that can be read from this instant on.
    void announce(Ticks instant) noexcept {
        const std::uint32_t number = line_->announced.load(std::memory_order_relaxed);
        // A reader that sees this instant sees the announcement before it: it finds out what is overwritten.
        line_->instants[number % ArrivalLine::kept].store(instant, std::memory_order_release);
        ring_doorbell(line_->announced, line_->awaited);
        if (core_ != nullptr) {
            ring_doorbell(core_->arrivals, core_->arrivals_awaited);
        }
    }

  private:
    ArrivalLine* line_;
    CoreLine* core_;
};

// The tasks that a channel's blocks release.
inline std::vector<Announcement> announcements_of(const RunConfig& config, std::uint16_t channel,
                                                  const SharedRun& shared) {
    std::vector<Announcement> found;
    for (std::uint16_t i = 0; i < config.tasks.size(); ++i) {
        const auto mode = config.first_mode(i, [&](const plan::Task& t) { return t.arrival == channel; });
        if (mode) {
            const std::uint32_t core = config.image.task(*mode, i).core;
            const bool in_turn = config.policy(core) == plan::Policy::fixed_priority_non_preemptive;
            found.emplace_back(shared.arrivals[i], in_turn ? &shared.cores[core] : nullptr);
        }
    }
    return found;
}

// A channel's end that announces what it writes. A block that found no room releases nobody.
class AnnouncingTarget final : public WriteTarget {
  public:
    AnnouncingTarget(std::shared_ptr<WriteTarget> target, std::vector<Announcement> announcements)
        : target_(std::move(target)), announcements_(std::move(announcements)) {}
    Transferred write(const std::byte* from, Ticks visible) noexcept override {
        const Transferred moved = target_->write(from, visible);
        if (moved.kind == Operation::write) {
            const Ticks instant = std::max(visible, Clock::now());
            for (Announcement& to : announcements_) {
                to.announce(instant);
            }
        }
        return moved;
    }

  private:
    std::shared_ptr<WriteTarget> target_;
    std::vector<Announcement> announcements_;
};

inline std::shared_ptr<WriteTarget> announcing(std::shared_ptr<WriteTarget> target,
                                               std::vector<Announcement> announcements) {
    if (announcements.empty()) {
        return target;
    }
    return std::make_shared<AnnouncingTarget>(std::move(target), std::move(announcements));
}

// The releases of a task by arrivals, one after another.
class ArrivalReleases {
  public:
    ArrivalReleases() = default;
    ArrivalReleases(ArrivalLine& line, Ticks distance, Ticks jitter,
                    const app::Distances& distances = {}) noexcept
        : line_(&line), distance_(distance), jitter_(jitter), spacing_(distances) {}

    // True if the next job's release is known: its block is announced.
    bool known() noexcept {
        if (!known_) {
            if (line_->announced.load(std::memory_order_acquire) == job_) {
                return false;
            }
            // The writer may be so far ahead that it has used the place again. Then n(k) counts alone, and
            // has passed.
            const Ticks instant = line_->instants[job_ % ArrivalLine::kept].load(std::memory_order_acquire);
            const std::uint32_t ahead = line_->announced.load(std::memory_order_relaxed) - job_;
            place(ahead < ArrivalLine::kept ? instant : 0);
        }
        return true;
    }
    // The instants of a known release.
    [[nodiscard]] Ticks nominal() const noexcept { return nominal_; }
    [[nodiscard]] Ticks actual() const noexcept { return actual_; }
    // By how much the block came before its job may be released.
    [[nodiscard]] Ticks early() const noexcept { return early_; }
    [[nodiscard]] std::uint32_t job() const noexcept { return job_; }
    void next() noexcept {
        ++job_;
        known_ = false;
    }
    // Returns when something was announced, or at the tick `until`.
    void sleep(Ticks until) noexcept { sleep_for_doorbell(line_->announced, line_->awaited, job_, until); }

  private:
    void place(Ticks instant) noexcept {
        const auto time = [](Ticks ticks) { return static_cast<app::Time>(ticks); };
        const app::Time earliest = job_ == 0 ? 0 : time(nominal_ + distance_);
        const auto release = app::ArrivalRelease::of(instant == 0 ? app::absent : time(instant),
                                                     time(jitter_), earliest, spacing_.earliest());
        nominal_ = static_cast<Ticks>(release.nominal);
        actual_ = static_cast<Ticks>(release.actual);
        early_ = instant != 0 ? actual_ - instant : 0;
        spacing_.released(release.actual);
        known_ = true;
    }

    ArrivalLine* line_ = nullptr;
    Ticks distance_ = 0;
    Ticks jitter_ = 0;
    app::Spacing spacing_{};
    std::uint32_t job_ = 0;
    bool known_ = false;
    Ticks nominal_ = 0;
    Ticks actual_ = 0;
    Ticks early_ = 0;
};

}  // namespace consort::linux_port
