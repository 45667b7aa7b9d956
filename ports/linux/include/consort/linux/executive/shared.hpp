// SPDX-License-Identifier: Apache-2.0
//
// The processes of a run share, beside the region: when it starts and stops, which of them live, where each
// thread is, and the rings of the record.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "consort/app/mode_steps.hpp"
#include "consort/app/release.hpp"
#include "consort/app/ring.hpp"
#include "consort/linux/clock.hpp"
#include "consort/linux/executive/carrier.hpp"
#include "consort/linux/executive/config.hpp"
#include "consort/linux/realtime.hpp"
#include "consort/linux/shared_memory.hpp"

namespace consort::linux_port {

// One core's line. `ready`, `finished` and `job` are the process's own; the rest is the supervisor's.
struct alignas(64) CoreLine {
    std::atomic<std::uint32_t> alive{0};
    std::atomic<std::uint32_t> ready{0};     // attached; counts the starts of the process
    std::atomic<std::uint32_t> finished{0};  // all its jobs are done
    std::atomic<std::int32_t> signal{0};     // that ended it
    std::atomic<std::int32_t> code{0};
    std::atomic<std::uint32_t> deaths{0};
    std::atomic<std::uint32_t> over_budget{0};  // 1 + the task whose step did not end
    // A worker that sleeps for requests: how many were written, and whether it sleeps.
    std::atomic<std::uint32_t> requests{0};
    std::atomic<std::uint32_t> sleeping{0};
    // For a core whose one thread serves tasks that arrivals release: announcements, and whether it sleeps.
    std::atomic<std::uint32_t> arrivals{0};
    std::atomic<std::uint32_t> arrivals_awaited{0};
    // For a core whose death others go on from: its last sign of life [ticks]; and, the supervisor's, whether
    // it is dead for good and when that was known [ticks].
    std::atomic<std::uint64_t> pulse{0};
    std::atomic<std::uint64_t> died_at{0};
    std::atomic<std::uint32_t> dead{0};
    std::atomic<std::uint32_t> silent{0};  // Event::Death: it was ended because it gave no sign of life
    // CPU time of the threads that release its tasks, from the run's start [ns].
    std::atomic<std::uint64_t> cpu_ns{0};
    // For a worker, on a line of its own: 1 + the task whose step it computes, 0: none; the job that its
    // master was at when it began, and since when [ticks].
    alignas(64) std::atomic<std::uint32_t> serving{0};
    std::atomic<std::uint32_t> serving_job{0};
    std::atomic<std::uint64_t> serving_since{0};
};

// The activity of one task's thread, for whoever has to name it when its process is gone.
struct alignas(64) TaskLine {
    std::atomic<std::uint64_t> began{0};  // 0: between jobs
    std::atomic<std::uint32_t> job{0};
    std::atomic<std::int32_t> fault{0};  // the signal that the step raised
    // Offloaded: how many answers were written, and whether the master sleeps for one.
    std::atomic<std::uint32_t> answers{0};
    std::atomic<std::uint32_t> awaited{0};
    // Which core released the job that began last; and, where modes change, the number of the next job, and
    // until when the output of the last one waits for its deadline (logical execution time) [ticks].
    std::atomic<std::uint32_t> core{0};
    std::atomic<std::uint64_t> next_job{0};
    std::atomic<std::uint64_t> published{0};
    // How long after the idle instant the core that it was given away by last began to copy its state, had
    // copied it, and gave it away [ticks]; 0: that core was dead.
    std::atomic<std::uint64_t> prepared{0};
    std::atomic<std::uint64_t> copied{0};
    std::atomic<std::uint64_t> given{0};
};

// The blocks that release one task: how many were announced, whether its thread sleeps for one, and when the
// last ones could be read [ticks], by their number modulo `kept`.
struct alignas(64) ArrivalLine {
    static constexpr std::uint32_t kept = app::Arrivals::kept;
    std::atomic<std::uint32_t> announced{0};
    std::atomic<std::uint32_t> awaited{0};
    std::atomic<std::uint64_t> instants[kept]{};
};

struct alignas(64) RunLine {
    std::atomic<std::uint64_t> start{0};  // the tick that releases count from; 0: not set yet
    std::atomic<std::uint32_t> stop{0};   // a policy, a dead core or a signal ends the run
    std::atomic<std::uint32_t> stop_workers{0};
    // For a change of mode that is under way: 1 + 2^16 * the mode that is left + the one that follows.
    std::atomic<std::uint32_t> change{0};
    // The mode that a job's output asked for last, and 1; 0: none since the coordinator looked.
    std::atomic<std::uint32_t> asked{0};
    // How often a step of a change was acknowledged, and whether the coordinator sleeps for it.
    std::atomic<std::uint32_t> acknowledgements{0};
    std::atomic<std::uint32_t> acknowledgements_awaited{0};
};

// The results of a process's real-time set-up: the process may die, the record keeps them.
struct AchievedRealtime {
    std::atomic<std::uint32_t> written{0};
    std::int32_t cpu;
    std::int32_t priority;
    std::uint32_t mlockall;
    std::uint32_t cpu_dma_latency;
    char policy[16];
    char notes[1264];  // one a line; what is longer is cut

