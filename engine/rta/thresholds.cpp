// SPDX-License-Identifier: Apache-2.0
#include "rta/thresholds.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "rta/window.hpp"

namespace consort::engine {

namespace {

Blocking blocking_of(const Thresholds& th, std::size_t i) {
    Blocking found{th.set.blocking(i), false};
    for (std::size_t k = 0; k < th.set.n; ++k) {
        if (th.keeps_waiting(k, i) && th.set.c[k] > found.length) {
            found = {th.set.c[k], true};
        }
    }
    return found;
}

// The work until a job that began after `start` ends at `finish`: its own part and jobs before it, of the
// other tasks the jobs that came before it began, and of those that preempt it the jobs that come until it
// ends.
Time work_until(const Thresholds& th, std::size_t i, Time own, Time start, Time finish, bool closed) {
    Time sum = own;
    for (std::size_t k = 0; k < th.set.n; ++k) {
        if (th.set.interferes(k, i)) {
            const Time jobs =
                th.preempts(k, i) ? jobs_in(th.set, k, finish, false) : jobs_in(th.set, k, start, closed);
            sum = add(sum, mul(jobs, th.set.c[k]));
        }
    }
    return sum;
}

}  // namespace

void check(const Thresholds& th) {
    for (std::size_t k = 0; k < th.set.n; ++k) {
        if (k > 0 && th.level(k) == th.level(k - 1)) {
            throw std::invalid_argument("task " + std::to_string(k) +
                                        ": with thresholds each task has a level of its own");
        }
        if (th.threshold[k] > th.level(k)) {
            throw std::invalid_argument("task " + std::to_string(k) + ": threshold is " +
                                        std::to_string(th.threshold[k]) +
                                        "; it must be at most its level: as urgent, or more");
        }
    }
}

Time jobs_until(const Thresholds& th, std::size_t k, std::size_t i, const ThresholdResponse& found) {
    if (!th.set.interferes(k, i)) {
        return 0;
    }
    return th.preempts(k, i) ? jobs_in(th.set, k, found.finish, false)
                             : jobs_in(th.set, k, found.response.window, !found.response.open);
}

ThresholdResponse threshold_response(const Thresholds& th, std::size_t i, const Search& search) {
    const TaskSet& set = th.set;
    ThresholdResponse result;
    Response& found = result.response;
    const auto counts = [&](std::size_t k) { return k == i || set.interferes(k, i); };
    const Load used = load_under(set, counts, search.supply);
    if (used == Load::above_one) {
        found.verdict = Verdict::overload;
        return result;
    }
    const auto [blocking, open] = blocking_of(th, i);
    found.blocking = blocking;
    found.open = open;
    bool all_preempt = true;
    for (std::size_t k = 0; k < set.n; ++k) {
        all_preempt = all_preempt && (!set.interferes(k, i) || th.preempts(k, i));
    }

    Budget budget{search.steps};
    // At a load of at most 1 job q + H/t responds no later than job q, for H the common period.
    Time last = INT64_MAX;
    if (const auto common = hyperperiod(set, counts); common && search.supply.whole()) {
        last = *common / set.t[i];
    }
    if (used == Load::below_one) {
        const auto jobs = jobs_in_busy_window(set, i, blocking, search.supply, budget);
        if (!jobs) {
            found.verdict = Verdict::too_long;
            return result;
        }
        last = std::min(last, *jobs);
    }

    const Time c = set.c[i];
    const Time jitter = set.jitter(i);
    const Window begin{set, i, !open, search.supply, true};
    Time from = blocking;
    for (Time q = 0; q < last; ++q) {
        const Time earlier = set.due(i, q);
        const Time before = add(blocking, mul(q, c));
        Time stop = INT64_MAX;
        if (search.limit) {
            // A negative difference ends the search at once, as it should.
            stop = add(*search.limit, earlier) - jitter;
        }
        bool exhausted = false;
        const auto start = begin.fixed_point(before, std::max(from, before), stop, budget, exhausted);
        std::optional<Time> finish;
        if (start) {
            const auto done = [&](Time length) {
                return search.supply.time_for(work_until(th, i, add(before, c), *start, length, !open));
            };
            const Time least = search.supply.time_for(add(begin.demand(before, *start), c));
            finish = fixed_point(least, stop, budget, exhausted, done);
        }
        if (!finish) {
            found.verdict = exhausted ? Verdict::too_long : Verdict::beyond;
            return result;
        }
        const Time response = add(*finish, jitter) - earlier;
        if (response > found.bound) {
            found.bound = response;
            found.job = q;
            found.due = earlier;
            found.window = *start;
            result.finish = *finish;
        }
        // All of what is more urgent preempts it, so that nothing is pending when it ends before the next
        // comes.
        if (all_preempt && *finish <= set.comes(i, q + 1)) {
            break;
        }
        from = add(*start, c);
    }
    return result;
}

}  // namespace consort::engine
