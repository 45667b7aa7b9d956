// SPDX-License-Identifier: Apache-2.0
//
// The kernel on the I/O core: releases jobs, decides what the application DMA moves, watches.
//
// At each slot of a core (spm-centric-os, section IV):
//   Rule 1  a partition is empty and a released job is not loaded: load the one of the highest priority;
//   Rule 2  else, the oldest loaded job has finished: unload it.
// The paper leaves open which finished job goes first; the response-time bound needs the oldest. A release
// or a finish at the very start of a slot counts for it. A task that keeps data from job to job has one job
// in flight at most: the next one would be loaded with what the one before has not written back yet.
//
// The kernel never waits. step(now) does what is due and says when it has to be called again; it may be
// called at any time between. Whoever calls it late is found out (Kind::slot_missed).
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>

#include "consort/icc/access.hpp"
#include "consort/port.hpp"
#include "consort/spm/dma.hpp"
#include "consort/spm/event.hpp"
#include "consort/spm/handover.hpp"
#include "consort/spm/schedule.hpp"
#include "consort/spm/task.hpp"

namespace consort::spm {

// The kernel's requirements on a board. All of it is short and none of it blocks.
template <class B>
concept IoBoard = requires(B& board, const Transfer& transfer, std::uint32_t n, Outcome outcome,
                           const Event& event, const JobRecord& job) {
    { board.dma_start(transfer) }
    noexcept;
    { board.dma_state() }
    noexcept->std::same_as<DmaState>;
    // Stops the transfer under way; false: it goes on.
    { board.dma_abort() }
    noexcept->std::same_as<bool>;
    // Optional, loads(core, task, job, release): called before inputs(), for which job it is.
    //
    // Where the inputs of this core's task are, and will stay until its load has ended; where its outputs go.
    // Called once an operation. Null only for a task without inputs (outputs).
    { board.inputs(n, n) }
    noexcept->std::same_as<const std::byte*>;
    { board.outputs(n, n) }
    noexcept->std::same_as<std::byte*>;
    // The outputs of a job that is done have arrived.
    { board.delivered(n, n) }
    noexcept;
    // Makes the core leave the execution of that job (core, task, job) and report Outcome::stopped.
    { board.stop_job(n, n, n) }
    noexcept;
    { board.record(event) }
    noexcept;
    { board.finished(job) }
    noexcept;
};

// An application core, its tasks and its scratchpad.
template <class A>
struct CoreSetup {
    Table tasks;
    typename Handover<A>::Shared* handover = nullptr;
    std::byte* partition[partitions] = {};
};

// `backlog`: released and not yet loaded jobs that are kept of one task.
template <IoBoard Board, std::size_t max_cores, std::size_t max_tasks, class A = access::Coherent,
          std::uint32_t backlog = 4>
class IoCore {
  public:
    using Setup = CoreSetup<A>;

    // The setups in the order of the cores' numbers, at most max_cores; no table longer than max_tasks.
    IoCore(Board& board, const Setup* setups, std::uint32_t count, const Schedule& schedule) noexcept
        : board_(&board), schedule_(schedule), count_(count), boundary_(schedule.start) {
        for (std::uint32_t c = 0; c < count; ++c) {
            Core& core = cores_[c];
            core.setup = setups[c];
            core.hand = typename Handover<A>::IoSide(*setups[c].handover);
            for (std::uint32_t t = 0; t < setups[c].tasks.count; ++t) {
                const Entry& task = setups[c].tasks.entries[t];
                core.state[t].next = schedule.start + (task.plan->on_request ? 0 : task.offset());
            }
        }
    }

    // Does what is due at `now`. Returns when it has to be called next; round robin also wants to be called
    // when the DMA or a core has finished.
    Ticks step(Ticks now) noexcept {
        if (schedule_.arbitration == Arbitration::round_robin) {
            return step_round_robin(now);
        }
        while (now >= boundary_) {
            at_boundary(now);
        }
        watch(now);
        return boundary_;
    }

