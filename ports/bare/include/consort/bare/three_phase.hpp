// SPDX-License-Identifier: Apache-2.0
//
// A three-phase core of a plan that is its own I/O core: at the begin of each of its slots its timer, or its
// look at the clock where it polls, steps the scratchpad kernel (consort/spm), which has a DMA channel of the
// core move what is due; in between the core executes what is loaded. A load reads the task's channels, an
// unload writes them.
//
// Under TDMA a core needs to know of no slot but its own. What a step of the kernel takes in the midst of a
// job is part of the job's execution.
#pragma once

#include <cstddef>
#include <cstdint>

#include "consort/bare/core_run.hpp"
#include "consort/bare/stand_in.hpp"
#include "consort/spm.hpp"

namespace consort::bare {

// A task's image in main memory. It is moved as large as it was described: `code` and `data` bytes.
template <class T, unsigned number, std::uint32_t code, std::uint32_t data>
class ThreePhaseStep {
  public:
    using Type = T;
    static constexpr spm::Footprint footprint{
        code, data > sizeof(typename T::State) ? data : sizeof(typename T::State), sizeof(typename T::In),
        sizeof(typename T::Out)};

    // A job, from its partition.
    static void computation(const spm::Partition& parts) noexcept {
        T::step(*reinterpret_cast<const typename T::In*>(parts.inputs),
                *reinterpret_cast<typename T::State*>(parts.data),
                *reinterpret_cast<typename T::Out*>(parts.outputs));
    }
    [[nodiscard]] std::byte* in() noexcept { return reinterpret_cast<std::byte*>(&in_); }
    [[nodiscard]] std::byte* out() noexcept { return reinterpret_cast<std::byte*>(&out_); }
    [[nodiscard]] const std::byte* code_image() const noexcept { return code_; }
    // Zero, as a state begins.
    [[nodiscard]] std::byte* data_image() noexcept { return data_; }

  private:
    alignas(spm::part_alignment) typename T::In in_{};
    alignas(spm::part_alignment) typename T::Out out_{};
    alignas(spm::part_alignment) std::byte data_[spm::aligned_part(footprint.data)]{};
    alignas(spm::part_alignment) std::byte code_[code == 0 ? 1 : spm::aligned_part(code)]{};
};

// Values: see CoreRun; beside them the core has how many jobs each task has [extra(Values::jobs) and what
// follows]. Dma: start(transfer), state(), abort(), and the two partitions.
//
// The kernel's requirements on a board, for both sides of it (consort/spm/io_core.hpp, application_core.hpp).
template <class Values, std::uint32_t tasks, class Timer, class Dma>
class ThreePhaseBoard : public CoreRun<Values, tasks, Timer> {
    using Run = CoreRun<Values, tasks, Timer>;
    using Of = typename Run::Of;

  public:
    using Run::CoreRun;

    // Most urgent first. What `ends` points to outlives the run.
    template <class Kind>
    void add(std::uint32_t place, Kind& task, const Ends& ends = {}) noexcept {
        app::JobData data;
        data.in = task.in();
        data.in_bytes = Kind::footprint.inputs;
        data.out = task.out();
        data.out_bytes = app::is_stand_in<typename Kind::Type> ? 0 : Kind::footprint.outputs;
        Member& member = members_[place];
        member.computation = &Kind::computation;
        const app::plan::Task& given = Run::planned(place);
        this->set_up(place, given, data, ends, member.runner, member.ring);
        spm::Entry& entry = table_[place];
        entry = {&given, {Kind::footprint, task.code_image(), task.data_image()}};
        // Cleans the cache: the channel reads these from memory.
        ThisPort::clean(entry.image.code, entry.image.size.code);
        ThisPort::clean(entry.image.data, entry.image.size.data);
    }

