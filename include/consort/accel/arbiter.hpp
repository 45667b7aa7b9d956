// SPDX-License-Identifier: Apache-2.0
//
// Which request an accelerator serves next. The server (server.hpp) and the simulator ask the same functions,
// and docs/explanation/analyses.md (theorems 33 to 35) bounds what they answer.
//
// A request that was begun runs to its end. Before that the server knows how long it may take, by its own
// table, never by what the client says; a request that does not fit what its client is given does not begin.
// Times count from the server's start.
#pragma once

#include <cstdint>

#include "consort/port.hpp"

namespace consort::accel {

enum class Arbitration : std::uint8_t {
    // The most urgent client's request. It isolates from clients that are less urgent.
    fixed_priority,
    // Each client has a slot in each round, and begins a request only where all of it fits.
    tdma,
    // The most urgent client's that has enough left of its budget, which is full again at each multiple of
    // its period. It isolates from all clients.
    budget,
};

// "At no time."
inline constexpr Ticks never = ~Ticks{0};

// One client's share. `rank`: 0 is the most urgent; no two clients share one.
struct Share {
    std::uint32_t rank = 0;
    Ticks slot_from = 0;  // tdma: from the beginning of a round
    Ticks slot = 0;
    Ticks budget = 0;
    Ticks period = 0;  // of the budget
};

// A share, and what is left of it.
class Account {
  public:
    constexpr Account() noexcept = default;
    constexpr explicit Account(const Share& share) noexcept : share_(share), left_(share.budget) {}

    [[nodiscard]] constexpr const Share& share() const noexcept { return share_; }

    // When a request that takes up to `cost` may begin, seen at `now`: now, later, or never.
    [[nodiscard]] constexpr Ticks may_begin(Arbitration rule, Ticks round, Ticks now,
                                            Ticks cost) const noexcept {
        switch (rule) {
            case Arbitration::fixed_priority:
                return now;
            case Arbitration::tdma: {
                if (cost > share_.slot) {
                    return never;
                }
                const Ticks at = now % round;
                const Ticks last = share_.slot_from + share_.slot - cost;
                if (at < share_.slot_from) {
                    return now + (share_.slot_from - at);
                }
                return at <= last ? now : now + (round - at) + share_.slot_from;
            }
            case Arbitration::budget:
                if (cost > share_.budget) {
                    return never;
                }
                // A period that has begun since brings all of the budget.
                return now / share_.period != period_ || cost <= left_ ? now : (period_ + 1) * share_.period;
        }
        return never;
    }

    // A request of that cost begins. All of the cost is charged, however long it then takes.
    constexpr void begin(Arbitration rule, Ticks now, Ticks cost) noexcept {
        if (rule != Arbitration::budget) {
            return;
        }
        if (const Ticks period = now / share_.period; period != period_) {
            period_ = period;
            left_ = share_.budget;
        }
        left_ -= cost;
    }

  private:
    Share share_{};
    Ticks left_ = 0;
    Ticks period_ = 0;  // the number of the one that `left_` is of
};

inline constexpr std::uint32_t nobody = ~std::uint32_t{0};

struct Choice {
    std::uint32_t client = nobody;  // whose request begins now
    Ticks look_again = never;       // where nobody's does: when one first may
};

// Chooses among `count` clients the one whose request begins at `now`. `account(i)` is a client's; `cost(i)`
// how long its request takes at most, 0 where it has none.
template <class AccountOf, class CostOf>
[[nodiscard]] constexpr Choice choose(Arbitration rule, Ticks round, std::uint32_t count, Ticks now,
                                      AccountOf&& account, CostOf&& cost) noexcept {
    Choice choice;
    for (std::uint32_t i = 0; i < count; ++i) {
        const Ticks wanted = cost(i);
        if (wanted == 0) {
            continue;
        }
        const Ticks at = account(i).may_begin(rule, round, now, wanted);
        if (at != now) {
            choice.look_again = at < choice.look_again ? at : choice.look_again;
        } else if (choice.client == nobody || account(i).share().rank < account(choice.client).share().rank) {
            choice.client = i;
        }
    }
    return choice;
}

}  // namespace consort::accel