    // Asks for a job of a sporadic task; `at` is not before the former request. False: it was refused.
    bool request(std::uint32_t core, std::uint32_t task, Ticks at) noexcept {
        TaskState& state = cores_[core].state[task];
        Ticks release = at;
        if (release < state.next) {
            // Another one within a period would take time that the bound does not know of.
            emit(at, Kind::early_request, core, task, state.jobs);
            release = state.next;
        }
        const bool taken = push(core, task, release);
        if (taken) {
            state.next = release + cores_[core].setup.tasks.entries[task].period();
        }
        return taken;
    }

    // No further releases; what was released is still completed.
    void close() noexcept { closed_ = true; }
    // Neither a job in flight nor one pending.
    [[nodiscard]] bool empty() const noexcept {
        for (std::uint32_t c = 0; c < count_; ++c) {
            if (cores_[c].faulted) {
                continue;
            }
            if (cores_[c].loaded != 0) {
                return false;
            }
            for (std::uint32_t t = 0; t < cores_[c].setup.tasks.count; ++t) {
                if (cores_[c].state[t].pending != 0) {
                    return false;
                }
            }
        }
        return true;
    }
    // Until then there is nothing to move, to execute or to watch: whoever calls step() may sleep. `now`
    // while a job is pending or in flight; requests of sporadic tasks are not known before.
    [[nodiscard]] Ticks quiet_until(Ticks now) const noexcept {
        if (!empty()) {
            return now;
        }
        Ticks next = never;
        for (std::uint32_t c = 0; c < count_ && !closed_; ++c) {
            for (std::uint32_t t = 0; t < cores_[c].setup.tasks.count; ++t) {
                const TaskState& state = cores_[c].state[t];
                if (!task_of(cores_[c], t).plan->on_request && !state.stopped && state.next < next) {
                    next = state.next;
                }
            }
        }
        return next;
    }
    // Round robin: when the earliest finish was that waits for the DMA; `never` where the DMA is not free, or
    // none is known of.
    [[nodiscard]] Ticks next_finish() const noexcept {
        Ticks earliest = never;
        for (std::uint32_t c = 0; c < count_ && active_ == nobody; ++c) {
            const Core& core = cores_[c];
            Ticks finish = 0;
            if (core.loaded != 0 && core.doing == Doing::nothing && !core.faulted &&
                core.hand.finished(0, finish) == Status::ok && finish < earliest) {
                earliest = finish;
            }
        }
        return earliest;
    }
    // Tells every core to leave its loop.
    void halt() noexcept {
        for (std::uint32_t c = 0; c < count_; ++c) {
            cores_[c].hand.halt();
        }
    }
    [[nodiscard]] bool stopped(std::uint32_t core, std::uint32_t task) const noexcept {
        return cores_[core].state[task].stopped;
    }

  private:
    struct Pending {
        Ticks release;
        std::uint32_t job;
        bool missed;
    };
    struct TaskState {
        Ticks next = 0;  // periodic: the next release; sporadic: the earliest one
        std::array<Pending, backlog> queue{};
        std::uint32_t head = 0;
        std::uint32_t pending = 0;
        std::uint32_t jobs = 0;
        std::uint32_t in_flight = 0;
        bool stopped = false;
    };
    struct Job {
        std::uint32_t task;
        std::uint32_t job;
        std::uint32_t partition;
        Ticks release;
        Ticks load;
        Ticks ready;
        Ticks unload;
        Execution execution;
        bool published;
        bool overrun;
        bool missed;
    };
    enum class Doing : std::uint8_t { nothing, load, unload };
    struct Core {
        Setup setup{};
        typename Handover<A>::IoSide hand;
        std::array<TaskState, max_tasks> state{};
        std::array<Job, partitions> job{};  // in the order of their loads
        std::uint32_t loaded = 0;
        bool used[partitions] = {};
        bool faulted = false;
        // An operation begun and not ended: under way, or aborted and to be repeated.
        Doing doing = Doing::nothing;
        std::uint32_t attempts = 0;
        Transfer transfer{};
    };
    static constexpr std::uint32_t nobody = ~std::uint32_t{0};