    // --- the board of the kernel on the I/O core
    void dma_start(const spm::Transfer& transfer) noexcept { Dma::start(transfer); }
    [[nodiscard]] spm::DmaState dma_state() const noexcept { return Dma::state(); }
    [[nodiscard]] bool dma_abort() noexcept { return Dma::abort(); }
    void loads(std::uint32_t /*core*/, std::uint32_t task, std::uint32_t job, Ticks release) noexcept {
        // A task keeps its state, so one job of it is in flight.
        Member& member = members_[task];
        member.runner.prepare(release, release, release + table_[task].deadline(), job);
        member.runner.job().start = ThisPort::now();
        if (planned(task, job)) {
            (void)member.runner.start();
        }
    }
    [[nodiscard]] const std::byte* inputs(std::uint32_t /*core*/, std::uint32_t task) noexcept {
        const app::JobData& data = members_[task].runner.data();
        ThisPort::clean(data.in, data.in_bytes);
        return data.in;
    }
    [[nodiscard]] std::byte* outputs(std::uint32_t /*core*/, std::uint32_t task) noexcept {
        std::byte* const out = members_[task].runner.data().out;
        ThisPort::invalidate(out, table_[task].image.size.outputs);
        return out;
    }
    void delivered(std::uint32_t /*core*/, std::uint32_t task) noexcept {
        ThisPort::invalidate(members_[task].runner.data().out, table_[task].image.size.outputs);
    }
    // No budget is given, and no job is left before its end.
    void stop_job(std::uint32_t /*core*/, std::uint32_t /*task*/, std::uint32_t /*job*/) noexcept {}
    void record(const spm::Event& event) noexcept {
        switch (event.kind) {
            case spm::Kind::release:
                released_ += event.job + 1 == jobs_of(event.task) ? 1 : 0;
                break;
            case spm::Kind::release_lost:
                released_ += event.job + 1 == jobs_of(event.task) ? 1 : 0;
                unserved(event.task, event.job);
                break;
            case spm::Kind::slot_missed:
                emit(Event::slot_missed, event);
                break;
            case spm::Kind::slot_overrun:
            case spm::Kind::dma_error:
            case spm::Kind::dma_stuck:
                emit(Event::slot_overrun, event);
                break;
            case spm::Kind::transfer_failed:
                unserved(event.task, event.job);
                break;
            case spm::Kind::task_stopped:
                released_ += event.job < jobs_of(event.task) ? 1 : 0;
                for (std::uint32_t job = event.job; job < jobs_of(event.task); ++job) {
                    unserved(event.task, job);
                }
                break;
            default:
                break;
        }
    }
    void finished(const spm::JobRecord& done) noexcept {
        if (!planned(done.task, done.job)) {
            return;
        }
        Runner& runner = members_[done.task].runner;
        Job& job = runner.job();
        job.start = done.start;
        job.worker_receive = done.load;
        job.loaded = done.ready;
        job.executed = done.finish;
        job.worker_send = done.unload;
        job.compute = static_cast<std::uint32_t>(done.finish - done.start);
        runner.unloaded(done.end);
        this->count_job();
    }

    // --- the board of the application core
    [[nodiscard]] Ticks now() const noexcept { return ThisPort::now(); }
    [[nodiscard]] spm::Outcome execute(const spm::ReadyJob& ready, const spm::Partition& parts) noexcept {
        stepping_ = 0;
        members_[ready.task].computation(parts);
        return spm::Outcome::done;
    }
    void relax() noexcept {}

  protected:
    struct Member {
        void (*computation)(const spm::Partition& parts) noexcept = nullptr;
        Runner runner;
        app::RingWriter ring;
    };

