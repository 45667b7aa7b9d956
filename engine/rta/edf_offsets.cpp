// SPDX-License-Identifier: Apache-2.0
#include "rta/edf_offsets.hpp"

#include <algorithm>

namespace consort::engine {

namespace {

// A busy window that begins at 0, of the jobs that can come in it and have no later deadline than one of
// them.
class DeadlineWindow {
  public:
    DeadlineWindow(const TaskSet& set, const Time* offsets, std::size_t i, const Search& search, Time& steps)
        : set_(set), offsets_(offsets), i_(i), search_(search), steps_(steps), first_(set.n, 0) {}

    // The window begins at that moment of the common clock. Jobs at unknown moments may be due up to `before`
    // earlier against the clock than they seem to be: real windows that begin after the moment before this
    // one are looked at as if they began here.
    void place(Time begin, Time before) {
        before_ = before;
        for (std::size_t k = 0; k < set_.n; ++k) {
            first_[k] = first_due(set_, k, offsets_[k], begin);
        }
    }

    [[nodiscard]] Time due(Time q) const { return add(first_[i_], mul(q, set_.t[i_])); }

    // Jobs of task k that come in the window's first `length` and are due with deadlines up to `deadline`.
    [[nodiscard]] Time jobs(std::size_t k, Time length, Time deadline) const {
        const Time by_release = ceil_of(add(length, -first_[k]), set_.t[k]);
        const Time slack = add(deadline, -add(set_.d[k], first_[k]));
        const Time by_deadline = offsets_[k] != no_offset ? ceil_of(add(slack, 1), set_.t[k])
                                                          : ceil_of(add(slack, before_), set_.t[k]);
        return std::min(by_release, by_deadline);
    }

    // When what the window holds is done: `own` jobs of the task, and those of the others by that deadline.
    // Out of steps, nothing that is used.
    [[nodiscard]] Time end(Time own, Time deadline, Time from) const {
        Time length = std::max<Time>(from, 1);
        while (steps_-- > 0) {
            Time work = add(set_.blocking(i_), mul(own, set_.c[i_]));
            for (std::size_t k = 0; k < set_.n; ++k) {
                if (k != i_) {
                    work = add(work, mul(jobs(k, length, deadline), set_.c[k]));
                }
            }
            const Time next = search_.supply.time_for(work);
            if (next <= length) {
                return next;
            }
            length = next;
        }
        return length;
    }

    // When the window is over whatever the deadlines: no job that is due later belongs to it.
    [[nodiscard]] Time longest() const {
        Time length = 1;
        while (steps_-- > 0) {
            Time work = set_.blocking(i_);
            for (std::size_t k = 0; k < set_.n; ++k) {
                work = add(work, mul(ceil_of(add(length, -first_[k]), set_.t[k]), set_.c[k]));
            }
            const Time next = search_.supply.time_for(work);
            if (next <= length) {
                return next;
            }
            length = next;
        }
        return length;
    }

  private:
    // Rounded up, and 0 for what is negative.
    [[nodiscard]] static Time ceil_of(Time span, Time period) {
        return span > 0 ? ceil_div(span, period) : 0;
    }

    const TaskSet& set_;
    const Time* offsets_;
    std::size_t i_;
    const Search& search_;
    Time& steps_;
    Time before_ = 0;
    std::vector<Time> first_;
};

}  // namespace

OffsetResponse edf_offset_response(const TaskSet& set, const Time* offsets, std::size_t i,
                                   const OffsetSearch& search) {
    OffsetResponse result;
    result.blocking = set.blocking(i);
    const auto all = [](std::size_t) { return true; };
    const Load used = load_under(set, all, search.search.supply);
    if (used == Load::above_one) {
        result.verdict = Verdict::overload;
        return result;
    }
    std::vector<bool> known(set.n);
    for (std::size_t k = 0; k < set.n; ++k) {
        known[k] = offsets[k] != no_offset;
    }
    const auto begins = window_begins(set, offsets, known, search.most_windows);
    // A window takes some steps at least: no time is spent where they will not do for all.
    constexpr Time least_steps = 4;
    Time steps = search.search.steps;
    // At a load of 1 windows need not end.
    if (!begins || used != Load::below_one ||
        static_cast<Time>(begins->moments.size()) > steps / least_steps) {
        result.verdict = Verdict::too_long;
        return result;
    }
    DeadlineWindow window(set, offsets, i, search.search, steps);
    result.jobs.assign(set.n, 0);
    const Time most = longest_window(set, std::vector<bool>(set.n, true), result.blocking, search.search);
    Time last = begins->moments.back() - begins->clock;
    for (const Time begin : begins->moments) {
        window.place(begin, begin - last);
        last = begin;
        if (add(most, -window.due(0)) <= result.bound) {
            continue;
        }
        ++result.windows;
        const Time longest = window.longest();
        for (Time q = 0; steps > 0 && window.due(q) < longest; ++q) {
            const Time due = window.due(q);
            // No job of the window responds later than it, and later ones less than this.
            if (add(longest, -due) <= result.bound) {
                break;
            }
            const Time deadline = add(due, set.d[i]);
            // The job belongs to the window if that still goes on, without it, when the job is due.
            if (due > 0 && window.end(q, deadline, 1) <= due) {
                continue;
            }
            const Time finish = window.end(q + 1, deadline, 1);
            const Time response = add(finish, -due);
            if (steps > 0 && response > result.bound) {
                result.bound = response;
                result.begin = -due;
                result.earlier = q;
                for (std::size_t k = 0; k < set.n; ++k) {
                    result.jobs[k] = k == i ? 0 : window.jobs(k, finish, deadline);
                }
            }
        }
        if (steps <= 0) {
            result.verdict = Verdict::too_long;
            return result;
        }
    }
    return result;
}

}  // namespace consort::engine
