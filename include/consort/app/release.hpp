// SPDX-License-Identifier: Apache-2.0
//
// When the jobs of a task are released and how long they execute: one definition for the executive, in
// virtual time as on a machine, and for the simulator of the engine.
//
// Each random choice is a function of the seed, the task, the job's number and what is chosen, and of
// nothing else: a job has the same release and execution time under any policy and any placement
// (docs/explanation/simulator.md has the formula).
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "consort/app/spacing.hpp"

namespace consort::app {

// Instants and durations in ticks of whoever uses them; 0 and more but for `absent`. Signed, so that a
// response before its release would show.
using Time = std::int64_t;

inline constexpr Time never = std::numeric_limits<Time>::max();
// A time stamp of something that did not happen.
inline constexpr Time absent = -1;

// The sum of an instant and a duration, `never` where it leaves the range.
[[nodiscard]] constexpr Time after(Time instant, Time duration) noexcept {
    return instant > never - duration ? never : instant + duration;
}

// How a quantity between two limits is chosen for each job. edges: half of them the worst, a quarter the
// best, a quarter anything between.
enum class Spread : std::uint8_t { worst, uniform, edges };

// The quantity to choose; the numbers enter the formula.
enum class Choice : std::uint8_t { execution = 0, jitter = 1, gap = 2, suspension = 3, split = 4 };

// The finaliser of SplitMix64, constant added first.
[[nodiscard]] constexpr std::uint64_t mix(std::uint64_t z) noexcept {
    z += 0x9e3779b97f4a7c15U;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31U);
}

// The upper 64 bits of a product, by 32-bit halves: small processors have no 128-bit type.
[[nodiscard]] constexpr std::uint64_t upper_product_by_halves(std::uint64_t a, std::uint64_t b) noexcept {
    constexpr std::uint64_t low = 0xffffffffU;
    const std::uint64_t middle = (a >> 32U) * (b & low) + ((a & low) * (b & low) >> 32U);
    const std::uint64_t other = (a & low) * (b >> 32U) + (middle & low);
    return (a >> 32U) * (b >> 32U) + (middle >> 32U) + (other >> 32U);
}
[[nodiscard]] constexpr std::uint64_t upper_product(std::uint64_t a, std::uint64_t b) noexcept {
#if defined(__SIZEOF_INT128__)
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::uint64_t>((static_cast<Wide>(a) * b) >> 64U);
#else
    return upper_product_by_halves(a, b);
#endif
}

// The choices of one task. `task`: its place in the description.
class Draw {
  public:
    constexpr Draw() noexcept = default;
    constexpr Draw(std::uint64_t seed, std::uint64_t task) noexcept : key_(mix(mix(seed) + task)) {}

    // Between best and worst, both included; worst need not be the larger one.
    [[nodiscard]] constexpr Time operator()(Spread spread, Choice what, std::uint64_t job, Time best,
                                            Time worst) const noexcept {
        if (spread == Spread::worst || best == worst) {
            return worst;
        }
        std::uint64_t bits = mix(key_ ^ (job * 8 + static_cast<std::uint64_t>(what)));
        if (spread == Spread::edges) {
            if ((bits & 1U) != 0) {
                return worst;
            }
            if ((bits & 2U) != 0) {
                return best;
            }
            bits = mix(bits);
        }
        const Time low = best < worst ? best : worst;
        const Time high = best < worst ? worst : best;
        const std::uint64_t span = static_cast<std::uint64_t>(high - low) + 1;
        return low + static_cast<Time>(upper_product(bits, span));
    }

  private:
    std::uint64_t key_ = 0;
};

// The blocks of a channel that release a task: its one writer announces when each can be read.
class Arrivals {
  public:
    // The number of the last blocks whose instants are known.
    static constexpr std::uint32_t kept = 64;

    constexpr void announce(Time instant) noexcept {
        instants_[announced_ % kept] = instant;
        ++announced_;
    }
    [[nodiscard]] constexpr std::uint64_t announced() const noexcept { return announced_; }
    // When an announced block could be read; `absent`: it is not kept any more.
    [[nodiscard]] constexpr Time operator[](std::uint64_t block) const noexcept {
        return announced_ - block < kept ? instants_[block % kept] : absent;
    }

  private:
    Time instants_[kept]{};
    std::uint64_t announced_ = 0;
};

