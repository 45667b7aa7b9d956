// SPDX-License-Identifier: Apache-2.0
#include "sim/run.hpp"

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "sim/limits.hpp"
#include "sim/processors.hpp"
#include "sim/three_phase.hpp"

namespace consort::engine::sim {

namespace {

// Each resource has a ceiling, in the order of their numbers.
constexpr std::uint32_t most_resources = 1U << 20;

// A resource is of one core with fixed priorities, on which no job waits.
void check_sections(const System& system, const Task& task, const std::string& where) {
    if (task.sections.empty()) {
        return;
    }
    const Core& core = system.cores[task.master];
    require(core.policy == Policy::preemptive || core.policy == Policy::non_preemptive ||
                core.policy == Policy::edf,
            where, "a job that holds resources needs fixed priorities or earliest deadline first");
    require(!core.keeps, where, "a core whose jobs hold resources is not kept");
    require(core.inherits.empty() || core.policy != Policy::edf, where,
            "priorities are inherited under fixed priorities");
    require(core.inherits.empty() || (core.cache_reload == 0 && core.set_reload == 0), where,
            "nothing is said of what a job loads again that waited for a resource");
    for (const Section& section : task.sections) {
        require(section.resource < most_resources, where, "there are at most 2^20 resources");
        require(section.length > 0 && section.length < largest_time && section.times > 0, where,
                "a section takes some time, below 2^60, at least once");
    }
    for (const Task& other : system.tasks) {
        require(other.master != task.master ||
                    (!other.offloaded && other.suspension == 0 && other.demands.empty()),
                where, "it holds resources on a core where a job waits");
        for (const Section& a : task.sections) {
            for (const Section& b : other.sections) {
                require(a.resource != b.resource || other.master == task.master, where,
                        "a resource is used on one core");
            }
        }
    }
}

// A threshold is held from the beginning of a job to its end, so that the core is not given up in between.
void check_threshold(const System& system, const Task& task, const std::string& where) {
    if (!task.threshold) {
        return;
    }
    require(*task.threshold <= task.rank, where, "its threshold is less urgent than it is");
    require(system.cores[task.master].policy == Policy::preemptive, where,
            "a threshold needs preemptive fixed priorities");
    for (const Task& other : system.tasks) {
        require(other.master != task.master ||
                    (!other.offloaded && other.suspension == 0 && other.demands.empty()),
                where, "it has a threshold on a core where a job waits");
    }
}

void check_demands(const System& system, const Task& task, const std::string& where) {
    if (task.demands.empty()) {
        return;
    }
    const Core& own = system.cores[task.core];
    require(!task.offloaded && task.sections.empty() && own.policy != Policy::three_phase, where,
            "what asks an accelerator executes on its own core, and holds no resource");
    require(own.supply.period == 0 && own.cache_reload == 0 && own.set_reload == 0, where,
            "a job that asks an accelerator has a whole core, and nothing to load again");
    for (const Demand& demand : task.demands) {
        require(demand.accelerator < system.cores.size() &&
                    system.cores[demand.accelerator].policy == Policy::accelerator,
                where, "there is no such accelerator");
        const Core& accelerator = system.cores[demand.accelerator];
        require(demand.client < accelerator.shares.size(), where, "the accelerator has no such client");
        for (const Time v : {demand.send, demand.receive, demand.request, demand.response, demand.cost}) {
            require(v >= 0 && v < largest_time, where, "a time of a request is negative or 2^60 or more");
        }
        require(0 < demand.bcet && demand.bcet <= demand.wcet && demand.wcet <= demand.cost, where,
                "a request needs 0 < bcet <= wcet <= cost");
        require(demand.times > 0 && demand.times <= 1000, where, "a request is made 1 to 1000 times");
        const accel::Account account(accelerator.shares[demand.client]);
        require(account.may_begin(accelerator.arbitration, static_cast<Ticks>(accelerator.round), 0,
                                  static_cast<Ticks>(demand.cost)) != accel::never,
                where, "a request does not fit what its client is given");
    }
    for (const Task& other : system.tasks) {
        const auto same = [&](const Demand& a) {
            return std::any_of(other.demands.begin(), other.demands.end(), [&a](const Demand& b) {
                return a.accelerator == b.accelerator && a.client == b.client;
            });
        };
        require(&other == &task || std::none_of(task.demands.begin(), task.demands.end(), same), where,
                "two tasks are one client of an accelerator");
    }
}

void check_accelerator(const Core& core, const std::string& where) {
    for (std::size_t i = 0; i < core.shares.size(); ++i) {
        const accel::Share& share = core.shares[i];
        if (core.arbitration == accel::Arbitration::tdma) {
            require(core.round > 0 && core.round < largest_time, where, "a round is above 0 and below 2^60");
            const auto round = static_cast<Ticks>(core.round);
            require(share.slot_from <= round && share.slot <= round - share.slot_from, where,
                    "a slot does not fit the round");
        }
        if (core.arbitration == accel::Arbitration::budget) {
            require(share.period > 0 && share.period < static_cast<Ticks>(largest_time), where,
                    "a budget has a period above 0 and below 2^60");
        }
        for (std::size_t k = 0; k < i; ++k) {
            const accel::Share& other = core.shares[k];
            if (core.arbitration == accel::Arbitration::tdma) {
                require(share.slot_from >= other.slot_from + other.slot ||
                            other.slot_from >= share.slot_from + share.slot,
                        where, "two slots overlap");
            } else {
                require(share.rank != other.rank, where, "two clients have one rank");
            }
        }
    }
}

void check_task(const System& system, std::size_t index) {
    const Task& t = system.tasks[index];
    const std::string where = "task " + std::to_string(index);
    require(t.core < system.cores.size() && t.master < system.cores.size(), where, "there is no such core");
    for (const Time v : {t.period, t.extra_gap, t.offset, t.jitter, t.deadline, t.wcet, t.bcet, t.suspension,
                         t.send, t.receive, t.request, t.response, t.fallback, t.load, t.unload}) {
        require(v >= 0 && v < largest_time, where, "a time is negative or 2^60 or more");
    }
    require(t.period > 0 && t.deadline > 0, where, "period and deadline must be above 0");
    require(t.stretches > 0, where, "a suspension has at least one stretch");
    check_sections(system, t, where);
    check_threshold(system, t, where);
    require(t.bcet <= t.wcet, where, "the best-case execution time is above the worst-case one");
    Time before = 0;
    for (const Time r : t.releases) {
        require(r >= before && r < largest_time, where, "releases must be 0 or more, in order, below 2^60");
        before = r;
    }
    require(t.distances.size() <= app::Distances::most, where, "it has too many distances");
    before = 1;
    for (const Time d : t.distances) {
        require(d >= before && d < largest_time, where, "distances must be above 0, in order, below 2^60");
        before = d;
    }
    for (const Time e : t.executions) {
        require(e >= 0 && e < largest_time, where, "execution times must be 0 or more and below 2^60");
    }
    if (t.arrival) {
        require(t.arrival->writer < system.tasks.size() && t.arrival->writer != index, where,
                "another task writes the blocks that release it");
        const Task& writer = system.tasks[t.arrival->writer];
        for (const Task* end : {&t, &writer}) {
            require(system.cores[end->core].policy != Policy::three_phase, where,
                    "no three-phase task writes blocks that release others, or is released by them");
            require(!end->rests, where, "blocks that release tasks belong to no mode");
        }
        require(t.offset == 0 && t.extra_gap == 0 && t.releases.empty(), where,
                "a task that blocks release has no other releases");
    }
    const Core& core = system.cores[t.core];
    require(core.policy != Policy::accelerator, where, "an accelerator has no task of its own");
    check_demands(system, t, where);
    if (t.offloaded) {
        require(core.policy == Policy::worker, where, "an offloaded task needs a worker's core");
        const Policy policy = system.cores[t.master].policy;
        require(policy != Policy::worker && policy != Policy::three_phase, where,
                "a master's core has fixed priorities or earliest deadline first");
        require(system.cores[t.master].supply.period == 0, where, "a master has a whole core");
        bool instant = t.executions.empty() ? t.bcet == 0 : false;
        for (const Time e : t.executions) {
            instant = instant || e == 0;
        }
        require(!instant, where, "the execution time of an offloaded task must be above 0");
        require(t.give_up > 0 && t.give_up < largest_time, where,
                "the wait for the answer to an offloaded job must be above 0 and below 2^60");
        return;
    }
    require(t.master == t.core, where, "only an offloaded task has a master");
    require(core.policy != Policy::worker, where, "a worker's core takes offloaded tasks only");
    if (core.policy == Policy::three_phase) {
        require(t.suspension == 0, where, "a three-phase task does not suspend itself");
        require(!t.skip, where, "a three-phase task does not skip releases");
        require(t.distances.empty(), where, "a three-phase task has no distances");
        require(t.load <= core.slot && t.unload <= core.slot, where, "load or unload do not fit the slot");
    }
}

}  // namespace

void check(const System& system, const Settings& settings) {
    require(settings.duration >= 0 && settings.duration < largest_time, "duration",
            "it must be 0 or more and below 2^60");
    for (std::size_t c = 0; c < system.cores.size(); ++c) {
        const Core& core = system.cores[c];
        const std::string where = "core " + std::to_string(c);
        require(core.context_switch >= 0 && core.context_switch < largest_time, where,
                "the context switch must be 0 or more and below 2^60");
        require(core.cache_reload >= 0 && core.cache_reload < largest_time && core.set_reload >= 0 &&
                    core.set_reload < largest_time,
                where, "what a preempted job loads again takes 0 or more and below 2^60");
        const Supply& supply = core.supply;
        if (supply.period != 0) {
            require(supply.budget > 0 && supply.budget <= supply.period && supply.period < largest_time,
                    where, "a supply needs 0 < budget <= period < 2^60");
            require(core.policy != Policy::worker && core.policy != Policy::three_phase && !core.keeps, where,
                    "a worker, a three-phase core and one that is kept have no supply but the whole core");
        }
        if (core.policy == Policy::accelerator) {
            check_accelerator(core, where);
        }
        if (core.policy != Policy::three_phase) {
            continue;
        }
        require(core.dma < system.dmas.size(), where, "there is no such DMA");
        require(core.slot > 0 && core.slot < largest_time, where, "the slot must be above 0 and below 2^60");
        require(core.partitions > 0, where, "a three-phase core needs at least one partition");
        const Dma& dma = system.dmas[core.dma];
        if (!dma.round_robin) {
            require(core.slot_phase >= 0 && core.slot_phase + core.slot <= dma.round, where,
                    "its slot does not fit the round");
        }
    }
    for (std::size_t d = 0; d < system.dmas.size(); ++d) {
        const Dma& dma = system.dmas[d];
        require(dma.round_robin || (dma.round > 0 && dma.round < largest_time), "DMA " + std::to_string(d),
                "the round must be above 0 and below 2^60");
    }
    // Two cores of one DMA never own the same instant.
    for (std::size_t a = 0; a < system.cores.size(); ++a) {
        for (std::size_t b = a + 1; b < system.cores.size(); ++b) {
            const Core& x = system.cores[a];
            const Core& y = system.cores[b];
            if (x.policy != Policy::three_phase || y.policy != Policy::three_phase || x.dma != y.dma ||
                system.dmas[x.dma].round_robin) {
                continue;
            }
            require(x.slot_phase + x.slot <= y.slot_phase || y.slot_phase + y.slot <= x.slot_phase,
                    "core " + std::to_string(b),
                    ("its slot overlaps that of core " + std::to_string(a)).c_str());
        }
    }
    for (std::size_t t = 0; t < system.tasks.size(); ++t) {
        check_task(system, t);
    }
}

namespace {

// Cores that have to do with one another, and their tasks.
struct Cluster {
    std::vector<std::uint32_t> cores;
    std::vector<std::uint32_t> tasks;
};

std::vector<Cluster> clusters(const System& system) {
    std::vector<std::uint32_t> leader(system.cores.size());
    std::iota(leader.begin(), leader.end(), 0U);
    const auto find = [&leader](std::uint32_t c) {
        while (leader[c] != c) {
            c = leader[c] = leader[leader[c]];
        }
        return c;
    };
    const auto join = [&](std::uint32_t a, std::uint32_t b) {
        const std::uint32_t x = find(a);
        const std::uint32_t y = find(b);
        leader[std::max(x, y)] = std::min(x, y);
    };
    // A stop ends the releases of all: at the instant of the stop it must be known what happened before it.
    std::uint32_t stops = 0;
    bool any = false;
    for (const Task& t : system.tasks) {
        join(t.core, t.master);
        for (const Demand& demand : t.demands) {
            join(t.core, demand.accelerator);
        }
        if (t.arrival) {
            join(t.core, system.tasks[t.arrival->writer].core);
        }
        if (t.offloaded && t.on_miss == OnMiss::stop) {
            stops = t.core;
            any = true;
        }
    }
    for (std::uint32_t c = 0; any && c < system.cores.size(); ++c) {
        if (system.cores[c].policy != Policy::three_phase) {
            join(c, stops);
        }
    }
    for (std::uint32_t a = 0; a < system.cores.size(); ++a) {
        for (std::uint32_t b = 0; b < a; ++b) {
            const Core& x = system.cores[a];
            const Core& y = system.cores[b];
            if (x.policy == Policy::three_phase && y.policy == Policy::three_phase && x.dma == y.dma &&
                system.dmas[x.dma].round_robin) {
                join(a, b);
            }
        }
    }
    std::vector<Cluster> found(system.cores.size());
    for (std::uint32_t c = 0; c < system.cores.size(); ++c) {
        found[find(c)].cores.push_back(c);
    }
    for (std::uint32_t t = 0; t < system.tasks.size(); ++t) {
        if (!system.tasks[t].rests) {
            found[find(system.tasks[t].core)].tasks.push_back(t);
        }
    }
    std::erase_if(found, [](const Cluster& c) { return c.tasks.empty(); });
    // First what may stop the others.
    std::stable_partition(found.begin(), found.end(), [&system](const Cluster& c) {
        return system.cores[c.cores.front()].policy != Policy::three_phase;
    });
    return found;
}

template <bool traced>
class Simulation {
  public:
    Simulation(const System& system, const Settings& settings, std::vector<Figures>& figures, Trace* trace,
               Progress* progress)
        : system_(system),
          settings_(settings),
          sink_(figures, trace, progress),
          processors_(system, settings, sink_),
          three_phase_(system, settings, sink_) {}

