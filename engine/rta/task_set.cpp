// SPDX-License-Identifier: Apache-2.0
#include "rta/task_set.hpp"

#include <stdexcept>
#include <string>

namespace consort::engine {

namespace {

[[noreturn]] void refuse(std::size_t i, const char* field, Time value, const char* range) {
    throw std::invalid_argument("task " + std::to_string(i) + ": " + field + " is " + std::to_string(value) +
                                "; it must be " + range);
}

detail::Wide wide_gcd(detail::Wide a, detail::Wide b) {
    while (b != 0) {
        const auto rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

}  // namespace

namespace detail {

std::optional<Wide> wide_lcm(Wide a, Wide b) {
    const Wide factor = b / wide_gcd(a, b);
    constexpr Wide limit = Wide{1} << 126U;
    if (a > limit / factor) {
        return std::nullopt;
    }
    return a * factor;
}

}  // namespace detail

void check(const TaskSet& set, Time least_execution) {
    for (std::size_t i = 0; i < set.n; ++i) {
        if (set.c[i] < least_execution) {
            refuse(i, "c", set.c[i], least_execution == 1 ? "at least 1" : "at least 0");
        }
        if (set.t[i] < 1) {
            refuse(i, "t", set.t[i], "at least 1");
        }
        if (set.d != nullptr && set.d[i] < 1) {
            refuse(i, "d", set.d[i], "at least 1");
        }
        if (set.jitter(i) < 0) {
            refuse(i, "jitter", set.j[i], "at least 0");
        }
        if (set.blocking(i) < 0) {
            refuse(i, "blocking", set.b[i], "at least 0");
        }
        if (set.level != nullptr && i > 0 && set.level[i] < set.level[i - 1]) {
            refuse(i, "level", set.level[i], "not below that of the task before");
        }
    }
}

}  // namespace consort::engine