    void set(const Realtime& achieved) {
        cpu = achieved.cpu;
        priority = achieved.priority;
        mlockall = achieved.mlockall ? 1U : 0U;
        cpu_dma_latency = achieved.cpu_dma_latency ? 1U : 0U;
        policy[achieved.policy.copy(policy, sizeof policy - 1)] = '\0';
        std::string lines;
        for (const std::string& note : achieved.notes) {
            lines += (lines.empty() ? "" : "\n") + note;
        }
        notes[lines.copy(notes, sizeof notes - 1)] = '\0';
        written.store(1, std::memory_order_release);
    }
    [[nodiscard]] Realtime get() const {
        Realtime made;
        made.cpu = cpu;
        made.priority = priority;
        made.mlockall = mlockall != 0;
        made.cpu_dma_latency = cpu_dma_latency != 0;
        made.policy = policy;
        std::string line;
        for (const char* c = notes; *c != '\0'; ++c) {
            if (*c == '\n') {
                made.notes.push_back(line);
                line.clear();
            } else {
                line += *c;
            }
        }
        if (!line.empty()) {
            made.notes.push_back(line);
        }
        return made;
    }
};

// Anonymous memory with an array of T in it, shared by fork.
template <class T>
class SharedArray {
  public:
    SharedArray(const std::string& label, std::size_t count)
        : memory_(SharedMemory::anonymous(label, (count + 1) * sizeof(T))), count_(count) {
        for (std::size_t i = 0; i < count; ++i) {
            ::new (static_cast<void*>(at(i))) T;
        }
    }
    [[nodiscard]] T& operator[](std::size_t i) const noexcept { return *at(i); }
    [[nodiscard]] std::size_t size() const noexcept { return count_; }

  private:
    [[nodiscard]] T* at(std::size_t i) const noexcept { return static_cast<T*>(memory_.base()) + i; }
    SharedMemory memory_;
    std::size_t count_;
};

// One ring for each task (its releasing thread writes it), one for each core's own events, one for the
// supervisor, one for devices, one for the coordinator of modes, one for each link. Every page is touched
// beforehand.
class Rings {
  public:
    explicit Rings(const RunConfig& config) {
        for (const TaskConfig& task : config.tasks) {
            add(task.ring_bytes);
        }
        for (const CoreConfig& core : config.cores) {
            add(core.ring_bytes);
        }
        add(1U << 18U);
        add(1U << 18U);
        add(1U << 18U);
        for (std::size_t link = 0; link < config.links.size(); ++link) {
            add(1U << 20U);
        }
        tasks_ = config.tasks.size();
        cores_ = config.cores.size();
    }
    [[nodiscard]] app::RingMemory& of_task(std::size_t task) const { return at(task); }
    [[nodiscard]] app::RingMemory& of_core(std::size_t core) const { return at(tasks_ + core); }
    [[nodiscard]] app::RingMemory& of_supervisor() const { return at(tasks_ + cores_); }
    [[nodiscard]] app::RingMemory& of_devices() const { return at(tasks_ + cores_ + 1); }
    [[nodiscard]] app::RingMemory& of_modes() const { return at(tasks_ + cores_ + 2); }
    [[nodiscard]] app::RingMemory& of_link(std::size_t link) const { return at(tasks_ + cores_ + 3 + link); }
    [[nodiscard]] app::RingMemory& at(std::size_t i) const {
        return *static_cast<app::RingMemory*>(memories_[i]->base());
    }
    [[nodiscard]] std::size_t size() const { return memories_.size(); }

  private:
    void add(std::uint32_t capacity) {
        const std::size_t bytes = app::RingMemory::bytes_for(capacity);
        memories_.push_back(std::make_unique<SharedMemory>(SharedMemory::anonymous("consort-record", bytes)));
        auto* base = static_cast<std::byte*>(memories_.back()->base());
        for (std::size_t at = 0; at < bytes; at += 4096) {
            base[at] = std::byte{0};
        }
        ::new (static_cast<void*>(base)) app::RingMemory;
        static_cast<app::RingMemory*>(static_cast<void*>(base))->capacity = capacity;
    }
    std::vector<std::unique_ptr<SharedMemory>> memories_;
    std::size_t tasks_ = 0;
    std::size_t cores_ = 0;
};

struct SharedRun {
    explicit SharedRun(const RunConfig& config)
        : run("consort-run", 1),
          cores("consort-cores", config.cores.size()),
          tasks("consort-tasks", config.tasks.size()),
          arrivals("consort-arrivals", config.tasks.size()),
          links("consort-links", config.links.size()),
          realtime("consort-realtime", config.cores.size()),
          modes("consort-modes", 1),
          acknowledged("consort-steps", (config.tasks.size() + 1) * config.cores.size()),
          rings(config) {}

    [[nodiscard]] bool stopping() const noexcept { return run[0].stop.load(std::memory_order_relaxed) != 0; }
    void stop() const noexcept { run[0].stop.store(1, std::memory_order_relaxed); }

    SharedArray<RunLine> run;
    SharedArray<CoreLine> cores;
    SharedArray<TaskLine> tasks;
    SharedArray<ArrivalLine> arrivals;
    SharedArray<LinkLine> links;
    SharedArray<AchievedRealtime> realtime;
    SharedArray<app::ModeSteps<>::Shared> modes;
    // By core, of each task that it releases, and at last of itself as a worker.
    SharedArray<app::ModeSteps<>::Acknowledgement> acknowledged;
    Rings rings;

    [[nodiscard]] app::ModeSteps<>::Acknowledgement& acknowledgement(std::uint16_t core,
                                                                     std::size_t task) const noexcept {
        return acknowledged[core * (tasks.size() + 1) + task];
    }
    [[nodiscard]] app::ModeSteps<>::Acknowledgement& acknowledgement(std::uint16_t worker) const noexcept {
        return acknowledgement(worker, tasks.size());
    }
};

}  // namespace consort::linux_port
