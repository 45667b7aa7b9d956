// SPDX-License-Identifier: Apache-2.0
//
// The three-phase cores of one DMA in virtual time: the kernel of the I/O core and those of the application
// cores as on a machine (consort/spm), and a DMA that takes as long as an operation is described to take.
// Nothing is copied.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "consort/app/release.hpp"
#include "consort/spm.hpp"
#include "consort/virtual/ordered.hpp"
#include "core.hpp"

namespace consort::virtual_time {

inline constexpr std::uint32_t most_scratchpad_cores = 16;
inline constexpr std::uint32_t most_scratchpad_tasks = 32;
// Released jobs of one task that wait for their load.
inline constexpr std::uint32_t scratchpad_backlog = 64;

class Scratchpads;
using ScratchpadHand = spm::Handover<access::Coherent>;

// An application core: the port of its kernel.
class ScratchpadCore : public Processor {
  public:
    ScratchpadCore(Clock& clock, Scratchpads& owner) : Processor(clock), owner_(&owner) {}

    void start(std::uint32_t place, std::uint16_t id, const Core& core, ScratchpadHand::Shared& shared,
               spm::Table tasks, std::byte* partition) {
        place_ = place;
        shared_ = &shared;
        tasks_ = tasks;
        partition_ = partition;
        idle_ = true;
        begin(
            id, core.context_switch, [](void* self) { static_cast<ScratchpadCore*>(self)->loop(); }, this);
    }
    // True if it looks for a job at this instant.
    [[nodiscard]] bool attention() const noexcept { return settling_ || idle_; }

    [[nodiscard]] Ticks now() const noexcept { return static_cast<Ticks>(clock_->now); }
    [[nodiscard]] spm::Outcome execute(const spm::ReadyJob& ready, const spm::Partition& parts) noexcept;
    void relax() noexcept {
        idle_ = true;
        fiber_.yield();
    }

  private:
    [[noreturn]] void loop() noexcept;

    Scratchpads* owner_;
    std::uint32_t place_ = 0;
    ScratchpadHand::Shared* shared_ = nullptr;
    spm::Table tasks_;
    std::byte* partition_ = nullptr;
    bool idle_ = true;
};

// The board that the kernel of the I/O core asks for.
class ScratchpadBoard {
  public:
    explicit ScratchpadBoard(Scratchpads& owner) : owner_(&owner) {}

    void dma_start(const spm::Transfer& transfer) noexcept;
    [[nodiscard]] spm::DmaState dma_state() const noexcept;
    [[nodiscard]] bool dma_abort() noexcept { return true; }
    [[nodiscard]] const std::byte* inputs(std::uint32_t /*core*/, std::uint32_t /*task*/) noexcept {
        return nullptr;
    }
    [[nodiscard]] std::byte* outputs(std::uint32_t /*core*/, std::uint32_t /*task*/) noexcept {
        return nullptr;
    }
    void delivered(std::uint32_t /*core*/, std::uint32_t /*task*/) noexcept {}
    void stop_job(std::uint32_t /*core*/, std::uint32_t /*task*/, std::uint32_t /*job*/) noexcept {}
    void record(const spm::Event& event) noexcept;
    void finished(const spm::JobRecord& job) noexcept;

  private:
    Scratchpads* owner_;
};

class Scratchpads {
  public:
    Scratchpads(Clock& clock, Journal& journal) : clock_(&clock), journal_(&journal), board_(*this) {}

    // `cores`: the three-phase cores of the DMA, in the order of the description.
    void start(const System& system, const Settings& settings, std::uint32_t dma,
               std::vector<std::uint32_t> cores) {
        system_ = &system;
        settings_ = &settings;
        cores_ = std::move(cores);
        round_robin_ = system.dmas[dma].arbitration == app::plan::Arbitration::round_robin;
        slots_.clear();
        local_.clear();
        next_step_ = dma_end_ = app::never;
        failed_ = false;
        tables_.assign(cores_.size(), {});
        shared_ = std::make_unique<Hand::Shared[]>(cores_.size());
        std::vector<spm::CoreSetup<access::Coherent>> setups(cores_.size());
        while (processors_.size() < cores_.size()) {
            processors_.push_back(std::make_unique<ScratchpadCore>(*clock_, *this));
        }
        for (std::uint32_t c = 0; c < cores_.size(); ++c) {
            const Core& core = system.cores[cores_[c]];
            slots_.push_back({c, static_cast<Ticks>(core.slot)});
            prepare(c);
            setups[c].tasks = {tables_[c].entries.data(),
                               static_cast<std::uint32_t>(tables_[c].entries.size())};
            setups[c].handover = &shared_[c];
            for (auto& partition : setups[c].partition) {
                partition = partition_.data();
            }
            processors_[c]->start(c, static_cast<std::uint16_t>(cores_[c]), core, shared_[c], setups[c].tasks,
                                  partition_.data());
        }
        timer_cells_.resize(local_.size());
        releases_ = Ordered<Time>(timer_cells_.data(), static_cast<std::uint32_t>(local_.size()));
        for (std::uint32_t i = 0; i < local_.size(); ++i) {
            set_release(i);
        }
        spm::Schedule schedule;
        schedule.arbitration = system.dmas[dma].arbitration;
        schedule.slots = slots_.data();
        schedule.count = static_cast<std::uint32_t>(slots_.size());
        kernel_ = std::make_unique<Kernel>(board_, setups.data(), static_cast<std::uint32_t>(setups.size()),
                                           schedule);
    }

