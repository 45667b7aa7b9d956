// SPDX-License-Identifier: Apache-2.0
//
// Python bindings: response-time analyses. Times are integers in ticks of the caller's choice.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "bindings.hpp"
#include "rta/edf.hpp"
#include "rta/edf_offsets.hpp"
#include "rta/fixed_priority.hpp"
#include "rta/let.hpp"
#include "rta/offsets.hpp"
#include "rta/suspension.hpp"
#include "rta/thresholds.hpp"

namespace nb = nanobind;

namespace consort::engine {

namespace {

using Times = std::vector<Time>;
// By task: its least distances, none where it has none, and how late its jobs come.
using DistanceRows = std::vector<std::tuple<Times, Time>>;

const char* name(Verdict verdict) {
    switch (verdict) {
        case Verdict::bounded:
            return "bounded";
        case Verdict::overload:
            return "overload";
        case Verdict::beyond:
            return "beyond";
        case Verdict::too_long:
            return "too-long";
    }
    return "unknown";
}

// Owns what a TaskSet points to. Empty vectors stand for fields that are not given.
struct OwnedSet {
    Times c, t, d, j, b, level;
    DistanceRows rows{};
    mutable std::vector<std::optional<Distances>> spaced{};
    mutable std::vector<const Distances*> distances{};

    [[nodiscard]] TaskSet view(Time least_execution = 1) const {
        const auto field = [&](const Times& values, const char* what) -> const Time* {
            if (values.empty()) {
                return nullptr;
            }
            if (values.size() != c.size()) {
                throw std::invalid_argument(std::string(what) + " has " + std::to_string(values.size()) +
                                            " values for " + std::to_string(c.size()) + " tasks");
            }
            return values.data();
        };
        TaskSet set{c.size(),
                    c.data(),
                    field(t, "t"),
                    field(d, "d"),
                    field(j, "jitter"),
                    field(b, "blocking"),
                    field(level, "level")};
        if (set.t == nullptr && set.n > 0) {
            throw std::invalid_argument("t is missing");
        }
        check(set, least_execution);
        set.distances = spacings();
        return set;
    }