    void emit(Ticks at, Kind kind, std::uint32_t core, std::uint32_t task = no_task,
              std::uint32_t job = 0) noexcept {
        board_->record({at, kind, core, task, job});
    }

    [[nodiscard]] const Entry& task_of(const Core& core, std::uint32_t task) const noexcept {
        return core.setup.tasks.entries[task];
    }

    // --- releases

    bool push(std::uint32_t c, std::uint32_t t, Ticks release) noexcept {
        TaskState& state = cores_[c].state[t];
        if (state.stopped || closed_) {
            return false;
        }
        if (state.pending == backlog) {
            emit(release, Kind::release_lost, c, t, state.jobs++);
            return false;
        }
        state.queue[(state.head + state.pending) % backlog] = {release, state.jobs, false};
        ++state.pending;
        emit(release, Kind::release, c, t, state.jobs++);
        return true;
    }

    void release_until(std::uint32_t c, Ticks at) noexcept {
        Core& core = cores_[c];
        for (std::uint32_t t = 0; t < core.setup.tasks.count && !closed_; ++t) {
            TaskState& state = core.state[t];
            const Entry& task = task_of(core, t);
            while (!task.plan->on_request && !state.stopped && state.next <= at) {
                push(c, t, state.next);
                state.next += task.period();
            }
        }
    }

    void pop(TaskState& state) noexcept {
        state.head = (state.head + 1) % backlog;
        --state.pending;
    }

    void stop_task(std::uint32_t c, std::uint32_t t, Ticks now) noexcept {
        TaskState& state = cores_[c].state[t];
        if (!state.stopped) {
            state.stopped = true;
            state.pending = 0;
            emit(now, Kind::task_stopped, c, t, state.jobs);
        }
    }

    // --- operations

    // Rule 1, Rule 2 and repetitions, for releases and finishes until `at`. True: the DMA was started.
    bool begin_operation(std::uint32_t c, Ticks at, Ticks now) noexcept {
        Core& core = cores_[c];
        if (core.faulted) {
            return false;
        }
        if (core.doing != Doing::nothing) {
            board_->dma_start(core.transfer);
            return true;
        }
        return (core.loaded < partitions && begin_load(c, at, now)) || begin_unload(c, at, now);
    }

    // Rule 1 applies to this task.
    [[nodiscard]] bool loadable(const Core& core, std::uint32_t t, Ticks at) const noexcept {
        const TaskState& state = core.state[t];
        return state.pending != 0 && state.queue[state.head].release <= at &&
               (task_of(core, t).image.size.data == 0 || state.in_flight == 0);
    }

    // True if begin_operation() would begin one.
    [[nodiscard]] bool wanted(std::uint32_t c, Ticks at) const noexcept {
        const Core& core = cores_[c];
        if (core.faulted || core.doing != Doing::nothing) {
            return !core.faulted;
        }
        for (std::uint32_t t = 0; core.loaded < partitions && t < core.setup.tasks.count; ++t) {
            if (loadable(core, t, at)) {
                return true;
            }
        }
        Ticks finish = 0;
        return core.loaded != 0 && core.hand.finished(0, finish) == Status::ok && finish <= at;
    }

