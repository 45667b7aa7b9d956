// SPDX-License-Identifier: Apache-2.0
//
// The least distances of a task's releases (its minimum distance function), beside period and jitter.
// docs/explanation/analyses.md, theorem 31.
#pragma once

#include <vector>

#include "time.hpp"

namespace consort::engine {

class Distances {
  public:
    // From a release to the next, to the one after that, …: at least these, all above 0; at least one is
    // given. What is not given follows: between m releases and k more lie the sum of both distances. A job
    // comes at most `late` after its release.
    Distances(const std::vector<Time>& least, Time late);

    // From a release to the one `steps` after it, at least.
    [[nodiscard]] Time of(Time steps) const;
    // From when a job comes to when the one `steps` after it does, at least.
    [[nodiscard]] Time between(Time steps) const;
    // The most jobs that come within a span of that length; closed: one may come at its very end.
    [[nodiscard]] Time within(Time span, bool closed) const;
    // The most releases of which the last comes at most so long after the first.
    [[nodiscard]] Time due_within(Time span) const;
    // In the long run no more than so many releases come in so long.
    [[nodiscard]] Time releases() const { return releases_; }
    [[nodiscard]] Time in() const { return in_; }

  private:
    std::size_t given_;
    Time late_;
    Time releases_ = 1;
    Time in_ = 1;
    mutable std::vector<Time> known_{0};  // by steps, as far as was asked for
};

}  // namespace consort::engine