  private:
    [[nodiscard]] const Distances* const* spacings() const {
        if (rows.empty()) {
            return nullptr;
        }
        if (rows.size() != c.size()) {
            throw std::invalid_argument("distances has " + std::to_string(rows.size()) + " values for " +
                                        std::to_string(c.size()) + " tasks");
        }
        spaced.clear();
        distances.clear();
        for (const auto& [least, late] : rows) {
            spaced.push_back(least.empty() ? std::nullopt
                                           : std::optional<Distances>(std::in_place, least, late));
        }
        for (const std::optional<Distances>& one : spaced) {
            distances.push_back(one ? &*one : nullptr);
        }
        return distances.data();
    }
};

void require_task(const TaskSet& set, std::size_t i) {
    if (i >= set.n) {
        throw std::invalid_argument("there is no task " + std::to_string(i));
    }
}

void require_deadlines(const TaskSet& set) {
    if (set.d == nullptr && set.n > 0) {
        throw std::invalid_argument("d is missing");
    }
}

// (period, budget, the longest time without any); none: the whole core.
using SupplyRow = std::optional<std::tuple<Time, Time, Time>>;

Supply supply_of(const SupplyRow& row) {
    if (!row) {
        return {};
    }
    const auto [period, budget, gap] = *row;
    if (budget < 1 || period < budget || gap < 0) {
        throw std::invalid_argument("supply: 1 <= budget <= period and 0 <= gap are needed");
    }
    return {period, budget, gap};
}

// Puts the verdict into a result; false: there is no bound, which is all that there is to say.
bool bounded(nb::dict& result, Verdict verdict) {
    result["verdict"] = name(verdict);
    if (verdict != Verdict::bounded) {
        result["bound"] = nb::none();
    }
    return verdict == Verdict::bounded;
}

nb::dict fp_response(OwnedSet owned, std::size_t i, bool preemptive, const SupplyRow& supply) {
    const TaskSet set = owned.view();
    require_task(set, i);
    const Response response =
        fixed_priority_response(set, i, {.preemptive = preemptive, .supply = supply_of(supply)});
    nb::dict result;
    if (!bounded(result, response.verdict)) {
        return result;
    }
    result["bound"] = response.bound;
    result["job"] = response.job;
    result["due"] = response.due;
    result["window"] = response.window;
    result["blocking"] = response.blocking;
    result["open"] = response.open;
    nb::list jobs;
    for (std::size_t k = 0; k < set.n; ++k) {
        const Time count =
            set.interferes(k, i) ? jobs_in(set, k, response.window, !preemptive && !response.open) : 0;
        jobs.append(count);
    }
    result["jobs"] = jobs;
    return result;
}

nb::dict fp_threshold_response(OwnedSet owned, const Times& threshold, std::size_t i,
                               const SupplyRow& supply) {
    const TaskSet set = owned.view();
    require_task(set, i);
    if (threshold.size() != set.n) {
        throw std::invalid_argument("threshold has " + std::to_string(threshold.size()) + " values for " +
                                    std::to_string(set.n) + " tasks");
    }
    const Thresholds thresholds{set, threshold.data()};
    check(thresholds);
    const ThresholdResponse found = threshold_response(thresholds, i, {.supply = supply_of(supply)});
    nb::dict result;
    if (!bounded(result, found.response.verdict)) {
        return result;
    }
    result["bound"] = found.response.bound;
    result["job"] = found.response.job;
    result["due"] = found.response.due;
    result["start"] = found.response.window;
    result["finish"] = found.finish;
    result["blocking"] = found.response.blocking;
    result["open"] = found.response.open;
    nb::list jobs;
    for (std::size_t k = 0; k < set.n; ++k) {
        jobs.append(jobs_until(thresholds, k, i, found));
    }
    result["jobs"] = jobs;
    return result;
}

using OffsetAnalysis = OffsetResponse (*)(const TaskSet&, const Time*, std::size_t, const OffsetSearch&);

nb::dict offset_response_by(OffsetAnalysis analysis, const TaskSet& set, const Times& offsets, std::size_t i,
                            bool preemptive, Time most_windows, const SupplyRow& supply, Time most_steps) {
    require_task(set, i);
    if (offsets.size() != set.n) {
        throw std::invalid_argument("offsets needs a value for each task, -1 where it has none");
    }
    for (const Time offset : offsets) {
        if (offset < no_offset) {
            throw std::invalid_argument("an offset is 0 or more, or -1");
        }
    }
    // So that a large set takes no longer than a small one.
    const Search search{.preemptive = preemptive,
                        .steps = most_steps / static_cast<Time>(set.n),
                        .supply = supply_of(supply)};
    const OffsetResponse found = analysis(set, offsets.data(), i, {search, most_windows});
    nb::dict result;
    if (!bounded(result, found.verdict)) {
        return result;
    }
    result["bound"] = found.bound;
    result["begin"] = found.begin;
    result["earlier"] = found.earlier;
    result["blocking"] = found.blocking;
    result["jobs"] = found.jobs;
    result["windows"] = found.windows;
    return result;
}

nb::dict edf_offset_response_of(const OwnedSet& owned, const Times& offsets, std::size_t i, Time most_windows,
                                const SupplyRow& supply) {
    const TaskSet set = owned.view();
    require_deadlines(set);
    require_task(set, i);
    if (i < offsets.size() && offsets[i] == no_offset) {
        throw std::invalid_argument(
            "the task needs an offset: under EDF one whose moments are not known has"
            " the bound of any moment");
    }
    return offset_response_by(edf_offset_response, set, offsets, i, true, most_windows, supply, 5'000'000);
}

nb::dict edf_response_of(OwnedSet owned, std::size_t i, bool preemptive, const SupplyRow& supply) {
    const TaskSet set = owned.view();
    require_deadlines(set);
    require_task(set, i);
    const EdfResponse response =
        edf_response(set, i, {.preemptive = preemptive, .supply = supply_of(supply)});
    nb::dict result;
    if (!bounded(result, response.verdict)) {
        return result;
    }
    result["bound"] = response.bound;
    result["arrival"] = response.arrival;
    result["window"] = response.window;
    result["blocking"] = response.blocking;
    result["open"] = response.open;
    nb::list jobs;
    for (std::size_t k = 0; k < set.n; ++k) {
        jobs.append(edf_jobs_in(set, i, k, response.arrival, response.window, !preemptive && !response.open));
    }
    result["jobs"] = jobs;
    return result;
}

nb::dict edf_feasible_of(OwnedSet owned, bool preemptive) {
    const TaskSet set = owned.view();
    require_deadlines(set);
    const Feasibility found = edf_feasible(set, {.preemptive = preemptive});
    nb::dict result;
    result["verdict"] = name(found.verdict);
    result["feasible"] = found.feasible;
    result["span"] = found.span;
    result["demand"] = found.demand;
    result["points"] = found.points;
    return result;
}

const char* name(SuspensionMethod method) {
    switch (method) {
        case SuspensionMethod::oblivious:
            return "oblivious";
        case SuspensionMethod::jitter:
            return "jitter";
        case SuspensionMethod::framework:
            return "framework";
    }
    return "unknown";
}

nb::dict suspended_response_of(OwnedSet owned, const Times& suspension, const Times& known, std::size_t i) {
    const TaskSet set = owned.view(0);
    require_task(set, i);
    if (suspension.size() != set.n || known.size() != set.n) {
        throw std::invalid_argument("suspension and response need a value for each task");
    }
    for (std::size_t k = 0; k < set.n; ++k) {
        if (suspension[k] < 0 || add(set.c[k], suspension[k]) < 1) {
            throw std::invalid_argument("task " + std::to_string(k) +
                                        ": suspension must be at least 0, and at least 1 with c");
        }
    }
    const SuspendedResponse found = suspended_response(set, i, suspension.data(), known.data(), {});
    nb::dict result;
    if (!bounded(result, found.verdict)) {
        return result;
    }
    result["bound"] = found.bound;
    result["method"] = name(found.method);
    result["first_job_only"] = found.first_job_only;
    result["jobs"] = found.jobs;
    result["job"] = found.job;
    result["due"] = found.due;
    result["delayed"] = found.delayed;
    return result;
}

nb::object let_chain(const std::vector<std::tuple<Time, Time, Time>>& tasks, Time most) {
    Times periods;
    Times offsets;
    Times intervals;
    for (const auto& [period, offset, interval] : tasks) {
        periods.push_back(period);
        offsets.push_back(offset);
        intervals.push_back(interval);
    }
    const TaskSet chain{tasks.size(), nullptr, periods.data(), intervals.data()};
    const auto found = let_latencies(chain, offsets.data(), most);
    if (!found) {
        return nb::none();
    }
    nb::dict result;
    result["reaction"] = found->reaction;
    result["age"] = found->age;
    result["age_when_written"] = found->age_when_written;
    result["least_reaction"] = found->least_reaction;
    result["passage"] = found->passage;
    result["reads"] = found->reads;
    return result;
}

}  // namespace

void bind_rta(nb::module_& module) {
    module.def(
        "fp_response",
        [](Times c, Times t, Times jitter, Times blocking, Times level, std::size_t task, bool preemptive,
           const SupplyRow& supply, DistanceRows distances) {
            return fp_response({std::move(c),
                                std::move(t),
                                {},
                                std::move(jitter),
                                std::move(blocking),
                                std::move(level),
                                std::move(distances)},
                               task, preemptive, supply);
        },
        nb::kw_only(), nb::arg("c"), nb::arg("t"), nb::arg("jitter") = Times{}, nb::arg("blocking") = Times{},
        nb::arg("level") = Times{}, nb::arg("task"), nb::arg("preemptive") = true,
        nb::arg("supply") = nb::none(), nb::arg("distances") = DistanceRows{},
        "Worst-case response time of one task under fixed priorities, and the busy window that attains it.");
    module.def(
        "fp_threshold_response",
        [](Times c, Times t, Times jitter, Times blocking, Times level, const Times& threshold,
           std::size_t task, const SupplyRow& supply, DistanceRows distances) {
            return fp_threshold_response({std::move(c),
                                          std::move(t),
                                          {},
                                          std::move(jitter),
                                          std::move(blocking),
                                          std::move(level),
                                          std::move(distances)},
                                         threshold, task, supply);
        },
        nb::kw_only(), nb::arg("c"), nb::arg("t"), nb::arg("jitter") = Times{}, nb::arg("blocking") = Times{},
        nb::arg("level") = Times{}, nb::arg("threshold"), nb::arg("task"), nb::arg("supply") = nb::none(),
        nb::arg("distances") = DistanceRows{},
        "The same where a job that has begun is preempted only by tasks of levels below its threshold.");
    module.def(
        "fp_offset_response",
        [](Times c, Times t, const Times& offsets, Times jitter, Times blocking, Times level,
           std::size_t task, bool preemptive, Time most_windows, const SupplyRow& supply) {
            const OwnedSet owned{std::move(c),      std::move(t),        {},
                                 std::move(jitter), std::move(blocking), std::move(level)};
            return offset_response_by(offset_response, owned.view(), offsets, task, preemptive, most_windows,
                                      supply, 20'000'000);
        },
        nb::kw_only(), nb::arg("c"), nb::arg("t"), nb::arg("offsets"), nb::arg("jitter") = Times{},
        nb::arg("blocking") = Times{}, nb::arg("level") = Times{}, nb::arg("task"),
        nb::arg("preemptive") = true, nb::arg("most_windows") = 200'000, nb::arg("supply") = nb::none(),
        "Worst-case response time of one task under fixed priorities among tasks that are due at offset + k "
        "* "
        "period of one clock; offsets of -1: not known. `supply`: (period, budget, longest gap).");
    module.def(
        "edf_response",
        [](Times c, Times t, Times d, Times jitter, Times blocking, std::size_t task, bool preemptive,
           const SupplyRow& supply, DistanceRows distances) {
            return edf_response_of({std::move(c),
                                    std::move(t),
                                    std::move(d),
                                    std::move(jitter),
                                    std::move(blocking),
                                    {},
                                    std::move(distances)},
                                   task, preemptive, supply);
        },
        nb::kw_only(), nb::arg("c"), nb::arg("t"), nb::arg("d"), nb::arg("jitter") = Times{},
        nb::arg("blocking") = Times{}, nb::arg("task"), nb::arg("preemptive") = true,
        nb::arg("supply") = nb::none(), nb::arg("distances") = DistanceRows{},
        "Worst-case response time of one task under EDF, and the busy window that attains it.");
    module.def(
        "edf_offset_response",
        [](Times c, Times t, Times d, const Times& offsets, Times jitter, Times blocking, std::size_t task,
           Time most_windows, const SupplyRow& supply) {
            return edf_offset_response_of(
                {std::move(c), std::move(t), std::move(d), std::move(jitter), std::move(blocking), {}},
                offsets, task, most_windows, supply);
        },
        nb::kw_only(), nb::arg("c"), nb::arg("t"), nb::arg("d"), nb::arg("offsets"),
        nb::arg("jitter") = Times{}, nb::arg("blocking") = Times{}, nb::arg("task"),
        nb::arg("most_windows") = 200'000, nb::arg("supply") = nb::none(),
        "As fp_offset_response, under preemptive EDF, of a task that has an offset.");
    module.def(
        "edf_feasible",
        [](Times c, Times t, Times d, Times jitter, Times blocking, bool preemptive) {
            return edf_feasible_of(
                {std::move(c), std::move(t), std::move(d), std::move(jitter), std::move(blocking), {}},
                preemptive);
        },
        nb::kw_only(), nb::arg("c"), nb::arg("t"), nb::arg("d"), nb::arg("jitter") = Times{},
        nb::arg("blocking") = Times{}, nb::arg("preemptive") = true,
        "Whether EDF meets every deadline; if not, a span in which more is due than fits.");
    module.def(
        "suspended_response",
        [](Times c, Times t, const Times& suspension, const Times& response, Times jitter, Times blocking,
           Times level, std::size_t task, DistanceRows distances) {
            return suspended_response_of({std::move(c),
                                          std::move(t),
                                          {},
                                          std::move(jitter),
                                          std::move(blocking),
                                          std::move(level),
                                          std::move(distances)},
                                         suspension, response, task);
        },
        nb::kw_only(), nb::arg("c"), nb::arg("t"), nb::arg("suspension"), nb::arg("response"),
        nb::arg("jitter") = Times{}, nb::arg("blocking") = Times{}, nb::arg("level") = Times{},
        nb::arg("task"), nb::arg("distances") = DistanceRows{},
        "Worst-case response time of one task among self-suspending ones; `response`: bounds of the more "
        "urgent ones, or -1.");
    module.def("let_chain", &let_chain, nb::arg("tasks"), nb::arg("most") = 10'000'000,
               "Latencies of a chain of (period, offset, interval) under logical execution time; None if its "
               "common period holds too many jobs.");
    bind_bulk(module);
}

}  // namespace consort::engine