    bool begin_load(std::uint32_t c, Ticks at, Ticks now) noexcept {
        Core& core = cores_[c];
        for (std::uint32_t t = 0; t < core.setup.tasks.count; ++t) {
            if (!loadable(core, t, at)) {
                continue;
            }
            TaskState& state = core.state[t];
            const Entry& task = task_of(core, t);
            const Pending next = state.queue[state.head];
            pop(state);
            ++state.in_flight;
            const std::uint32_t partition = core.used[0] ? 1 : 0;
            core.used[partition] = true;
            core.job[core.loaded++] = {t,     next.job, partition, next.release, now,        never,
                                       never, {},       false,     false,        next.missed};
            std::byte* base = core.setup.partition[partition];
            const Layout layout = layout_of(task.image.size);
            core.transfer.count = 0;
            core.transfer.add(task.image.code, base, task.image.size.code);
            core.transfer.add(task.image.data, base + layout.data, task.image.size.data);
            if constexpr (requires { board_->loads(c, t, next.job, next.release); }) {
                board_->loads(c, t, next.job, next.release);
            }
            core.transfer.add(board_->inputs(c, t), base + layout.inputs, task.image.size.inputs);
            begin(c, Doing::load, now, t, next.job);
            return true;
        }
        return false;
    }

    bool begin_unload(std::uint32_t c, Ticks at, Ticks now) noexcept {
        Core& core = cores_[c];
        if (core.loaded == 0) {
            return false;
        }
        Ticks finish = 0;
        const Status status = core.hand.finished(0, finish);
        if (status == Status::peer_fault) {
            fault_core(c, now);
            return false;
        }
        if (status != Status::ok || finish > at) {
            return false;
        }
        Job& job = core.job[0];
        job.execution = core.hand.take();
        job.unload = now;
        const Entry& task = task_of(core, job.task);
        core.transfer.count = 0;
        // The output of a job that was stopped is not to be trusted. The job still takes its slot, so that
        // the schedule of the others stays one that the bound covers.
        if (job.execution.outcome == Outcome::done) {
            const std::byte* base = core.setup.partition[job.partition];
            const Layout layout = layout_of(task.image.size);
            core.transfer.add(base + layout.data, task.image.data, task.image.size.data);
            core.transfer.add(base + layout.outputs, board_->outputs(c, job.task), task.image.size.outputs);
        } else if (job.execution.outcome == Outcome::fault) {
            emit(now, Kind::job_fault, c, job.task, job.job);
            stop_task(c, job.task, now);
        }
        begin(c, Doing::unload, now, job.task, job.job);
        return true;
    }

    void begin(std::uint32_t c, Doing doing, Ticks now, std::uint32_t task, std::uint32_t job) noexcept {
        Core& core = cores_[c];
        core.doing = doing;
        core.attempts = 0;
        emit(now, doing == Doing::load ? Kind::load_begin : Kind::unload_begin, c, task, job);
        board_->dma_start(core.transfer);
    }

    // The job that the core's operation moves.
    [[nodiscard]] std::uint32_t moving(const Core& core) const noexcept {
        return core.doing == Doing::load ? core.loaded - 1 : 0;
    }

    void complete(std::uint32_t c, Ticks now) noexcept {
        Core& core = cores_[c];
        Job& job = core.job[moving(core)];
        const Doing done = core.doing;
        core.doing = Doing::nothing;
        if (done == Doing::load) {
            job.published = true;
            job.ready = now;
            emit(now, Kind::load_end, c, job.task, job.job);
            core.hand.publish({job.task, job.partition, job.job});
            return;
        }
        if (job.execution.outcome == Outcome::done && task_of(core, job.task).image.size.outputs != 0) {
            board_->delivered(c, job.task);
        }
        emit(now, Kind::unload_end, c, job.task, job.job);
        check_deadline(c, job.task, job.job, job.release, job.missed, now);
        board_->finished({c, job.task, job.job, job.execution.outcome, job.release, job.load, job.ready,
                          job.execution.start, job.execution.finish, job.unload, now});
        remove(core, 0);
    }

    void remove(Core& core, std::uint32_t index) noexcept {
        --core.state[core.job[index].task].in_flight;
        core.used[core.job[index].partition] = false;
        if (index == 0) {
            core.job[0] = core.job[1];
        }
        --core.loaded;
    }

