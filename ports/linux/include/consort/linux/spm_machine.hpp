// SPDX-License-Identifier: Apache-2.0
//
// The scratchpad-centric kernel on Linux: the calling thread is the I/O core, one pinned thread is each
// application core.
#pragma once

#include <sched.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "consort/linux/clock.hpp"
#include "consort/linux/cpus.hpp"
#include "consort/linux/realtime.hpp"
#include "consort/linux/spm_copy_engine.hpp"
#include "consort/linux/spm_jobs.hpp"
#include "consort/linux/spm_scratchpad.hpp"
#include "consort/spm.hpp"

namespace consort::linux_port {

// The step that a core executes, when, and what is moved for it.
struct SpmStep {
    std::string name;
    app::plan::Task plan{};  // in ticks of Clock
    spm::Image image{};
    JobFunction job = nullptr;
};

struct SpmOptions {
    Ticks slot = 0;  // of TDMA; round robin: the longest operation
    // The slot of each core, where they differ; else empty.
    std::vector<Ticks> slots;
    spm::Arbitration arbitration = spm::Arbitration::tdma;
    Ticks tolerance = 0;  // 0: half a slot
    std::uint32_t repeats = 1;
    bool realtime = true;  // SCHED_FIFO, locked memory; what is refused is a note
    int priority = 80;
    // With fewer processors than threads: share them instead of refusing. For trying things out; the slots
    // are then not kept.
    bool share_processors = false;
    // The core goes through its partition once before the job, so that the job finds it in its own cache.
    bool warm = true;
    std::size_t records = std::size_t{1} << 20U;  // jobs and events that can be kept
    // The I/O core's processor, then one for each core that has tasks; empty: chosen here.
    std::vector<int> cpus;
    // Cores share processors: none of them spins; each sleeps so long where it would. 0: they spin.
    Ticks nap = 0;
    // Called by the I/O core once all cores are there: the tick of the first slot; 0: do not run at all.
    // Without it the first slot comes after a millisecond.
    std::function<Ticks()> start;
    // True if the run is to release no more, before the duration is over.
    std::function<bool()> stop;
    // By the I/O core, as they come, instead of being kept. Short, and never blocking.
    std::function<void(const spm::JobRecord&)> on_job;
    std::function<void(const spm::Event&)> on_event;
    // By an application core, as it begins to execute a job and once it has left it. Short, never blocking.
    std::function<void(std::uint32_t core, const spm::ReadyJob&)> on_begin;
    std::function<void(std::uint32_t core, const spm::ReadyJob&)> on_left;
};

struct SpmRun {
    std::vector<spm::JobRecord> jobs;
    std::vector<spm::Event> events;
    std::uint64_t records_lost = 0;
    std::vector<Ticks> steps;  // how long each call of the kernel took that did something
    Ticks start = 0;           // of the first slot
    // How often the I/O core, and the application cores, slept because nothing was due.
    std::uint64_t io_rests = 0, core_rests = 0;
    std::vector<int> cpus;  // the I/O core's first
    std::vector<std::string> notes;
};

// Too few processors for what was asked. The message says what there is and what would do.
class TooFewProcessors : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

// M application cores and the I/O core, or TooFewProcessors.
inline CpuChoice spm_processors(std::size_t application_cores, bool share) {
    CpuChoice choice = pick_cpus(application_cores + 1);
    const std::size_t found = choice.cpus.size();
    if (found == application_cores + 1) {
        return choice;
    }
    const std::string lack = std::to_string(application_cores) + " application cores and the I/O core need " +
                             std::to_string(application_cores + 1) + " processors, this process may use " +
                             std::to_string(found);
    if (!share) {
        throw TooFewProcessors(
            lack + (found >= 2 ? ": at most " + std::to_string(found - 1) + " application core" +
                                     (found > 2 ? "s" : "") + " here"
                               : ": one for the I/O core and one for an application core is the least"));
    }
    choice.notes.push_back(lack + ": they share, and slots are not kept");
    for (std::size_t i = found; i < application_cores + 1; ++i) {
        choice.cpus.push_back(choice.cpus[i % found]);
    }
    return choice;
}

// Brings a partition into the calling core's own cache: what the job reads by reading it, what it writes by
// writing what is there, because a line that another core has written last is else fetched twice.
inline void warm_partition(const spm::Partition& parts, const spm::Footprint& size) noexcept {
    const std::byte* end = parts.code + spm::layout_of(size).bytes;
    for (const volatile std::byte* at = parts.code; at < end; at += spm::part_alignment) {
        (void)*at;
    }
    const auto write = [](std::byte* part, std::uint32_t bytes) {
        volatile std::byte* at = part;
        for (std::uint32_t i = 0; i < bytes; i += spm::part_alignment) {
            at[i] = at[i];
        }
    };
    write(parts.data, size.data);
    write(parts.outputs, size.outputs);
}

// A core that spins without end starves the ordinary threads of its processor, and Linux then takes the
// processor away from it, 50 ms of each second as it comes. So the I/O core says until when nothing is due,
// and all cores sleep that long. They wake early: a thread does not run at the very time that its timer says.
class Rest {
  public:
    explicit Rest(Ticks early = Clock::from_ns(300'000)) noexcept : early_(early) {}

    void nothing_before(Ticks at) noexcept { at_.store(at, std::memory_order_relaxed); }
    // False: it is not worth it.
    bool take(Ticks now) const noexcept {
        const Ticks at = at_.load(std::memory_order_relaxed);
        if (at < now || at - now < 2 * early_) {
            return false;
        }
        const std::uint64_t ns = Clock::to_ns(at - early_ - now);
        timespec time{};
        time.tv_sec = static_cast<decltype(time.tv_sec)>(ns / 1'000'000'000U);
        time.tv_nsec = static_cast<decltype(time.tv_nsec)>(ns % 1'000'000'000U);
        ::clock_nanosleep(CLOCK_MONOTONIC, 0, &time, nullptr);
        return true;
    }

  private:
    Ticks early_;
    std::atomic<Ticks> at_{0};
};

inline void nap_for(Ticks ticks) noexcept {
    const std::uint64_t ns = Clock::to_ns(ticks);
    timespec time{};
    time.tv_sec = static_cast<decltype(time.tv_sec)>(ns / 1'000'000'000U);
    time.tv_nsec = static_cast<decltype(time.tv_nsec)>(ns % 1'000'000'000U);
    ::clock_nanosleep(CLOCK_MONOTONIC, 0, &time, nullptr);
}

namespace detail {

inline constexpr std::size_t spm_cores = 16;
inline constexpr std::size_t spm_tasks = 64;

// The I/O core's board.
class SpmBoard {
  public:
    SpmBoard(SpmRun& run, const SpmOptions& options, std::vector<std::unique_ptr<JobGuard>>& guards)
        : run_(&run), options_(&options), guards_(&guards) {}

    void dma_start(const spm::Transfer& transfer) noexcept { engine.start(transfer); }
    [[nodiscard]] spm::DmaState dma_state() const noexcept { return engine.state(); }
    [[nodiscard]] bool dma_abort() noexcept {
        engine.abort();
        return true;
    }
    [[nodiscard]] const std::byte* inputs(std::uint32_t core, std::uint32_t task) noexcept {
        return on_inputs(core, task);
    }
    [[nodiscard]] std::byte* outputs(std::uint32_t core, std::uint32_t task) noexcept {
        return on_outputs(core, task);
    }
    void delivered(std::uint32_t core, std::uint32_t task) noexcept { on_delivered(core, task); }
    void stop_job(std::uint32_t core, std::uint32_t task, std::uint32_t job) noexcept {
        (*guards_)[core]->stop(JobGuard::id_of(task, job));
    }
    void record(const spm::Event& event) noexcept {
        if (options_->on_event) {
            options_->on_event(event);
        } else {
            keep(run_->events, event);
        }
    }
    void finished(const spm::JobRecord& job) noexcept {
        if (options_->on_job) {
            options_->on_job(job);
        } else {
            keep(run_->jobs, job);
        }
    }

    CopyEngine engine;
    std::function<const std::byte*(std::uint32_t, std::uint32_t)> on_inputs;
    std::function<std::byte*(std::uint32_t, std::uint32_t)> on_outputs;
    std::function<void(std::uint32_t, std::uint32_t)> on_delivered;

  private:
    // Never allocates: room was made before.
    template <class T>
    void keep(std::vector<T>& list, const T& item) noexcept {
        if (list.size() < list.capacity()) {
            list.push_back(item);
        } else {
            ++run_->records_lost;
        }
    }

    SpmRun* run_;
    const SpmOptions* options_;
    std::vector<std::unique_ptr<JobGuard>>* guards_;
};

// An application core's board.
class SpmCoreBoard {
  public:
    SpmCoreBoard(std::uint32_t core, const std::vector<SpmStep>& tasks, JobGuard& guard, const Rest& rest,
                 const SpmOptions& options, bool alone)
        : core_(core), tasks_(&tasks), guard_(&guard), rest_(&rest), options_(&options), alone_(alone) {}

    [[nodiscard]] std::uint64_t rests() const noexcept { return rests_; }
    [[nodiscard]] Ticks now() noexcept { return Clock::now(); }
    [[nodiscard]] spm::Outcome execute(const spm::ReadyJob& ready, const spm::Partition& parts) noexcept {
        const SpmStep& task = (*tasks_)[ready.task];
        if (options_->warm) {
            warm_partition(parts, task.image.size);
        }
        if (options_->on_begin) {
            options_->on_begin(core_, ready);
        }
        const spm::Outcome outcome = guard_->run(JobGuard::id_of(ready.task, ready.job), task.job, parts);
        if (options_->on_left) {
            options_->on_left(core_, ready);
        }
        return outcome;
    }
    void relax() noexcept {
        if (rest_->take(Clock::now())) {
            ++rests_;
            return;
        }
        if (options_->nap != 0) {
            nap_for(options_->nap);
        } else if (alone_) {
            isa::relax();
        } else {
            ::sched_yield();
        }
    }

  private:
    std::uint32_t core_;
    const std::vector<SpmStep>* tasks_;
    JobGuard* guard_;
    const Rest* rest_;
    const SpmOptions* options_;
    std::uint64_t rests_ = 0;
    bool alone_;
};

}  // namespace detail

class SpmMachine {
  public:
    // Task lists in priority order, one a core. A core without tasks keeps its slots and needs no processor.
    // Throws TooFewProcessors, std::invalid_argument, std::system_error.
    SpmMachine(std::vector<std::vector<SpmStep>> cores, SpmOptions options)
        : options_(std::move(options)), tasks_(std::move(cores)), board_(run_, options_, guards_) {
        check();
        board_.on_inputs = [](std::uint32_t, std::uint32_t) { return nullptr; };
        board_.on_outputs = [](std::uint32_t, std::uint32_t) { return nullptr; };
        board_.on_delivered = [](std::uint32_t, std::uint32_t) {};
        if (options_.cpus.empty()) {
            CpuChoice choice = spm_processors(busy(), options_.share_processors);
            run_.cpus = choice.cpus;
            run_.notes = choice.notes;
        } else if (options_.cpus.size() == busy() + 1) {
            run_.cpus = options_.cpus;
        } else {
            throw std::invalid_argument("a processor for the I/O core and each core that has tasks");
        }
        std::vector<int> once = run_.cpus;
        std::sort(once.begin(), once.end());
        alone_ = std::adjacent_find(once.begin(), once.end()) == once.end();
        std::uint32_t partition_bytes = 64;
        for (const std::vector<SpmStep>& list : tasks_) {
            std::vector<spm::Entry>& table = tables_.emplace_back();
            for (const SpmStep& task : list) {
                table.push_back({&task.plan, task.image});
                partition_bytes = std::max(partition_bytes, spm::layout_of(task.image.size).bytes);
            }
        }
        handovers_ = std::make_unique<spm::Handover<>::Shared[]>(tasks_.size());
        for (std::size_t c = 0; c < tasks_.size(); ++c) {
            scratchpads_.push_back(std::make_unique<Scratchpad>(partition_bytes));
            guards_.push_back(std::make_unique<JobGuard>());
            for (const std::string& note : scratchpads_.back()->notes()) {
                run_.notes.push_back(note);
            }
        }
        run_.jobs.reserve(options_.records);
        run_.events.reserve(options_.records);
        run_.steps.reserve(options_.records);
    }

    // Where inputs and outputs are, and what else the I/O core does when it is free (returns false when there
    // is nothing). Before run().
    void connect(std::function<const std::byte*(std::uint32_t, std::uint32_t)> inputs,
                 std::function<std::byte*(std::uint32_t, std::uint32_t)> outputs,
                 std::function<void(std::uint32_t, std::uint32_t)> delivered = nullptr,
                 std::function<bool()> serve = nullptr) {
        board_.on_inputs = std::move(inputs);
        board_.on_outputs = std::move(outputs);
        if (delivered) {
            board_.on_delivered = std::move(delivered);
        }
        serve_ = std::move(serve);
    }

    // The signal of the last job of a core that faulted; 0: none did.
    [[nodiscard]] int fault_signal(std::uint32_t core) const noexcept {
        return guards_[core]->fault_signal();
    }

    // Runs for so long, and then until every released job is over (at most as long again).
    SpmRun run(Ticks duration) {
        JobGuard::install();
        Clock::info();
        std::vector<std::thread> threads;
        std::atomic<std::size_t> here{0};
        for (std::size_t c = 0; c < tasks_.size(); ++c) {
            if (!tasks_[c].empty()) {
                const int cpu = run_.cpus[1 + threads.size()];
                threads.emplace_back([this, c, cpu, &here] { application_core(c, cpu, here); });
            }
        }
        {
            RealtimeGuard realtime(realtime_options(run_.cpus[0]));
            for (const std::string& note : realtime.achieved().notes) {
                run_.notes.push_back("I/O core: " + note);
            }
            while (here.load(std::memory_order_acquire) != threads.size()) {
                ::sched_yield();
            }
            io_core(duration);
        }
        for (std::thread& thread : threads) {
            thread.join();
        }
        run_.core_rests = core_rests_.load(std::memory_order_relaxed);
        return std::move(run_);
    }

  private:
    using Kernel = spm::IoCore<detail::SpmBoard, detail::spm_cores, detail::spm_tasks>;

    void check() const {
        if (tasks_.empty() || tasks_.size() > detail::spm_cores) {
            throw std::invalid_argument("1 to " + std::to_string(detail::spm_cores) + " application cores");
        }
        if (busy() == 0) {
            throw std::invalid_argument("no core has a task");
        }
        if (!options_.slots.empty() && options_.slots.size() != tasks_.size()) {
            throw std::invalid_argument("a slot for each core, or one for all");
        }
        if (shortest_slot() == 0) {
            throw std::invalid_argument("a slot needs a length");
        }
        for (const std::vector<SpmStep>& list : tasks_) {
            if (list.size() > detail::spm_tasks) {
                throw std::invalid_argument("at most " + std::to_string(detail::spm_tasks) + " tasks a core");
            }
            for (const SpmStep& t : list) {
                if (t.plan.period == 0 || t.plan.deadline == 0 || t.job == nullptr) {
                    throw std::invalid_argument("task " + t.name + " needs a period, a deadline and a job");
                }
            }
        }
    }

    [[nodiscard]] std::size_t busy() const {
        return static_cast<std::size_t>(
            std::count_if(tasks_.begin(), tasks_.end(), [](const auto& list) { return !list.empty(); }));
    }
    [[nodiscard]] Ticks slot_of(std::size_t core) const {
        return options_.slots.empty() ? options_.slot : options_.slots[core];
    }
    [[nodiscard]] Ticks shortest_slot() const {
        return options_.slots.empty() ? options_.slot
                                      : *std::min_element(options_.slots.begin(), options_.slots.end());
    }

    [[nodiscard]] RealtimeOptions realtime_options(int cpu) const {
        RealtimeOptions options;
        options.cpu = cpu;
        if (!options_.realtime || (!alone_ && options_.nap == 0)) {
            options.policy = SCHED_OTHER;
        }
        // Among cores that share a processor: the slots first.
        options.priority = options_.priority + (cpu == run_.cpus[0] && options_.nap != 0 ? 1 : 0);
        options.lock_memory = options.cpu_dma_latency = options_.realtime;
        return options;
    }

    void application_core(std::size_t c, int cpu, std::atomic<std::size_t>& here) {
        // A setting that is refused here is refused, and noted, on the I/O core too.
        const RealtimeGuard realtime(realtime_options(cpu));
        guards_[c]->attach();
        detail::SpmCoreBoard board(static_cast<std::uint32_t>(c), tasks_[c], *guards_[c], rest_, options_,
                                   alone_);
        std::byte* const partition[spm::partitions] = {scratchpads_[c]->partition(0),
                                                       scratchpads_[c]->partition(1)};
        spm::ApplicationCore<detail::SpmCoreBoard> core(
            board, handovers_[c], {tables_[c].data(), static_cast<std::uint32_t>(tables_[c].size())},
            partition);
        here.fetch_add(1, std::memory_order_release);
        (void)core.run();
        core_rests_.fetch_add(board.rests(), std::memory_order_relaxed);
    }

    void io_core(Ticks duration) {
        std::vector<spm::CoreSetup<access::Coherent>> setups(tasks_.size());
        std::vector<spm::Slot> slots;
        for (std::size_t c = 0; c < tasks_.size(); ++c) {
            setups[c].tasks = {tables_[c].data(), static_cast<std::uint32_t>(tables_[c].size())};
            setups[c].handover = &handovers_[c];
            setups[c].partition[0] = scratchpads_[c]->partition(0);
            setups[c].partition[1] = scratchpads_[c]->partition(1);
            slots.push_back({static_cast<std::uint32_t>(c), slot_of(c)});
        }
        spm::Schedule schedule;
        schedule.arbitration = options_.arbitration;
        schedule.slots = slots.data();
        schedule.count = static_cast<std::uint32_t>(slots.size());
        schedule.tolerance = options_.tolerance != 0 ? options_.tolerance : shortest_slot() / 2;
        schedule.repeats = options_.repeats;
        schedule.start = options_.start ? options_.start() : Clock::now() + Clock::from_ns(1'000'000);
        run_.start = schedule.start;
        auto kernel = std::make_unique<Kernel>(board_, setups.data(),
                                               static_cast<std::uint32_t>(setups.size()), schedule);
        const bool poll = options_.arbitration == spm::Arbitration::round_robin;
        const Ticks close = schedule.start + duration;
        bool closed = false;
        Ticks next = schedule.start;
        while (schedule.start != 0) {
            const Ticks now = Clock::now();
            if (now >= close || (options_.stop && options_.stop())) {
                if (!closed) {
                    kernel->close();
                    closed = true;
                }
                if (kernel->empty() || now >= close + duration) {
                    break;
                }
            }
            const bool due = now >= next;
            if (due || (poll && now >= schedule.start)) {
                next = kernel->step(now);
                if (due && run_.steps.size() < run_.steps.capacity()) {
                    run_.steps.push_back(Clock::now() - now);
                }
            }
            if (!board_.engine.advance() && !(serve_ && serve_())) {
                // A device is looked at all the time.
                if (!serve_ && now >= schedule.start && rest(*kernel, now, closed ? now : close)) {
                    continue;
                }
                if (options_.nap != 0) {
                    // The next slot begins at `next`, and nothing is being copied.
                    const Ticks to = Clock::now();
                    if (next > to) {
                        nap_for(
                            std::min(next - to, options_.slots.empty() ? options_.slot : shortest_slot()));
                    }
                } else if (alone_) {
                    isa::relax();
                } else {
                    ::sched_yield();
                }
            }
        }
        kernel->halt();
    }

    bool rest(const Kernel& kernel, Ticks now, Ticks close) noexcept {
        const Ticks until = std::min(kernel.quiet_until(now), close);
        if (until <= now) {
            return false;
        }
        rest_.nothing_before(until);
        const bool rested = rest_.take(now);
        run_.io_rests += rested ? 1 : 0;
        return rested;
    }

    SpmOptions options_;
    std::vector<std::vector<SpmStep>> tasks_;
    std::vector<std::vector<spm::Entry>> tables_;
    std::unique_ptr<spm::Handover<>::Shared[]> handovers_;
    std::vector<std::unique_ptr<Scratchpad>> scratchpads_;
    std::vector<std::unique_ptr<JobGuard>> guards_;
    SpmRun run_;
    detail::SpmBoard board_;
    std::function<bool()> serve_;
    Rest rest_;
    std::atomic<std::uint64_t> core_rests_{0};
    bool alone_ = true;
};

}  // namespace consort::linux_port
