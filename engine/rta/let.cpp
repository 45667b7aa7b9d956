// SPDX-License-Identifier: Apache-2.0
#include "rta/let.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "rta/task_set.hpp"

namespace consort::engine {

namespace {

Time read_of(const LetTask& task, Time job) {
    return add(task.offset, mul(job, task.period));
}

Time write_of(const LetTask& task, Time job) {
    return add(read_of(task, job), task.interval);
}

// Rounded down; b > 0.
Time floor_div(Time a, Time b) {
    return a / b - (a % b < 0 ? 1 : 0);
}

// The first job that reads no earlier than `time`; tasks have run for ever, so it may have a negative number.
Time first_reading(const LetTask& task, Time time) {
    return -floor_div(task.offset - time, task.period);
}

// The last job that has written by `time`.
Time last_written(const LetTask& task, Time time) {
    return floor_div(add(time, -add(task.offset, task.interval)), task.period);
}

void check(const std::vector<LetTask>& chain) {
    if (chain.empty()) {
        throw std::invalid_argument("a chain needs a task");
    }
    for (std::size_t i = 0; i < chain.size(); ++i) {
        const LetTask& task = chain[i];
        if (task.period < 1 || task.offset < 0 || task.interval < 1) {
            throw std::invalid_argument(
                "task " + std::to_string(i) +
                " of the chain: period and interval must be at least 1, the offset at "
                "least 0");
        }
    }
}

}  // namespace

std::optional<LetLatencies> let_latencies(const std::vector<LetTask>& chain, Time most) {
    check(chain);
    detail::Wide common = 1;
    for (const LetTask& task : chain) {
        const auto next = detail::wide_lcm(common, detail::Wide(task.period));
        if (!next || *next > detail::Wide(INT64_MAX / 4)) {
            return std::nullopt;
        }
        common = *next;
    }
    const LetTask& first = chain.front();
    const LetTask& last = chain.back();
    if (Time(common) / first.period > most || Time(common) / last.period > most) {
        return std::nullopt;
    }

    LetLatencies result;
    result.least_reaction = INT64_MAX;
    std::vector<Time> reads(chain.size());
    for (Time job = 0; job < Time(common) / first.period; ++job) {
        Time at = job;
        reads[0] = read_of(first, at);
        for (std::size_t i = 1; i < chain.size(); ++i) {
            at = first_reading(chain[i], write_of(chain[i - 1], at));
            reads[i] = read_of(chain[i], at);
        }
        const Time end = write_of(last, at);
        // The stimulus came just after the read before.
        const Time reaction = add(end, -read_of(first, job - 1));
        if (reaction > result.reaction) {
            result.reaction = reaction;
            result.reads = reads;
        }
        result.least_reaction = std::min(result.least_reaction, add(end, -reads[0]));
    }
    std::optional<Time> before;
    for (Time job = -1; job < Time(common) / last.period; ++job) {
        Time at = job;
        for (std::size_t i = chain.size() - 1; i-- > 0;) {
            at = last_written(chain[i], read_of(chain[i + 1], at));
        }
        const Time source = read_of(first, at);
        if (before && source != *before) {
            result.passage = std::max(result.passage, add(write_of(last, job), -source));
        }
        before = source;
        result.age_when_written = std::max(result.age_when_written, add(write_of(last, job), -source));
        result.age = std::max(result.age, add(write_of(last, job + 1), -source));
    }
    return result;
}

}  // namespace consort::engine
