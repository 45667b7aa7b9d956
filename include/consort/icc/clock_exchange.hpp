// SPDX-License-Identifier: Apache-2.0
//
// ClockExchange: one processor learns how another's clock stands to its own (Cristian 1989).
//
// The asker writes a question's number, the reference answers it with what its clock reads then. The asker's
// clock was between its two readings around that: at `own`, within half of `round_trip`. Of several questions
// the quickest answer says most. Neither side trusts the other's clock to run as fast: who asks again later
// sees how far the two have drifted.
//
// Both words of a time are written before the answer's number, and read after it. One asker and one reference
// an exchange; each line has one writer.
#pragma once

#include <cstdint>

#include "consort/icc/access.hpp"
#include "consort/icc/wire.hpp"
#include "consort/port.hpp"

namespace consort {

// When the reference's clock read `theirs`, the asker's was at `own`, within (round_trip + 1) / 2 of it. Each
// in the ticks of the clock that it is of; round_trip in the asker's.
struct ClockReading {
    Ticks own = 0;
    Ticks theirs = 0;
    Ticks round_trip = ~Ticks{0};
};

template <class A>
struct ClockExchange {
    struct Shared {
        struct alignas(line_bytes) AskerLine {
            typename A::Word asks;
            // How often it has come to its end: it asks no more until the reference knows.
            typename A::Word done;
        } asker;
        struct alignas(line_bytes) ReferenceLine {
            typename A::Word answers;
            typename A::Word time_low;
            typename A::Word time_high;
        } reference;
    };

    class Asker {
      public:
        explicit Asker(Shared& shared) noexcept
            : shared_(&shared), asked_(A::template load<SyncPoint::own>(shared.asker.asks)) {}

        // Asks once and waits: `wait` is called until the answer is there. False: it has answered false.
        template <class Wait>
        [[nodiscard]] bool ask(Ticks& answer, Wait wait) noexcept {
            A::template store<SyncPoint::clock_ask>(shared_->asker.asks, ++asked_);
            while (A::template load<SyncPoint::clock_take>(shared_->reference.answers) != asked_) {
                if (!wait()) {
                    return false;
                }
            }
            answer = A::template load<SyncPoint::own>(shared_->reference.time_low) |
                     Ticks{A::template load<SyncPoint::own>(shared_->reference.time_high)} << 32U;
            return true;
        }
        // The best of `rounds` answers. `own` reads this side's clock.
        template <class Clock, class Wait>
        [[nodiscard]] bool read(ClockReading& best, std::uint32_t rounds, Clock own, Wait wait) noexcept {
            best = {};
            for (std::uint32_t n = 0; n < rounds; ++n) {
                const Ticks asked = own();
                Ticks theirs = 0;
                if (!ask(theirs, wait)) {
                    return false;
                }
                const Ticks took = own() - asked;
                if (took < best.round_trip) {
                    best = {asked + took / 2, theirs, took};
                }
            }
            return true;
        }
        void done() noexcept {
            A::template store<SyncPoint::clock_ask>(
                shared_->asker.done, A::template load<SyncPoint::own>(shared_->asker.done) + 1);
        }

      private:
        Shared* shared_;
        std::uint32_t asked_;
    };

    class Reference {
      public:
        explicit Reference(Shared& shared) noexcept
            : shared_(&shared), answered_(A::template load<SyncPoint::own>(shared.reference.answers)) {}

        // True if a question waits. Whoever looks at done() afterwards knows which end it was asked before.
        [[nodiscard]] bool asked() noexcept {
            asks_ = A::template load<SyncPoint::clock_hear>(shared_->asker.asks);
            return asks_ != answered_;
        }
        // The question that asked() has found; `time` was read after that.
        void answer(Ticks time) noexcept {
            A::template store<SyncPoint::own>(shared_->reference.time_low, static_cast<std::uint32_t>(time));
            A::template store<SyncPoint::own>(shared_->reference.time_high,
                                              static_cast<std::uint32_t>(time >> 32U));
            A::template store<SyncPoint::clock_answer>(shared_->reference.answers, asks_);
            answered_ = asks_;
        }
        // How often the asker has come to its end.
        [[nodiscard]] std::uint32_t done() const noexcept {
            return A::template load<SyncPoint::clock_hear>(shared_->asker.done);
        }

      private:
        Shared* shared_;
        std::uint32_t answered_;
        std::uint32_t asks_ = 0;
    };
};

}  // namespace consort