    // The first instant at which a task stopped the run, or never. With an outcome also how it ended.
    Time operator()(const std::vector<Cluster>& all, Time until, Outcome* outcome = nullptr) {
        Time stopped = never;
        for (const Cluster& c : all) {
            const Core& core = system_.cores[c.cores.front()];
            if (core.policy != Policy::three_phase) {
                stopped = std::min(stopped, processors_.run(c.tasks, c.cores, until));
                until = std::min(until, stopped);
                if (outcome != nullptr) {
                    outcome->idle = std::max(outcome->idle, processors_.idle());
                    for (std::uint32_t t = 0; t < c.tasks.size(); ++t) {
                        outcome->next_jobs[c.tasks[t]] = processors_.next_job(t);
                    }
                }
            } else if (!system_.dmas[core.dma].round_robin) {
                three_phase_.run_tdma(c.cores.front(), c.tasks, until);
            } else {
                std::vector<std::vector<std::uint32_t>> by_core(c.cores.size());
                for (std::size_t k = 0; k < c.cores.size(); ++k) {
                    for (const std::uint32_t t : c.tasks) {
                        if (system_.tasks[t].core == c.cores[k]) {
                            by_core[k].push_back(t);
                        }
                    }
                }
                three_phase_.run_round_robin(c.cores, by_core, until);
            }
        }
        return stopped;
    }

