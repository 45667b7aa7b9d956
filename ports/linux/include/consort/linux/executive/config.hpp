// SPDX-License-Identifier: Apache-2.0
//
// The configuration of a run, which read_config.hpp reads. Indices count from 0 in the order of the file's
// own lists; times are nanoseconds. No JSON library is included: every application's own unit includes this
// file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "consort/app/spacing.hpp"
#include "consort/linux/executive/link_config.hpp"
#include "consort/linux/executive/state_memory.hpp"
#include "consort/linux/release_timer.hpp"
#include "consort/task/job.hpp"
#include "consort/task/miss_policy.hpp"

namespace consort::linux_port {

enum class CorePolicy : std::uint8_t { preemptive, non_preemptive, edf, worker, three_phase };

struct CoreConfig {
    std::string name;
    CorePolicy policy = CorePolicy::preemptive;
    int cpu = -1;  // -1: not pinned
    TimeBase time_base = TimeBase::sleep;
    std::uint64_t margin_ns = 0;
    // A core that spins sleeps one wait in so many, so that the kernel need not throttle it; 0: never.
    std::uint32_t sleep_one_in = 0;
    bool wait_sleeps = false;  // how an answer is awaited
    unsigned max_restarts = 0;
    std::uint32_t ring_bytes = 1U << 20U;
};

struct MemberRows {
    std::string member;
    std::string file;
};

struct StandInConfig {
    std::uint64_t bcet_ns = 0;
    std::uint64_t wcet_ns = 0;
};

struct TaskConfig {
    std::string name;
    std::uint16_t core = 0;
    std::optional<std::uint16_t> worker;
    int rank = 1;
    int threshold = 1;  // a job that has begun is preempted above this rank only; its own at least
    int worker_rank = 1;
    std::uint64_t period_ns = 0;
    std::uint64_t extra_gap_ns = 0;
    app::Distances distances_ns{};  // of its releases, from each to the next, the one after that, …
    // The channel whose blocks release the task, at least a period apart; else time does.
    std::optional<std::uint16_t> arrival;
    std::uint64_t offset_ns = 0;
    std::uint64_t jitter_ns = 0;
    std::uint64_t deadline_ns = 0;
    std::uint64_t give_up_ns = 0;
    // After so long a job is taken for stuck, and its core is ended.
    std::uint64_t budget_ns = 0;
    // Three-phase: after so long the job is stopped; 0: never.
    std::uint64_t execution_budget_ns = 0;
    OnMiss on_miss = OnMiss::hold_last_output;
    std::string input_file;  // rows of In as they lie in memory; empty: none
    std::vector<MemberRows> member_rows;
    std::optional<StandInConfig> stand_in;
    std::uint32_t ring_bytes = 1U << 20U;
    // Each job leaves what another core goes on from if this one dies.
    bool checkpoint = false;
    RemoteStateConfig remote_state;
};

struct ClusterConfig {
    std::vector<std::uint16_t> cores;
    std::vector<std::uint64_t> slots_ns;
    bool round_robin = false;
    int io_cpu = -1;
    bool shared = false;  // with other cores' processors
};

struct ChannelConfig {
    std::string name;
    bool let = false;  // logical execution time
    // Written by a device that is only described: numbered blocks, this often. 0: a task writes it.
    std::uint64_t device_period_ns = 0;
};

struct DeviceConfig {
    std::string name;
    std::uint64_t period_ns = 0;  // of a plant's step
};

struct FaultConfig {
    std::string kind;  // kill-worker, stop-worker, kill-core, stop-core, die-in-job, kill-link, …
    std::uint64_t at_ns = 0;
    std::uint64_t for_ns = 0;
    std::optional<std::uint16_t> core;  // of a core: which
    std::optional<std::uint16_t> link;  // kill-link, stop-link, fail-link, hang-link: which
    // die-in-job: in which job of which task, after how many of its steps beside the computation.
    std::optional<std::uint16_t> task;
    std::uint64_t job = 0;
    std::uint32_t step = 0;
};

// The values of one mode. Cores and tasks stand at the places that they have in the whole run.
struct ModeConfig {
    std::string name;
    std::vector<CoreConfig> cores;
    std::vector<TaskConfig> tasks;
    std::vector<bool> active;  // by task; the others rest
};

// How the run goes from mode to mode; without modes it has one plan for all of its time.
struct ChangesConfig {
    struct Request {
        std::uint64_t at_ns;
        std::uint32_t to;
    };
    // A whole number in a task's output: k asks for the k-th of `modes`.
    struct Asker {
        std::uint16_t task;
        std::uint32_t offset;
        std::uint32_t bytes;
        bool is_signed;
        std::vector<std::uint32_t> modes;
    };
    std::vector<ModeConfig> modes;
    std::vector<Asker> askers;
    std::uint32_t start = 0;
    std::uint64_t agreement_ns = 0;
    std::vector<Request> requests;
    // By core: the mode that its death asks for; and from its last sign of life until it is known.
    std::vector<std::optional<std::uint32_t>> fail_over;
    std::uint64_t detection_ns = 0;

