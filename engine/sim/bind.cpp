// SPDX-License-Identifier: Apache-2.0
//
// Python bindings: the simulator. Times are integers in ticks.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "consort/app/plan.hpp"
#include "consort/icc/layout.hpp"
#include "sim/in_virtual_time.hpp"
#include "sim/run.hpp"

namespace nb = nanobind;

namespace consort::engine {

namespace {

sim::Policy policy_of(const std::string& name) {
    return choose<sim::Policy>("the policy", name,
                               {{"fixed-priority", sim::Policy::preemptive},
                                {"fixed-priority-non-preemptive", sim::Policy::non_preemptive},
                                {"edf", sim::Policy::edf},
                                {"worker", sim::Policy::worker},
                                {"three-phase", sim::Policy::three_phase},
                                {"accelerator", sim::Policy::accelerator}});
}

accel::Arbitration arbitration_of(const std::string& name) {
    return choose<accel::Arbitration>("the arbitration", name,
                                      {{"fixed-priority", accel::Arbitration::fixed_priority},
                                       {"tdma", accel::Arbitration::tdma},
                                       {"budget", accel::Arbitration::budget}});
}

sim::Spread spread_of(const std::string& name) {
    return choose<sim::Spread>(
        "the choice", name,
        {{"worst", sim::Spread::worst}, {"uniform", sim::Spread::uniform}, {"edges", sim::Spread::edges}});
}

OnMiss on_miss_of(const std::string& name) {
    return choose<OnMiss>("the policy on a miss", name,
                          {{"hold-last-output", OnMiss::hold_last_output},
                           {"local-fallback", OnMiss::local_fallback},
                           {"stop", OnMiss::stop}});
}

// An array that owns what a vector held.
template <class T>
nb::object array_of(std::vector<T>&& values, std::initializer_list<std::size_t> shape) {
    auto* owned = new std::vector<T>(std::move(values));
    const nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return nb::cast(nb::ndarray<nb::numpy, T>(owned->data(), shape, owner));
}

// The same as bytes: Python knows the layout of a row.
template <class Row>
nb::object bytes_of(std::vector<Row>&& rows) {
    auto* owned = new std::vector<Row>(std::move(rows));
    const nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<Row>*>(p); });
    return nb::cast(nb::ndarray<nb::numpy, std::uint8_t, nb::ndim<1>>(
        reinterpret_cast<std::uint8_t*>(owned->data()), {owned->size() * sizeof(Row)}, owner));
}

// How a row lies in memory, as numpy.dtype takes it.
template <class Row>
nb::dict layout_of() {
    nb::list names;
    nb::list formats;
    nb::list offsets;
    for (std::size_t i = 0; i < Layout<Row>::count; ++i) {
        const Leaf& leaf = Layout<Row>::leaves[i];
        names.append(std::string(Layout<Row>::name(i).view()));
        formats.append((leaf.is_signed != 0 ? "<i" : "<u") + std::to_string(leaf.size));
        offsets.append(leaf.offset);
    }
    nb::dict layout;
    layout["names"] = names;
    layout["formats"] = formats;
    layout["offsets"] = offsets;
    layout["itemsize"] = Layout<Row>::size;
    return layout;
}

template <class Work>
auto without_gil(Work&& work) {
    try {
        const nb::gil_scoped_release release;
        return work();
    } catch (const sim::Cancelled&) {
        PyErr_SetNone(PyExc_KeyboardInterrupt);
        throw nb::python_error();
    }
}

sim::Settings settings_of(Time duration, std::uint64_t seed, const std::string& execution,
                          const std::string& arrival) {
    const sim::Spread arrivals = spread_of(arrival);
    if (arrivals == sim::Spread::worst) {
        throw std::invalid_argument(
            "arrivals are chosen 'uniform' or 'edges': the worst depends on the system");
    }
    return {duration, seed, spread_of(execution), arrivals};
}

nb::dict row_layouts() {
    nb::dict rows;
    rows["jobs"] = layout_of<sim::JobRow>();
    rows["slices"] = layout_of<Slice>();
    rows["operations"] = layout_of<Operation>();
    return rows;
}

nb::list list_of(const std::vector<sim::Figures>& figures) {
    nb::list tasks;
    for (const sim::Figures& f : figures) {
        nb::dict d;
        d["jobs"] = f.jobs;
        d["misses"] = f.misses;
        d["held"] = f.held;
        d["fallbacks"] = f.fallbacks;
        d["unserved"] = f.unserved;
        d["early"] = f.early;
        const bool served = f.jobs != f.unserved;
        d["max_response"] = served ? nb::cast(f.max_response) : nb::none();
        d["min_response"] = served ? nb::cast(f.min_response) : nb::none();
        d["worst_job"] = served ? nb::cast(f.worst_job) : nb::none();
        tasks.append(d);
    }
    return tasks;
}

