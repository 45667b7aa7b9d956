// SPDX-License-Identifier: Apache-2.0
//
// The results of a simulation: a few figures for each task, and on request a row for each job and for each
// stretch of time that a core or the DMA spends on one.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <vector>

#include "consort/task/job.hpp"
#include "sim/model.hpp"

namespace consort::engine::sim {

// Python reads the rows as structured arrays, by the layouts of bind.cpp.

// An unserved job has neither start nor finish.
struct JobRow {
    Time release;   // when it ought to be released: what response times and deadlines count from
    Time ready;     // when it was released
    Time start;     // of its first part on a core
    Time finish;    // three-phase: end of the unload
    Time deadline;  // absolute
    Time sent;
    Time worker_receive;
    Time worker_send;
    Time received;
    Time compute;  // its execution time
    std::uint32_t seq;
    std::uint32_t status;  // consort::job_status
    std::uint32_t task;
    std::uint32_t preemptions;
};

struct Figures {
    std::uint64_t jobs = 0;
    std::uint64_t misses = 0;
    std::uint64_t held = 0;
    std::uint64_t fallbacks = 0;
    std::uint64_t unserved = 0;
    std::uint64_t early = 0;  // whose block came before they were due
    // Figures of the jobs that were served.
    Time max_response = absent;
    Time min_response = never;
    std::uint64_t worst_job = 0;
};

struct Trace {
    std::vector<JobRow> jobs;
    std::vector<Slice> slices;
};

// Lets another thread see how far a simulation is, and end it.
struct Progress {
    std::atomic<Time> reached{0};
    std::atomic<bool> cancel{false};
};

struct Cancelled {};

// A template parameter of the loops: recording costs nothing where there is none.
template <bool traced>
class Sink {
  public:
    Sink(std::vector<Figures>& figures, Trace* trace, Progress* progress)
        : figures_(&figures), trace_(trace), progress_(progress) {}

    void job(const JobRow& row) {
        Figures& f = (*figures_)[row.task];
        ++f.jobs;
        if ((row.status & job_status::unserved) != 0) {
            ++f.unserved;
        } else {
            const Time response = row.finish - row.release;
            if (response > f.max_response) {
                f.max_response = response;
                f.worst_job = row.seq;
            }
            f.min_response = std::min(f.min_response, response);
        }
        f.misses += (row.status & job_status::missed) != 0 ? 1U : 0U;
        f.held += (row.status & job_status::held) != 0 ? 1U : 0U;
        f.fallbacks += (row.status & job_status::fallback) != 0 ? 1U : 0U;
        if constexpr (traced) {
            trace_->jobs.push_back(row);
        }
    }

    void early(std::uint32_t task) { ++(*figures_)[task].early; }

    void slice(Time begin, Time end, std::uint32_t task, std::uint64_t seq, std::uint32_t core, Doing doing) {
        if constexpr (traced) {
            if (begin < end) {
                trace_->slices.push_back({begin, end, task, static_cast<std::uint32_t>(seq),
                                          static_cast<std::uint16_t>(core), doing});
            }
        }
    }

    // Called now and then.
    void at(Time now) {
        if ((++calls_ & 0xfffU) == 0 && progress_ != nullptr) {
            progress_->reached.store(now, std::memory_order_relaxed);
            if (progress_->cancel.load(std::memory_order_relaxed)) {
                throw Cancelled{};
            }
        }
    }

  private:
    std::vector<Figures>* figures_;
    Trace* trace_;
    Progress* progress_;
    std::uint32_t calls_ = 0;
};

}  // namespace consort::engine::sim