// The release that a block causes, under an arrival curve with jitter: due `apart` after the task's last job
// at the earliest, and no more than `jitter` before the block came; released when it is due, the block is
// there, and the task's least distances allow it. So no more jobs are released than an analysis counts with.
struct ArrivalRelease {
    Time nominal = 0;
    Time actual = 0;

    // earliest: the last job's nominal release + apart, 0 for the first one. spaced: what the distances
    // allow. arrival: `absent` if the block came too long ago to be known.
    [[nodiscard]] static constexpr ArrivalRelease of(Time arrival, Time jitter, Time earliest,
                                                     Time spaced = 0) noexcept {
        ArrivalRelease release;
        earliest = spaced - jitter > earliest ? spaced - jitter : earliest;
        release.nominal = arrival - jitter > earliest ? arrival - jitter : earliest;
        release.actual = arrival > release.nominal ? arrival : release.nominal;
        release.actual = spaced > release.actual ? spaced : release.actual;
        return release;
    }
};

// When a task is released. Periodic: offset + k * period, each up to `jitter` later. Sporadic: the same with
// up to `extra_gap` more between two releases. Given: exactly `given`, in order; the rest counts for nothing
// but the jitter. By arrivals: one job a block, at least `period` apart but for the jitter. Where a release
// would come closer to those before it than `distances` allow, it comes later, and if need be is due later.
struct ReleaseRule {
    Time period = 1;
    Time extra_gap = 0;
    Time offset = 0;
    Time jitter = 0;
    const Time* given = nullptr;
    std::size_t given_count = 0;
    // The number of its first job: not 0 where it goes on after a change of mode.
    std::uint64_t first_job = 0;
    const Arrivals* arrivals = nullptr;
    Distances distances{};
};

// What the releases of a core's tasks may be, known when it is compiled: what is left out takes no memory.
struct ReleaseForms {
    bool gaps = true;    // sporadic by a generator
    bool jitter = true;  // released later than due
    bool others = true;  // given, by blocks, spaced, or those of a task that goes on after a change of mode
};

// A member that is left out takes no memory; those of one struct have numbers.
template <int number>
struct LeftOut {
    constexpr LeftOut() noexcept = default;
    template <class... Arguments>
    constexpr explicit LeftOut(const Arguments&... /*arguments*/) noexcept {}
};
template <bool there, class Member, int number>
using IfThere = std::conditional_t<there, Member, LeftOut<number>>;

// The releases of a task, one after another. Rule: ReleaseRule; without `others` also a pointer to what has
// the members period, extra_gap, offset and jitter, and outlives this.
template <class Rule, ReleaseForms forms = ReleaseForms{}>
class ReleasesBy {
  public:
    // True if a job may be released later than it is due.
    static constexpr bool delays = forms.jitter || forms.others;
    using Number = std::conditional_t<forms.others, std::uint64_t, std::uint32_t>;

    constexpr ReleasesBy() noexcept = default;
    // `begin`: the instant that offsets count from.
    constexpr ReleasesBy(const Rule& rule, const Draw& draw, Spread spread, Time begin = 0) noexcept
        : rule_(rule), draw_(draw), spread_(spread) {
        if constexpr (forms.others) {
            job_ = rule_.first_job;
            spacing_ = Spacing(rule_.distances);
            if (rule_.arrivals != nullptr) {
                await(0);
                return;
            }
            if (rule_.given_count != 0) {
                place(rule_.given[0]);
                return;
            }
        }
        place(after(begin, of_rule().offset));
    }

    // When the job is due, and when it is released: later by its jitter, never before its predecessor.
    // `never`: the list is at its end, or its block is not there.
    [[nodiscard]] constexpr Time nominal() const noexcept { return nominal_; }
    [[nodiscard]] constexpr Time actual() const noexcept {
        if constexpr (delays) {
            return actual_;
        } else {
            return nominal_;
        }
    }
    // The event that must come before the end of a run for the run to have the job: its due instant, or its
    // block.
    [[nodiscard]] constexpr Time cause() const noexcept {
        if constexpr (forms.others) {
            return cause_;
        } else {
            return nominal_;
        }
    }
    // By how much its block came before it may be released, as far as that is known.
    [[nodiscard]] constexpr Time early() const noexcept requires(forms.others) {
        return rule_.arrivals != nullptr && cause_ != absent ? actual_ - cause_ : 0;
    }
    // Its number, from 0.
    [[nodiscard]] constexpr Number job() const noexcept { return job_; }

