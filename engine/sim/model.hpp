// SPDX-License-Identifier: Apache-2.0
//
// The simulated system: cores with their policies, tasks, and the sharers of a DMA. The exact meaning of
// every field is docs/explanation/simulator.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <vector>

#include "consort/accel/arbiter.hpp"
#include "consort/app/release.hpp"
#include "consort/task/miss_policy.hpp"
#include "time.hpp"

namespace consort::engine::sim {

static_assert(std::is_same_v<Time, app::Time>);
using app::absent;
using app::never;
using app::Spread;

enum class Policy : std::uint8_t { preemptive, non_preemptive, edf, worker, three_phase, accelerator };

// A hypervisor's supply to a core: a budget in each period, at one place of all periods or anywhere in each.
// Where, is drawn from the seed.
struct Supply {
    Time period = 0;  // 0: the whole core
    Time budget = 0;
    bool fixed = false;
};

struct Core {
    Policy policy = Policy::preemptive;
    Supply supply{};  // not of workers and three-phase cores, nor where jobs are offloaded or a core is kept
    Time context_switch = 0;
    // How much longer a job executes each time that it goes on after a preemption, at most.
    Time cache_reload = 0;
    // And for each set of its cache in which it had useful blocks and another job evicted some.
    Time set_reload = 0;
    // The resources whose holders inherit priorities; those of all others have a ceiling.
    std::vector<std::uint32_t> inherits{};
    // While a job waits for an answer, of a worker or an accelerator, its core is kept from what is less
    // urgent: it keeps looking. A job that suspends itself always gives the core up.
    bool keeps = false;
    // For a worker: it serves the most urgent request it finds, not the oldest one.
    bool by_rank = false;
    // For three-phase cores: the DMA, its own slots (TDMA), and the number of partitions of the scratchpad.
    std::uint32_t dma = 0;
    Time slot = 0;
    Time slot_phase = 0;  // from 0 to the first own slot
    std::uint32_t partitions = 2;
    // For an accelerator: the choice of the next request, and each client's share.
    accel::Arbitration arbitration = accel::Arbitration::fixed_priority;
    Time round = 0;  // of TDMA slots
    std::vector<accel::Share> shares{};
};

struct Dma {
    bool round_robin = false;
    Time round = 0;  // TDMA: from one own slot of a core to its next
};

// A part of a job in which it holds a resource. Under the immediate priority ceiling protocol it executes
// with the priority of the most urgent user of the resource; under priority inheritance (`Core::inherits`)
// with its own, or with that of the most urgent job that waits for the resource, if that is higher.
struct Section {
    std::uint32_t resource = 0;
    Time length = 0;          // at most, from taking the resource to giving it back
    std::uint32_t times = 1;  // in each job
};

// A job's request to an accelerator, anywhere in what it executes itself, and its wait.
struct Demand {
    std::uint32_t accelerator = 0;  // a core
    std::uint32_t client = 0;       // whose share
    std::uint32_t times = 1;        // in each job, at most
    Time cost = 1;                  // that the arbitration counts with
    Time wcet = 1;                  // how long it occupies the accelerator; not above the cost
    Time bcet = 1;
    // Writes and reads of the job's own core, and the times of the messages on their way.
    Time send = 0;
    Time receive = 0;
    Time request = 0;
    Time response = 0;
};

// The writer whose blocks release a task.
struct Arrival {
    std::uint32_t writer = 0;  // a task that is not three-phase
    bool let = false;          // a block is there at its job's deadline, not at its end
};

struct Task {
    std::uint32_t core = 0;    // where it is computed
    std::uint32_t master = 0;  // where it is released; the same but for offloaded tasks
    Time period = 1;           // or the least time between two releases
    Time extra_gap = 0;        // sporadic: how much more it may be
    // From a release to the next, the one after that, …, at least; no more than app::Distances::most. Not of
    // three-phase tasks.
    std::vector<Time> distances{};
    Time offset = 0;
    Time jitter = 0;
    Time deadline = 1;
    std::uint32_t rank = 0;  // 0 is the most urgent
    // For a preemptive core without jobs that wait: a job that has begun is preempted only by tasks of a
    // rank below this one, which is at most its own.
    std::optional<std::uint32_t> threshold;
    std::uint32_t worker_rank = 0;  // of an offloaded task at its worker
    Time wcet = 1;
    Time bcet = 1;
    // A job suspends itself for so long in all, in at most so many stretches.
    Time suspension = 0;
    std::uint32_t stretches = 1;
    // One after another, anywhere in what it executes. Only on cores with fixed priorities whose jobs never
    // wait.
    std::vector<Section> sections;
    // Only of jobs that their own core computes, with fixed priorities or earliest deadline first.
    std::vector<Demand> demands;
    // Sets of its core's cache: where it evicts what others have, and where it has what it uses again.
    std::vector<std::uint32_t> evicting;
    std::vector<std::uint32_t> useful;
    bool offloaded = false;
    OnMiss on_miss = OnMiss::hold_last_output;
    Time give_up = 0;  // so long after its release the answer to an offloaded job is awaited: above 0
    Time send = 0;
    Time receive = 0;
    Time request = 0;
    Time response = 0;
    Time fallback = 0;
    Time load = 0;  // 0: the slot's length
    Time unload = 0;
    // A job that could begin only after its release + max(period, deadline) is not begun: unserved. Not of
    // three-phase tasks.
    bool skip = false;
    // Three-phase: a job is loaded only when the one before it has been unloaded, as data that the task keeps
    // requires.
    bool one_in_flight = false;
    // For a system with modes: it is not released in this mode; its outputs are there at its deadlines (LET),
    // and its jobs are over no earlier when the mode is left; the number of its first job.
    bool rests = false;
    bool until_deadline = false;
    std::uint64_t first_job = 0;
    std::vector<Time> releases;    // where given: exactly these
    std::vector<Time> executions;  // where given: these, in turn
    // Where given: one job for each block, `period` apart at least but for the jitter; no offset, no extra
    // gap. Not of three-phase tasks.
    std::optional<Arrival> arrival;
};

struct System {
    std::vector<Core> cores;
    std::vector<Dma> dmas;
    std::vector<Task> tasks;
};

struct Settings {
    Time duration = 0;
    std::uint64_t seed = 0;
    Spread execution = Spread::uniform;
    Spread arrival = Spread::uniform;
};

// std::invalid_argument with the task or core that does not fit.
void check(const System& system, const Settings& settings);

}  // namespace consort::engine::sim