    // The operation did not succeed this time.
    void failed(std::uint32_t c, Ticks now, Kind why) noexcept {
        Core& core = cores_[c];
        const std::uint32_t index = moving(core);
        const Job job = core.job[index];
        emit(now, why, c, job.task, job.job);
        if (core.attempts++ < schedule_.repeats) {
            return;
        }
        emit(now, Kind::transfer_failed, c, job.task, job.job);
        core.doing = Doing::nothing;
        remove(core, index);
        // Its image in main memory may be half written.
        stop_task(c, job.task, now);
    }

    void fault_core(std::uint32_t c, Ticks now) noexcept {
        cores_[c].faulted = true;
        emit(now, Kind::core_fault, c);
    }

    // True: the DMA is free.
    bool unstuck() noexcept {
        stuck_ = stuck_ && board_->dma_state() == DmaState::busy;
        return !stuck_;
    }

    void abort(std::uint32_t c, Ticks now) noexcept {
        if (!board_->dma_abort()) {
            stuck_ = true;
            emit(now, Kind::dma_stuck, c);
        }
        failed(c, now, Kind::slot_overrun);
    }

    // --- TDMA

    void at_boundary(Ticks now) noexcept {
        if (active_ != nobody) {
            const std::uint32_t c = active_;
            active_ = nobody;
            switch (board_->dma_state()) {
                case DmaState::idle:
                    complete(c, now);
                    break;
                case DmaState::busy:
                    abort(c, now);
                    break;
                case DmaState::error:
                    failed(c, now, Kind::dma_error);
                    break;
            }
        }
        const Slot slot = schedule_.slots[turn_];
        const Ticks begin = boundary_;
        turn_ = turn_ + 1 == schedule_.count ? 0 : turn_ + 1;
        boundary_ += slot.length;
        release_until(slot.core, begin);
        if (now - begin > schedule_.tolerance || !unstuck()) {
            // Nothing is lost with a slot in which there was nothing to do. At its own instant: whoever
            // called late finds all slots since then at once.
            emit(begin, stuck_ || wanted(slot.core, begin) ? Kind::slot_missed : Kind::slot_wasted,
                 slot.core);
            return;
        }
        if (begin_operation(slot.core, begin, now)) {
            active_ = slot.core;
        } else {
            emit(now, Kind::slot_wasted, slot.core);
        }
    }

    // --- round robin

    Ticks step_round_robin(Ticks now) noexcept {
        for (std::uint32_t c = 0; c < count_; ++c) {
            release_until(c, now);
        }
        if (active_ != nobody) {
            const std::uint32_t c = active_;
            const DmaState state = board_->dma_state();
            const bool late = now - began_ > schedule_.slots[c].length;
            if (state != DmaState::busy || late) {
                active_ = nobody;
                if (state == DmaState::idle) {
                    complete(c, now);
                } else if (state == DmaState::error) {
                    failed(c, now, Kind::dma_error);
                } else {
                    abort(c, now);
                }
            }
        }
        for (std::uint32_t k = 0; k < count_ && active_ == nobody && unstuck(); ++k) {
            const std::uint32_t c = (turn_ + k) % count_;
            if (begin_operation(c, now, now)) {
                active_ = c;
                began_ = now;
                turn_ = (c + 1) % count_;
            }
        }
        watch(now);
        return next_round_robin(now);
    }

    [[nodiscard]] Ticks next_round_robin(Ticks now) const noexcept {
        Ticks next = active_ != nobody ? began_ + schedule_.slots[active_].length + 1 : never;
        const auto earlier = [&next, now](Ticks at) { next = at > now && at < next ? at : next; };
        for (std::uint32_t c = 0; c < count_; ++c) {
            const Core& core = cores_[c];
            for (std::uint32_t t = 0; t < core.setup.tasks.count; ++t) {
                const TaskState& state = core.state[t];
                const Entry& task = task_of(core, t);
                if (!task.plan->on_request && !state.stopped && !closed_) {
                    earlier(state.next);
                }
                if (state.pending != 0) {
                    earlier(state.queue[state.head].release);
                    earlier(state.queue[state.head].release + task.deadline() + 1);
                }
            }
            for (std::uint32_t i = 0; i < core.loaded; ++i) {
                const Entry& task = task_of(core, core.job[i].task);
                earlier(core.job[i].release + task.deadline() + 1);
                Ticks start = 0;
                if (task.watched() && core.job[i].published && !core.job[i].overrun &&
                    core.hand.started(i, start) == Status::ok) {
                    earlier(start + task.wcet() + 1);
                }
            }
        }
        return next;
    }