    [[nodiscard]] Time next() const noexcept {
        Time next = std::min(next_step_, releases_.empty() ? app::never : releases_.top_key());
        next = std::min(next, dma_end_);
        for (std::size_t c = 0; c < cores_.size(); ++c) {
            next = std::min(next, processors_[c]->completes());
        }
        return next;
    }
    // False: more jobs of a task waited than the kernel keeps.
    [[nodiscard]] bool sound() const noexcept { return !failed_; }

    // Everything at this instant.
    void instant() {
        const Time now = clock_->now;
        clock_->stage = Stage::completing;
        for (std::size_t c = 0; c < cores_.size(); ++c) {
            if (processors_[c]->completes() == now) {
                processors_[c]->resume();
            }
        }
        clock_->stage = Stage::handling;
        while (!releases_.empty() && releases_.top_key() == now) {
            release(releases_.top());
        }
        dma_end_ = dma_end_ == now ? app::never : dma_end_;
        const Ticks next = kernel_->step(static_cast<Ticks>(now));
        next_step_ = round_robin_ || kernel_->empty() ? app::never : static_cast<Time>(next);
        clock_->stage = Stage::deciding;
        for (std::size_t c = 0; c < cores_.size(); ++c) {
            if (processors_[c]->attention()) {
                processors_[c]->resume();
            }
        }
    }

  private:
    friend class ScratchpadCore;
    friend class ScratchpadBoard;
    using Hand = ScratchpadHand;
    using Kernel = spm::IoCore<ScratchpadBoard, most_scratchpad_cores, most_scratchpad_tasks,
                               access::Coherent, scratchpad_backlog>;

    struct Table {
        std::vector<app::plan::Task> rows;  // the most urgent first
        std::vector<spm::Entry> entries;
        std::vector<std::uint32_t> ids;  // in the description
        std::vector<std::uint32_t> locals;
    };
    // A task of these cores.
    struct Local {
        std::uint32_t core;  // place in cores_
        std::uint32_t task;  // place in its table
        std::uint32_t id;
        app::Draw draw;
        app::Releases releases;
        // Jobs released and not over: the backlog and those in the partitions.
        std::array<Time, 2 * scratchpad_backlog> due;
    };

    void prepare(std::uint32_t c) {
        Table& table = tables_[c];
        for (std::uint32_t t = 0; t < system_->tasks.size(); ++t) {
            if (computed_on(system_->tasks[t]) == cores_[c]) {
                table.ids.push_back(t);
            }
        }
        std::stable_sort(table.ids.begin(), table.ids.end(), [this](std::uint32_t a, std::uint32_t b) {
            return system_->tasks[a].rank < system_->tasks[b].rank;
        });
        table.rows.reserve(table.ids.size());
        for (std::uint32_t k = 0; k < table.ids.size(); ++k) {
            const app::plan::Task& task = system_->tasks[table.ids[k]];
            // Released when asked for, as early as may be: the times come from Releases, which knows of
            // jitter and lists.
            app::plan::Task& row = table.rows.emplace_back(task);
            row.on_request = true;
            row.period = 0;
            spm::Entry& entry = table.entries.emplace_back();
            entry.plan = &row;
            entry.image.size.data = task.one_in_flight ? 1 : 0;
            entry.image.data = partition_.data();
            table.locals.push_back(static_cast<std::uint32_t>(local_.size()));
            const app::Draw draw(settings_->seed, table.ids[k]);
            local_.push_back({c,
                              k,
                              table.ids[k],
                              draw,
                              app::Releases(system_->release_rule(table.ids[k]), draw, settings_->arrival),
                              {}});
        }
    }

    [[nodiscard]] Time length_of(std::uint32_t id, std::uint32_t seq) const noexcept {
        return system_->execution_rule(id).of(app::Draw(settings_->seed, id), settings_->execution, seq);
    }
    // When the job was due.
    [[nodiscard]] Time due(std::uint32_t core, std::uint32_t task, std::uint32_t seq) const noexcept {
        const Local& l = local_[tables_[core].locals[task]];
        return l.due[seq % l.due.size()];
    }

    void set_release(std::uint32_t i) {
        const app::Releases& r = local_[i].releases;
        if (r.nominal() < clock_->until) {
            releases_.set(i, r.actual());
        }
    }
    void release(std::uint32_t i) {
        Local& l = local_[i];
        releases_.remove(i);
        if (l.releases.nominal() >= clock_->until) {
            return;  // a stop came in between
        }
        l.due[l.releases.job() % l.due.size()] = l.releases.nominal();
        static_cast<void>(kernel_->request(l.core, l.task, static_cast<Ticks>(clock_->now)));
        l.releases.next();
        set_release(i);
    }

