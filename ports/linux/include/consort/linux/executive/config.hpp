// SPDX-License-Identifier: Apache-2.0
//
// A run: its plan image, and what belongs to this run on this machine, which files.hpp reads from a JSON
// file. Indices count from 0 in the order of the image and of the file's own lists.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "consort/app/plan.hpp"
#include "consort/linux/executive/link_config.hpp"
#include "consort/linux/executive/state_memory.hpp"
#include "consort/linux/release_timer.hpp"
#include "consort/task/job.hpp"

namespace consort::linux_port {

namespace plan = app::plan;

// Ticks of this machine's clock for a time of the image, which counts picoseconds.
[[nodiscard]] inline Ticks ticks_of(app::Time ps) {
    return Clock::from_ps(static_cast<std::uint64_t>(ps));
}
// A row with its times in ticks of this machine's clock. Of these the next instants are made from the image's
// own, one by one: a period is not a whole number of them.
[[nodiscard]] inline plan::Task in_ticks(const plan::Task& row) {
    plan::Task made = row;
    for (app::Time* time :
         {&made.period, &made.extra_gap, &made.offset, &made.jitter, &made.deadline, &made.bcet, &made.wcet,
          &made.suspension, &made.give_up, &made.send, &made.receive, &made.fallback, &made.request,
          &made.response, &made.load, &made.unload}) {
        *time = static_cast<app::Time>(ticks_of(*time));
    }
    return made;
}
inline constexpr std::uint64_t image_ticks_per_second = 1'000'000'000'000U;

struct CoreConfig {
    std::string name;
    int cpu = -1;  // -1: not pinned
    // One for all modes: threads of tasks that rest have to get the processor, too.
    TimeBase time_base = TimeBase::sleep;
    std::uint64_t margin_ns = 0;
    // How late a timer may wake it: its bounds count that much.
    std::uint64_t late_ns = 0;
    // A core that spins rests in one wait of so many, so that the kernel need not throttle it; 0: never.
    std::uint32_t sleep_one_in = 0;
    unsigned max_restarts = 0;
    std::uint32_t ring_bytes = 1U << 20U;
};

// Rows that a job goes on by in each mode; empty: by one in all of them.
struct RowSteps {
    std::vector<std::uint32_t> of_mode;
    [[nodiscard]] std::uint32_t in(std::uint32_t mode) const noexcept {
        return mode < of_mode.size() ? of_mode[mode] : 1;
    }
    // `next` is the row after the one that a job had, of `count` that are counted on from pass to pass: so
    // many are left out. No pass goes on behind its last row: the next one begins with the first.
    [[nodiscard]] static std::uint64_t left_out(std::uint64_t next, std::uint64_t count,
                                                std::uint32_t step) noexcept {
        return std::min<std::uint64_t>(step - 1, (count - next % count) % count);
    }
};

struct MemberRows {
    std::string member;
    std::string file;
    RowSteps steps;
};

struct TaskConfig {
    std::string name;
    // After so long a job is taken for stuck, and its core is ended.
    std::uint64_t budget_ns = 0;
    // Three-phase: after so long the job is stopped; 0: never.
    std::uint64_t execution_budget_ns = 0;
    std::string input_file;  // rows of In as they lie in memory; empty: none
    RowSteps input_steps;
    std::vector<MemberRows> member_rows;
    std::uint32_t ring_bytes = 1U << 20U;
    RemoteStateConfig remote_state;
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

// A whole number in a task's output: k asks for the k-th of `modes`.
struct AskerConfig {
    std::uint16_t task;
    std::uint32_t offset;
    std::uint32_t bytes;
    bool is_signed;
    std::vector<std::uint32_t> modes;
};

struct RunConfig {
    plan::Image image;
    std::shared_ptr<const void> image_memory;  // in which it lies
    std::string image_file;
    std::vector<CoreConfig> cores;
    std::vector<TaskConfig> tasks;
    std::vector<std::string> channels;
    std::vector<std::string> devices;  // plants and drivers
    std::vector<std::string> modes;    // empty: the image's one mode, and none changes
    std::vector<AskerConfig> askers;
    std::vector<LinkConfig> links;
    std::vector<FaultConfig> faults;
    int io_cpu = -1;      // of the three-phase cores' I/O core
    bool shared = false;  // some processor plays more than one core: none of them may spin
    bool realtime = true;
    int priority = 50;  // of the least urgent task
    // How long a stretch without processor lasts that the kernel's real-time throttling made.
    std::uint64_t throttled_from_ns = ~std::uint64_t{0};
    std::uint64_t throttled_to_ns = 0;
    std::string record;  // JSON, as it goes into the manifest

    [[nodiscard]] app::Time duration() const { return image.head().run.duration; }
    [[nodiscard]] bool changes_modes() const { return !modes.empty(); }

    // True if a core releases the task, in some mode.
    [[nodiscard]] bool releases(std::uint32_t core, std::size_t task) const {
        return in_some_mode(task, [core](const plan::Task& t) { return t.core == core; });
    }
    // True if a core computes it for another one, in some mode.
    [[nodiscard]] bool serves(std::uint32_t core, std::size_t task) const {
        return in_some_mode(task, [core](const plan::Task& t) { return t.worker == core; });
    }
    [[nodiscard]] bool offloaded(std::size_t task) const {
        return in_some_mode(task, [](const plan::Task& t) { return t.worker != plan::none; });
    }
    template <class F>
    [[nodiscard]] bool in_some_mode(std::size_t task, F&& holds) const {
        return first_mode(task, holds).has_value();
    }
    // The first mode, from the run's first one on, in which this holds of a task that does not rest.
    template <class F>
    [[nodiscard]] std::optional<std::uint32_t> first_mode(std::size_t task, F&& holds) const {
        const plan::Head& head = image.head();
        for (std::uint32_t k = 0; k < head.modes; ++k) {
            const std::uint32_t mode = (head.first + k) % head.modes;
            const plan::Task& one = image.task(mode, static_cast<std::uint32_t>(task));
            if (!one.rests && holds(one)) {
                return mode;
            }
        }
        return std::nullopt;
    }
    // The first mode, from the run's first one on, in which the task does not rest.
    [[nodiscard]] std::uint32_t mode_with(std::size_t task) const {
        return first_mode(task, [](const plan::Task&) { return true; }).value_or(0);
    }