nb::dict dict_of(const sim::Outcome& outcome, bool trace, sim::Trace&& rows) {
    nb::dict result;
    result["tasks"] = list_of(outcome.figures);
    result["stopped"] = outcome.stopped == sim::never ? nb::none() : nb::cast(outcome.stopped);
    if (trace) {
        result["jobs"] = bytes_of(std::move(rows.jobs));
        result["slices"] = bytes_of(std::move(rows.slices));
    }
    return result;
}

nb::dict run(const sim::System& system, Time duration, std::uint64_t seed, const std::string& execution,
             const std::string& arrival, bool trace, sim::Progress* progress) {
    const sim::Settings settings = settings_of(duration, seed, execution, arrival);
    sim::Trace rows;
    const sim::Outcome outcome =
        without_gil([&] { return sim::run(system, settings, trace ? &rows : nullptr, progress); });
    return dict_of(outcome, trace, std::move(rows));
}

nb::dict run_in_virtual_time(const sim::System& system, Time duration, std::uint64_t seed,
                             const std::string& execution, const std::string& arrival, bool trace) {
    const sim::Settings settings = settings_of(duration, seed, execution, arrival);
    sim::Trace rows;
    const sim::Outcome outcome = without_gil([&] {
        virtual_time::Machine machine;
        return sim::run_in_virtual_time(machine, system, settings, trace ? &rows : nullptr);
    });
    return dict_of(outcome, trace, std::move(rows));
}

nb::dict dict_of(const sim::ModesOutcome& outcome, bool trace, sim::Trace&& rows) {
    nb::dict result;
    nb::list modes;
    for (const std::vector<sim::Figures>& figures : outcome.figures) {
        modes.append(list_of(figures));
    }
    nb::list changes;
    for (const app::ModeChanged& change : outcome.changes) {
        nb::dict d;
        d["requested"] = change.requested;
        d["drained"] = change.drained;
        d["released"] = change.released;
        d["source"] = change.from;
        d["target"] = change.to;
        d["requests"] = change.requests;
        changes.append(d);
    }
    result["modes"] = modes;
    result["changes"] = changes;
    if (trace) {
        result["jobs"] = bytes_of(std::move(rows.jobs));
        result["slices"] = bytes_of(std::move(rows.slices));
    }
    return result;
}

nb::dict run_modes(const sim::Modes& modes, Time duration, std::uint64_t seed, const std::string& execution,
                   const std::string& arrival, bool trace, sim::Progress* progress) {
    const sim::Settings settings = settings_of(duration, seed, execution, arrival);
    sim::Trace rows;
    const sim::ModesOutcome outcome =
        without_gil([&] { return sim::run_modes(modes, settings, trace ? &rows : nullptr, progress); });
    return dict_of(outcome, trace, std::move(rows));
}

nb::dict run_modes_in_virtual_time(const sim::Modes& modes, Time duration, std::uint64_t seed,
                                   const std::string& execution, const std::string& arrival, bool trace) {
    const sim::Settings settings = settings_of(duration, seed, execution, arrival);
    sim::Trace rows;
    const sim::ModesOutcome outcome = without_gil([&] {
        virtual_time::Machine machine;
        return sim::run_in_virtual_time(machine, modes, settings, trace ? &rows : nullptr);
    });
    return dict_of(outcome, trace, std::move(rows));
}

// Layouts for the encoder of plan images (ports/linux/src/describe.hpp has the same of a program).
nb::dict plan_layouts() {
    namespace plan = app::plan;
    nb::dict rows;
    nb::list tables;
    plan::each_row([&]<class Row>(std::string_view name, std::type_identity<Row>) {
        nb::list members;
        for (std::size_t i = 0; i < Layout<Row>::count; ++i) {
            const Leaf& leaf = Layout<Row>::leaves[i];
            nb::dict member;
            member["name"] = std::string(Layout<Row>::name(i).view());
            std::string type{leaf.is_signed != 0 ? 'i' : 'u'};
            type += std::to_string(leaf.size);
            member["type"] = type;
            member["offset"] = leaf.offset;
            member["count"] = leaf.count;
            members.append(member);
        }
        nb::dict row;
        row["bytes"] = Layout<Row>::size;
        row["members"] = members;
        rows[nb::str(name.data(), name.size())] = row;
        if constexpr (!std::is_same_v<Row, plan::Head>) {
            tables.append(nb::str(name.data(), name.size()));
        }
    });
    nb::dict choices;
    plan::each_choice([&](std::string_view member, const auto& names) {
        nb::list known;
        for (const std::string_view name : names) {
            known.append(nb::str(name.data(), name.size()));
        }
        choices[nb::str(member.data(), member.size())] = known;
    });
    nb::dict d;
    d["magic"] = plan::magic;
    d["version"] = plan::version;
    d["layout"] = plan::layout;
    d["none"] = plan::none;
    d["tables"] = tables;
    d["rows"] = rows;
    d["choices"] = choices;
    return d;
}

