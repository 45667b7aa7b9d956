// SPDX-License-Identifier: Apache-2.0
//
// When a core that a hypervisor shares out is on: a budget in each period.
#pragma once

#include "sim/draw.hpp"
#include "sim/model.hpp"

namespace consort::engine::sim {

// The draws of cores, apart from those of tasks.
inline constexpr std::uint64_t supply_choices = std::uint64_t{1} << 32;

class Windows {
  public:
    Windows() = default;
    Windows(const Supply& supply, const Draw& draw, Spread spread)
        : supply_(supply), draw_(draw), spread_(spread) {
        if (supply_.period == 0 || supply_.budget == supply_.period) {
            return;
        }
        // It began at some moment before 0: periods need not begin with the system.
        on_ = false;
        begin_ = -draw_(spread_, Choice::jitter, 0, 0, supply_.period - 1) - supply_.period;
        place();
        while (changes_ <= 0) {
            next();
        }
    }

    [[nodiscard]] bool on() const { return on_; }
    // The next moment at which it goes on or off, or `never`.
    [[nodiscard]] Time changes() const { return changes_; }
    void next() {
        on_ = !on_;
        if (on_) {
            changes_ = add(changes_, supply_.budget);
        } else {
            begin_ = add(begin_, supply_.period);
            ++period_;
            place();
        }
    }

  private:
    // Where the budget of the present period begins.
    void place() {
        const std::uint64_t which = supply_.fixed ? 0 : period_;
        const Time room = supply_.period - supply_.budget;
        changes_ = add(begin_, draw_(spread_, Choice::gap, which, 0, room));
    }

    Supply supply_{};
    Draw draw_;
    Spread spread_ = Spread::uniform;
    std::uint64_t period_ = 0;
    Time begin_ = 0;
    Time changes_ = never;
    bool on_ = true;
};

}  // namespace consort::engine::sim
