// SPDX-License-Identifier: Apache-2.0
#include "rta/edf.hpp"

#include <algorithm>
#include <stdexcept>
#include <unordered_set>
#include <vector>

namespace consort::engine {

namespace {

constexpr auto all = [](std::size_t) { return true; };

// The longest stretch in which the core is never idle, or the common period if the load is 1; nothing if
// neither fits.
std::optional<Time> busy_window(const TaskSet& set, bool preemptive, Load used, const Supply& supply,
                                Time& steps) {
    if (used == Load::one || used == Load::undecided) {
        return hyperperiod(set, all);
    }
    Time blocking = 0;
    for (std::size_t k = 0; k < set.n; ++k) {
        blocking = std::max({blocking, set.blocking(k), preemptive ? 0 : set.c[k]});
    }
    Time length = add(blocking, 1);
    while (steps-- > 0) {
        Time next = blocking;
        for (std::size_t k = 0; k < set.n; ++k) {
            next = add(next, mul(jobs_in(set, k, length, false), set.c[k]));
        }
        next = supply.time_for(next);
        if (next <= length) {
            return next;
        }
        length = next;
    }
    return std::nullopt;
}

// The blocking when the window of a job with deadline `deadline` begins: by a job with a later one.
Blocking blocking_before(const TaskSet& set, std::size_t i, Time deadline, bool preemptive) {
    Time longest = 0;
    if (!preemptive) {
        for (std::size_t k = 0; k < set.n; ++k) {
            longest = k != i && set.d[k] > deadline ? std::max(longest, set.c[k]) : longest;
        }
    }
    return {std::max(longest, set.blocking(i)), longest > set.blocking(i)};
}

// The most jobs of task k of which the first comes at 0 or later and the last is due by `instant`.
Time due_by(const TaskSet& set, std::size_t k, Time instant) {
    const Time span = add(instant, set.jitter(k));
    const Time jobs = floor_div(span, set.t[k]) + 1;
    const Distances* const spaced = set.spaced(k);
    return spaced == nullptr || span < 0 ? jobs : std::min(jobs, spaced->due_within(span));
}

// Runs through the arrivals at which the response may be longest: those with a deadline that is also one of a
// job of task k that comes as early as it can.
class Candidates {
  public:
    Candidates(const TaskSet& set, std::size_t i, std::size_t k)
        : set_(set), k_(k), first_(add(set.d[k], -add(set.jitter(k), set.d[i]))) {
        const Time least = -set.jitter(i);
        if (first_ >= least) {
            return;
        }
        if (set.spaced(k) == nullptr) {
            job_ = ceil_div(least - first_, set.t[k]);
        }
        while (value() < least) {
            ++job_;
        }
    }
    [[nodiscard]] Time value() const { return add(first_, set_.due(k_, job_)); }
    void advance() { ++job_; }