    [[nodiscard]] bool watched(std::size_t core) const {
        return core < fail_over.size() && fail_over[core].has_value();
    }
    // True if a core releases or computes something in a mode.
    [[nodiscard]] bool uses(std::uint32_t mode, std::size_t core) const {
        for (std::size_t task = 0; task < modes[mode].tasks.size(); ++task) {
            const TaskConfig& one = modes[mode].tasks[task];
            if (modes[mode].active[task] && (one.core == core || (one.worker && *one.worker == core))) {
                return true;
            }
        }
        return false;
    }
};

// A whole number in an output, as the processor has it; a negative one is larger than any that asks.
[[nodiscard]] inline std::uint64_t asked_value(const ChangesConfig::Asker& asker, const std::byte* out) {
    const auto read = [&]<class Unsigned>(Unsigned value) -> std::uint64_t {
        std::memcpy(&value, out + asker.offset, sizeof value);
        const auto found = static_cast<std::make_signed_t<Unsigned>>(value);
        return asker.is_signed && found < 0 ? ~std::uint64_t{0} : value;
    };
    switch (asker.bytes) {
        case 1:
            return read(std::uint8_t{});
        case 2:
            return read(std::uint16_t{});
        case 4:
            return read(std::uint32_t{});
        default:
            return read(std::uint64_t{});
    }
}

// The mode that a task's output asks for.
[[nodiscard]] inline std::optional<std::uint32_t> asked_mode(const ChangesConfig& changes, std::uint16_t task,
                                                             const std::byte* out) {
    for (const ChangesConfig::Asker& asker : changes.askers) {
        if (asker.task != task) {
            continue;
        }
        const std::uint64_t value = asked_value(asker, out);
        if (value >= 1 && value <= asker.modes.size()) {
            return asker.modes[value - 1];
        }
    }
    return std::nullopt;
}

struct RunConfig {
    std::vector<CoreConfig> cores;
    std::vector<TaskConfig> tasks;
    std::vector<ChannelConfig> channels;
    std::vector<LinkConfig> links;
    std::vector<ClusterConfig> clusters;
    std::vector<DeviceConfig> devices;
    std::vector<FaultConfig> faults;
    // `tasks` and `cores` are those of all modes; what a task is in one stands in the mode.
    ChangesConfig changes;
    std::uint64_t duration_ns = 0;
    std::uint64_t seed = 0;
    bool realtime = true;
    int priority = 50;  // of the least urgent task
    // How long a stretch without processor lasts that the kernel's real-time throttling made.
    std::uint64_t throttled_from_ns = ~std::uint64_t{0};
    std::uint64_t throttled_to_ns = 0;
    std::string record;  // JSON, as it goes into the manifest
    // The file of the plan image (consort/app/plan.hpp). In virtual time.
    std::string image;

    // True if a core releases the task, in some mode.
    [[nodiscard]] bool releases(std::uint16_t core, std::size_t task) const {
        return in_some_mode(task, [core](const TaskConfig& t) { return t.core == core; });
    }
    // True if a core computes it for another one, in some mode.
    [[nodiscard]] bool serves(std::uint16_t core, std::size_t task) const {
        return in_some_mode(task, [core](const TaskConfig& t) { return t.worker == core; });
    }
    template <class F>
    [[nodiscard]] bool in_some_mode(std::size_t task, F&& holds) const {
        bool found = changes.modes.empty() && holds(tasks[task]);
        for (const ModeConfig& mode : changes.modes) {
            found = found || (mode.active[task] && holds(mode.tasks[task]));
        }
        return found;
    }

    // Throws std::invalid_argument.
    [[nodiscard]] std::uint16_t channel_named(const std::string& name) const {
        for (std::uint16_t i = 0; i < channels.size(); ++i) {
            if (channels[i].name == name) {
                return i;
            }
        }
        throw std::invalid_argument("the configuration has no channel " + name);
    }
};

}  // namespace consort::linux_port