// The program of an image is not asked for: what it computes is not computed here.
nb::dict run_plan(const nb::bytes& given, bool trace) {
    std::vector<std::uint64_t> words((given.size() + 7) / 8);
    std::memcpy(words.data(), given.c_str(), given.size());
    app::plan::Image image;
    const auto refused =
        app::plan::Image::open(reinterpret_cast<const std::byte*>(words.data()), given.size(), 0, image);
    if (refused != app::plan::Refused::no) {
        throw std::invalid_argument(app::plan::to_string(refused));
    }
    sim::Trace rows;
    std::vector<Operation> operations;
    const sim::ModesOutcome outcome = without_gil([&] {
        // Its cores' stacks are kept from run to run.
        static thread_local virtual_time::Machine machine;
        return sim::run_plan(machine, image, trace ? &rows : nullptr, trace ? &operations : nullptr);
    });
    nb::dict result = dict_of(outcome, trace, std::move(rows));
    result["stopped"] = outcome.stopped == sim::never ? nb::none() : nb::cast(outcome.stopped);
    if (trace) {
        result["operations"] = bytes_of(std::move(operations));
    }
    return result;
}

nb::tuple bulk(const std::string& policy, Table executions, Table periods, Time duration,
               std::optional<Table> deadlines, std::optional<Table> offsets, Time longest_periods, Time slot,
               Time round, std::uint64_t seed) {
    sim::Bulk b;
    b.policy = policy_of(policy);
    if (b.policy == sim::Policy::worker) {
        throw std::invalid_argument("a worker's tasks have masters: simulate the system");
    }
    b.sets = executions.shape(0);
    b.tasks = executions.shape(1);
    const auto times = [&b](const Table& a) {
        if (a.shape(0) != b.sets || a.shape(1) != b.tasks) {
            throw std::invalid_argument("all arrays need one shape: sets x tasks");
        }
        return std::span<const Time>(a.data(), a.size());
    };
    b.executions = times(executions);
    b.periods = times(periods);
    b.deadlines = deadlines ? times(*deadlines) : b.periods;
    if (offsets) {
        b.offsets = times(*offsets);
    }
    b.slot = slot;
    b.round = round;
    if (longest_periods < 0 || (longest_periods == 0) == (duration == 0)) {
        throw std::invalid_argument("either a duration or a number of longest periods is needed");
    }
    b.periods_each = longest_periods;
    b.settings = {duration, seed, sim::Spread::worst, sim::Spread::uniform};
    sim::BulkOutcome outcome = without_gil([&] { return sim::run_bulk(b); });
    return nb::make_tuple(array_of(std::move(outcome.max_response), {b.sets, b.tasks}),
                          array_of(std::move(outcome.misses), {b.sets, b.tasks}), outcome.jobs);
}

nb::dict explore(const sim::System& system, Time duration, Time step, std::uint32_t fixed,
                 sim::Progress* progress) {
    const sim::Settings settings{duration, 0, sim::Spread::worst, sim::Spread::uniform};
    sim::Exploration found =
        without_gil([&] { return sim::explore(system, settings, step, fixed, progress); });
    nb::dict d;
    d["max_response"] = found.max_response;
    d["offsets"] = found.offsets;
    d["runs"] = found.runs;
    return d;
}

}  // namespace

// A resource, how long a job holds it at most, and how often.
using SectionRow = std::tuple<std::uint32_t, Time, std::uint32_t>;
// A client's rank, slot (from, length), budget and its period.
using ShareRow = std::tuple<std::uint32_t, Ticks, Ticks, Ticks, Ticks>;
// The fields of a Demand, in its order.
using DemandRow =
    std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, Time, Time, Time, Time, Time, Time, Time>;

