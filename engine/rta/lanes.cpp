// SPDX-License-Identifier: Apache-2.0
#include "rta/lanes.hpp"

#include <algorithm>
#include <cstdint>

namespace consort::engine {

namespace {

// True if all windows and sums stay below 2^52. A task above one that is looked at has met its deadline, so
// that c <= d <= t and the load above is at most 1: a window that one round takes from a length within the
// longest deadline beyond it is at most e times as long as that and all executions together.
bool in_range(const Time* c, const Time* t, const Time* d, std::size_t values, std::size_t n) {
    Time least = INT64_MAX;
    Time shortest = INT64_MAX;
    Time longest = 0;
    Time most = 0;
    bool constrained = true;
    for (std::size_t v = 0; v < values; ++v) {
        least = std::min({least, c[v], d[v]});
        shortest = std::min(shortest, t[v]);
        longest = std::max(longest, t[v]);
        most = std::max(most, c[v]);
        constrained &= d[v] <= t[v];
    }
    constexpr Time limit = Time{1} << 49U;
    if (!constrained || least < 1 || shortest < 1 || longest >= limit || most >= limit) {
        return false;
    }
    Time sum = longest / shortest + 1;
    return !__builtin_mul_overflow(sum, Time(n), &sum) && !__builtin_mul_overflow(sum, most, &sum) &&
           sum < limit;
}

// One figure of each task of consecutive sets, from rows of sets to rows of lanes.
void transpose(const Time* from, std::vector<LaneRow>& to) {
    for (std::size_t l = 0; l < Lanes::width; ++l) {
        for (std::size_t k = 0; k < to.size(); ++k) {
            to[k].lane[l] = static_cast<double>(from[l * to.size() + k]);
        }
    }
}

#if defined(__x86_64__)

// A vector of a unit, and what comparisons of two give: all bits of a lane, or none.
struct Avx512 {
    using Vector = double __attribute__((vector_size(64), may_alias));
    using Mask = std::int64_t __attribute__((vector_size(64)));
};
struct Avx2 {
    using Vector = double __attribute__((vector_size(32), may_alias));
    using Mask = std::int64_t __attribute__((vector_size(32)));
};

// As `plain_rows` in bulk.cpp: the window of a task holds that of the task before it, so that the jobs
// counted there still count. A lane whose window left its deadline goes on with the others and counts no
// more. Inlined into functions that may use the unit.
template <class Unit>
[[gnu::always_inline]] inline void verdicts(const LaneRows& rows, std::size_t first, bool* out) {
    using Vector = typename Unit::Vector;
    using Mask = typename Unit::Mask;
    constexpr std::size_t per_vector = sizeof(Vector) / sizeof(double);
    // As many as hide the latency of one, of those that the registers hold.
    constexpr std::size_t vectors = 8;
    // Adding and subtracting it rounds a value below 2^51 to the nearest whole number.
    constexpr double rounding = 6755399441055744.0;  // 1.5 * 2^52
    const Vector none{};
    const Vector one = none + 1.0;
    Vector interference[vectors]{};
    Vector window[vectors]{};
    Vector before[vectors]{};
    Mask alive[vectors];
    std::fill_n(alive, vectors, ~Mask{});
    const auto any = [](const Mask& lanes) __attribute__((always_inline)) {
        std::int64_t found = 0;
        for (std::size_t l = 0; l < per_vector; ++l) {
            found |= lanes[l];
        }
        return found != 0;
    };
    const auto row = [first](const LaneRow& of) __attribute__((always_inline)) {
        return reinterpret_cast<const Vector*>(of.lane.data() + first);
    };
    const auto jobs_of = [&rows, first ](std::size_t k) __attribute__((always_inline)) {
        return reinterpret_cast<Vector*>(rows.jobs[k].lane.data() + first);
    };
    for (std::size_t i = 0; i < rows.n; ++i) {
        const Vector* own = row(rows.execution[i]);
        const Vector* stop = row(rows.deadline[i]);
        std::fill_n(jobs_of(i), vectors, none);
        for (std::size_t v = 0; v < vectors; ++v) {
            window[v] = interference[v] + own[v];
        }
        for (bool grown = true; grown;) {
            std::copy_n(window, vectors, before);
            for (std::size_t k = 0; k < i; ++k) {
                const Vector* c = row(rows.execution[k]);
                const Vector* t = row(rows.period[k]);
                const Vector* inverse = row(rows.inverse[k]);
                Vector* counted = jobs_of(k);
                for (std::size_t v = 0; v < vectors; ++v) {
                    // The whole number next to window / t is its floor or its ceiling: what is left over says
                    // which.
                    const Vector nearest = window[v] * inverse[v] + rounding - rounding;
                    const Vector left = window[v] - nearest * t[v];
                    const Vector jobs = nearest + (left > none ? one : none);
                    interference[v] += (jobs - counted[v]) * c[v];
                    counted[v] = jobs;
                    window[v] = interference[v] + own[v];
                }
            }
            Mask changed{};
            for (std::size_t v = 0; v < vectors; ++v) {
                alive[v] &= window[v] <= stop[v];
                changed |= alive[v] & (window[v] != before[v]);
            }
            grown = any(changed);
        }
        Mask left{};
        for (const Mask& lanes : alive) {
            left |= lanes;
        }
        if (!any(left)) {
            break;
        }
    }
    for (std::size_t l = 0; l < vectors * per_vector; ++l) {
        out[first + l] = alive[l / per_vector][l % per_vector] != 0;
    }
}

__attribute__((target("avx512f,fma"))) void verdicts_avx512(const LaneRows& rows, bool* out) {
    verdicts<Avx512>(rows, 0, out);
}

__attribute__((target("avx2,fma"))) void verdicts_avx2(const LaneRows& rows, bool* out) {
    verdicts<Avx2>(rows, 0, out);
    verdicts<Avx2>(rows, Lanes::width / 2, out);
}

#endif

}  // namespace

std::vector<VectorUnit> vector_units() {
    std::vector<VectorUnit> found;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("fma") != 0) {
        if (__builtin_cpu_supports("avx512f") != 0) {
            found.push_back({"avx512", verdicts_avx512});
        }
        if (__builtin_cpu_supports("avx2") != 0) {
            found.push_back({"avx2", verdicts_avx2});
        }
    }
#endif
    return found;
}

Lanes::Lanes(std::size_t n, const VectorUnit& unit)
    : n_(n), unit_(unit), execution_(n), period_(n), inverse_(n), deadline_(n), jobs_(n) {}

bool Lanes::schedulable(const TaskSet& first, bool* out) {
    if (!in_range(first.c, first.t, first.d, width * n_, n_)) {
        return false;
    }
    transpose(first.c, execution_);
    transpose(first.t, period_);
    transpose(first.d, deadline_);
    for (std::size_t k = 0; k < n_; ++k) {
        for (std::size_t l = 0; l < width; ++l) {
            inverse_[k].lane[l] = 1.0 / period_[k].lane[l];
        }
    }
    unit_.verdicts({n_, execution_.data(), period_.data(), inverse_.data(), deadline_.data(), jobs_.data()},
                   out);
    return true;
}

}  // namespace consort::engine
