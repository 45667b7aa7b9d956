// SPDX-License-Identifier: Apache-2.0
#include "rta/bulk.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "rta/edf.hpp"
#include "rta/fixed_priority.hpp"

namespace consort::engine {

namespace {

// Whether no sum of the plain path can leave 63 bits, and it applies: deadlines within the periods, so that
// the first job is the worst. Every window that it looks at is at most the longest deadline.
bool plain(const TaskSet& set) {
    Time longest = 0;
    Time shortest = INT64_MAX;
    Time most = 0;
    Time blocking = 0;
    Time jitter = 0;
    bool constrained = true;
    for (std::size_t i = 0; i < set.n; ++i) {
        constrained &= set.d[i] <= set.t[i];
        longest = std::max(longest, set.d[i]);
        shortest = std::min(shortest, set.t[i]);
        most = std::max(most, set.c[i]);
        jitter = std::max(jitter, set.jitter(i));
        blocking = std::max(blocking, set.blocking(i));
    }
    using detail::Wide;
    const Wide jobs = (Wide(longest) + Wide(jitter)) / Wide(shortest) + 1;
    return constrained && jobs < (Wide{1} << 62U) &&
           jobs * Wide(set.n) <
               (Wide{1} << 62U) / Wide(most) - std::min(Wide(blocking), Wide{1} << 60U) / Wide(most) &&
           longest < INT64_MAX / 4 && jitter < INT64_MAX / 4 && blocking < INT64_MAX / 4;
}

// Preemptive, deadlines within periods. `known` is a lower bound of the window.
template <bool Extras>
Time first_job(const TaskSet& set, std::size_t i, Time known) {
    const Time own = set.c[i] + (Extras ? set.blocking(i) : 0);
    const Time stop = set.d[i] - (Extras ? set.jitter(i) : 0);
    Time window = std::max(known, own);
    while (window <= stop) {
        Time next = own;
        for (std::size_t k = 0; k < i; ++k) {
            next += ((window + (Extras ? set.jitter(k) : 0) - 1) / set.t[k] + 1) * set.c[k];
        }
        if (next == window) {
            return window;
        }
        window = next;
    }
    return -1;
}

template <bool Extras, class Visit>
void plain_rows(const TaskSet& set, Visit visit) {
    // The window of a task holds one job of each more urgent one, and without blocking also the whole window
    // of the task before it and then the task itself.
    Time known = 0;
    for (std::size_t i = 0; i < set.n; ++i) {
        known += set.c[i];
        const Time window = first_job<Extras>(set, i, known);
        if (window > 0 && !Extras) {
            known = window;
        }
        if (!visit(i, window < 0 ? -1 : window + (Extras ? set.jitter(i) : 0))) {
            return;
        }
    }
}

template <class Visit>
void each_response(const TaskSet& set, bool preemptive, Visit visit) {
    if (preemptive && plain(set)) {
        if (set.j == nullptr && set.b == nullptr) {
            plain_rows<false>(set, visit);
        } else {
            plain_rows<true>(set, visit);
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

void responses(const TaskSets& all, bool preemptive, Time* out) {
    for (std::size_t s = 0; s < all.sets; ++s) {
        const TaskSet set = all.row(s);
        check_row(set, s);
        Time* row = out + s * all.n;
        each_response(set, preemptive, [&](std::size_t i, Time response) {
            row[i] = response;
            return true;
        });
    }
}

void schedulable(const TaskSets& all, bool preemptive, bool* out) {
    for (std::size_t s = 0; s < all.sets; ++s) {
        const TaskSet set = all.row(s);
        check_row(set, s);
        bool good = true;
        each_response(set, preemptive, [&](std::size_t, Time response) {
            good = response >= 0;
            return good;
        });
        out[s] = good;
    }
}

void edf_schedulable(const TaskSets& all, bool preemptive, bool* out) {
    for (std::size_t s = 0; s < all.sets; ++s) {
        const TaskSet set = all.row(s);
        check_row(set, s);
        const Feasibility found = edf_feasible(set, {.preemptive = preemptive});
        out[s] = found.verdict == Verdict::bounded && found.feasible;
    }
}

}  // namespace consort::engine
