// SPDX-License-Identifier: Apache-2.0
//
// A core that releases tasks, as a process pinned to a processor.
//
//   fixed-priority                 one SCHED_FIFO thread a task, at the priority of its rank, and while it
//                                  executes a job at that of its preemption threshold
//   fixed-priority-non-preemptive  one thread, which serves the released tasks by rank
//   edf                            one thread a task; at each release and completion the one with the
//                                  earliest deadline gets the running priority, the others a lower one
//
// Equal deadlines go by release order, then by the order of the tasks, as in the simulator.
#pragma once

#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "consort/linux/executive/mode_member.hpp"
#include "consort/linux/executive/prepared_task.hpp"
#include "consort/linux/executive/run_region.hpp"
#include "consort/linux/executive/thread_watch.hpp"
#include "consort/linux/executive/waiting.hpp"
#include "consort/linux/realtime.hpp"

namespace consort::linux_port {

inline RealtimeOptions realtime_options(const RunConfig& config, const CoreConfig& core, int priority) {
    RealtimeOptions options;
    if (core.cpu >= 0) {
        options.cpu = core.cpu;
    }
    if (config.realtime) {
        options.priority = priority;
    } else {
        options.policy = SCHED_OTHER;
        options.priority = 0;
        options.cpu_dma_latency = false;
    }
    return options;
}

// A step that crashes leaves its name behind before the process ends.
inline void name_crashes() {
    struct sigaction action {};
    sigemptyset(&action.sa_mask);
    action.sa_flags = SA_RESETHAND;
    action.sa_handler = [](int signal) {
        if (TaskLine* line = PreparedTask::current(); line != nullptr) {
            line->fault.store(signal, std::memory_order_relaxed);
        }
        ::raise(signal);
    };
    for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) {
        ::sigaction(signal, &action, nullptr);
    }
}

