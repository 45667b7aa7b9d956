// SPDX-License-Identifier: Apache-2.0
//
// The state of a run in progress, for `consort watch`: one page of plain structs that the recorder makes of
// what it takes out of the rings. Nobody but the recorder empties the rings, and no thread of the system
// writes the page, so a watcher changes nothing for the run.
//
// The page is a SummaryHead, a TaskSummary for each task and a CoreSummary for each core of the
// configuration, one behind the other. Times are nanoseconds; a time that has not been seen is `no_time`.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "consort/linux/clock.hpp"
#include "consort/linux/executive/config.hpp"
#include "consort/linux/executive/running_median.hpp"
#include "consort/linux/executive/shared.hpp"
#include "consort/linux/shared_memory.hpp"
#include "consort/task/job.hpp"

namespace consort::linux_port {

// A reader copies the page and takes the copy if `version` was even and the same before and after, and if
// `check` is the sum of all other words of the copy but `version` [u64, modulo 2^64]. The sum makes a torn
// copy show also where a processor reorders the reader's loads.
struct SummaryHead {
    static constexpr std::uint32_t before_start = 0;
    static constexpr std::uint32_t running = 1;
    static constexpr std::uint32_t ended = 2;

    std::uint64_t version;
    std::uint64_t check;
    std::uint32_t state;
    std::uint32_t tasks;
    std::uint32_t cores;
    std::uint32_t reserved;
    std::uint64_t elapsed_ns;  // since the first release
    std::uint64_t records_lost;
    std::uint64_t blocks_corrupt;
    // Over links: blocks that arrived, transactions that failed, deaths of engines.
    std::uint64_t link_blocks;
    std::uint64_t link_failures;
    std::uint64_t link_deaths;
};

struct TaskSummary {
    static constexpr std::int64_t no_time = std::numeric_limits<std::int64_t>::max();

    std::uint64_t jobs;      // releases that are over, those that were not served included
    std::uint64_t missed;    // deadlines, those of releases that were not served included
    std::uint64_t unserved;  // releases that were skipped
    std::uint64_t aborted;
    std::uint64_t held;
    std::uint64_t fallbacks;
    std::uint64_t late_answers;
    // Responses of served jobs, from the release.
    std::int64_t response_last_ns;
    std::int64_t response_max_ns;
    // The median of all releases: no_time where half of them or more were not served.
    std::int64_t response_median_ns;
    // Completion after the deadline; negative: before it.
    std::int64_t lateness_last_ns;
    std::int64_t lateness_max_ns;
    // From the instant at which a job was ready to its start.
    std::int64_t start_last_ns;
    std::int64_t start_max_ns;
};

struct CoreSummary {
    std::uint64_t disturbed;  // stretches in which the machine kept the core from its threads
    std::uint64_t disturbed_ns;
    std::uint64_t disturbed_longest_ns;
    std::uint64_t throttled;     // those of them that last as long as the kernel's real-time throttling
    std::uint64_t deaths;        // of its process
    std::uint64_t records_lost;  // by its own ring and those of its tasks
};

// The page of a run's summary: a memory that the process that started the run has made.
class SummaryPage {
  public:
    // Throws std::invalid_argument if the memory is smaller than the page of this configuration.
    SummaryPage(const RunConfig& config, const std::string& path)
        : config_(&config), memory_(SharedMemory::open_file(path)) {
        const std::size_t needed = bytes_for(config.tasks.size(), config.cores.size()) + request_bytes;
        if (memory_.bytes() < needed) {
            throw std::invalid_argument(path + ": the summary of this run has " + std::to_string(needed) +
                                        " bytes, the memory " + std::to_string(memory_.bytes()));
        }
        head_.tasks = static_cast<std::uint32_t>(config.tasks.size());
        head_.cores = static_cast<std::uint32_t>(config.cores.size());
        for (std::size_t i = 0; i < config.tasks.size(); ++i) {
            constexpr std::int64_t none = TaskSummary::no_time;
            tasks_.push_back({0, 0, 0, 0, 0, 0, 0, none, none, none, none, none, none, none});
        }
        cores_.resize(config.cores.size());
        medians_.resize(config.tasks.size());
        mode_ = config.image.head().first;
        publish(SummaryHead::before_start, 0);
    }

    static constexpr std::size_t request_bytes = 8;
    static constexpr std::size_t bytes_for(std::size_t tasks, std::size_t cores) noexcept {
        return sizeof(SummaryHead) + tasks * sizeof(TaskSummary) + cores * sizeof(CoreSummary);
    }

    void add(const Job& job) {
        TaskSummary& task = tasks_[job.task];
        const auto count = [&job](std::uint64_t& counter, std::uint32_t bit) {
            counter += (job.status & bit) != 0 ? 1 : 0;
        };
        ++task.jobs;
        count(task.missed, job_status::missed);
        count(task.unserved, job_status::unserved);
        count(task.aborted, job_status::aborted);
        count(task.held, job_status::held);
        count(task.fallbacks, job_status::fallback);
        count(task.late_answers, job_status::late_answer);
        if (job.finish == 0) {
            medians_[job.task].add_endless();
            return;
        }
        const plan::Task& planned = config_->image.task(mode_, job.task);
        const std::int64_t deadline = planned.deadline / 1000;
        task.response_last_ns = distance(job.release, job.finish);
        task.lateness_last_ns = task.response_last_ns - deadline;
        task.start_last_ns = distance(job.ready, job.start);
        raise(task.response_max_ns, task.response_last_ns);
        raise(task.lateness_max_ns, task.lateness_last_ns);
        raise(task.start_max_ns, task.start_last_ns);
        medians_[job.task].add(static_cast<std::uint64_t>(std::max<std::int64_t>(task.response_last_ns, 0)));
    }

