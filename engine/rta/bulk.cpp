// SPDX-License-Identifier: Apache-2.0
#include "rta/bulk.hpp"

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "rta/edf.hpp"
#include "rta/fixed_priority.hpp"
#include "rta/lanes.hpp"

namespace consort::engine {

namespace {

// True if no sum of the plain paths can leave 63 bits, and they apply: deadlines within the periods, so that
// the first job is the worst. Every window that they look at is at most the longest deadline.
bool plain(const TaskSet& set) {
    Time longest = 0;
    Time longest_period = 0;
    Time shortest = INT64_MAX;
    Time most = 0;
    Time blocking = 0;
    Time jitter = 0;
    bool constrained = true;
    for (std::size_t i = 0; i < set.n; ++i) {
        constrained &= set.d[i] <= set.t[i];
        longest = std::max(longest, set.d[i]);
        longest_period = std::max(longest_period, set.t[i]);
        shortest = std::min(shortest, set.t[i]);
        most = std::max(most, set.c[i]);
        jitter = std::max(jitter, set.jitter(i));
        blocking = std::max(blocking, set.blocking(i));
    }
    constexpr Time limit = Time{1} << 60U;
    if (!constrained || std::max({longest_period, most, jitter, blocking}) >= limit) {
        return false;
    }
    Time sum = (longest + jitter) / shortest + 1;
    return !__builtin_mul_overflow(sum, Time(set.n), &sum) && !__builtin_mul_overflow(sum, most, &sum) &&
           sum < limit;
}

// With blocking, whose windows are not ordered by priority: each for itself.
template <class Visit>
void plain_rows_with_blocking(const TaskSet& set, Visit visit) {
    for (std::size_t i = 0; i < set.n; ++i) {
        const Time own = set.c[i] + set.blocking(i);
        const Time stop = set.d[i] - set.jitter(i);
        Time window = own;
        Time before = -1;
        while (window != before && window <= stop) {
            before = window;
            window = own;
            for (std::size_t k = 0; k < i; ++k) {
                window += ((before + set.jitter(k) - 1) / set.t[k] + 1) * set.c[k];
            }
        }
        if (!visit(i, window > stop ? -1 : window + set.jitter(i))) {
            return;
        }
    }
}

// The count of a more urgent task: its jobs counted so far, and up to which window that is all of them.
struct Counted {
    Time jobs;
    Time until;
};

// Without blocking a task's window holds that of the task before it. So the jobs counted there still count:
// only where the window outgrows a task's last count is anything computed.
template <class Visit>
void plain_rows(const TaskSet& set, std::vector<Counted>& counted, Visit visit) {
    counted.clear();
    Time interference = 0;
    for (std::size_t i = 0; i < set.n; ++i) {
        const Time stop = set.d[i] - set.jitter(i);
        Time window = interference + set.c[i];
        for (bool grown = true; grown && window <= stop;) {
            grown = false;
            for (std::size_t k = 0; k < i; ++k) {
                if (window > counted[k].until) {
                    const Time jobs = (window + set.jitter(k) - 1) / set.t[k] + 1;
                    interference += (jobs - counted[k].jobs) * set.c[k];
                    counted[k] = {jobs, jobs * set.t[k] - set.jitter(k)};
                    window = interference + set.c[i];
                    grown = true;
                    if (window > stop) {
                        break;
                    }
                }
            }
        }
        counted.push_back({0, -set.jitter(i)});
        if (!visit(i, window > stop ? -1 : window + set.jitter(i))) {
            return;
        }
    }
}

template <class Visit>
void each_response(const TaskSet& set, bool preemptive, std::vector<Counted>& counted, Visit visit) {
    if (preemptive && plain(set)) {
        if (set.b == nullptr) {
            plain_rows(set, counted, visit);
        } else {
            plain_rows_with_blocking(set, visit);
        }
        return;
    }
    for (std::size_t i = 0; i < set.n; ++i) {
        const Response response =
            fixed_priority_response(set, i, {.preemptive = preemptive, .limit = set.d[i]});
        if (!visit(i, response.verdict == Verdict::bounded ? response.bound : -1)) {
            return;
        }
    }
}

void check_row(const TaskSet& set, std::size_t s) {
    try {
        check(set);
    } catch (const std::invalid_argument& error) {
        throw std::invalid_argument("set " + std::to_string(s) + ", " + error.what());
    }
}

}  // namespace

void responses(std::size_t sets, const TaskSet& first, bool preemptive, Time* out) {
    std::vector<Counted> counted;
    for (std::size_t s = 0; s < sets; ++s) {
        const TaskSet set = first.after(s);
        check_row(set, s);
        Time* row = out + s * first.n;
        each_response(set, preemptive, counted, [&](std::size_t i, Time response) {
            row[i] = response;
            return true;
        });
    }
}

void schedulable(std::size_t sets, const TaskSet& first, bool preemptive, const VectorUnit* unit, bool* out) {
    std::vector<Counted> counted;
    std::optional<Lanes> lanes;
    if (unit != nullptr && preemptive && first.j == nullptr && first.b == nullptr) {
        lanes.emplace(first.n, *unit);
    }
    for (std::size_t s = 0; s < sets; ++s) {
        if (lanes && s % Lanes::width == 0 && s + Lanes::width <= sets &&
            lanes->schedulable(first.after(s), out + s)) {
            s += Lanes::width - 1;
            continue;
        }
        const TaskSet set = first.after(s);
        check_row(set, s);
        bool good = true;
        each_response(set, preemptive, counted, [&](std::size_t, Time response) {
            good = response >= 0;
            return good;
        });
        out[s] = good;
    }
}

void edf_schedulable(std::size_t sets, const TaskSet& first, bool preemptive, bool* out) {
    for (std::size_t s = 0; s < sets; ++s) {
        const TaskSet set = first.after(s);
        check_row(set, s);
        const Feasibility found = edf_feasible(set, {.preemptive = preemptive});
        out[s] = found.verdict == Verdict::bounded && found.feasible;
    }
}

}  // namespace consort::engine