    // All tasks that a core computes for others, those that it serves in this mode first, the most urgent
    // before the others. Of the rest a request may be left that its master gave up.
    [[nodiscard]] std::vector<std::uint16_t> served_by(std::uint32_t core, std::uint32_t mode) const {
        const auto rank = [&](std::uint16_t task) {
            const plan::Task& here = image.task(mode, task);
            return !here.rests && here.worker == core ? here.worker_rank : plan::none;
        };
        std::vector<std::uint16_t> found;
        for (std::uint16_t task = 0; task < tasks.size(); ++task) {
            if (serves(core, task)) {
                found.push_back(task);
            }
        }
        std::stable_sort(found.begin(), found.end(),
                         [&](std::uint16_t a, std::uint16_t b) { return rank(a) < rank(b); });
        return found;
    }

    // True if a core releases or computes something in a mode.
    [[nodiscard]] bool uses(std::uint32_t mode, std::uint32_t core) const {
        for (std::uint32_t task = 0; task < image.head().tasks; ++task) {
            const plan::Task& one = image.task(mode, task);
            if (!one.rests && (one.core == core || one.worker == core)) {
                return true;
            }
        }
        return false;
    }
    // True if tasks have ends of a channel in a mode.
    [[nodiscard]] bool carries(std::uint32_t mode, std::uint32_t channel) const {
        for (std::uint32_t task = 0; task < image.head().tasks; ++task) {
            const plan::Rows& ends = image.task(mode, task).ends;
            for (std::uint32_t e = ends.first; e < ends.first + ends.count; ++e) {
                if (image.end(e).channel == channel) {
                    return true;
                }
            }
        }
        return false;
    }
    // A process follows one policy in all modes that use its core: an image with another one is refused.
    [[nodiscard]] plan::Policy policy(std::uint32_t core) const {
        for (std::uint32_t mode = 0; mode < image.head().modes; ++mode) {
            if (uses(mode, core)) {
                return image.core(mode, core).policy;
            }
        }
        return image.core(0, core).policy;
    }
    [[nodiscard]] bool is_worker(std::uint32_t core) const { return policy(core) == plan::Policy::worker; }
    [[nodiscard]] bool waits_asleep(std::uint32_t mode, std::uint32_t core) const {
        return shared || image.core(mode, core).wait == plan::Wait::sleep;
    }
    // True if a task is more urgent than all others that its core releases in a mode.
    [[nodiscard]] bool most_urgent(std::uint32_t mode, std::uint16_t task) const {
        const plan::Task& mine = image.task(mode, task);
        for (std::uint32_t other = 0; other < image.head().tasks; ++other) {
            const plan::Task& one = image.task(mode, other);
            if (other != task && !one.rests && one.core == mine.core && one.rank <= mine.rank) {
                return false;
            }
        }
        return true;
    }
    // The kernel's priorities count up: 1 is that of the least urgent of a core's tasks in a mode.
    [[nodiscard]] int level(std::uint32_t mode, std::uint32_t core, std::uint32_t rank) const {
        int tasks = 0;
        for (std::uint32_t task = 0; task < image.head().tasks; ++task) {
            const plan::Task& one = image.task(mode, task);
            tasks += !one.rests && one.core == core ? 1 : 0;
        }
        return tasks - static_cast<int>(rank);
    }
    // The longest of all modes: a caller may not know which one a job is of.
    [[nodiscard]] app::Time longest_deadline(std::size_t task) const {
        app::Time longest = 0;
        for (std::uint32_t mode = 0; mode < image.head().modes; ++mode) {
            const plan::Task& one = image.task(mode, static_cast<std::uint32_t>(task));
            longest = one.rests ? longest : std::max(longest, one.deadline);
        }
        return longest;
    }
    // The mode that the core's death asks for; none: the run ends.
    [[nodiscard]] std::optional<std::uint32_t> fail_over(std::uint32_t core) const {
        for (std::uint32_t i = 0; i < image.count(plan::Table::fail_overs); ++i) {
            if (image.fail_over(i).core == core) {
                return image.fail_over(i).to;
            }
        }
        return std::nullopt;
    }

    // Throws std::invalid_argument.
    [[nodiscard]] std::uint16_t channel_named(const std::string& name) const {
        for (std::uint16_t i = 0; i < channels.size(); ++i) {
            if (channels[i] == name) {
                return i;
            }
        }
        throw std::invalid_argument("the configuration has no channel " + name);
    }
};

// A whole number in an output, as the processor has it; a negative one is larger than any that asks.
[[nodiscard]] inline std::uint64_t asked_value(const AskerConfig& asker, const std::byte* out) {
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
[[nodiscard]] inline std::optional<std::uint32_t> asked_mode(const RunConfig& config, std::uint16_t task,
                                                             const std::byte* out) {
    for (const AskerConfig& asker : config.askers) {
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

}  // namespace consort::linux_port