  private:
    const System& system_;
    const Settings& settings_;
    Sink<traced> sink_;
    Processors<traced> processors_;
    ThreePhase<traced> three_phase_;
};

// Jobs that periods lead to expect: rows that find room need not move while a simulation goes on.
std::size_t expected_jobs(const System& system, const Settings& settings) {
    constexpr Time most = 1 << 22;
    Time jobs = 0;
    for (const Task& task : system.tasks) {
        jobs = std::min(most, jobs + (task.period > 0 ? settings.duration / task.period : 0) + 1);
    }
    return static_cast<std::size_t>(jobs);
}

// Room for so many rows, in huge pages where the system has them: a fault for each small page takes as long
// as the simulation.
template <class Row>
void make_room(std::vector<Row>& rows, std::size_t count) {
    rows.reserve(count);
#if defined(__linux__)
    constexpr std::uintptr_t huge = std::uintptr_t{1} << 21U;
    const auto begin = reinterpret_cast<std::uintptr_t>(rows.data());
    const std::uintptr_t from = (begin + huge - 1) / huge * huge;
    const std::uintptr_t end = begin + rows.capacity() * sizeof(Row);
    if (from < end) {
        // Advice: without it all is the same.
        static_cast<void>(::madvise(reinterpret_cast<void*>(from), end - from, MADV_HUGEPAGE));  // NOLINT
    }
#endif
}

template <bool traced>
Outcome run_as(const System& system, const Settings& settings, Trace* trace, Progress* progress) {
    Outcome outcome;
    outcome.figures.assign(system.tasks.size(), {});
    if constexpr (traced) {
        const std::size_t jobs = expected_jobs(system, settings);
        make_room(trace->jobs, jobs);
        // A job that is not preempted has one slice.
        make_room(trace->slices, 2 * jobs);
    }
    Simulation<traced> simulation(system, settings, outcome.figures, trace, progress);
    for (const Task& task : system.tasks) {
        outcome.next_jobs.push_back(task.first_job);
    }
    outcome.stopped = simulation(clusters(system), settings.duration, &outcome);
    return outcome;
}

}  // namespace

Outcome run(const System& system, const Settings& settings, Trace* trace, Progress* progress) {
    check(system, settings);
    return trace != nullptr ? run_as<true>(system, settings, trace, progress)
                            : run_as<false>(system, settings, nullptr, progress);
}

BulkOutcome run_bulk(const Bulk& bulk) {
    System system;
    system.cores.resize(1);
    system.cores[0].policy = bulk.policy;
    system.cores[0].slot = bulk.slot;
    if (bulk.policy == Policy::three_phase) {
        system.dmas = {{false, bulk.round}};
    }
    system.tasks.resize(bulk.tasks);
    Settings settings = bulk.settings;
    std::vector<Figures> figures(bulk.tasks);
    Simulation<false> simulation(system, settings, figures, nullptr, nullptr);
    BulkOutcome outcome;
    outcome.max_response.reserve(bulk.sets * bulk.tasks);
    outcome.misses.reserve(bulk.sets * bulk.tasks);
    Cluster cluster{{0}, std::vector<std::uint32_t>(bulk.tasks)};
    std::iota(cluster.tasks.begin(), cluster.tasks.end(), 0U);
    const std::vector<Cluster> all{cluster};
    for (std::size_t s = 0; s < bulk.sets; ++s) {
        Time longest = 0;
        for (std::size_t i = 0; i < bulk.tasks; ++i) {
            const std::size_t at = s * bulk.tasks + i;
            Task& t = system.tasks[i];
            t.period = bulk.periods[at];
            t.wcet = t.bcet = bulk.executions[at];
            t.deadline = bulk.deadlines[at];
            t.offset = bulk.offsets.empty() ? 0 : bulk.offsets[at];
            t.rank = static_cast<std::uint32_t>(i);
            longest = std::max(longest, t.period);
        }
        settings.duration = bulk.periods_each != 0 ? mul(bulk.periods_each, longest) : bulk.settings.duration;
        settings.seed = bulk.settings.seed + s;
        try {
            check(system, settings);
        } catch (const std::invalid_argument& e) {
            throw std::invalid_argument("set " + std::to_string(s) + ", " + e.what());
        }
        std::fill(figures.begin(), figures.end(), Figures{});
        (void)simulation(all, settings.duration);
        for (const Figures& f : figures) {
            outcome.max_response.push_back(f.max_response);
            outcome.misses.push_back(f.misses);
            outcome.jobs += f.jobs;
        }
    }
    return outcome;
}

std::uint64_t combinations(const System& system, Time step, std::uint32_t fixed) {
    std::uint64_t all = 1;
    for (std::size_t t = fixed; t < system.tasks.size(); ++t) {
        const auto each = static_cast<std::uint64_t>(ceil_div(system.tasks[t].period, step));
        if (__builtin_mul_overflow(all, each, &all)) {
            return std::numeric_limits<std::uint64_t>::max();
        }
    }
    return all;
}

Exploration explore(const System& given, const Settings& settings, Time step, std::uint32_t fixed,
                    Progress* progress) {
    if (step <= 0) {
        throw std::invalid_argument("step: it must be above 0");
    }
    check(given, settings);
    System system = given;
    const std::size_t n = system.tasks.size();
    for (std::size_t t = fixed; t < n; ++t) {
        system.tasks[t].offset = 0;
    }
    const std::vector<Cluster> all = clusters(system);
    std::vector<Figures> figures(n);
    Simulation<false> simulation(system, settings, figures, nullptr, progress);
    Exploration found;
    found.max_response.assign(n, absent);
    found.offsets.resize(n);
    for (;;) {
        std::fill(figures.begin(), figures.end(), Figures{});
        (void)simulation(all, settings.duration);
        ++found.runs;
        for (std::size_t t = 0; t < n; ++t) {
            if (figures[t].max_response > found.max_response[t]) {
                found.max_response[t] = figures[t].max_response;
                found.offsets[t].clear();
                for (const Task& task : system.tasks) {
                    found.offsets[t].push_back(task.offset);
                }
            }
        }
        std::size_t t = fixed;
        for (; t < n; ++t) {
            Time& offset = system.tasks[t].offset;
            offset += step;
            if (offset < system.tasks[t].period) {
                break;
            }
            offset = 0;
        }
        if (t >= n) {
            return found;
        }
    }
}

}  // namespace consort::engine::sim
