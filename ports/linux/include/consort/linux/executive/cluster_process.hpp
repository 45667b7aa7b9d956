// SPDX-License-Identifier: Apache-2.0
//
// Three-phase cores that share a DMA, and their I/O core, as one process: the scratchpad kernel
// (consort/spm) with a thread pinned for each core. A load gathers what the task reads, an unload delivers
// what it writes; both happen on the I/O core.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "consort/linux/executive/core_process.hpp"
#include "consort/linux/spm_machine.hpp"

namespace consort::linux_port {

class ClusterProcess {
  public:
    // `dma`: the one that its cores share. Not of one that none shares.
    ClusterProcess(const RunConfig& config, std::uint32_t dma, const Catalogue& catalogue, SharedRun& shared)
        : config_(&config),
          dma_(dma),
          cores_(cores_of(config, dma)),
          catalogue_(&catalogue),
          shared_(&shared),
          devices_(catalogue, config),
          events_(shared.rings.of_core(cores_.front())) {
        if (config.changes_modes()) {
            throw std::invalid_argument("three-phase cores change no modes");
        }
    }

    // The cores that share a DMA engine, in the order of their slots.
    [[nodiscard]] static std::vector<std::uint16_t> cores_of(const RunConfig& config, std::uint32_t dma) {
        std::vector<std::uint16_t> found;
        for (std::uint16_t i = 0; i < config.cores.size(); ++i) {
            const plan::Core& core = config.image.core(0, i);
            if (core.policy == plan::Policy::three_phase && core.dma == dma) {
                found.push_back(i);
            }
        }
        return found;
    }

    int run(const Region<>& region) {
        std::vector<std::vector<SpmStep>> cores;
        for (const std::uint16_t core : cores_) {
            cores.push_back(prepare(core, region));
        }
        SpmMachine machine(cores, options());
        machine_ = &machine;
        machine.connect([this](std::uint32_t c, std::uint32_t t) { return gather(tasks_[c][t]); },
                        [this](std::uint32_t c, std::uint32_t t) { return tasks_[c][t].prepared->out(); },
                        [](std::uint32_t, std::uint32_t) {});
        const SpmRun run = machine.run(ticks_of(config_->duration()));
        for (const std::uint16_t core : cores_) {
            shared_->cores[core].finished.store(1, std::memory_order_release);
        }
        return 0;
    }

  private:
    // Data that a load read, until the kernel says which job it was for.
    struct Kept {
        std::uint32_t job = 0;
        std::uint32_t input = 0;
        Ticks at = 0;
    };
    struct Member {
        std::uint16_t index = 0;
        std::uint16_t core = 0;
        std::unique_ptr<PreparedTask> prepared;
        Part state;
        std::uint64_t loads = 0;
        std::uint64_t lost = 0;
        Kept loading{};
        std::array<Kept, 4> in_flight{};
        std::vector<Operation> reads;
    };

    std::vector<SpmStep> prepare(std::uint16_t core, const Region<>& region) {
        std::vector<Member>& members = tasks_.emplace_back();
        for (std::uint16_t i = 0; i < config_->tasks.size(); ++i) {
            if (config_->releases(core, i)) {
                Member member;
                member.index = i;
                member.core = core;
                member.prepared = std::make_unique<PreparedTask>(*config_, i, *catalogue_, region, devices_,
                                                                 *shared_, nullptr);
                member.reads.reserve(member.prepared->data().read_count);
                members.push_back(std::move(member));
            }
        }
        std::stable_sort(members.begin(), members.end(), [](const Member& a, const Member& b) {
            return a.prepared->planned().rank < b.prepared->planned().rank;
        });
        std::vector<SpmStep> list;
        for (Member& member : members) {
            const StepEntry& entry = catalogue_->tasks[member.index];
            const std::size_t bytes = std::max<std::size_t>(entry.footprint.data, 64);
            member.state = new_part(bytes);
            entry.fresh_state(member.state.get());
            SpmStep task;
            task.name = entry.name;
            task.plan = watched(*member.prepared);
            task.image.size = entry.footprint;
            task.image.code = entry.footprint.code != 0 ? entry.constants_image() : nullptr;
            task.image.data = entry.footprint.data != 0 ? member.state.get() : nullptr;
            task.job = entry.parts;
            list.push_back(task);
        }
        return list;
    }

    // As the kernel reads it: watched is the budget that was given, however long a stand-in takes.
    static plan::Task watched(const PreparedTask& task) {
        plan::Task row = task.row();
        const std::uint64_t budget_ns = task.config().execution_budget_ns;
        row.wcet = static_cast<app::Time>(Clock::from_ns(budget_ns));
        row.on_overrun = budget_ns != 0 ? plan::OnOverrun::report : plan::OnOverrun::unwatched;
        return row;
    }