  private:
    const TaskSet& set_;
    std::size_t k_;
    Time first_;
    Time job_ = 0;
};

// Tasks that come equally often in any window: one of them, and what a job of each takes together.
struct Alike {
    std::size_t first;
    Time c;
    Time due;  // how many jobs of one of them are due in time, at the arrival that is looked at
};

std::vector<Alike> alike(const TaskSet& set, std::size_t i) {
    std::vector<Alike> found;
    for (std::size_t k = 0; k < set.n; ++k) {
        if (k == i) {
            continue;
        }
        const auto same = std::find_if(found.begin(), found.end(), [&](const Alike& one) {
            const std::size_t j = one.first;
            return set.t[j] == set.t[k] && set.d[j] == set.d[k] && set.jitter(j) == set.jitter(k) &&
                   set.spaced(j) == nullptr && set.spaced(k) == nullptr;
        });
        if (same == found.end()) {
            found.push_back({k, set.c[k], 0});
        } else {
            same->c = add(same->c, set.c[k]);
        }
    }
    return found;
}

}  // namespace

Time edf_jobs_in(const TaskSet& set, std::size_t i, std::size_t k, Time arrival, Time window, bool closed) {
    if (k == i) {
        return due_by(set, k, arrival);
    }
    const Time by_deadline = due_by(set, k, add(arrival, set.d[i] - set.d[k]));
    return std::max<Time>(0, std::min(by_deadline, jobs_in(set, k, window, closed)));
}

EdfResponse edf_response(const TaskSet& set, std::size_t i, const Search& search) {
    EdfResponse result;
    if (!search.preemptive && !search.supply.whole()) {
        throw std::invalid_argument("non-preemptive EDF is analysed on a whole core only");
    }
    const Load used = load_under(set, all, search.supply);
    if (used == Load::above_one) {
        result.verdict = Verdict::overload;
        return result;
    }
    Time steps = search.steps;
    const auto longest = busy_window(set, search.preemptive, used, search.supply, steps);
    if (!longest) {
        result.verdict = Verdict::too_long;
        return result;
    }
    const Time after = search.preemptive ? 0 : set.c[i];
    // Below a load of 1 no window of a preemptive core is longer than the longest, so no response is either.
    const bool bounded = search.preemptive && used == Load::below_one;
    std::unordered_set<Time> seen;
    std::vector<Alike> others = alike(set, i);
    for (std::size_t k = 0; k < set.n; ++k) {
        for (Candidates candidate(set, i, k); candidate.value() < *longest; candidate.advance()) {
            const Time arrival = candidate.value();
            if (bounded && *longest - arrival <= result.bound) {
                break;  // it grows: none of the later ones is worse than what was found
            }
            if (!seen.insert(arrival).second) {
                continue;  // tasks of one period and deadline have the same ones
            }
            const Blocking blocked = blocking_before(set, i, add(arrival, set.d[i]), search.preemptive);
            const bool closed = !search.preemptive && !blocked.open;
            const Time mine = edf_jobs_in(set, i, i, arrival, 0, false) - (search.preemptive ? 0 : 1);
            const Time own = add(blocked.length, mul(mine, set.c[i]));
            for (Alike& one : others) {
                one.due = due_by(set, one.first, add(arrival, set.d[i] - set.d[one.first]));
            }
            Time length = own;
            while (true) {
                if (steps-- <= 0) {
                    result.verdict = Verdict::too_long;
                    return result;
                }
                Time next = own;
                for (const Alike& one : others) {
                    if (one.due > 0) {
                        next =
                            add(next, mul(std::min(one.due, jobs_in(set, one.first, length, closed)), one.c));
                    }
                }
                next = search.supply.time_for(next);
                if (next == length) {
                    break;
                }
                length = next;
            }
            const Time response = add(add(length, after), -arrival);
            if (response > result.bound) {
                result.bound = response;
                result.arrival = arrival;
                result.window = length;
                result.blocking = blocked.length;
                result.open = !search.preemptive && blocked.open;
            }
            if (search.limit && response > *search.limit) {
                result.verdict = Verdict::beyond;
                return result;
            }
        }
    }
    return result;
}

namespace {

// True if a load of at most 1 suffices under preemptive EDF: no deadline is before the period's end, and
// nothing else holds the core or delays a release (Liu & Layland 1973).
bool load_decides(const TaskSet& set) {
    for (std::size_t k = 0; k < set.n; ++k) {
        if (set.d[k] < set.t[k] || set.jitter(k) != 0 || set.blocking(k) != 0) {
            return false;
        }
    }
    return true;
}

}  // namespace

Feasibility edf_feasible(const TaskSet& set, const Search& search) {
    Feasibility result;
    const Load used = load(set, all);
    if (used == Load::above_one) {
        result.verdict = Verdict::overload;
        return result;
    }
    if (search.preemptive && used != Load::undecided && load_decides(set)) {
        result.feasible = true;
        return result;
    }
    Time steps = search.steps;
    const auto longest = busy_window(set, search.preemptive, used, {}, steps);
    if (!longest) {
        result.verdict = Verdict::too_long;
        return result;
    }
    // Due within a span of length t, at worst; the first deadlines lie at d - jitter.
    const auto jobs = [&](std::size_t k, Time t) {
        return std::max<Time>(0, floor_div(add(t, add(set.jitter(k), -set.d[k])), set.t[k]) + 1);
    };
    // The most that may hold the core when the window of a job with a deadline at t begins.
    const auto blocking = [&](Time t) {
        Time most = 0;
        std::size_t due = 0;
        std::size_t last = 0;
        for (std::size_t k = 0; k < set.n; ++k) {
            if (jobs(k, t) > 0) {
                ++due;
                last = k;
                most = std::max(most, set.blocking(k));
            }
        }
        for (std::size_t k = 0; k < set.n && !search.preemptive; ++k) {
            // A task's own later job never holds up an earlier one.
            if (set.d[k] > t && (due > 1 || k != last)) {
                most = std::max(most, set.c[k]);
            }
        }
        return most;
    };
    const auto demand = [&](Time t) {
        Time sum = 0;
        for (std::size_t k = 0; k < set.n; ++k) {
            sum = add(sum, mul(jobs(k, t), set.c[k]));
        }
        return sum;
    };
    // The latest point before t at which a deadline can lie; INT64_MIN if none does.
    const auto before = [&](Time t) {
        Time latest = INT64_MIN;
        for (std::size_t k = 0; k < set.n; ++k) {
            const Time first = set.d[k] - set.jitter(k);
            if (first < t) {
                latest = std::max(latest, first + (t - 1 - first) / set.t[k] * set.t[k]);
            }
        }
        return latest;
    };
    Time earliest = INT64_MAX;
    Time longest_deadline = 0;
    for (std::size_t k = 0; k < set.n; ++k) {
        earliest = std::min(earliest, set.d[k] - set.jitter(k));
        longest_deadline = std::max(longest_deadline, set.d[k]);
    }
    // At load 1 nothing new comes after a common period, counted from where every task has a job that is due.
    const bool full = used == Load::one || used == Load::undecided;
    Time t = before(add(add(*longest, full ? longest_deadline : 0), 1));
    while (t >= earliest && t != INT64_MIN) {
        if (steps-- <= 0) {
            result.verdict = Verdict::too_long;
            return result;
        }
        ++result.points;
        const Time due = add(demand(t), blocking(t));
        if (due > t) {
            result.span = t;
            result.demand = due;
            return result;
        }
        // Demand and given blocking only grow with the span: from `due` up to t none holds too much. What
        // non-preemptive jobs block shrinks, until it is gone at the longest deadline: below that each
        // deadline is looked at.
        if (search.preemptive) {
            t = before(due);
        } else {
            t = t > longest_deadline ? before(std::max(due, longest_deadline)) : before(t);
        }
    }
    result.feasible = true;
    return result;
}

}  // namespace consort::engine
