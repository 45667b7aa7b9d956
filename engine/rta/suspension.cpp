// SPDX-License-Identifier: Apache-2.0
#include "rta/suspension.hpp"

#include <algorithm>
#include <limits>

namespace consort::engine {

namespace {

// Suspension of others as jitter where `delayed` is false, as delay of the job itself where it is true.
class Framework {
  public:
    Framework(const TaskSet& set, std::size_t i, const Time* s, const Time* response)
        : set_(set), i_(i), s_(s), response_(response), extra_(set.n, 0) {}

    // The least window, or INT64_MAX if it exceeds `stop`.
    Time window(const std::vector<bool>& delayed, Time stop, Time& steps) {
        Time later = 0;
        for (std::size_t k = set_.n; k-- > 0;) {
            if (set_.interferes(k, i_)) {
                later = add(later, delayed[k] ? s_[k] : 0);
                extra_[k] = add(later, delayed[k] ? 0 : response_[k] - set_.c[k]);
            }
        }
        const Time own = add(add(set_.c[i_], s_[i_]), set_.blocking(i_));
        Time length = own;
        while (length <= stop) {
            if (steps-- <= 0) {
                break;
            }
            Time next = own;
            for (std::size_t k = 0; k < set_.n; ++k) {
                if (set_.interferes(k, i_)) {
                    next = add(next, mul(jobs(k, length), set_.c[k]));
                }
            }
            if (next == length) {
                return length;
            }
            length = next;
        }
        return std::numeric_limits<Time>::max();
    }

    // In the window looked at last.
    [[nodiscard]] Time jobs(std::size_t k, Time window) const {
        return ceil_div(add(window, extra_[k]), set_.t[k]);
    }

  private:
    const TaskSet& set_;
    std::size_t i_;
    const Time* s_;
    const Time* response_;
    std::vector<Time> extra_;
};

}  // namespace

SuspendedResponse suspended_response(const TaskSet& set, std::size_t i, const Time* s, const Time* response,
                                     const Search& search) {
    SuspendedResponse result;
    result.jobs.assign(set.n, 0);
    result.delayed.assign(set.n, false);

    std::vector<Time> executed(set.c, set.c + set.n);
    for (std::size_t k = 0; k < set.n; ++k) {
        executed[k] = add(executed[k], s[k]);
    }
    TaskSet oblivious = set;
    oblivious.c = executed.data();
    const Response plain = fixed_priority_response(oblivious, i, search);
    result.verdict = plain.verdict;
    if (plain.verdict == Verdict::bounded) {
        result.bound = plain.bound;
        result.window = plain.window;
        result.job = plain.job;
        result.due = plain.due;
        for (std::size_t k = 0; k < set.n; ++k) {
            result.jobs[k] = set.interferes(k, i) ? jobs_in(oblivious, k, plain.window, false) : 0;
        }
    }

    bool applies = true;
    // With release jitter or blocking only the method whose proof covers them.
    bool any_vector = set.blocking(i) == 0;
    for (std::size_t k = 0; k < set.n; ++k) {
        if (set.interferes(k, i)) {
            // At most one unfinished job of each other task at a time.
            applies = applies && response[k] >= 0 && response[k] <= set.t[k];
            any_vector = any_vector && set.jitter(k) == 0;
        }
    }
    if (!applies) {
        return result;
    }
    const auto counts = [&](std::size_t k) { return set.interferes(k, i); };
    const Load others = load(set, counts);
    if (others != Load::below_one) {
        return result;
    }

    Framework framework(set, i, s, response);
    Time steps = search.steps;
    const Time stop = search.limit ? *search.limit : std::numeric_limits<Time>::max();
    std::vector<bool> best(set.n, false);
    Time least = framework.window(best, stop, steps);
    if (any_vector) {
        // Any choice is sound: from two ends, flip while that helps.
        for (const bool start : {true, false}) {
            std::vector<bool> choice(set.n, start);
            Time here = framework.window(choice, stop, steps);
            for (bool better = true; better;) {
                better = false;
                for (std::size_t k = 0; k < set.n; ++k) {
                    if (!set.interferes(k, i)) {
                        continue;
                    }
                    choice[k] = !choice[k];
                    const Time there = framework.window(choice, stop, steps);
                    if (there < here) {
                        here = there;
                        better = true;
                    } else {
                        choice[k] = !choice[k];
                    }
                }
            }
            if (here < least) {
                least = here;
                best = choice;
            }
        }
    }
    if (least == std::numeric_limits<Time>::max()) {
        return result;
    }
    const Time bound = add(least, set.jitter(i));
    const bool later_jobs_too = bound <= set.t[i];
    const bool have = result.verdict == Verdict::bounded;
    if (have && (result.bound <= bound || !later_jobs_too)) {
        return result;
    }
    static_cast<void>(framework.window(best, stop, steps));
    result.verdict = Verdict::bounded;
    result.bound = bound;
    result.window = least;
    result.job = 0;
    result.due = 0;
    result.first_job_only = !later_jobs_too;
    result.delayed = best;
    result.method = SuspensionMethod::jitter;
    for (std::size_t k = 0; k < set.n; ++k) {
        const bool other = set.interferes(k, i);
        result.jobs[k] = other ? framework.jobs(k, least) : 0;
        if (other && best[k]) {
            result.method = SuspensionMethod::framework;
        }
        result.delayed[k] = other && best[k];
    }
    return result;
}

}  // namespace consort::engine
