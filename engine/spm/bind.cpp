// SPDX-License-Identifier: Apache-2.0
//
// Python bindings: three-phase tasks on scratchpads. Tasks are tuples (execution, period, deadline[, load,
// unload[, jitter]]) in priority order, times integers in ticks.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <map>
#include <span>
#include <string>
#include <utility>

#include "bindings.hpp"
#include "consort/spm/handover.hpp"
#include "consort/spm/message_box.hpp"
#include "consort/spm/task.hpp"
#include "spm/bound.hpp"
#include "spm/exact.hpp"
#include "spm/replay.hpp"
#include "spm/search.hpp"
#include "spm/sweep.hpp"

namespace nb = nanobind;

namespace consort::engine {

namespace {

using Row = std::vector<Time>;

std::vector<spm::Task> tasks_of(const std::vector<Row>& rows) {
    std::vector<spm::Task> tasks;
    for (const Row& row : rows) {
        if (row.size() != 3 && row.size() != 5 && row.size() != 6) {
            throw std::invalid_argument(
                "a task is (execution, period, deadline), or that with (load, unload) or (load, unload, "
                "jitter)");
        }
        const auto at = [&row](std::size_t k) { return k < row.size() ? row[k] : 0; };
        tasks.push_back({row[0], row[1], row[2], at(3), at(4), at(5)});
    }
    return tasks;
}

nb::list rows_of(std::span<const spm::Task> tasks) {
    nb::list rows;
    for (const spm::Task& t : tasks) {
        rows.append(nb::make_tuple(t.execution, t.period, t.deadline, t.load, t.unload, t.jitter));
    }
    return rows;
}

spm::Method method_of(const std::string& name) {
    return choose<spm::Method>("the method", name,
                               {{"literal", spm::Method::literal},
                                {"corrected", spm::Method::corrected},
                                {"round-robin", spm::Method::round_robin}});
}

spm::Curve curve_of(const std::string& name) {
    return choose<spm::Curve>("the curve", name,
                              {{"literal", spm::Curve::literal},
                               {"corrected", spm::Curve::corrected},
                               {"round-robin", spm::Curve::round_robin},
                               {"contended", spm::Curve::contended}});
}

spm::Unload unload_of(const std::string& name) {
    return choose<spm::Unload>("the unload order", name,
                               {{"fifo", spm::Unload::fifo}, {"lifo", spm::Unload::lifo}});
}

spm::Lemmas lemmas_of(const std::map<std::string, int>& changes) {
    spm::Lemmas lemmas;
    const std::map<std::string, int*> fields{{"interval_rounds", &lemmas.interval_rounds},
                                             {"interval_slots", &lemmas.interval_slots},
                                             {"threshold_rounds", &lemmas.threshold_rounds},
                                             {"extra_waste", &lemmas.extra_waste},
                                             {"final_rounds", &lemmas.final_rounds},
                                             {"final_slots", &lemmas.final_slots},
                                             {"final_short_rounds", &lemmas.final_short_rounds},
                                             {"final_short_slots", &lemmas.final_short_slots},
                                             {"blocking_rounds", &lemmas.blocking_rounds},
                                             {"blocking_slots", &lemmas.blocking_slots},
                                             {"window_slots", &lemmas.window_slots}};
    for (const auto& [name, value] : changes) {
        const std::map<std::string, bool*> switches{{"early_return", &lemmas.early_return},
                                                    {"window_jitter", &lemmas.window_jitter},
                                                    {"own_jitter", &lemmas.own_jitter},
                                                    {"start_jitter", &lemmas.start_jitter}};
        if (const auto found = switches.find(name); found != switches.end()) {
            *found->second = value != 0;
            continue;
        }
        const auto field = fields.find(name);
        if (field == fields.end()) {
            throw std::invalid_argument("there is no length '" + name + "' in the lemmas");
        }
        *field->second = value;
    }
    return lemmas;
}

nb::list bounds(const std::vector<Row>& rows, Time round, Time slot, const std::string& method,
                Time limit_factor, bool lower_may_overrun) {
    const std::vector<spm::Task> tasks = tasks_of(rows);
    const spm::Tdma tdma{round, slot};
    spm::Options options;
    options.method = method_of(method);
    options.limit_factor = limit_factor;
    options.lower_may_overrun = lower_may_overrun;
    nb::list result;
    const std::vector<spm::Bound> all = spm::bounds(tasks, tdma, options);
    for (std::size_t i = 0; i < all.size(); ++i) {
        const spm::Bound& bound = all[i];
        nb::dict d;
        d["response"] = bound.response ? nb::cast(*bound.response) : nb::none();
        d["running"] = bound.worst.running;
        d["loading"] = bound.worst.loading;
        d["blocking"] = bound.worst.blocking;
        d["interference"] = bound.worst.interference;
        d["final"] = bound.worst.final;
        d["shift"] = bound.worst.shift;
        d["jitter"] = bound.worst.jitter;
        d["interferers"] = spm::interferers(tasks, i, tdma, options, bound.worst);
        result.append(d);
    }
    return result;
}

nb::object many(Table executions, Table periods, Time round, Time slot, const std::string& method,
                bool each) {
    const std::size_t sets = executions.shape(0);
    const std::size_t n = executions.shape(1);
    if (periods.shape(0) != sets || periods.shape(1) != n) {
        throw std::invalid_argument("executions and periods need one shape: sets x tasks");
    }
    spm::Options options;
    options.method = method_of(method);
    auto* verdicts = new bool[sets];
    const nb::capsule owner(verdicts, [](void* p) noexcept { delete[] static_cast<bool*>(p); });
    {
        const nb::gil_scoped_release release;
        std::vector<spm::Task> tasks(n);
        for (std::size_t s = 0; s < sets; ++s) {
            const Time* const execution = executions.data() + std::int64_t(s) * executions.stride(0);
            const Time* const period = periods.data() + std::int64_t(s) * periods.stride(0);
            for (std::size_t i = 0; i < n; ++i) {
                const Time every = period[std::int64_t(i) * periods.stride(1)];
                tasks[i] = {execution[std::int64_t(i) * executions.stride(1)], every, every};
            }
            verdicts[s] = spm::schedulable(tasks, {round, slot}, options, each);
        }
    }
    return nb::cast(nb::ndarray<nb::numpy, bool, nb::ndim<1>>(verdicts, {sets}, owner));
}

// (offset, extra gaps, shortened executions, silent[, late]); the lists may be shorter than Arrivals::given.
nb::tuple row_of(const spm::Arrivals& a) {
    const std::vector<Time> gaps(a.extra_gap.begin(), a.extra_gap.end());
    const std::vector<Time> shortened(a.shortened.begin(), a.shortened.end());
    const std::vector<Time> late(a.late.begin(), a.late.end());
    if (std::all_of(late.begin(), late.end(), [](Time t) { return t == 0; })) {
        return nb::make_tuple(a.offset, gaps, shortened, a.silent);
    }
    return nb::make_tuple(a.offset, gaps, shortened, a.silent, late);
}

nb::list replay(const std::vector<Row>& rows, Time round, Time slot, const nb::list& arrivals, Time until,
                const std::string& unload, const std::vector<Time>& delays) {
    const std::vector<spm::Task> tasks = tasks_of(rows);
    const spm::Tdma tdma{round, slot};
    spm::check(tasks, tdma);
    if (arrivals.size() != tasks.size()) {
        throw std::invalid_argument("one row of arrivals a task is needed");
    }
    std::vector<spm::Arrivals> parsed(tasks.size());
    for (std::size_t i = 0; i < tasks.size(); ++i) {
        const auto row = nb::cast<nb::tuple>(arrivals[i]);
        const auto gaps = nb::cast<std::vector<Time>>(row[1]);
        const auto shortened = nb::cast<std::vector<Time>>(row[2]);
        const auto late = row.size() > 4 ? nb::cast<std::vector<Time>>(row[4]) : std::vector<Time>{};
        parsed[i].offset = nb::cast<Time>(row[0]);
        parsed[i].silent = nb::cast<bool>(row[3]);
        if (std::max({gaps.size(), shortened.size(), late.size()}) > spm::Arrivals::given) {
            throw std::invalid_argument("at most " + std::to_string(spm::Arrivals::given) +
                                        " jobs of a task can be given");
        }
        std::copy(gaps.begin(), gaps.end(), parsed[i].extra_gap.begin());
        std::copy(shortened.begin(), shortened.end(), parsed[i].shortened.begin());
        std::copy(late.begin(), late.end(), parsed[i].late.begin());
        for (std::size_t k = 0; k < spm::Arrivals::given; ++k) {
            if (parsed[i].offset < 0 || parsed[i].extra_gap[k] < 0 || parsed[i].shortened[k] < 0 ||
                parsed[i].shortened[k] >= tasks[i].execution || parsed[i].late[k] < 0 ||
                parsed[i].late[k] > tasks[i].jitter) {
                throw std::invalid_argument(
                    "task " + std::to_string(i) +
                    ": offset and gaps must be 0 or more, an execution shortened by less than itself, a job "
                    "late by at most the jitter");
            }
        }
    }
    for (const Time delay : delays) {
        if (delay < 0 || delay > round - slot) {
            throw std::invalid_argument("a delay by the other cores is 0 to round - slot");
        }
    }
    nb::list jobs;
    const auto done = [&jobs](const spm::JobRecord& j) {
        jobs.append(nb::make_tuple(j.task, j.due, j.load, j.start, j.finish, j.unload_end));
        return true;
    };
    const auto with = [&](auto grant) {
        if (unload_of(unload) == spm::Unload::fifo) {
            spm::replay<spm::Unload::fifo>(tasks, parsed, grant, until, done);
        } else {
            spm::replay<spm::Unload::lifo>(tasks, parsed, grant, until, done);
        }
    };
    if (delays.empty()) {
        with(spm::TdmaGrant{tdma});
    } else {
        with(spm::RoundRobinGrant{tdma, delays});
    }
    return jobs;
}

nb::dict campaign(const std::string& method, std::uint64_t sets, std::uint64_t seed, int threads,
                  int cores_low, int cores_high, int restarts, int steps, const std::string& unload,
                  const std::map<std::string, int>& lemmas, bool jitter) {
    spm::Campaign c;
    c.jitter = jitter;
    c.options.method = method_of(method);
    c.options.lemmas = lemmas_of(lemmas);
    c.unload = unload_of(unload);
    c.sets = sets;
    c.seed = seed;
    c.threads = threads;
    c.cores_low = cores_low;
    c.cores_high = cores_high;
    c.effort = {restarts, steps};
    if (threads < 1 || cores_low < 1 || cores_high < cores_low || restarts < 1 || steps < 0) {
        throw std::invalid_argument(
            "threads, cores and restarts must be at least 1, cores_low at most cores_high");
    }
    spm::Outcome outcome;
    {
        const nb::gil_scoped_release release;
        outcome = spm::run(c);
    }
    nb::dict d;
    d["sets"] = outcome.sets;
    d["simulations"] = outcome.simulations;
    d["violated_sets"] = outcome.violated_sets;
    d["largest_ratio"] = outcome.largest_ratio;
    d["tightness"] = outcome.tightness;
    d["example"] = nb::none();
    if (outcome.example) {
        const spm::Counterexample& e = *outcome.example;
        nb::dict x;
        nb::list arrivals;
        for (const spm::Arrivals& a : e.finding.scenario.arrivals) {
            arrivals.append(row_of(a));
        }
        x["tasks"] = rows_of(e.tasks);
        x["round"] = e.tdma.round;
        x["slot"] = e.tdma.slot;
        x["bound"] = e.bound;
        x["task"] = e.finding.task;
        x["response"] = e.finding.worst[e.finding.task];
        x["arrivals"] = arrivals;
        x["delays"] = e.finding.scenario.delays;
        x["until"] = e.finding.scenario.until;
        d["example"] = x;
    }
    return d;
}

nb::dict climb(const std::vector<Row>& rows, Time round, Time slot, const std::string& method,
               std::vector<Time> bound, std::uint64_t seed, int restarts, int steps) {
    const std::vector<spm::Task> tasks = tasks_of(rows);
    if (bound.size() != tasks.size() || restarts < 1 || steps < 0) {
        throw std::invalid_argument("one bound a task and at least one restart are needed");
    }
    for (const Time b : bound) {
        if (b <= 0) {
            throw std::invalid_argument("bounds must be above 0");
        }
    }
    spm::Options options;
    options.method = method_of(method);
    spm::Random random(seed);
    spm::Finding found;
    {
        const nb::gil_scoped_release release;
        found =
            spm::climb(tasks, {round, slot}, options, spm::Unload::fifo, bound, random, {restarts, steps});
    }
    nb::dict d;
    nb::list arrivals;
    for (const spm::Arrivals& a : found.scenario.arrivals) {
        arrivals.append(row_of(a));
    }
    d["worst"] = found.worst;
    d["task"] = found.task;
    d["ratio"] = found.ratio;
    d["arrivals"] = arrivals;
    d["delays"] = found.scenario.delays;
    d["until"] = found.scenario.until;
    d["simulations"] = found.simulations;
    return d;
}

nb::dict exact(const std::vector<Row>& rows, Time round, Time slot, bool vary, std::size_t max_states) {
    const std::vector<spm::Task> tasks = tasks_of(rows);
    for (const spm::Task& task : tasks) {
        if (task.jitter != 0) {
            throw std::invalid_argument("the exact search takes sporadic tasks without jitter");
        }
    }
    spm::Exact found;
    {
        const nb::gil_scoped_release release;
        found = spm::exact(tasks, {round, slot}, vary, max_states);
    }
    nb::dict d;
    d["response"] = found.response;
    d["states"] = found.states;
    d["complete"] = found.complete;
    d["late_task"] = found.late_task < 0 ? nb::none() : nb::cast(found.late_task);
    return d;
}

std::vector<std::vector<std::uint64_t>> sweep(const std::vector<std::array<Time, 4>>& programs,
                                              const std::vector<double>& utilisations,
                                              const std::vector<std::string>& curves, Time slot,
                                              Time other_slot, int cores, std::array<Time, 2> periods,
                                              std::array<Time, 2> switches, bool by_contended, bool keep_last,
                                              std::uint64_t sets, std::uint64_t seed, int threads) {
    spm::Sweep s;
    for (const auto& p : programs) {
        s.programs.push_back({p[0], p[1], p[2], p[3]});
    }
    s.utilisations = utilisations;
    for (const std::string& curve : curves) {
        s.curves.push_back(curve_of(curve));
    }
    s.slot = slot;
    s.other_slot = other_slot;
    s.cores = cores;
    s.period_low = periods[0];
    s.period_high = periods[1];
    s.switch_scratchpad = switches[0];
    s.switch_contended = switches[1];
    s.by_contended = by_contended;
    s.keep_last = keep_last;
    s.sets = sets;
    s.seed = seed;
    s.threads = threads;
    const nb::gil_scoped_release release;
    return spm::sweep(s);
}

}  // namespace

void bind_spm(nb::module_& module) {
    using namespace nb::literals;
    // Constants of the kernel's own headers, for code that lays its tables out.
    constexpr consort::spm::BoxShape one_empty_message{1, 0};
    module.attr("SPM_PARTITIONS") = consort::spm::partitions;
    module.attr("SPM_PART_ALIGNMENT") = consort::spm::part_alignment;
    module.attr("SPM_CELL_HEADER") = one_empty_message.cell();
    module.attr("SPM_BOX_HEADER") = one_empty_message.bytes() - one_empty_message.cell();
    module.def("spm_bounds", &bounds, "tasks"_a, "round"_a, "slot"_a, "method"_a = "corrected",
               "limit_factor"_a = 1, "lower_may_overrun"_a = false,
               "Response-time bounds in priority order, up to the first task that misses its deadline.");
    module.def(
        "spm_schedulable", &many, "executions"_a, "periods"_a, "round"_a, "slot"_a, "method"_a = "corrected",
        "each"_a = false,
        "Verdicts over many sets (int64 arrays, sets x tasks, deadlines at the periods); with each the "
        "bound of each task is computed.");
    module.def(
        "spm_replay", &replay, "tasks"_a, "round"_a, "slot"_a, "arrivals"_a, "until"_a, "unload"_a = "fifo",
        "delays"_a = std::vector<Time>{},
        "Runs the protocol: (task, due, load, start, finish, unload end) of each job, in unload order.");
    module.def("spm_campaign", &campaign, "method"_a, "sets"_a, "seed"_a = 1, "threads"_a = 1,
               "cores_low"_a = 1, "cores_high"_a = 4, "restarts"_a = 3, "steps"_a = 100, "unload"_a = "fifo",
               "lemmas"_a = std::map<std::string, int>{}, "jitter"_a = false,
               "Looks for schedules above the bound in random sets that the bound accepts.");
    module.def("spm_climb", &climb, "tasks"_a, "round"_a, "slot"_a, "method"_a, "bound"_a, "seed"_a = 1,
               "restarts"_a = 20, "steps"_a = 400,
               "Looks for the schedule of one set that comes closest to, or goes above, its bounds.");
    module.def("spm_exact", &exact, "tasks"_a, "round"_a, "slot"_a, "vary"_a = false,
               "max_states"_a = 5'000'000,
               "Exact worst-case response times over all sporadic patterns on the grid of rounds.");
    module.def("spm_sweep", &sweep, "programs"_a, "utilisations"_a, "curves"_a, "slot"_a, "other_slot"_a,
               "cores"_a, "periods"_a, "switches"_a, "by_contended"_a, "keep_last"_a, "sets"_a, "seed"_a = 1,
               "threads"_a = 1, "Schedulable sets by curve and utilisation.");
}

}  // namespace consort::engine