    // --- watchdogs: looked at in each step, so at least once a slot

    void watch(Ticks now) noexcept {
        for (std::uint32_t c = 0; c < count_; ++c) {
            Core& core = cores_[c];
            if (core.faulted) {
                continue;
            }
            for (std::uint32_t i = 0; i < core.loaded; ++i) {
                Job& job = core.job[i];
                check_deadline(c, job.task, job.job, job.release, job.missed, now);
                watch_execution(c, i, now);
            }
            for (std::uint32_t t = 0; t < core.setup.tasks.count; ++t) {
                watch_pending(c, t, now);
            }
        }
    }

    void watch_execution(std::uint32_t c, std::uint32_t i, Ticks now) noexcept {
        Core& core = cores_[c];
        Job& job = core.job[i];
        const Entry& task = task_of(core, job.task);
        if (!task.watched() || job.overrun || !job.published || (i == 0 && core.doing == Doing::unload)) {
            return;
        }
        // A job being unloaded is no longer in the hand-over.
        const std::uint32_t place = core.doing == Doing::unload ? i - 1 : i;
        Ticks start = 0;
        Ticks finish = now;
        if (core.hand.started(place, start) != Status::ok) {
            return;
        }
        const bool over = core.hand.finished(place, finish) == Status::ok;
        if (finish <= start + task.wcet()) {
            return;
        }
        job.overrun = true;
        emit(now, Kind::execution_overrun, c, job.task, job.job);
        if (task.plan->on_overrun == app::plan::OnOverrun::report) {
            return;
        }
        if (!over) {
            board_->stop_job(c, job.task, job.job);
        }
        if (task.plan->on_overrun == app::plan::OnOverrun::stop_task) {
            stop_task(c, job.task, now);
        }
    }

    void watch_pending(std::uint32_t c, std::uint32_t t, Ticks now) noexcept {
        TaskState& state = cores_[c].state[t];
        while (state.pending != 0) {
            Pending& first = state.queue[state.head];
            const std::uint32_t job = first.job;
            if (first.missed || !check_deadline(c, t, job, first.release, first.missed, now)) {
                return;
            }
            if (task_of(cores_[c], t).plan->on_late != app::plan::OnLate::drop) {
                return;
            }
            emit(now, Kind::job_dropped, c, t, job);
            pop(state);
        }
    }

    // True: the deadline has passed. Reported once.
    bool check_deadline(std::uint32_t c, std::uint32_t t, std::uint32_t job, Ticks release, bool& missed,
                        Ticks now) noexcept {
        const Entry& task = task_of(cores_[c], t);
        if (now < release || now - release <= task.deadline()) {
            return false;
        }
        if (!missed) {
            missed = true;
            emit(now, Kind::deadline_missed, c, t, job);
            if (task.plan->on_late == app::plan::OnLate::stop_task) {
                stop_task(c, t, now);
            }
        }
        return true;
    }

    Board* board_;
    Schedule schedule_;
    std::uint32_t count_;
    Ticks boundary_;                 // TDMA: the next one
    std::uint32_t turn_ = 0;         // TDMA: the slot that begins there; round robin: the core asked first
    std::uint32_t active_ = nobody;  // whose operation the DMA does
    Ticks began_ = 0;
    bool stuck_ = false;
    bool closed_ = false;
    std::array<Core, max_cores> cores_{};
};

}  // namespace consort::spm
