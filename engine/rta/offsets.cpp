// SPDX-License-Identifier: Apache-2.0
#include "rta/offsets.hpp"

#include <algorithm>

namespace consort::engine {

namespace {

// A busy window that begins at 0, of task i and of those that run before it.
class OffsetWindow {
  public:
    OffsetWindow(const TaskSet& set, const Time* offsets, std::size_t i, const Search& search,
                 const Blocking& blocking, Time& steps)
        : set_(set), search_(search), blocking_(blocking), steps_(steps) {
        for (std::size_t k = 0; k < set.n; ++k) {
            if (set.interferes(k, i)) {
                others_.push_back({k, offsets[k], 0, set.t[k], set.c[k], set.jitter(k)});
            }
        }
        own_ = {i, offsets[i], 0, set.t[i], set.c[i], set.jitter(i)};
    }

    // The window begins at that moment of the common clock, which is none before that of the last call.
    void place(Time begin) {
        for (Other& each : others_) {
            move(each, begin);
        }
        move(own_, begin);
        last_ = begin;
        least_ = 0;
    }

    // Jobs of the task under analysis are due at due(0), due(1), …
    [[nodiscard]] Time due(Time q) const { return add(own_.first, mul(q, own_.t)); }

    // True if the window with that many jobs of the task under analysis goes on beyond `moment`.
    [[nodiscard]] bool reaches(Time moment, Time own) {
        Time length = search_.preemptive ? std::max<Time>(least_, 1) : 1;
        while (steps_-- > 0) {
            const Time next = search_.supply.time_for(work(own, length, false));
            if (next > moment) {
                least_ = std::max(least_, next);
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
    [[nodiscard]] Finish finish(Time q) {
        const Time c = own_.c;
        if (search_.preemptive) {
            least_ = fixed_point(mul(q + 1, c), false, false);
            return {least_, least_};
        }
        const bool closed = !blocking_.open;
        least_ = fixed_point(mul(q, c), closed, true);
        return {search_.supply.time_for(add(work(mul(q, c), least_, closed), c)), least_};
    }

    // The jobs of each other task that come in the window's first `length`, at its very end too where it is
    // closed.
    void count(Time length, bool closed, std::vector<Time>& counts) const {
        for (const Other& each : others_) {
            counts[each.task] = jobs(each, length, closed);
        }
    }

  private:
    struct Other {
        std::size_t task;
        Time offset;
        Time first;  // when its first job is due that can come in the window: at least -late
        Time t;
        Time c;
        Time late;
    };

    void move(Other& each, Time begin) const {
        if (last_ < 0 || each.offset == no_offset) {
            each.first = first_due(set_, each.task, each.offset, begin);
            return;
        }
        each.first -= begin - last_;
        if (each.first < -each.late) {
            each.first += ceil_div(-each.late - each.first, each.t) * each.t;
        }
    }

    [[nodiscard]] static Time jobs(const Other& each, Time length, bool closed) {
        const Time span = add(length, -each.first) + (closed ? 1 : 0);
        return span > 0 ? ceil_div(span, each.t) : 0;
    }

    [[nodiscard]] Time work(Time own, Time length, bool closed) const {
        Time sum = add(blocking_.length, own);
        for (const Other& each : others_) {
            sum = add(sum, mul(jobs(each, length, closed), each.c));
        }
        return sum;
    }

    [[nodiscard]] Time fixed_point(Time own, bool closed, bool begins) const {
        Time length = std::max<Time>(least_, closed ? 0 : 1);
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
    const Search& search_;
    const Blocking& blocking_;
    Time& steps_;
    std::vector<Other> others_;
    Other own_{};
    Time last_ = -1;
    Time least_ = 0;  // no moment that is asked for next is earlier
};

}  // namespace

Time longest_window(const TaskSet& set, const std::vector<bool>& counted, Time blocking,
                    const Search& search) {
    Time length = add(blocking, 1);
    // At a load next to 1 they do not help, however many are taken.
    constexpr Time most_steps = 1'000;
    for (Time step = 0; step < std::min(search.steps, most_steps); ++step) {
        Time next = blocking;
        for (std::size_t k = 0; k < set.n; ++k) {
            if (counted[k]) {
                next = add(next, mul(jobs_in(set, k, length, false), set.c[k]));
            }
        }
        next = search.supply.time_for(next);
        if (next <= length) {
            return next;
        }
        length = next;
    }
    return INT64_MAX / 2;  // sums with it stay within 63 bits
}

Time first_due(const TaskSet& set, std::size_t k, Time offset, Time begin) {
    const Time late = set.jitter(k);
    Time ahead = 0;
    if (offset != no_offset) {
        ahead = (offset % set.t[k] + late % set.t[k] - begin % set.t[k]) % set.t[k];
        ahead += ahead < 0 ? set.t[k] : 0;
    }
    return ahead - late;
}

namespace {

// The common period of the counted tasks; none if they begin more than `most` windows in it.
std::optional<Time> common_period(const TaskSet& set, const std::vector<bool>& counted, Time most) {
    const auto clock = hyperperiod(set, [&](std::size_t k) { return counted[k]; });
    Time windows = 0;
    for (std::size_t k = 0; clock && k < set.n; ++k) {
        windows = counted[k] ? add(windows, *clock / set.t[k]) : windows;
    }
    return clock && windows <= most ? clock : std::nullopt;
}

void in_order(std::vector<Time>& moments) {
    std::sort(moments.begin(), moments.end());
    moments.erase(std::unique(moments.begin(), moments.end()), moments.end());
}

Time latest(const TaskSet& set, const Time* offsets, std::size_t k) {
    return add(offsets[k], set.jitter(k));
}

// The window beginnings from which it is at most `reach` until a job of task i comes at the latest: less than
// its period.
WindowBegins begins_near(const TaskSet& set, const Time* offsets, const std::vector<bool>& counted,
                         std::size_t i, Time reach, Time clock) {
    WindowBegins found{{}, clock};
    for (Time q = 0; q < clock / set.t[i]; ++q) {
        const Time comes = add(latest(set, offsets, i), mul(q, set.t[i]));
        const Time from = add(comes, -reach);
        for (std::size_t k = 0; k < set.n; ++k) {
            if (!counted[k]) {
                continue;
            }
            Time ahead = add(latest(set, offsets, k), -from) % set.t[k];
            ahead += ahead < 0 ? set.t[k] : 0;
            for (Time moment = add(from, ahead); moment <= comes; moment = add(moment, set.t[k])) {
                found.moments.push_back((moment % clock + clock) % clock);
            }
        }
    }
    in_order(found.moments);
    return found;
}

}  // namespace

std::optional<WindowBegins> window_begins(const TaskSet& set, const Time* offsets,
                                          const std::vector<bool>& counted, Time most) {
    const auto clock = common_period(set, counted, most);
    if (!clock) {
        return std::nullopt;
    }
    WindowBegins found{{}, *clock};
    for (std::size_t k = 0; k < set.n; ++k) {
        for (Time m = 0; counted[k] && m < *clock / set.t[k]; ++m) {
            found.moments.push_back(add(latest(set, offsets, k), mul(m, set.t[k])) % *clock);
        }
    }
    in_order(found.moments);
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
    const auto clock = common_period(set, counted, search.most_windows);
    if (!clock) {
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
    OffsetWindow window(set, offsets, i, search.search, blocking, steps);
    std::vector<bool> others(set.n);
    for (std::size_t k = 0; k < set.n; ++k) {
        others[k] = set.interferes(k, i);
    }
    // Once the others are done a window is over, and a first job that comes later is in none that began so
    // early.
    const Time reach =
        std::max<Time>(add(longest_window(set, others, blocking.length, search.search), -1), 0);
    const Time late = set.jitter(i);
    WindowBegins begins = offsets[i] == no_offset || reach >= set.t[i] - late
                              ? *window_begins(set, offsets, counted, search.most_windows)
                              : begins_near(set, offsets, counted, i, add(reach, late), *clock);
    // No job of a window responds later than it ends, if that is known.
    others[i] = true;
    const Time most = search.search.preemptive ? longest_window(set, others, blocking.length, search.search)
                                               : INT64_MAX / 2;
    // The worst job of the window that begins there; false: out of steps.
    const auto look = [&](Time begin) {
        window.place(begin);
        if (add(most, -window.due(0)) <= result.bound) {
            return true;
        }
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
                window.count(finish.window, closed, result.jobs);
            }
        }
        return true;
    };
    result.jobs.assign(set.n, 0);
    if (begins.moments.empty()) {
        // Without a task whose moments are known every window is the same.
        begins.moments.push_back(0);
    }
    const bool complete = std::all_of(begins.moments.begin(), begins.moments.end(), look);
    if (!complete) {
        result.verdict = Verdict::too_long;
    }
    return result;
}

}  // namespace consort::engine