    Clock* clock_;
    Journal* journal_;
    ScratchpadBoard board_;
    const System* system_ = nullptr;
    const Settings* settings_ = nullptr;
    std::vector<std::uint32_t> cores_;
    bool round_robin_ = false;
    bool failed_ = false;
    std::vector<spm::Slot> slots_;
    std::vector<Table> tables_;
    std::vector<Local> local_;
    std::vector<Ordered<Time>::Cell> timer_cells_;
    Ordered<Time> releases_;
    std::unique_ptr<Hand::Shared[]> shared_;
    std::unique_ptr<Kernel> kernel_;
    std::vector<std::unique_ptr<ScratchpadCore>> processors_;
    // Nothing is moved, but the kernel computes addresses.
    alignas(64) std::array<std::byte, 4096> partition_{};
    Time next_step_ = app::never;  // TDMA: the next slot, while there is something to do
    Time dma_end_ = app::never;    // round robin
    Time dma_until_ = 0;
    std::uint32_t moved_ = 0;
    Time moved_since_ = 0;
    bool loads_ = false;
};

inline spm::Outcome ScratchpadCore::execute(const spm::ReadyJob& ready,
                                            const spm::Partition& /*parts*/) noexcept {
    idle_ = false;
    const std::uint32_t task = owner_->tables_[place_].ids[ready.task];
    const Time since = clock_->now;
    begins_ = app::after(since, switch_);
    completes_ = app::after(begins_, owner_->length_of(task, ready.job));
    fiber_.yield();
    completes_ = app::never;
    slice(since, begins_, task, ready.job, Doing::context_switch);
    slice(begins_, clock_->now, task, ready.job, Doing::execute);
    return spm::Outcome::done;
}

inline void ScratchpadCore::loop() noexcept {
    std::byte* partitions[spm::partitions] = {partition_, partition_};
    spm::ApplicationCore<ScratchpadCore> kernel(*this, *shared_, tasks_, partitions);
    for (;;) {
        if (kernel.poll() == Status::ok) {
            wait_for_decision();
        } else {
            relax();
        }
    }
}

inline void ScratchpadBoard::dma_start(const spm::Transfer& /*transfer*/) noexcept {
    Scratchpads& s = *owner_;
    const app::plan::Task& task = s.system_->tasks[s.moved_];
    const Time length = s.loads_ ? task.load : task.unload;
    const Time slot = s.system_->cores[task.core].slot;
    s.dma_until_ = app::after(s.clock_->now, s.round_robin_ && length != 0 ? length : slot);
    s.dma_end_ = s.round_robin_ ? s.dma_until_ : app::never;  // TDMA: seen at the slot's end
}

inline spm::DmaState ScratchpadBoard::dma_state() const noexcept {
    return owner_->clock_->now < owner_->dma_until_ ? spm::DmaState::busy : spm::DmaState::idle;
}

inline void ScratchpadBoard::record(const spm::Event& event) noexcept {
    using spm::Kind;
    Scratchpads& s = *owner_;
    const bool begins = event.kind == Kind::load_begin || event.kind == Kind::unload_begin;
    if (!begins && event.kind != Kind::load_end && event.kind != Kind::unload_end) {
        s.failed_ = s.failed_ || event.kind == Kind::release_lost || event.kind == Kind::slot_overrun ||
                    event.kind == Kind::slot_missed || event.kind == Kind::core_fault;
        return;
    }
    const std::uint32_t task = s.tables_[event.core].ids[event.task];
    if (!begins) {
        if (s.clock_->trace != nullptr) {
            s.clock_->trace->slices.push_back({s.moved_since_, s.clock_->now, task, event.job,
                                               static_cast<std::uint16_t>(s.cores_[event.core]),
                                               s.loads_ ? Doing::load : Doing::unload});
        }
        return;
    }
    s.moved_ = task;
    s.moved_since_ = s.clock_->now;
    s.loads_ = event.kind == Kind::load_begin;
    if (s.loads_) {
        JobTimes job;
        job.release = s.due(event.core, event.task, event.job);
        job.seq = event.job;
        s.journal_->begun(task, job);
    }
}

inline void ScratchpadBoard::finished(const spm::JobRecord& job) noexcept {
    const Scratchpads& s = *owner_;
    const std::uint32_t id = s.tables_[job.core].ids[job.task];
    JobTimes times;
    times.release = s.due(job.core, job.task, job.job);
    times.ready = static_cast<Time>(job.release);
    times.start = static_cast<Time>(job.start);
    times.finish = static_cast<Time>(job.end);
    times.compute = s.length_of(id, job.job);
    times.seq = job.job;
    if (times.finish > app::after(times.release, s.system_->tasks[id].deadline)) {
        times.status = job_status::missed;
    }
    s.journal_->finished(id, times,
                         {static_cast<Time>(job.load), static_cast<Time>(job.ready),
                          static_cast<Time>(job.finish), static_cast<Time>(job.unload)});
}

}  // namespace consort::virtual_time