    [[nodiscard]] std::uint64_t jobs_of(std::uint32_t task) const noexcept {
        return this->extra(Values::jobs + task);
    }
    // The kernel releases at its slots: it may have released one too many at the very end.
    [[nodiscard]] bool planned(std::uint32_t task, std::uint32_t job) const noexcept {
        return job < jobs_of(task);
    }
    [[nodiscard]] static std::uint32_t ns_per_tick() noexcept {
        return static_cast<std::uint32_t>(1'000'000'000U / ThisPort::ticks_per_second());
    }
    // An event of the core alone lies with those of its first task.
    [[gnu::cold]] void emit(Event::Kind kind, const spm::Event& event) noexcept {
        Member& member = members_[event.task == spm::no_task ? 0 : event.task];
        const app::JobData& data = member.runner.data();
        const Event made{event.at,  event.job, kind, event.task == spm::no_task ? Event::none : data.task,
                         data.core, 0};
        member.ring.put(app::RecordTable::event, made.task, &made, sizeof made);
    }
    [[gnu::cold]] void unserved(std::uint32_t task, std::uint32_t job) noexcept {
        if (planned(task, job)) {
            const Ticks release = this->start_ + table_[task].offset() + job * table_[task].period();
            // An earlier one may be in flight.
            Runner& runner = members_[task].runner;
            const auto in_flight = runner.under_way();
            runner.skip(release, release, job);
            runner.resume(in_flight);
            this->count_job();
        }
    }
    Member members_[tasks];
    spm::Entry table_[tasks];
    Ticks stepping_ = 0;          // what the kernel has taken since the last look
    std::uint32_t released_ = 0;  // tasks whose last job was released
};

template <class Values, std::uint32_t tasks, class Timer, class Dma>
class ThreePhaseExecutive : public ThreePhaseBoard<Values, tasks, Timer, Dma> {
    using Board = ThreePhaseBoard<Values, tasks, Timer, Dma>;
    using Kernel = spm::IoCore<Board, 1, tasks>;
    using Board::released_;
    using Board::stepping_;

  public:
    using Board::ThreePhaseBoard;

    // Until all jobs are over. Interrupts are disabled before and afterwards. False: the host has ended the
    // run before all cores were there.
    [[nodiscard, gnu::cold]] bool run() noexcept {
        return CoreRun<Values, tasks, Timer>::run([this] { serve(); });
    }
    // Its jobs are not preempted.
    void report(ControlBlock& block) const noexcept { CoreRun<Values, tasks, Timer>::report(block, 0); }
    // In a stand-in, on a core that polls: the loops that the kernel has taken meanwhile.
    [[nodiscard]] std::uint32_t preemption_point() noexcept {
        Timer::look();
        if (stepping_ == 0) {
            return 0;
        }
        const auto ns = static_cast<std::uint32_t>(stepping_) *
                        static_cast<std::uint32_t>(1'000'000'000U / ThisPort::ticks_per_second());
        stepping_ = 0;
        return Spending::loops_of(ns) + step_loops;
    }

    // --- the core's interrupt
    void timer_interrupt() noexcept {
        if (!is_due<Timer>()) {
            return;
        }
        const Ticks begin = ThisPort::now();
        const Ticks next = kernel_->step(begin);
        if (released_ == tasks) {
            kernel_->close();
        }
        Timer::arm(next);
        stepping_ += ThisPort::now() - begin;
    }
    void dispatch() noexcept {}

  private:
    // From the first slot until all jobs are over.
    [[gnu::cold]] void serve() noexcept {
        RunTime::start = this->start_;
        for (std::uint32_t task = 0; task < tasks; ++task) {
            released_ += this->jobs_of(task) == 0 ? 1 : 0;
        }
        const auto length = static_cast<Ticks>(this->own_core().slot);
        const spm::Slot slot{0, length};
        spm::CoreSetup<access::Coherent> setup;
        setup.tasks = {this->table_, tasks};
        setup.handover = &handover_;
        setup.partition[0] = Dma::partition(0);
        setup.partition[1] = Dma::partition(1);
        spm::Schedule schedule;
        schedule.slots = &slot;
        schedule.count = 1;
        schedule.start = this->start_;
        schedule.tolerance = length / 2;
        Kernel kernel(*this, &setup, 1, schedule);
        kernel_ = &kernel;
        spm::ApplicationCore<Board> core(*this, handover_, setup.tasks, setup.partition);
        Timer::start();
        Timer::arm(schedule.start);
        while (!(released_ == tasks && kernel.empty()) && !this->lines_.stopped()) {
            Timer::enable();
            const Status status = core.poll();
            Timer::disable();
            if (status != Status::ok) {
                Timer::idle([] { return true; });
            }
        }
        Timer::disarm();
        this->lines_.finish();
    }

    // The execution around a step of the kernel, and in it outside of the two looks at the clock.
    static constexpr std::uint32_t step_loops = 24;

    spm::Handover<access::Coherent>::Shared handover_{};
    Kernel* kernel_ = nullptr;
};

}  // namespace consort::bare