    SpmOptions options() {
        SpmOptions options;
        options.arbitration = config_->image.dma(dma_).arbitration;
        options.realtime = config_->realtime;
        options.records = 0;
        if (config_->shared) {
            options.nap = Clock::from_ns(50'000);
            options.priority = config_->priority + 20;
        }
        for (const std::uint16_t core : cores_) {
            options.slots.push_back(ticks_of(config_->image.core(0, core).slot));
        }
        if (config_->io_cpu >= 0) {
            options.cpus.push_back(config_->io_cpu);
            for (std::size_t c = 0; c < cores_.size(); ++c) {
                if (!tasks_[c].empty()) {
                    options.cpus.push_back(config_->cores[cores_[c]].cpu);
                }
            }
        }
        options.start = [this]() -> Ticks {
            for (const std::uint16_t core : cores_) {
                shared_->cores[core].ready.fetch_add(1, std::memory_order_release);
            }
            const Ticks start = wait_for_start(*shared_);
            devices_.begin(start);
            return start;
        };
        options.stop = [this] { return shared_->stopping(); };
        options.on_job = [this](const spm::JobRecord& job) { record(job); };
        options.on_event = [this](const spm::Event& event) { note(event); };
        options.on_begin = [this](std::uint32_t core, const spm::ReadyJob& job) {
            TaskLine& line = shared_->tasks[tasks_[core][job.task].index];
            line.job.store(job.job, std::memory_order_relaxed);
            line.core.store(cores_[core], std::memory_order_relaxed);
            line.began.store(Clock::now(), std::memory_order_relaxed);
        };
        options.on_left = [this](std::uint32_t core, const spm::ReadyJob& job) {
            shared_->tasks[tasks_[core][job.task].index].began.store(0, std::memory_order_relaxed);
        };
        return options;
    }

    const std::byte* gather(Member& member) {
        const app::JobData& data = member.prepared->data();
        member.loading = {};
        member.loading.at = Clock::now();
        if (data.rows != nullptr) {
            member.loading.input = static_cast<std::uint32_t>(member.loads % data.row_count);
            std::memcpy(data.in, data.rows + member.loading.input * std::uint64_t{data.in_bytes},
                        data.in_bytes);
            // A task with state has one job in flight: nothing of it is being moved now.
            if (member.loading.input == 0 && member.loads != 0) {
                catalogue_->tasks[member.index].fresh_state(member.state.get());
            }
        }
        // Jobs are loaded in order; those that were lost or dropped before were not loaded at all.
        const std::uint64_t job = member.loads + member.lost;
        ++member.loads;
        member.reads.clear();
        for (std::uint32_t i = 0; i < data.read_count; ++i) {
            const app::ReadEnd& end = data.reads[i];
            const Ticks as_of = end.logical ? release_of(member, job) : member.loading.at;
            const Transferred moved = end.read(end.self, data.in + end.offset, as_of);
            if (end.channel != app::no_channel) {
                member.reads.push_back(operation(member, end.channel, moved));
            }
        }
        return data.in;
    }

    static Operation operation(const Member& member, std::uint16_t channel, const Transferred& moved) {
        return {Clock::now(),
                moved.sequence,
                0,
                member.index,
                channel,
                moved.kind,
                static_cast<std::uint16_t>(std::min<std::uint32_t>(moved.count, 0xffff)),
                0};
    }

    void put(Member& member, app::RecordTable table, const void* row, std::uint32_t bytes) {
        rings(member).put(table, member.index, row, bytes);
    }
    app::RingWriter& rings(Member& member) { return member.prepared->record(); }

    void note(const spm::Event& event) {
        Member* member = event.task == spm::no_task ? nullptr : &tasks_[event.core][event.task];
        switch (event.kind) {
            case spm::Kind::load_begin: {
                Kept kept = member->loading;
                kept.job = event.job;
                member->in_flight[event.job % member->in_flight.size()] = kept;
                for (Operation& read : member->reads) {
                    read.seq = event.job;
                    put(*member, app::RecordTable::operation, &read, sizeof read);
                }
                break;
            }
            case spm::Kind::release_lost:
                ++member->lost;
                unserved(*member, event, job_status::unserved);
                emit(event, Event::release_lost, member);
                break;
            case spm::Kind::job_dropped:
                ++member->lost;
                unserved(*member, event, job_status::unserved);
                break;
            case spm::Kind::transfer_failed:
                unserved(*member, event, job_status::aborted);
                break;
            case spm::Kind::slot_missed:
                emit(event, Event::slot_missed, member);
                disturbed(event);
                break;
            case spm::Kind::slot_overrun:
            case spm::Kind::dma_error:
            case spm::Kind::dma_stuck:
                emit(event, Event::slot_overrun, member);
                disturbed(event);
                break;
            case spm::Kind::execution_overrun:
                emit(event, Event::over_budget, member,
                     Clock::from_ns(member->prepared->config().execution_budget_ns));
                break;
            case spm::Kind::job_fault:
            case spm::Kind::core_fault:
                emit(event, Event::crashed, member,
                     static_cast<std::uint64_t>(machine_->fault_signal(event.core)));
                break;
            default:
                break;
        }
    }

    // In the image's ticks first, as in every other process of the run.
    [[nodiscard]] Ticks release_of(const Member& member, std::uint64_t job, app::Time later = 0) const {
        const plan::Task& task = member.prepared->planned();
        return shared_->run[0].start.load(std::memory_order_relaxed) +
               ticks_of(task.offset + static_cast<app::Time>(job) * task.period + later);
    }
    [[nodiscard]] Ticks due_of(const Member& member, std::uint64_t job) const {
        return release_of(member, job, member.prepared->planned().deadline);
    }

    void emit(const spm::Event& event, Event::Kind kind, const Member* member) {
        emit(event, kind, member, event.job);
    }
    void emit(const spm::Event& event, Event::Kind kind, const Member* member, std::uint64_t value) {
        const Event made{event.at,           value, kind, member != nullptr ? member->index : Event::none,
                         cores_[event.core], 0};
        events_.put(app::RecordTable::event, made.task, &made, sizeof made);
    }

    // The I/O core is a thread here: that it came late for a slot is the machine's doing. Until the next slot
    // of that core nothing moves.
    void disturbed(const spm::Event& event) {
        Ticks round = 0;
        for (const std::uint16_t core : cores_) {
            round += ticks_of(config_->image.core(0, core).slot);
        }
        const Event made{event.at + round, 2 * round, Event::disturbed, Event::none, cores_[event.core], 0};
        events_.put(app::RecordTable::event, made.task, &made, sizeof made);
    }

    void unserved(Member& member, const spm::Event& event, std::uint32_t status) {
        if (event.job >= planned_jobs(member.prepared->planned(), config_->duration())) {
            return;
        }
        Job job{};
        // In whole ticks, as the kernel counts.
        job.release = shared_->run[0].start.load(std::memory_order_relaxed) +
                      ticks_of(member.prepared->planned().offset) +
                      event.job * ticks_of(member.prepared->planned().period);
        job.ready = job.release;
        job.seq = event.job;
        job.status = job_status::missed | status;
        job.task = member.index;
        job.core = member.core;
        put(member, app::RecordTable::job, &job, sizeof job);
    }

    void record(const spm::JobRecord& done) {
        Member& member = tasks_[done.core][done.task];
        // A period is not a whole number of ticks: the kernel may release one job too many at the very end.
        if (done.job >= planned_jobs(member.prepared->planned(), config_->duration())) {
            return;
        }
        const app::JobData& data = member.prepared->data();
        const Kept& kept = member.in_flight[done.job % member.in_flight.size()];
        Job job{};
        job.release = done.release;
        job.ready = done.release;
        job.start = done.start;
        job.worker_receive = done.load;
        job.loaded = done.ready;
        job.executed = done.finish;
        job.worker_send = done.unload;
        job.finish = done.end;
        job.compute = done.finish - done.start;
        job.seq = done.job;
        job.task = member.index;
        job.core = member.core;
        job.input = kept.input;
        if (done.end > done.release + static_cast<Ticks>(member.prepared->row().deadline)) {
            job.status |= job_status::missed;
        }
        if (done.outcome != spm::Outcome::done) {
            job.status |= job_status::aborted | job_status::missed;
        } else {
            for (std::uint32_t i = 0; i < data.write_count; ++i) {
                const app::WriteEnd& end = data.writes[i];
                const Transferred moved = end.write(end.self, data.out + end.offset,
                                                    end.logical ? due_of(member, done.job) : done.end);
                if (end.channel != app::no_channel) {
                    Operation write = operation(member, end.channel, moved);
                    write.seq = done.job;
                    put(member, app::RecordTable::operation, &write, sizeof write);
                }
            }
        }
        put(member, app::RecordTable::job, &job, sizeof job);
        if (data.out_bytes != 0 && done.outcome == spm::Outcome::done) {
            const std::uint64_t seq = done.job;
            rings(member).put(app::RecordTable::output, member.index, &seq, sizeof seq, data.out,
                              data.out_bytes);
        }
    }

    const RunConfig* config_;
    std::uint32_t dma_;
    std::vector<std::uint16_t> cores_;
    const Catalogue* catalogue_;
    SharedRun* shared_;
    Devices devices_;
    app::RingWriter events_;
    const SpmMachine* machine_ = nullptr;
    std::vector<std::vector<Member>> tasks_;
};

}  // namespace consort::linux_port
