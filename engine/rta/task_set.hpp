// SPDX-License-Identifier: Apache-2.0
//
// The tasks of one core as the analyses see them, and what all analyses ask of them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "rta/distances.hpp"
#include "time.hpp"

namespace consort::engine {

// Views into arrays of the caller. Task 0 is the most urgent one where priorities matter.
struct TaskSet {
    std::size_t n = 0;
    const Time* c = nullptr;  // execution, >= 1
    const Time* t = nullptr;  // period or least inter-arrival time, >= 1
    const Time* d = nullptr;  // relative deadline, >= 1; may exceed t; read by EDF and by verdicts only
    const Time* j = nullptr;  // release jitter, >= 0; null: none
    const Time* b = nullptr;  // blocking by whatever is not a task of this set, >= 0; null: none
    // Not descending; tasks of one level may be served in any order among themselves. Null: task i has level
    // i.
    const Time* level = nullptr;
    // Where its releases have least distances beside t and j; null, or null for a task: none.
    const Distances* const* distances = nullptr;

    // Where many sets of one size lie one after another: the one that is so many after this one.
    [[nodiscard]] TaskSet after(std::size_t sets) const {
        const auto at = [&](const Time* field) { return field == nullptr ? nullptr : field + sets * n; };
        return {n, at(c), at(t), at(d), at(j), at(b)};
    }
    [[nodiscard]] const Distances* spaced(std::size_t i) const {
        return distances == nullptr ? nullptr : distances[i];
    }
    // When a job is due, and when it comes, at the earliest, if the one so many jobs before it was due, or
    // came, at 0.
    [[nodiscard]] Time due(std::size_t i, Time steps) const {
        const Time by_period = mul(steps, t[i]);
        return spaced(i) == nullptr ? by_period : std::max(by_period, spaced(i)->of(steps));
    }
    [[nodiscard]] Time comes(std::size_t i, Time steps) const {
        const Time by_period = add(mul(steps, t[i]), -jitter(i));
        return spaced(i) == nullptr ? by_period : std::max(by_period, spaced(i)->between(steps));
    }
    // The execution in the long run: at most so much in so long.
    [[nodiscard]] std::pair<Time, Time> rate(std::size_t i) const {
        const Distances* const s = spaced(i);
        if (s == nullptr || static_cast<__int128>(s->releases()) * t[i] >= static_cast<__int128>(s->in())) {
            return {c[i], t[i]};
        }
        return {mul(c[i], s->releases()), s->in()};
    }
    [[nodiscard]] Time jitter(std::size_t i) const { return j == nullptr ? 0 : j[i]; }
    [[nodiscard]] Time blocking(std::size_t i) const { return b == nullptr ? 0 : b[i]; }
    // True if a pending job of task k runs before, or may run before, one of task i.
    [[nodiscard]] bool interferes(std::size_t k, std::size_t i) const {
        return k != i && (level == nullptr ? k < i : level[k] <= level[i]);
    }
    [[nodiscard]] bool lower(std::size_t k, std::size_t i) const { return k != i && !interferes(k, i); }
};

// Throws std::invalid_argument with the index and field of the first value out of range.
void check(const TaskSet& set, Time least_execution = 1);

enum class Load { below_one, one, above_one, undecided };

// The sum of c/t over the tasks for which `counts` holds, and of more_c/more_t, against 1. Exact except for
// `undecided`: a sum within n * 2^-60 of 1 whose common period leaves 126 bits.
template <class Counts>
[[nodiscard]] Load load(const TaskSet& set, Counts counts, Time more_c = 0, Time more_t = 1);

// The common period of those tasks, if it fits, and if they have one: none with least distances has.
template <class Counts>
[[nodiscard]] std::optional<Time> hyperperiod(const TaskSet& set, Counts counts);

namespace detail {

__extension__ using Wide = unsigned __int128;

[[nodiscard]] std::optional<Wide> wide_lcm(Wide a, Wide b);

}  // namespace detail

template <class Counts>
Load load(const TaskSet& set, Counts counts, Time more_c, Time more_t) {
    using detail::Wide;
    constexpr Wide one = Wide{1} << 60U;
    Wide floor_sum = (Wide(more_c) << 60U) / Wide(more_t);
    Wide counted = more_c != 0 ? 1 : 0;
    for (std::size_t i = 0; i < set.n; ++i) {
        if (counts(i)) {
            const auto [work, span] = set.rate(i);
            floor_sum += (Wide(work) << 60U) / Wide(span);
            ++counted;
        }
    }
    if (floor_sum > one) {
        return Load::above_one;
    }
    if (floor_sum + counted < one) {
        return Load::below_one;
    }
    Wide common = Wide(more_t);
    for (std::size_t i = 0; i < set.n; ++i) {
        if (counts(i)) {
            const auto next = detail::wide_lcm(common, Wide(set.rate(i).second));
            if (!next) {
                return Load::undecided;
            }
            common = *next;
        }
    }
    // Each term is at most common * c/t, and their sum was seen to be below common * (1 + n / 2^60).
    Wide demand = common / Wide(more_t) * Wide(more_c);
    for (std::size_t i = 0; i < set.n; ++i) {
        if (counts(i)) {
            const auto [work, span] = set.rate(i);
            demand += common / Wide(span) * Wide(work);
        }
    }
    return demand > common ? Load::above_one : demand == common ? Load::one : Load::below_one;
}

template <class Counts>
std::optional<Time> hyperperiod(const TaskSet& set, Counts counts) {
    detail::Wide common = 1;
    for (std::size_t i = 0; i < set.n; ++i) {
        if (counts(i)) {
            const auto next = detail::wide_lcm(common, detail::Wide(set.t[i]));
            if (set.spaced(i) != nullptr || !next || *next > detail::Wide(INT64_MAX)) {
                return std::nullopt;
            }
            common = *next;
        }
    }
    return Time(common);
}

}  // namespace consort::engine
