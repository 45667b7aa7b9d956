// SPDX-License-Identifier: Apache-2.0
//
// A core that dies, and the others that go on in another mode: docs/explanation/mode-changes.md, "When a core
// dies". A core is dead once its process has been reaped: no thread of it runs any more, whatever it was in
// the middle of. One that gives no sign of life is killed first, so that one that was only stopped never runs
// on beside whoever went on for it.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "consort/linux/clock.hpp"
#include "consort/linux/executive/config.hpp"
#include "consort/linux/executive/shared.hpp"
#include "consort/task/job.hpp"

namespace consort::linux_port {

// For how long a core is silent before the eyes of the supervisor. Where that was itself kept from its
// processor, so were others: of the time between two looks no more than `slow` counts.
class Vigil {
  public:
    // A look, and the core's last sign of life as it is now; `looked`: when the look before was.
    void look(Ticks sign, Ticks now, Ticks looked, Ticks slow) noexcept {
        const Ticks passed = now > looked ? now - looked : 0;
        if (sign != sign_) {
            sign_ = sign;
            silence_ = 0;
            late_ = false;
        }
        const Ticks silent = std::min(passed, now > sign ? now - sign : 0);
        late_ = late_ || silent > slow;
        silence_ += std::min(silent, slow);
    }
    [[nodiscard]] Ticks silence() const noexcept { return silence_; }
    // True if not all of the time since the sign of life counts.
    [[nodiscard]] bool late() const noexcept { return late_; }

  private:
    Ticks sign_ = 0;
    Ticks silence_ = 0;
    bool late_ = false;
};

class FailOver {
  public:
    FailOver(const RunConfig& config, const SharedRun& shared)
        : config_(&config), shared_(&shared), vigils_(config.cores.size()) {}

    [[nodiscard]] bool needed() const { return detection() != 0; }

    // True if nothing of a mode is on a core that is dead.
    [[nodiscard]] bool possible(std::uint32_t mode) const {
        for (std::size_t core = 0; core < config_->cores.size(); ++core) {
            if (dead(core) && config_->uses(mode, static_cast<std::uint32_t>(core))) {
                return false;
            }
        }
        return true;
    }
    // The mode in which the others go on without the core; none: the run is over.
    [[nodiscard]] std::optional<std::uint32_t> after(std::size_t core) const {
        const bool begun = shared_->run[0].start.load() != 0 && !shared_->stopping();
        const auto next = config_->fail_over(static_cast<std::uint32_t>(core));
        return begun && next && possible(*next) ? next : std::nullopt;
    }
    [[nodiscard]] bool dead(std::size_t core) const {
        return shared_->cores[core].dead.load(std::memory_order_acquire) != 0;
    }

    // A core gives a sign of life this often, and in a job none: that is an eighth of the detection and up to
    // a half. A silence of three quarters is a death, seen at the latest when the supervisor looks next, an
    // eighth later; the last eighth is for its process to end.
    [[nodiscard]] Ticks pulse_interval() const { return ticks_of(detection() / 8); }
    [[nodiscard]] std::chrono::milliseconds look_interval() const {
        return std::chrono::milliseconds(std::clamp<app::Time>(detection() / 8'000'000'000, 1, 20));
    }
    // `looked`: when the supervisor looked before. How a core died that it takes for dead now.
    [[nodiscard]] std::optional<Event::Death> silent(std::size_t core, Ticks now, Ticks looked) {
        const CoreLine& line = shared_->cores[core];
        const Ticks pulse = line.pulse.load(std::memory_order_relaxed);
        if (!config_->fail_over(static_cast<std::uint32_t>(core)) || line.finished.load() != 0 ||
            pulse == 0) {
            return std::nullopt;
        }
        const Ticks slow =
            2 * Clock::from_ns(static_cast<std::uint64_t>(look_interval().count()) * 1'000'000U);
        Vigil& vigil = vigils_[core];
        vigil.look(pulse, now, looked, slow);
        if (vigil.silence() <= ticks_of(detection() / 4 * 3)) {
            return std::nullopt;
        }
        return vigil.late() ? Event::silent_unwatched : Event::silent;
    }

  private:
    [[nodiscard]] app::Time detection() const { return config_->image.head().detection; }

    const RunConfig* config_;
    const SharedRun* shared_;
    std::vector<Vigil> vigils_;  // by core
};

}  // namespace consort::linux_port
