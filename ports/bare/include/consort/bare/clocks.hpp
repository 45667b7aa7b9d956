// SPDX-License-Identifier: Apache-2.0
//
// The clocks of a run's cores: the first core that releases tasks is the reference, and the others learn how
// its clock stands to theirs, so that all count from one instant. At the end they ask again: how far the
// clocks have drifted. The host states both (python/consort/board/control_block.py).
#pragma once

#include <cstdint>

#include "consort/bare/control_block.hpp"
#include "consort/bare/offload.hpp"
#include "consort/icc/clock_exchange.hpp"

namespace consort::bare {

// Times in nanoseconds of the core's own clock.
class CoreClocks {
    // Until an answer is there, or the host has ended the run.
    struct Waiting {
        const ControlBlock& block;
        bool operator()() const noexcept {
            ThisPort::relax();
            return !block.stop_requested();
        }
    };

  public:
    using Exchange = ClockExchange<Access>;
    static_assert(sizeof(Exchange::Shared) == 128, "python/consort/board/control_block.py reserves as much");
    // The quickest of so many answers counts.
    static constexpr std::uint32_t rounds = 16;

    // `memory`: an Exchange::Shared for each core of the plan, zero before the run. `masters`: the cores that
    // release tasks, a bit for each one's number; `core`: this one's.
    CoreClocks(void* memory, std::uint32_t masters, std::uint32_t core, const ControlBlock& block) noexcept
        : exchanges_(static_cast<Exchange::Shared*>(memory)), masters_(masters), core_(core), block_(block) {}

    // The instant that all cores count from, `lead` ticks after all have set their clocks, in this core's
    // ticks. False: the host has ended the run.
    [[nodiscard, gnu::cold]] bool begin(Ticks lead, Ticks& start) noexcept {
        if (is_reference()) {
            if (!answer_until(1, [] { return now(); })) {
                return false;
            }
            const Ticks begins = now() + lead * ns_per_tick();
            start = begins / ns_per_tick();
            return answer_until(2, [begins] { return begins; });
        }
        Exchange::Asker asker(exchanges_[core_]);
        Ticks begins = 0;
        if (!asker.read(
                at_begin_, rounds, [] { return now(); }, Waiting{block_})) {
            return false;
        }
        asker.done();
        // Answered once all have come so far.
        if (!asker.ask(begins, Waiting{block_})) {
            return false;
        }
        asker.done();
        start = (at_begin_.own + (begins - at_begin_.theirs)) / ns_per_tick();
        return true;
    }

    // After the last job: asks again. Results of a core that is not the reference: 5 how exactly its clock
    // was set, 6 by how much it has gained on the reference's by now, 7 how exactly that is known [ns].
    // False: the host has ended the run.
    [[nodiscard, gnu::cold]] bool end() noexcept {
        if (is_reference()) {
            return answer_until(3, [] { return now(); });
        }
        Exchange::Asker asker(exchanges_[core_]);
        ClockReading at_end;
        const bool answered = asker.read(
            at_end, rounds, [] { return now(); }, Waiting{block_});
        asker.done();
        const Ticks gained = (at_end.own - at_end.theirs) - (at_begin_.own - at_begin_.theirs);
        block_.result(5, half(at_begin_));
        block_.result(6, static_cast<std::uint32_t>(gained));
        block_.result(7, half(at_begin_) + half(at_end));
        return answered;
    }

  private:
    static Ticks ns_per_tick() noexcept { return 1'000'000'000U / ThisPort::ticks_per_second(); }
    static Ticks now() noexcept { return ThisPort::now() * ns_per_tick(); }
    static std::uint32_t half(const ClockReading& reading) noexcept {
        return static_cast<std::uint32_t>((reading.round_trip + 1) / 2 + ns_per_tick());
    }
    [[nodiscard]] bool is_reference() const noexcept {
        return (masters_ & (1U << core_)) == (masters_ & -masters_);
    }
    // Answers all others until each has come to its end so often.
    template <class Clock>
    [[nodiscard]] bool answer_until(std::uint32_t ends, Clock clock) noexcept {
        for (bool all = false; !all;) {
            all = true;
            for (std::uint32_t core = core_ + 1; masters_ >> core != 0; ++core) {
                if ((masters_ >> core & 1U) != 0) {
                    Exchange::Reference reference(exchanges_[core]);
                    // In this order: what is asked after an end has another answer.
                    const bool asked = reference.asked();
                    if (reference.done() < ends) {
                        all = false;
                        if (asked) {
                            reference.answer(clock());
                        }
                    }
                }
            }
            if (block_.stop_requested()) {
                return false;
            }
            ThisPort::relax();
        }
        return true;
    }

    Exchange::Shared* exchanges_;
    std::uint32_t masters_;
    std::uint32_t core_;
    ControlBlock block_;
    ClockReading at_begin_{};
};

}  // namespace consort::bare