// The run's start, once every core is attached. 0: the run ends before it began.
inline Ticks wait_for_start(const SharedRun& shared) {
    for (;;) {
        const Ticks start = shared.run[0].start.load(std::memory_order_acquire);
        if (start != 0 || shared.stopping()) {
            return start;
        }
        timespec time{0, 200'000};
        ::clock_nanosleep(CLOCK_MONOTONIC, 0, &time, nullptr);
    }
}

class CoreProcess {
  public:
    // `hand_overs`: of a run that goes from mode to mode.
    CoreProcess(const RunConfig& config, const Catalogue& catalogue, SharedRun& shared, std::uint16_t core,
                const HandOverMemory& hand_overs)
        : hand_overs_(&hand_overs),
          config_(&config),
          core_(&config.cores[core]),
          index_(core),
          shared_(&shared),
          events_(shared.rings.of_core(core)),
          devices_(catalogue, config),
          catalogue_(&catalogue) {}

    // Until all releases before the run's end are served. The exit status.
    int run(const Region<>& region) {
        name_crashes();
        prepare(region);
        if (config_->changes_modes()) {
            std::vector<std::unique_ptr<ChangingMember>> members;
            for (auto& task : tasks_) {
                members.push_back(
                    std::make_unique<ChangingMember>(*config_, index_, *task, *shared_, *hand_overs_));
            }
            run_members(members);
        } else {
            std::vector<std::unique_ptr<LastingMember>> members;
            for (auto& task : tasks_) {
                members.push_back(std::make_unique<LastingMember>(*task));
            }
            run_members(members);
        }
        shared_->cores[index_].finished.store(1, std::memory_order_release);
        return 0;
    }

  private:
    void prepare(const Region<>& region) {
        for (std::uint16_t i = 0; i < config_->tasks.size(); ++i) {
            if (!config_->releases(index_, i)) {
                continue;
            }
            WorkerControl<>::Master* control = nullptr;
            const auto away = config_->first_mode(
                i, [this](const plan::Task& t) { return t.core == index_ && t.worker != plan::none; });
            if (away) {
                const std::uint32_t worker = config_->image.task(*away, i).worker;
                controls_.push_back(std::make_unique<WorkerControl<>::Master>(
                    *open_or_refuse<WorkerControl<>>(region, control_name(config_->cores[worker]))));
                control = controls_.back().get();
            }
            tasks_.push_back(std::make_unique<PreparedTask>(*config_, i, *catalogue_, region, devices_,
                                                            *shared_, control));
        }
        std::stable_sort(tasks_.begin(), tasks_.end(),
                         [](const auto& a, const auto& b) { return a->level() > b->level(); });
    }

    template <class Member>
    using Members = std::vector<std::unique_ptr<Member>>;

    template <class Member>
    void run_members(const Members<Member>& members) {
        // Memory, latency and affinity are the process's; each thread takes its own priority.
        RealtimeOptions options = realtime_options(*config_, *core_, config_->priority);
        options.policy = SCHED_OTHER;
        RealtimeGuard process(options);
        threads_.reserve(members.size());
        start_threads(members);
        Realtime achieved = process.achieved();
        achieved.policy = config_->realtime && refused_.empty() ? "SCHED_FIFO" : "SCHED_OTHER";
        achieved.priority = config_->realtime && refused_.empty() ? config_->priority : 0;
        for (const std::string& note : refused_) {
            achieved.notes.push_back(note);
        }
        shared_->realtime[index_].set(achieved);
        shared_->cores[index_].ready.fetch_add(1, std::memory_order_release);
        for (std::thread& thread : threads_) {
            thread.join();
        }
    }

    // Every thread is at its priority and has touched its stack before the run may start.
    template <class Member>
    void start_threads(const Members<Member>& members) {
        std::atomic<std::size_t> here{0};
        const auto add = [&](int priority, auto body) {
            threads_.emplace_back([this, priority, body, &here] {
                RealtimeOptions options = realtime_options(*config_, *core_, priority);
                options.lock_memory = options.cpu_dma_latency = false;
                leave_restartable_sequences();
                const RealtimeGuard guard(options);
                {
                    const std::lock_guard lock(notes_);
                    for (const std::string& note : guard.achieved().notes) {
                        if (std::find(refused_.begin(), refused_.end(), note) == refused_.end()) {
                            refused_.push_back(note);
                        }
                    }
                }
                here.fetch_add(1, std::memory_order_release);
                const Ticks start = wait_for_start(*shared_);
                if (start != 0) {
                    const std::uint64_t before = thread_ns();
                    body(start);
                    shared_->cores[index_].cpu_ns.fetch_add(thread_ns() - before, std::memory_order_relaxed);
                }
            });
        };
        if (config_->policy(index_) == plan::Policy::fixed_priority_non_preemptive) {
            add(config_->priority + 1, [this, &members](Ticks start) { serve_in_turn(members, start); });
        } else {
            const bool edf = config_->policy(index_) == plan::Policy::edf;
            for (const auto& member : members) {
                const int priority = config_->priority + (edf ? edf_arriving : member->task().level());
                add(priority, [this, &member, edf](Ticks start) { run_thread(*member, start, edf); });
            }
        }
        while (here.load(std::memory_order_acquire) != threads_.size()) {
            std::this_thread::yield();
        }
    }

    template <class Member>
    void begin(Member& member, Ticks start) {
        member.begin(start, config_->duration());
        std::call_once(devices_begun_, [&] { devices_.begin(start); });
    }

    // A task's thread: on each core that has it in one of the modes, active on one at a time. Under earliest
    // deadline first, tasks of earlier deadlines delay it: that it wakes late says nothing of the machine.
    template <class Member>
    void run_thread(Member& member, Ticks start, bool edf) {
        begin(member, start);
        PreparedTask& task = member.task();
        const pthread_t self = ::pthread_self();
        CoreConfig core = *core_;
        core.time_base = edf ? TimeBase::sleep : core.time_base;
        ReleaseWait wait(core);
        ThreadWatch watch(task.record(), index_, core.late_ns);
        std::uint32_t entered = 0;
        while (!shared_->stopping()) {
            const NextJob next = member.look();
            if (next.over) {
                return;
            }
            if (member.entered() != entered) {
                entered = member.entered();
                if (!edf) {
                    set_priority(self, task.level());
                }
            }
            if (next.due == NextJob::never) {
                member.sleep();
                continue;
            }
            if (!member.active()) {
                member.sleep_until(next.due);
                continue;
            }
            const bool urgent = !edf && task.most_urgent();
            const Ticks woke = wait.until(next.due, watch, task.index(), urgent, member.call());
            if (woke < next.due || member.called() || task.runner().passed(task.nominal(), woke)) {
                continue;
            }
            if (edf) {
                edf_arrive({task.absolute_deadline(), task.ready(), task.index(), self});
            }
            if (!run_watched(task, watch)) {
                shared_->stop();
            }
            member.ask();
            if (edf) {
                edf_leave(self);
            }
        }
    }

    // One job, and what the machine did to it.
    bool run_watched(PreparedTask& task, ThreadWatch& watch) {
        const std::uint64_t others = jobs_begun_.fetch_add(1, std::memory_order_relaxed) + 1;
        const Ticks since = watch.job_begins(Clock::now());
        const bool go_on = run_at_threshold(task, since);
        if (task.sleeps()) {
            return go_on;
        }
        if (jobs_begun_.load(std::memory_order_relaxed) == others) {
            watch.job_ended(task.index(), since);
        } else {
            watch.job_was_preempted(task.index(), since);
        }
        return go_on;
    }

    // The job begins when its thread has the threshold's priority: until then all more urgent tasks go first.
    bool run_at_threshold(PreparedTask& task, Ticks now) {
        if (task.threshold_level() <= task.level()) {
            return task.run_job(now);
        }
        set_priority(::pthread_self(), task.threshold_level());
        const bool go_on = task.run_job(Clock::now());
        set_priority(::pthread_self(), task.level());
        return go_on;
    }

    // True if a job that is ready goes before another one on a core that serves its tasks in turn: of tasks
    // of one rank the one that was released first.
    [[nodiscard]] static bool goes_before(const PreparedTask& a, Ticks a_ready, const PreparedTask& b,
                                          Ticks b_ready) noexcept {
        return a.level() != b.level() ? a.level() > b.level() : a_ready < b_ready;
    }

    // One thread for all tasks of the core.
    template <class Member>
    void serve_in_turn(const Members<Member>& members, Ticks start) {
        for (const auto& member : members) {
            begin(*member, start);
        }
        CoreLine& line = shared_->cores[index_];
        ReleaseWait wait(*core_);
        ThreadWatch watch(events_, index_, core_->late_ns);
        while (!shared_->stopping()) {
            const std::uint32_t arrivals = line.arrivals.load(std::memory_order_acquire);
            const Ticks now = Clock::now();
            Member* chosen = nullptr;
            Ticks chosen_due = 0;
            Ticks earliest = NextJob::never;
            bool over = true;
            bool active = false;
            bool awaits_block = false;
            for (const auto& member : members) {
                const NextJob next = member->look();
                over = over && next.over;
                awaits_block = awaits_block || next.awaits_block;
                earliest = std::min(earliest, next.due);
                active = active || member->active();
                const bool due = member->active() && next.due <= now;
                if (due && (chosen == nullptr ||
                            goes_before(member->task(), next.due, chosen->task(), chosen_due))) {
                    chosen = member.get();
                    chosen_due = next.due;
                }
            }
            if (over) {
                return;
            }
            if (chosen != nullptr) {
                if (!run_watched(chosen->task(), watch)) {
                    shared_->stop();
                }
                chosen->ask();
            } else if (awaits_block) {
                sleep_for_doorbell(line.arrivals, line.arrivals_awaited, arrivals,
                                   std::min(earliest, now + PreparedTask::longest_sleep()));
            } else if (earliest == NextJob::never) {
                members.front()->sleep();
            } else if (active) {
                wait.until(earliest, watch, Event::none, true, members.front()->call());
            } else {
                members.front()->sleep_until(earliest);
            }
        }
    }

    // Priorities of an EDF core, above the run's base: a thread that arrives decides before any other runs.
    static constexpr int edf_waiting = 1;
    static constexpr int edf_running = 2;
    static constexpr int edf_arriving = 3;

    struct EdfEntry {
        Ticks deadline;
        Ticks release;
        std::uint16_t task;
        pthread_t thread;
        friend bool operator<(const EdfEntry& a, const EdfEntry& b) {
            return a.deadline != b.deadline ? a.deadline < b.deadline
                   : a.release != b.release ? a.release < b.release
                                            : a.task < b.task;
        }
    };

    void set_priority(pthread_t thread, int above) const {
        if (config_->realtime) {
            ::pthread_setschedprio(thread, config_->priority + above);
        }
    }

    // Called at the arriving priority, on the core's one processor: nothing else of the core runs meanwhile,
    // so the lock is never contended for long.
    void edf_arrive(const EdfEntry& mine) {
        const std::lock_guard lock(edf_);
        const bool first = edf_ready_.empty() || mine < edf_ready_.front();
        if (!edf_ready_.empty() && first) {
            set_priority(edf_ready_.front().thread, edf_waiting);
        }
        edf_ready_.insert(std::upper_bound(edf_ready_.begin(), edf_ready_.end(), mine), mine);
        set_priority(mine.thread, first ? edf_running : edf_waiting);
    }
    void edf_leave(pthread_t thread) {
        set_priority(thread, edf_arriving);
        const std::lock_guard lock(edf_);
        std::erase_if(edf_ready_, [thread](const EdfEntry& e) { return ::pthread_equal(e.thread, thread); });
        if (!edf_ready_.empty()) {
            set_priority(edf_ready_.front().thread, edf_running);
        }
    }

    static std::uint64_t thread_ns() { return clock_ns(CLOCK_THREAD_CPUTIME_ID); }

    const HandOverMemory* hand_overs_;
    const RunConfig* config_;
    const CoreConfig* core_;
    std::uint16_t index_;
    SharedRun* shared_;
    app::RingWriter events_;
    Devices devices_;
    const Catalogue* catalogue_;
    std::vector<std::unique_ptr<WorkerControl<>::Master>> controls_;
    std::vector<std::unique_ptr<PreparedTask>> tasks_;  // the most urgent first
    std::vector<std::thread> threads_;
    std::mutex notes_;
    std::vector<std::string> refused_;
    std::once_flag devices_begun_;
    std::mutex edf_;
    std::vector<EdfEntry> edf_ready_;
    std::atomic<std::uint64_t> jobs_begun_{0};
};

}  // namespace consort::linux_port
