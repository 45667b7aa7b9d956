// SPDX-License-Identifier: Apache-2.0
#include "rta/offsets.hpp"

#include <algorithm>

namespace consort::engine {

namespace {

// A busy window that begins at 0, and when in it the first job of each task is due that can come in it: at
// least -jitter.
class Window {
  public:
    Window(const TaskSet& set, std::size_t i, const Search& search, const Blocking& blocking, Time& steps)
        : set_(set), i_(i), search_(search), blocking_(blocking), steps_(steps), first_(set.n, 0) {}

    // The window begins at that moment of the common clock.
    void place(const Time* offsets, Time begin) {
        for (std::size_t k = 0; k < set_.n; ++k) {
            first_[k] = first_due(set_, k, offsets[k], begin);
        }
    }

    // Jobs of the task under analysis are due at due(0), due(1), …
    [[nodiscard]] Time due(Time q) const { return add(first_[i_], mul(q, set_.t[i_])); }

    // Jobs of task k that can come in the window's first `length`, at its very end too where it is closed.
    [[nodiscard]] Time jobs(std::size_t k, Time length, bool closed) const {
        const Time span = add(length, -first_[k]) + (closed ? 1 : 0);
        return span > 0 ? ceil_div(span, set_.t[k]) : 0;
    }

    // True if the window with that many jobs of the task under analysis goes on beyond `moment`.
    [[nodiscard]] bool reaches(Time moment, Time own) const {
        Time length = 1;
        while (steps_-- > 0) {
            const Time next = search_.supply.time_for(work(own, length, false));
            if (next > moment) {
                return true;
            }
            if (next <= length) {
                return false;
            }
            length = next;
        }
        return true;
    }

    struct Finish {
        Time at;
        Time window;  // in which the others come
    };
    // When job q ends; out of steps, nothing that is used.
    [[nodiscard]] Finish finish(Time q) const {
        const Time c = set_.c[i_];
        if (search_.preemptive) {
            const Time end = fixed_point(mul(q + 1, c), false, false);
            return {end, end};
        }
        const Time start = fixed_point(mul(q, c), !blocking_.open, true);
        return {search_.supply.time_for(add(work(mul(q, c), start, !blocking_.open), c)), start};
    }

  private:
    [[nodiscard]] Time work(Time own, Time length, bool closed) const {
        Time sum = add(blocking_.length, own);
        for (std::size_t k = 0; k < set_.n; ++k) {
            if (set_.interferes(k, i_)) {
                sum = add(sum, mul(jobs(k, length, closed), set_.c[k]));
            }
        }
        return sum;
    }

    [[nodiscard]] Time fixed_point(Time own, bool closed, bool begins) const {
        Time length = closed ? 0 : 1;
        while (steps_-- > 0) {
            const Time needed = work(own, length, closed);
            const Time next =
                begins && closed ? search_.supply.time_after(needed) : search_.supply.time_for(needed);
            if (next <= length) {
                return next;
            }
            length = next;
        }
        return length;
    }

    const TaskSet& set_;
    std::size_t i_;
    const Search& search_;
    const Blocking& blocking_;
    Time& steps_;
    std::vector<Time> first_;
};

}  // namespace

Time first_due(const TaskSet& set, std::size_t k, Time offset, Time begin) {
    const Time late = set.jitter(k);
    Time ahead = 0;
    if (offset != no_offset) {
        ahead = (offset % set.t[k] + late % set.t[k] - begin % set.t[k]) % set.t[k];
        ahead += ahead < 0 ? set.t[k] : 0;
    }
    return ahead - late;
}

std::optional<WindowBegins> window_begins(const TaskSet& set, const Time* offsets,
                                          const std::vector<bool>& counted, Time most) {
    const auto counts = [&](std::size_t k) { return counted[k]; };
    const auto clock = hyperperiod(set, counts);
    Time windows = 0;
    for (std::size_t k = 0; clock && k < set.n; ++k) {
        windows = counted[k] ? add(windows, *clock / set.t[k]) : windows;
    }
    if (!clock || windows > most) {
        return std::nullopt;
    }
    WindowBegins found{{}, *clock};
    for (std::size_t k = 0; k < set.n; ++k) {
        for (Time m = 0; counted[k] && m < *clock / set.t[k]; ++m) {
            const Time latest = add(add(offsets[k], set.jitter(k)), mul(m, set.t[k]));
            found.moments.push_back(latest % *clock);
        }
    }
    std::sort(found.moments.begin(), found.moments.end());
    found.moments.erase(std::unique(found.moments.begin(), found.moments.end()), found.moments.end());
    return found;
}

OffsetResponse offset_response(const TaskSet& set, const Time* offsets, std::size_t i,
                               const OffsetSearch& search) {
    OffsetResponse result;
    const auto counts = [&](std::size_t k) { return k == i || set.interferes(k, i); };
    const auto timed = [&](std::size_t k) { return counts(k) && offsets[k] != no_offset; };
    const Load used = load_under(set, counts, search.search.supply);
    if (used == Load::above_one) {
        result.verdict = Verdict::overload;
        return result;
    }
    std::vector<bool> counted(set.n);
    for (std::size_t k = 0; k < set.n; ++k) {
        counted[k] = timed(k);
    }
    auto begins = window_begins(set, offsets, counted, search.most_windows);
    if (!begins) {
        result.verdict = Verdict::too_long;
        return result;
    }
    Time last = INT64_MAX;
    if (const auto common = hyperperiod(set, counts); common && search.search.supply.whole()) {
        last = *common / set.t[i];
    }
    const Blocking blocking = blocking_of(set, i, search.search.preemptive);
    result.blocking = blocking.length;
    Time steps = search.search.steps;
    Window window(set, i, search.search, blocking, steps);
    // The worst job of the window that begins there; false: out of steps.
    const auto look = [&](Time begin) {
        window.place(offsets, begin);
        ++result.windows;
        for (Time q = 0; q < last; ++q) {
            const Time due = window.due(q);
            if (due > 0 && !window.reaches(due, mul(q, set.c[i]))) {
                break;
            }
            const auto finish = window.finish(q);
            if (steps <= 0) {
                return false;
            }
            const Time response = add(finish.at, -due);
            if (response > result.bound) {
                result.bound = response;
                result.begin = -due;
                result.earlier = q;
                const bool closed = !search.search.preemptive && !blocking.open;
                for (std::size_t j = 0; j < set.n; ++j) {
                    result.jobs[j] = set.interferes(j, i) ? window.jobs(j, finish.window, closed) : 0;
                }
            }
        }
        return true;
    };
    result.jobs.assign(set.n, 0);
    if (begins->moments.empty()) {
        // Without a task whose moments are known every window is the same.
        begins->moments.push_back(0);
    }
    const bool complete = std::all_of(begins->moments.begin(), begins->moments.end(), look);
    if (!complete) {
        result.verdict = Verdict::too_long;
    }
    return result;
}

}  // namespace consort::engine
