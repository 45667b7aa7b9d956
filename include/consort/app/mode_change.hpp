// SPDX-License-Identifier: Apache-2.0
//
// A change of mode: a change of plan at job boundaries. docs/explanation/mode-changes.md has the protocol,
// its sources and its bound.
//
//   steady     the jobs of one mode are released
//   draining   another mode was requested: no job that is due from then on is released, the others end
//   agreed     all have ended; the new mode's releases count from a given time later
//
// Whoever drives it (one a system) says when a mode is requested, when the old mode is idle, and when the
// agreed instant is there. Of requests that come while a change is under way the last one counts: before the
// idle instant it takes the place of the one before; after it, it is taken at the instant of the release.
#pragma once

#include <cstdint>

#include "consort/app/release.hpp"

namespace consort::app {

// One change, as it is recorded.
struct ModeChanged {
    // When that was: of the request that ended the old mode's releases. Where it came before the mode's own
    // release it ended them there.
    Time requested = absent;
    Time drained = absent;   // the idle instant
    Time released = absent;  // what the offsets of the new mode's tasks count from
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    std::uint32_t requests = 0;  // that came before the idle instant: the last one counts
};

class ModeChange {
  public:
    enum class Stage : std::uint8_t { steady, draining, agreed };

    constexpr ModeChange() noexcept = default;
    constexpr ModeChange(std::uint32_t first, Time agreement) noexcept
        : mode_(first), agreement_(agreement) {}

    [[nodiscard]] constexpr Stage stage() const noexcept { return stage_; }
    [[nodiscard]] constexpr std::uint32_t mode() const noexcept { return mode_; }
    // The change under way, or the last one.
    [[nodiscard]] constexpr const ModeChanged& change() const noexcept { return change_; }

    // True: the releases of the mode end now.
    constexpr bool request(std::uint32_t to, Time now) noexcept {
        switch (stage_) {
            case Stage::steady:
                if (to == mode_) {
                    return false;
                }
                change_ = {now, absent, absent, mode_, to, 1};
                stage_ = Stage::draining;
                return true;
            case Stage::draining:
                change_.to = to;
                ++change_.requests;
                return false;
            case Stage::agreed:
                held_ = to;
                held_at_ = now;
                holds_ = true;
                return false;
        }
        return false;
    }

    // No job of the old mode is under way any more.
    constexpr void drained(Time now) noexcept {
        change_.drained = now;
        change_.released = after(now, agreement_);
        stage_ = Stage::agreed;
    }

    // The agreed instant is there: the new mode's jobs are released from now on. True: a request that came
    // meanwhile ends these releases at once.
    constexpr bool release() noexcept {
        mode_ = change_.to;
        stage_ = Stage::steady;
        const bool again = holds_;
        holds_ = false;
        return again && request(held_, held_at_);
    }

  private:
    Stage stage_ = Stage::steady;
    std::uint32_t mode_ = 0;
    Time agreement_ = 0;
    ModeChanged change_{};
    std::uint32_t held_ = 0;
    Time held_at_ = 0;
    bool holds_ = false;
};

}  // namespace consort::app