void bind_sim(nb::module_& module) {
    using namespace nb::literals;
    nb::class_<sim::Core>(module, "SimCore")
        .def(
            "__init__",
            [](sim::Core* self, const std::string& policy) {
                new (self) sim::Core{};
                self->policy = policy_of(policy);
            },
            "policy"_a = "fixed-priority")
        .def_rw("context_switch", &sim::Core::context_switch)
        .def_rw("cache_reload", &sim::Core::cache_reload)
        .def_rw("set_reload", &sim::Core::set_reload)
        .def_prop_rw(
            "supply",
            [](const sim::Core& core) {
                return nb::make_tuple(core.supply.period, core.supply.budget, core.supply.fixed);
            },
            [](sim::Core& core, const std::tuple<Time, Time, bool>& supply) {
                core.supply = {std::get<0>(supply), std::get<1>(supply), std::get<2>(supply)};
            })
        .def_rw("inherits", &sim::Core::inherits)
        .def_rw("keeps", &sim::Core::keeps)
        .def_rw("by_rank", &sim::Core::by_rank)
        .def_rw("dma", &sim::Core::dma)
        .def_rw("slot", &sim::Core::slot)
        .def_rw("slot_phase", &sim::Core::slot_phase)
        .def_rw("partitions", &sim::Core::partitions)
        .def(
            "serve",
            [](sim::Core& core, const std::string& arbitration, Time round,
               const std::vector<ShareRow>& shares) {
                core.arbitration = arbitration_of(arbitration);
                core.round = round;
                core.shares.clear();
                for (const auto& [rank, slot_from, slot, budget, period] : shares) {
                    core.shares.push_back({rank, slot_from, slot, budget, period});
                }
            },
            "arbitration"_a, "round"_a, "shares"_a);
    nb::class_<sim::Dma>(module, "SimDma")
        .def(nb::init<>())
        .def_rw("round_robin", &sim::Dma::round_robin)
        .def_rw("round", &sim::Dma::round);
    nb::class_<sim::Task>(module, "SimTask")
        .def(
            "__init__",
            [](sim::Task* self, const std::string& on_miss) {
                new (self) sim::Task{};
                self->on_miss = on_miss_of(on_miss);
            },
            "on_miss"_a = "hold-last-output")
        .def_rw("core", &sim::Task::core)
        .def_rw("master", &sim::Task::master)
        .def_rw("period", &sim::Task::period)
        .def_rw("extra_gap", &sim::Task::extra_gap)
        .def_rw("offset", &sim::Task::offset)
        .def_rw("jitter", &sim::Task::jitter)
        .def_rw("distances", &sim::Task::distances)
        .def_rw("deadline", &sim::Task::deadline)
        .def_rw("rank", &sim::Task::rank)
        .def_rw("threshold", &sim::Task::threshold, nb::arg("value").none())
        .def_rw("worker_rank", &sim::Task::worker_rank)
        .def_rw("wcet", &sim::Task::wcet)
        .def_rw("bcet", &sim::Task::bcet)
        .def_rw("suspension", &sim::Task::suspension)
        .def_rw("stretches", &sim::Task::stretches)
        .def_prop_rw(
            "sections",
            [](const sim::Task& task) {
                std::vector<SectionRow> rows;
                for (const sim::Section& s : task.sections) {
                    rows.emplace_back(s.resource, s.length, s.times);
                }
                return rows;
            },
            [](sim::Task& task, const std::vector<SectionRow>& rows) {
                task.sections.clear();
                for (const auto& [resource, length, times] : rows) {
                    task.sections.push_back({resource, length, times});
                }
            })
        .def_prop_rw(
            "demands",
            [](const sim::Task& task) {
                std::vector<DemandRow> rows;
                for (const sim::Demand& d : task.demands) {
                    rows.emplace_back(d.accelerator, d.client, d.times, d.cost, d.wcet, d.bcet, d.send,
                                      d.receive, d.request, d.response);
                }
                return rows;
            },
            [](sim::Task& task, const std::vector<DemandRow>& rows) {
                task.demands.clear();
                for (const auto& [accelerator, client, times, cost, wcet, bcet, send, receive, request,
                                  response] : rows) {
                    task.demands.push_back(
                        {accelerator, client, times, cost, wcet, bcet, send, receive, request, response});
                }
            })
        .def_rw("evicting", &sim::Task::evicting)
        .def_rw("useful", &sim::Task::useful)
        .def_rw("offloaded", &sim::Task::offloaded)
        .def_rw("give_up", &sim::Task::give_up)
        .def_rw("send", &sim::Task::send)
        .def_rw("receive", &sim::Task::receive)
        .def_rw("request", &sim::Task::request)
        .def_rw("response", &sim::Task::response)
        .def_rw("fallback", &sim::Task::fallback)
        .def_rw("load", &sim::Task::load)
        .def_rw("unload", &sim::Task::unload)
        .def_rw("skip", &sim::Task::skip)
        .def_rw("one_in_flight", &sim::Task::one_in_flight)
        .def_rw("rests", &sim::Task::rests)
        .def_rw("until_deadline", &sim::Task::until_deadline)
        .def_rw("releases", &sim::Task::releases)
        .def_rw("executions", &sim::Task::executions)
        .def_prop_rw(
            "arrival",
            [](const sim::Task& task) -> std::optional<std::pair<std::uint32_t, bool>> {
                if (!task.arrival) {
                    return std::nullopt;
                }
                return std::pair{task.arrival->writer, task.arrival->let};
            },
            [](sim::Task& task, const std::optional<std::pair<std::uint32_t, bool>>& given) {
                task.arrival.reset();
                if (given) {
                    task.arrival = sim::Arrival{given->first, given->second};
                }
            },
            nb::arg("value").none());
    nb::class_<sim::System>(module, "SimSystem")
        .def(
            "__init__",
            [](sim::System* self, std::vector<sim::Core> cores, std::vector<sim::Dma> dmas,
               std::vector<sim::Task> tasks) {
                new (self) sim::System{std::move(cores), std::move(dmas), std::move(tasks)};
            },
            "cores"_a, "dmas"_a, "tasks"_a);
    nb::class_<sim::Modes>(module, "SimModes")
        .def(
            "__init__",
            [](sim::Modes* self, std::vector<sim::System> modes, std::uint32_t first, Time agreement,
               const std::vector<std::tuple<Time, std::uint32_t>>& requests) {
                new (self) sim::Modes{std::move(modes), first, agreement, {}};
                for (const auto& [at, to] : requests) {
                    self->requests.push_back({at, to});
                }
            },
            "modes"_a, "first"_a, "agreement"_a, "requests"_a);
    nb::class_<sim::Progress>(module, "SimProgress")
        .def(nb::init<>())
        .def_prop_ro("reached", [](const sim::Progress& p) { return p.reached.load(); })
        .def("cancel", [](sim::Progress& p) { p.cancel.store(true); });
    module.def("sim_run", &run, "system"_a, "duration"_a, "seed"_a = 0, "execution"_a = "uniform",
               "arrival"_a = "uniform", "trace"_a = false, "progress"_a = nb::none(),
               "One run: figures of each task and, with trace, a row for each job and each stretch of time.");
    module.def("sim_run_in_virtual_time", &run_in_virtual_time, "system"_a, "duration"_a, "seed"_a = 0,
               "execution"_a = "uniform", "arrival"_a = "uniform", "trace"_a = false,
               "The same by the executive in virtual time (docs/explanation/executive.md).");
    module.def("sim_run_modes", &run_modes, "modes"_a, "duration"_a, "seed"_a = 0, "execution"_a = "uniform",
               "arrival"_a = "uniform", "trace"_a = false, "progress"_a = nb::none(),
               "One run with changes of mode: figures of each task by mode, and the changes.");
    module.def("sim_run_modes_in_virtual_time", &run_modes_in_virtual_time, "modes"_a, "duration"_a,
               "seed"_a = 0, "execution"_a = "uniform", "arrival"_a = "uniform", "trace"_a = false,
               "The same by the executive in virtual time.");
    module.def("row_layouts", &row_layouts, "How the rows of a run lie in memory, as numpy.dtype takes it.");
    module.def("plan_layouts", &plan_layouts, "How the rows of a plan image lie in memory, and its names.");
    module.def("run_plan", &run_plan, "image"_a, "trace"_a = false,
               "Executes a plan image in virtual time: figures of each task by mode, and the changes.");
    module.def("sim_bulk", &bulk, "policy"_a, "executions"_a, "periods"_a, "duration"_a = 0,
               "deadlines"_a = nb::none(), "offsets"_a = nb::none(), "longest_periods"_a = 0, "slot"_a = 0,
               "round"_a = 0, "seed"_a = 0,
               "Many sets of one core (int64 arrays, sets x tasks, the first column the most urgent):"
               " (largest responses, misses, jobs in all).");
    module.def("sim_combinations", &sim::combinations, "system"_a, "step"_a, "fixed"_a = 0);
    module.def("sim_explore", &explore, "system"_a, "duration"_a, "step"_a, "fixed"_a = 0,
               "progress"_a = nb::none(), "Every combination of release offsets on a grid of steps.");
}

}  // namespace consort::engine
