// SPDX-License-Identifier: Apache-2.0
//
// A worker as a process pinned to a processor: it serves the most urgent request that is there, and does
// nothing else.
#pragma once

#include <time.h>

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "consort/linux/executive/core_process.hpp"
#include "consort/linux/executive/thread_watch.hpp"
#include "consort/linux/executive/worker_wait.hpp"

namespace consort::linux_port {

// A worker's record of a job: joined with the master's row of it by task and sequence.
struct ServedRow {
    std::uint64_t receive;
    std::uint64_t send;
    std::uint32_t sequence;
    std::uint32_t reserved;
};

class WorkerProcess {
  public:
    WorkerProcess(const RunConfig& config, const Catalogue& catalogue, SharedRun& shared, std::uint16_t core)
        : config_(&config),
          core_(&config.cores[core]),
          index_(core),
          catalogue_(&catalogue),
          shared_(&shared),
          events_(shared.rings.of_core(core)) {}

    // Until the run's end. The exit status: 1 if what a master wrote cannot be.
    int run(const Region<>& region) {
        name_crashes();
        const RealtimeGuard realtime(realtime_options(*config_, *core_, config_->priority));
        shared_->realtime[index_].set(realtime.achieved());
        auto* control = open_or_refuse<WorkerControl<>>(region, control_name(*core_));
        for (std::uint32_t mode = 0; mode < config_->image.head().modes; ++mode) {
            std::vector<Served>& order = orders_.emplace_back();
            for (const std::uint16_t task : config_->served_by(index_, mode)) {
                auto& step = steps_[task];
                if (!step) {
                    step = catalogue_->tasks[task].server(region, config_->tasks[task].name);
                }
                order.push_back({task, step.get()});
            }
        }
        enter(config_->image.head().first);
        // Constructed last: its epoch says that everything above is attached.
        ServingWorker side(*control, *shared_, shared_->cores[index_]);
        shared_->cores[index_].ready.fetch_add(1, std::memory_order_release);
        return serve(side);
    }

  private:
    struct Served {
        std::uint16_t task;
        ServedStep* step;
    };

    void enter(std::uint32_t mode) noexcept {
        order_ = &orders_[mode];
        sleeps_ = config_->waits_asleep(mode, index_) || !config_->uses(mode, index_);
    }

    int serve(ServingWorker& control) {
        ThreadWatch watch(events_, index_, core_->late_ns);
        Ticks before = Clock::now();
        watch.spins(before, true);
        CoreLine& line = shared_->cores[index_];
        WorkerWait waits(*config_, *shared_, index_, before);
        ModeSteps::Member modes(shared_->modes[0], shared_->acknowledgement(index_));
        while (shared_->run[0].stop_workers.load(std::memory_order_relaxed) == 0) {
            const std::uint32_t seen = line.requests.load(std::memory_order_seq_cst);
            if (modes.observe()) {
                enter(modes.step().mode);
            }
            const Status status = poll(control);
            if (status == Status::peer_fault) {
                return 1;
            }
            // Whatever masters sent before they acknowledged the step before has been found by now.
            if (!modes.acknowledged() && status == Status::would_block) {
                modes.acknowledge();
                note_acknowledgement(*shared_);
            }
            Ticks now = Clock::now();
            if (status == Status::would_block && sleeps_) {
                control.beat();
                // Not for long: its pulse is to be seen, and the run's end.
                sleep_for_doorbell(line.requests, line.sleeping, seen, now + patience_);
                now = Clock::now();
                watch.spins(now, true);
            } else if (status == Status::would_block && waits.idle()) {
                control.beat();
                sleep_ns(200'000);
                now = Clock::now();
                watch.spins(now, true);
            } else if (status == Status::would_block) {
                watch.look(Event::none, now);
                control.beat();
                LinuxPort::relax();
            } else {
                watch.job_ended(Event::none, before);
                const bool rests = !sleeps_ && waits.rests(now);
                if (rests) {
                    // Given away now and then, or the kernel takes the processor for 50 ms at a time. No
                    // bound counts that: it is an event.
                    const Ticks since = now;
                    sleep_ns(1);
                    now = Clock::now();
                    watch.rested(Event::none, since, now);
                }
                watch.spins(now, rests);
            }
            watch.job_begins(now);
            before = now;
        }
        return 0;
    }

    static void sleep_ns(long ns) {
        timespec time{0, ns};
        ::clock_nanosleep(CLOCK_MONOTONIC, 0, &time, nullptr);
    }

    // Ends at the first job served, so that the most urgent task is looked at first again.
    Status poll(ServingWorker& control) {
        for (const Served& served : *order_) {
            offload::ServedJob job{};
            TaskLine& line = shared_->tasks[served.task];
            PreparedTask::current() = &line;
            const Status status = served.step->poll(served.task, control, job);
            PreparedTask::current() = nullptr;
            if (status == Status::would_block) {
                continue;
            }
            if (status == Status::ok) {
                ring_doorbell(line.answers, line.awaited);
                const ServedRow row{job.received, job.answered, job.sequence, 0};
                events_.put(app::RecordTable::served, served.task, &row, sizeof row);
            }
            return status;
        }
        return Status::would_block;
    }

    const RunConfig* config_;
    const CoreConfig* core_;
    std::uint16_t index_;
    const Catalogue* catalogue_;
    SharedRun* shared_;
    app::RingWriter events_;
    std::map<std::uint16_t, std::unique_ptr<ServedStep>> steps_;
    std::vector<std::vector<Served>> orders_;  // by mode, the most urgent first
    const std::vector<Served>* order_ = nullptr;
    bool sleeps_ = false;
    Ticks patience_ = Clock::from_ns(1'000'000);
};

}  // namespace consort::linux_port
