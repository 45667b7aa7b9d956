// SPDX-License-Identifier: Apache-2.0
#include "rta/let.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace consort::engine {

namespace {

// When jobs of the chain's tasks, each by its place in the chain, read and write.
struct Moments {
    const TaskSet& chain;
    const Time* offsets;

    [[nodiscard]] Time read(std::size_t i, Time job) const { return add(offsets[i], mul(job, chain.t[i])); }
    [[nodiscard]] Time write(std::size_t i, Time job) const { return add(read(i, job), chain.d[i]); }
    // The first job that reads no earlier than `time`; tasks have run for ever, so it may have a negative
    // number.
    [[nodiscard]] Time first_reading(std::size_t i, Time time) const {
        return -floor_div(offsets[i] - time, chain.t[i]);
    }
    // The last job that has written by `time`.
    [[nodiscard]] Time last_written(std::size_t i, Time time) const {
        return floor_div(add(time, -add(offsets[i], chain.d[i])), chain.t[i]);
    }
};

void check_chain(const TaskSet& chain, const Time* offsets) {
    if (chain.n == 0) {
        throw std::invalid_argument("a chain needs a task");
    }
    for (std::size_t i = 0; i < chain.n; ++i) {
        if (chain.t[i] < 1 || offsets[i] < 0 || chain.d[i] < 1) {
            throw std::invalid_argument(
                "task " + std::to_string(i) +
                " of the chain: period and interval must be at least 1, the offset at "
                "least 0");
        }
    }
}

}  // namespace

std::optional<LetLatencies> let_latencies(const TaskSet& chain, const Time* offsets, Time most) {
    check_chain(chain, offsets);
    detail::Wide common = 1;
    for (std::size_t i = 0; i < chain.n; ++i) {
        const auto next = detail::wide_lcm(common, detail::Wide(chain.t[i]));
        if (!next || *next > detail::Wide(INT64_MAX / 4)) {
            return std::nullopt;
        }
        common = *next;
    }
    const std::size_t last = chain.n - 1;
    const Time first_jobs = Time(common) / chain.t[0];
    const Time last_jobs = Time(common) / chain.t[last];
    if (first_jobs > most || last_jobs > most) {
        return std::nullopt;
    }

    const Moments moments{chain, offsets};
    LetLatencies result;
    result.least_reaction = INT64_MAX;
    std::vector<Time> reads(chain.n);
    for (Time job = 0; job < first_jobs; ++job) {
        Time at = job;
        reads[0] = moments.read(0, at);
        for (std::size_t i = 1; i < chain.n; ++i) {
            at = moments.first_reading(i, moments.write(i - 1, at));
            reads[i] = moments.read(i, at);
        }
        const Time end = moments.write(last, at);
        // The stimulus came just after the read before.
        const Time reaction = add(end, -moments.read(0, job - 1));
        if (reaction > result.reaction) {
            result.reaction = reaction;
            result.reads = reads;
        }
        result.least_reaction = std::min(result.least_reaction, add(end, -reads[0]));
    }
    std::optional<Time> before;
    for (Time job = -1; job < last_jobs; ++job) {
        Time at = job;
        for (std::size_t i = last; i-- > 0;) {
            at = moments.last_written(i, moments.read(i + 1, at));
        }
        const Time source = moments.read(0, at);
        if (before && source != *before) {
            result.passage = std::max(result.passage, add(moments.write(last, job), -source));
        }
        before = source;
        result.age_when_written = std::max(result.age_when_written, add(moments.write(last, job), -source));
        result.age = std::max(result.age, add(moments.write(last, job + 1), -source));
    }
    return result;
}

}  // namespace consort::engine