    // For a task released by arrivals, after next() and after announcements. True: the next job's block is
    // there since then.
    constexpr bool look() noexcept requires(forms.others) {
        if (nominal_ != never || rule_.arrivals->announced() <= job_) {
            return false;
        }
        const Time arrival = (*rule_.arrivals)[job_];
        const ArrivalRelease release =
            ArrivalRelease::of(arrival, rule_.jitter, earliest_, spacing_.earliest());
        nominal_ = release.nominal;
        actual_ = release.actual;
        cause_ = arrival;
        spacing_.released(actual_);
        return true;
    }

    constexpr void next() noexcept {
        ++job_;
        if constexpr (forms.others) {
            if (rule_.arrivals != nullptr) {
                await(after(nominal_, rule_.period));
                return;
            }
            if (rule_.given_count != 0) {
                place(job_ < rule_.given_count ? rule_.given[job_] : never);
                return;
            }
        }
        Time gap = of_rule().period;
        if constexpr (forms.gaps) {
            if (of_rule().extra_gap != 0) {
                gap = after(gap, draw_(spread_, Choice::gap, job_, of_rule().extra_gap, 0));
            }
        }
        place(after(nominal_, gap));
    }

  private:
    static constexpr bool draws = forms.gaps || forms.jitter;

    [[nodiscard]] constexpr const auto& of_rule() const noexcept {
        if constexpr (std::is_pointer_v<Rule>) {
            return *rule_;
        } else {
            return rule_;
        }
    }
    constexpr void await(Time earliest) noexcept requires(forms.others) {
        earliest_ = earliest;
        nominal_ = actual_ = cause_ = never;
    }

    constexpr void place(Time nominal) noexcept {
        Time earliest = 0;
        [[maybe_unused]] bool spaced = false;
        if constexpr (forms.others) {
            spaced = rule_.distances.count != 0 && rule_.given_count == 0 && nominal != never;
            earliest = spaced ? spacing_.earliest() : 0;
            // It comes at most its jitter late.
            nominal = earliest - rule_.jitter > nominal ? earliest - rule_.jitter : nominal;
            cause_ = nominal;
        }
        nominal_ = nominal;
        if constexpr (delays) {
            Time actual = nominal;
            if (of_rule().jitter != 0 && nominal != never) {
                actual = after(nominal, draw_(spread_, Choice::jitter, job_, 0, of_rule().jitter));
                actual = actual < actual_ ? actual_ : actual;
            }
            actual_ = actual < earliest ? earliest : actual;
        }
        if constexpr (forms.others) {
            if (spaced) {
                spacing_.released(actual_);
            }
        }
    }

    Rule rule_{};
    Number job_ = 0;
    Time nominal_ = 0;
    [[no_unique_address]] IfThere<delays, Time, 0> actual_{};
    [[no_unique_address]] IfThere<draws, Draw, 1> draw_{};
    [[no_unique_address]] IfThere<draws, Spread, 2> spread_{};
    [[no_unique_address]] IfThere<forms.others, Time, 3> cause_{};
    [[no_unique_address]] IfThere<forms.others, Time, 4> earliest_{};  // of a block's job
    [[no_unique_address]] IfThere<forms.others, Spacing, 5> spacing_{};
};

using Releases = ReleasesBy<ReleaseRule>;

// How long a job executes: between best and worst, or, where given, these in turn.
struct ExecutionRule {
    Time best = 1;
    Time worst = 1;
    const Time* given = nullptr;
    std::size_t given_count = 0;

    [[nodiscard]] constexpr Time of(const Draw& draw, Spread spread, std::uint64_t job) const noexcept {
        return given_count != 0 ? given[job % given_count]
                                : draw(spread, Choice::execution, job, best, worst);
    }
};

// After this instant a job is not begun any more, where its task skips releases that it cannot serve: the
// next job is due, and this one has missed its deadline.
[[nodiscard]] constexpr Time begin_limit(Time release, Time period, Time deadline) noexcept {
    return after(release, period < deadline ? deadline : period);
}

}  // namespace consort::app
