// SPDX-License-Identifier: Apache-2.0
#include "rta/distances.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace consort::engine {

namespace {

// More steps than any search looks at: what lies beyond counts whole stretches of so many.
constexpr Time most_known = Time{1} << 20U;

}  // namespace

Distances::Distances(const std::vector<Time>& least, Time late) : given_(least.size()), late_(late) {
    if (least.empty() || late < 0) {
        throw std::invalid_argument("distances: at least one is needed, and lateness of at least 0");
    }
    for (std::size_t k = 0; k < given_; ++k) {
        if (least[k] < 1) {
            throw std::invalid_argument("distances: value " + std::to_string(k) + " is " +
                                        std::to_string(least[k]) + "; it must be at least 1");
        }
        Time longest = least[k];
        for (std::size_t part = 1; part <= k; ++part) {
            longest = std::max(longest, add(known_[part], known_[k + 1 - part]));
        }
        known_.push_back(longest);
        // The rate of the closure is the least of the rates of its parts.
        const auto steps = static_cast<Time>(k + 1);
        if (k == 0 || static_cast<__int128>(steps) * in_ < static_cast<__int128>(releases_) * longest) {
            releases_ = steps;
            in_ = longest;
        }
    }
}

Time Distances::of(Time steps) const {
    if (steps > most_known) {
        return add(mul(steps / most_known, of(most_known)), of(steps % most_known));
    }
    while (static_cast<Time>(known_.size()) <= steps) {
        Time longest = 0;
        for (std::size_t part = 1; part <= given_; ++part) {
            longest = std::max(longest, add(known_[part], known_[known_.size() - part]));
        }
        known_.push_back(longest);
    }
    return known_[static_cast<std::size_t>(steps)];
}

Time Distances::between(Time steps) const {
    return std::max<Time>(0, of(steps) - late_);
}

Time Distances::due_within(Time span) const {
    if (span < 0) {
        return 0;
    }
    Time low = 0;
    Time high = 1;
    while (of(high) <= span) {
        low = high;
        high = mul(high, 2);
    }
    while (high - low > 1) {
        const Time middle = low + (high - low) / 2;
        (of(middle) <= span ? low : high) = middle;
    }
    return add(low, 1);
}

Time Distances::within(Time span, bool closed) const {
    // The releases lie in a span that is longer by `late`.
    const Time length = add(span, late_);
    return due_within(closed ? length : length - 1);
}

}  // namespace consort::engine