    void add(const Event& event) {
        mode_ = event.kind == Event::mode_entered ? static_cast<std::uint32_t>(event.value) : mode_;
        if (event.kind == Event::block_corrupt) {
            ++head_.blocks_corrupt;
        }
        head_.link_failures += event.kind == Event::link_failed ? 1 : 0;
        if (event.kind != Event::disturbed || event.core >= cores_.size()) {
            return;
        }
        CoreSummary& core = cores_[event.core];
        const std::uint64_t lasted = Clock::to_ns(event.value);
        ++core.disturbed;
        core.disturbed_ns += lasted;
        core.disturbed_longest_ns = std::max(core.disturbed_longest_ns, lasted);
        core.throttled += lasted >= config_->throttled_from_ns && lasted <= config_->throttled_to_ns ? 1 : 0;
    }

    void add_delivery() { ++head_.link_blocks; }

    // Deaths of the cores' processes, and records lost: `lost` by ring, in the order of `Rings`.
    void add_losses(const SharedRun& shared, const std::vector<std::uint64_t>& lost) {
        const std::size_t tasks = config_->tasks.size();
        head_.records_lost = 0;
        for (CoreSummary& core : cores_) {
            core.records_lost = 0;
        }
        for (std::size_t ring = 0; ring < lost.size(); ++ring) {
            head_.records_lost += lost[ring];
            if (ring < tasks) {
                const std::uint32_t mode = config_->mode_with(ring);
                cores_[config_->image.task(mode, ring).core].records_lost += lost[ring];
            } else if (ring < tasks + cores_.size()) {
                cores_[ring - tasks].records_lost += lost[ring];
            }
        }
        head_.link_deaths = 0;
        for (std::size_t i = 0; i < shared.links.size(); ++i) {
            head_.link_deaths += shared.links[i].deaths.load(std::memory_order_relaxed);
        }
        for (std::size_t i = 0; i < cores_.size(); ++i) {
            cores_[i].deaths = shared.cores[i].deaths.load(std::memory_order_relaxed);
        }
    }

    // The mode that `consort mode` asks for, and 1; 0: none since it was looked for. Behind the page.
    [[nodiscard]] std::uint32_t take_request() noexcept {
        auto* word = static_cast<std::byte*>(memory_.base()) + bytes_for(tasks_.size(), cores_.size());
        return reinterpret_cast<std::atomic<std::uint32_t>*>(word)->exchange(0, std::memory_order_relaxed);
    }

    // `start`: the tick of the first release; 0: there was none.
    void publish(std::uint32_t state, Ticks start) {
        const Ticks now = Clock::now();
        head_.state = state;
        head_.elapsed_ns = start == 0 || now < start ? 0 : Clock::to_ns(now - start);
        for (std::size_t i = 0; i < tasks_.size(); ++i) {
            tasks_[i].response_median_ns = medians_[i].value(TaskSummary::no_time);
        }
        auto* to = static_cast<std::byte*>(memory_.base());
        auto& version = *static_cast<std::atomic<std::uint64_t>*>(memory_.base());
        head_.check = 0;
        head_.check = sum(&head_, sizeof head_) - head_.version + sum(tasks_.data(), bytes_of(tasks_)) +
                      sum(cores_.data(), bytes_of(cores_));
        version.store(++head_.version, std::memory_order_relaxed);
        std::atomic_thread_fence(std::memory_order_release);
        constexpr std::size_t behind = sizeof head_.version;
        std::memcpy(to + behind, reinterpret_cast<const std::byte*>(&head_) + behind, sizeof head_ - behind);
        to += sizeof head_;
        std::memcpy(to, tasks_.data(), bytes_of(tasks_));
        std::memcpy(to + bytes_of(tasks_), cores_.data(), bytes_of(cores_));
        version.store(++head_.version, std::memory_order_release);
    }

  private:
    static_assert(sizeof(std::atomic<std::uint64_t>) == sizeof(std::uint64_t));

    template <class T>
    static std::size_t bytes_of(const std::vector<T>& rows) {
        return rows.size() * sizeof(T);
    }
    static std::uint64_t sum(const void* from, std::size_t bytes) {
        std::uint64_t total = 0;
        for (std::size_t at = 0; at < bytes; at += sizeof total) {
            std::uint64_t word = 0;
            std::memcpy(&word, static_cast<const std::byte*>(from) + at, sizeof word);
            total += word;
        }
        return total;
    }
    static std::int64_t distance(Ticks from, Ticks to) {
        return to >= from ? static_cast<std::int64_t>(Clock::to_ns(to - from))
                          : -static_cast<std::int64_t>(Clock::to_ns(from - to));
    }
    static void raise(std::int64_t& largest, std::int64_t value) {
        largest = largest == TaskSummary::no_time ? value : std::max(largest, value);
    }

    const RunConfig* config_;
    SharedMemory memory_;
    SummaryHead head_{};
    std::vector<TaskSummary> tasks_;
    std::vector<CoreSummary> cores_;
    std::vector<RunningMedian> medians_;
    std::uint32_t mode_ = 0;  // that was entered last
};

}  // namespace consort::linux_port
