// SPDX-License-Identifier: Apache-2.0
//
// A task made ready in the process that releases it: memory for its parts, its channels' ends opened, its
// computation chosen. Everything is allocated and touched before the first release.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <map>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "consort/app/job_runner.hpp"
#include "consort/app/release.hpp"
#include "consort/linux/executive/arrivals.hpp"
#include "consort/linux/executive/catalogue.hpp"
#include "consort/linux/executive/config.hpp"
#include "consort/linux/executive/dies_in_job.hpp"
#include "consort/linux/executive/doorbell.hpp"
#include "consort/linux/executive/shared.hpp"
#include "consort/linux/locked_buffer.hpp"

namespace consort::linux_port {

// Rows as they lie in memory, `row_bytes` each. Throws std::invalid_argument.
inline std::unique_ptr<LockedBuffer> read_rows(const std::string& path, std::size_t row_bytes) {
    std::ifstream file(path, std::ios::binary | std::ios::ate);
    if (!file) {
        throw std::invalid_argument(path + ": cannot be read");
    }
    const auto bytes = static_cast<std::size_t>(file.tellg());
    if (bytes == 0 || row_bytes == 0 || bytes % row_bytes != 0) {
        throw std::invalid_argument(path + ": " + std::to_string(bytes) +
                                    " bytes are not a whole number of rows of " + std::to_string(row_bytes) +
                                    " bytes");
    }
    auto buffer = std::make_unique<LockedBuffer>(bytes);
    file.seekg(0);
    file.read(reinterpret_cast<char*>(buffer->data()), static_cast<std::streamsize>(bytes));
    return buffer;
}

// A recording bound to one member, with its rows.
class RowsSource final : public ReadSource {
  public:
    RowsSource(std::unique_ptr<LockedBuffer> rows, std::uint32_t bytes, const RowSteps& steps)
        : rows_(std::move(rows)),
          count_(rows_->size() / bytes),
          reader_(rows_->data(), count_, bytes),
          steps_(&steps) {}
    Transferred read(std::byte* to, Ticks as_of) noexcept override {
        const Transferred moved = reader_.read(to, as_of);
        reader_.position() += RowSteps::left_out(reader_.position(), count_, step_);
        return moved;
    }
    std::span<std::byte> kept() noexcept override { return bytes_of(reader_.position()); }
    void enter_mode(std::uint32_t mode) noexcept override { step_ = steps_->in(mode); }

  private:
    std::unique_ptr<LockedBuffer> rows_;
    std::uint64_t count_;
    app::RowsReader reader_;
    const RowSteps* steps_;
    std::uint32_t step_ = 1;
};

// A stand-in's own input; only the job's number goes with it to another core, not that core's limits.
class StandInSource final : public ReadSource {
  public:
    StandInSource(app::Draw draw, const plan::Task& task) : input_(draw, limits_of(task)) {}
    Transferred read(std::byte* to, Ticks as_of) noexcept override { return input_.read(to, as_of); }
    std::span<std::byte> kept() noexcept override { return bytes_of(input_.jobs()); }
    void enter(const plan::Task& task) noexcept { input_.enter(limits_of(task)); }

  private:
    static app::StandInInput::Limits limits_of(const plan::Task& task) noexcept {
        constexpr app::Time ps_per_ns = 1000;
        return {task.bcet / ps_per_ns, task.wcet / ps_per_ns, task.fallback / ps_per_ns};
    }

    app::StandInInput input_;
};

// The devices of one process, made when the first task that uses one is.
class Devices {
  public:
    Devices(const Catalogue& catalogue, const RunConfig& config) : catalogue_(&catalogue), config_(&config) {}
    std::shared_ptr<Device> of(const std::string& name) {
        auto& device = made_[name];
        if (!device) {
            for (const DeviceEntry& entry : catalogue_->devices) {
                if (entry.name == name) {
                    device = entry.make();
                }
            }
            if (!device) {
                throw std::invalid_argument("the program has no device " + name);
            }
        }
        return device;
    }
    void begin(Ticks start) {
        for (const auto& [name, device] : made_) {
            app::Time period = 0;
            for (std::uint32_t i = 0; i < config_->devices.size(); ++i) {
                period = config_->devices[i] == name ? config_->image.device(i).period : period;
            }
            device->begin(start, std::max<std::uint64_t>(static_cast<std::uint64_t>(period) / 1000, 1));
        }
    }

  private:
    const Catalogue* catalogue_;
    const RunConfig* config_;
    std::map<std::string, std::shared_ptr<Device>> made_;
};

// Zeroed memory for a part of a task, on lines of its own.
struct Aligned {
    void operator()(std::byte* part) const { ::operator delete[](part, std::align_val_t{64}); }
};
using Part = std::unique_ptr<std::byte[], Aligned>;
inline Part new_part(std::size_t bytes) {
    const std::size_t size = std::max<std::size_t>(bytes, 64);
    Part part(static_cast<std::byte*>(::operator new[](size, std::align_val_t{64})));
    std::fill(part.get(), part.get() + size, std::byte{0});
    return part;
}

// Releases of a periodic task: those at offset + k * period before `duration`.
inline std::uint64_t planned_jobs(const plan::Task& task, app::Time duration) {
    return duration <= task.offset
               ? 0
               : static_cast<std::uint64_t>((duration - task.offset + task.period - 1) / task.period);
}

// When a task is released, in the image's ticks from its mode's start. `first_job`: the number of the first.
inline app::Releases releases_of(const plan::Image& image, const plan::Task& task, const app::Draw& draw,
                                 std::uint64_t first_job = 0) {
    app::ReleaseRule rule = plan::release_of(image, task);
    rule.first_job = first_job;
    return {rule, draw, image.head().run.arrival};
}

// The rest of a job when it was committed: its outputs, and its rows.
struct PendingJob {
    Job job;
    Ticks due;
    std::uint32_t recorded;  // where the record stood
    std::uint32_t waits;     // 0: nothing
};

// Commits a job: whoever goes on if this process dies begins with its state.
struct Checkpoint {
    virtual void commit() noexcept = 0;

  protected:
    ~Checkpoint() = default;
};

class PreparedTask {
  public:
    // `region` and `devices` outlive this. `control`: of the worker, if the task is offloaded. It begins as
    // it is in a mode that has it; where modes change, each is entered before its first job.
    PreparedTask(const RunConfig& config, std::uint16_t index, const Catalogue& catalogue,
                 const Region<>& region, Devices& devices, SharedRun& shared,
                 WorkerControl<>::Master* control)
        : run_(&config),
          config_(&config.tasks[index]),
          plan_(&config.image.task(any_mode(config, index), index)),
          in_ticks_(in_ticks(*plan_)),
          entry_(&catalogue.tasks[index]),
          index_(index),
          shared_(&shared),
          line_(&shared.tasks[index]),
          record_(shared.rings.of_task(index)),
          in_(new_part(entry_->in.bytes)),
          out_(new_part(entry_->out.bytes)),
          draw_(config.image.head().run.seed, index),
          dies_(config, index) {
        app::JobData data;
        data.plan = &in_ticks_;
        data.task = index;
        data.core = static_cast<std::uint16_t>(plan_->core);
        data.in = in_.get();
        data.in_bytes = entry_->in.bytes;
        data.out = out_.get();
        data.out_bytes = entry_->stand_in ? 0 : entry_->out.bytes;
        if (!config_->input_file.empty()) {
            rows_ = read_rows(config_->input_file, data.in_bytes);
            data.rows = rows_->data();
            data.row_count = rows_->size() / data.in_bytes;
        }
        bind(config, catalogue, region, devices);
        data.reads = reads_.data();
        data.read_count = static_cast<std::uint32_t>(reads_.size());
        all_writes_ = writes_;
        data.writes = writes_.data();
        data.write_count = static_cast<std::uint32_t>(writes_.size());
        if (control != nullptr) {
            remote_ = entry_->master(region, entry_->name, *control, plan_->on_miss);
            data.computation = {this, &begin_remote, &finish_remote};
        }
        take_levels(any_mode(config, index));
        if (control == nullptr || config.changes_modes()) {
            local_ = local_step(catalogue);
        }
        if (control == nullptr) {
            data.computation = {this, &begin_local, &finish_local};
        }
        runner_ = app::JobRunner<LinuxPort>(data, record_);
    }
    PreparedTask(const PreparedTask&) = delete;
    PreparedTask& operator=(const PreparedTask&) = delete;

    // Releases count from `start`, for `duration`. They are kept in the image's ticks and made the clock's
    // one by one: a period is not a whole number of these, and tasks would drift against one another.
    // `first_job`: the number of the first one.
    void begin(Ticks start, app::Time duration, std::uint64_t first_job = 0) {
        start_ = start;
        end_ = start + ticks_of(duration);
        jobs_ = ~std::uint64_t{0};
        if (by_arrivals()) {
            distances_.clear();
            for (std::uint32_t k = 0; k < plan_->distances.count; ++k) {
                const app::Time least = run_->image.time(plan_->distances.first + k);
                distances_.push_back(static_cast<app::Time>(ticks_of(least)));
            }
            arrivals_ = {shared_->arrivals[index_],
                         static_cast<Ticks>(in_ticks_.period),
                         static_cast<Ticks>(in_ticks_.jitter),
                         {distances_.data(), distances_.size()}};
        } else if (plan_->extra_gap == 0) {
            jobs_ = first_job + planned_jobs(*plan_, duration);
            end_ = ~Ticks{0};
        }
        releases_ = releases_of(run_->image, *plan_, draw_, first_job);
    }
    [[nodiscard]] std::uint64_t next_job() const noexcept { return job(); }

    // Takes up the task as it is in the mode that is entered, and in which it does not rest.
    void enter(std::uint32_t mode) noexcept {
        plan_ = &run_->image.task(mode, index_);
        in_ticks_ = in_ticks(*plan_);
        take_levels(mode);
        discard_for(mode);
        writes_.clear();
        for (const app::WriteEnd& end : all_writes_) {
            if (!without_ends(mode, end.channel)) {
                writes_.push_back(end);
            }
        }
        input_step_ = config_->input_steps.in(mode);
        for (const auto& source : sources_) {
            source->enter_mode(mode);
        }
        const bool away = remote_ != nullptr && plan_->worker != plan::none;
        if (away) {
            remote_->enter(plan_->on_miss);
        }
        if (away && !at_worker_) {
            remote_->resume(local_->state(), out_.get());
        } else if (!away) {
            take_back();
        }
        at_worker_ = away;
        const app::Computation here{this, &begin_local, &finish_local};
        const app::Computation there{this, &begin_remote, &finish_remote};
        runner_.enter(static_cast<std::uint16_t>(plan_->core), away ? there : here,
                      static_cast<std::uint32_t>(writes_.size()));
        if (stand_in_ != nullptr) {
            stand_in_->enter(*plan_);
        }
    }
    // What it has not read of mailboxes and queues of which an end rests in a mode: nobody reads it after
    // that mode, and nobody writes there in it.
    void discard_for(std::uint32_t mode) noexcept {
        for (std::size_t i = 0; i < reads_.size(); ++i) {
            if (without_ends(mode, reads_[i].channel)) {
                sources_[i]->discard();
            }
        }
    }
    // Its state is here, wherever it was computed last. Between two jobs, none of which is under way.
    void take_back() noexcept {
        if (at_worker_) {
            remote_->state(local_->state());
            at_worker_ = false;
        }
    }

    // All that the next job goes on from, for a process of the run that it moves to: state, input, output,
    // and what the ends of its channels know.
    template <class F>
    void each_kept(F&& take) {
        take(std::span<std::byte>(local_->state(), local_->state_bytes()));
        take(std::span<std::byte>(in_.get(), entry_->in.bytes));
        take(std::span<std::byte>(out_.get(), entry_->out.bytes));
        take(bytes_of(runner_.executed()));
        take(bytes_of(pending_));
        for (const auto& source : sources_) {
            take(source->kept());
        }
        for (const auto& target : targets_) {
            take(target->kept());
        }
    }
    // The record goes on where the other process left it.
    void took_over() noexcept { record_ = app::RingWriter(shared_->rings.of_task(index_)); }
    [[nodiscard]] DiesInJob& dies() noexcept { return dies_; }
    // Each job that it computes itself is committed before anything of its outputs is seen.
    void commit_to(Checkpoint& checkpoint) noexcept { checkpoint_ = &checkpoint; }
    // `waits`: a job is under way whose outputs are not written.
    void note_pending(bool waits) noexcept {
        const auto begun = runner_.under_way();
        pending_ = {begun.job, begun.due, record_.position(), waits ? 1U : 0U};
    }
    // Goes on where a process died, once all that is kept is as of its last checkpoint: the outputs of the
    // job that it committed last are written, if they were not.
    void go_on_after_death() noexcept {
        took_over();
        line_->began.store(0, std::memory_order_relaxed);
        for (const auto& target : targets_) {
            target->take_over();
        }
        if (pending_.waits == 0) {
            return;
        }
        runner_.resume({pending_.job, pending_.due});
        if (record_.position() == pending_.recorded) {
            runner_.complete(LinuxPort::now());
            return;
        }
        for (const auto& target : targets_) {
            target->passed();
        }
        ++runner_.executed();
    }
    // True if an output of it waits for a deadline.
    [[nodiscard]] bool publishes_at_deadline() const noexcept {
        return std::any_of(writes_.begin(), writes_.end(), [](const app::WriteEnd& end) {
            return end.logical && end.channel != app::no_channel;
        });
    }

    [[nodiscard]] const TaskConfig& config() const noexcept { return *config_; }
    // As it is in the present mode.
    [[nodiscard]] const plan::Task& planned() const noexcept { return *plan_; }
    // The same, in ticks of this machine's clock.
    [[nodiscard]] const plan::Task& row() const noexcept { return in_ticks_; }
    // The kernel's priorities above the run's base: larger is more urgent.
    [[nodiscard]] int level() const noexcept { return level_; }
    [[nodiscard]] int threshold_level() const noexcept { return threshold_level_; }
    // True if no other task of its core may keep the processor from it in the present mode.
    [[nodiscard]] bool most_urgent() const noexcept { return most_urgent_; }
    [[nodiscard]] std::uint16_t index() const noexcept { return index_; }
    // True if the next release is known: by time always, by arrivals once its block is there.
    [[nodiscard]] bool released() noexcept { return !by_arrivals() || arrivals_.known(); }
    // The instant of a release that is known.
    [[nodiscard]] Ticks nominal() const noexcept {
        return by_arrivals() ? arrivals_.nominal() : tick_of(releases_.nominal());
    }
    [[nodiscard]] Ticks ready() const noexcept {
        return by_arrivals() ? arrivals_.actual() : tick_of(releases_.actual());
    }
    [[nodiscard]] Ticks absolute_deadline() const noexcept {
        return by_arrivals() ? arrivals_.nominal() + static_cast<Ticks>(in_ticks_.deadline)
                             : tick_of(releases_.nominal() + plan_->deadline);
    }
    // By arrivals: at the run's end, once nothing that came before it is left.
    [[nodiscard]] bool done() noexcept {
        const bool over = by_arrivals() && Clock::now() >= end_;
        return released() ? job() >= jobs_ || nominal() >= end_ : over;
    }
    // Sleeps if the release is not known: until a block is announced, or for a while, so that the end of the
    // run is seen.
    void sleep_for_arrival() noexcept { arrivals_.sleep(std::min(end_, Clock::now() + longest_sleep())); }
    static Ticks longest_sleep() noexcept { return Clock::from_ns(20'000'000); }

    // Releases that can no longer be served are recorded and passed over.
    void skip_passed(Ticks now, Ticks until = ~Ticks{0}) noexcept {
        std::uint64_t skipped = 0;
        while (!done() && released() && nominal() < until && runner_.passed(nominal(), now)) {
            line_->next_job.store(job() + 1, std::memory_order_relaxed);
            runner_.skip(nominal(), ready(), static_cast<std::uint32_t>(job()));
            next();
            ++skipped;
        }
        if (skipped != 0) {
            runner_.event(Event::overrun, skipped);
        }
    }

    // The job that is due, which begins now. False: the run is to end.
    bool run_job(Ticks now) noexcept {
        const auto number = static_cast<std::uint32_t>(job());
        line_->job.store(number, std::memory_order_relaxed);
        // Should the process die in it, its number is not used again.
        line_->next_job.store(job() + 1, std::memory_order_relaxed);
        line_->core.store(plan_->core, std::memory_order_relaxed);
        line_->began.store(now, std::memory_order_relaxed);
        current() = line_;
        dies_.begins(job());
        if (by_arrivals() && arrivals_.early() != 0) {
            runner_.event(Event::early_arrival, arrivals_.early());
        }
        runner_.begin(nominal(), ready(), absolute_deadline(), number, now);
        const bool go_on = runner_.finish();
        dies_.step();
        note_faults();
        current() = nullptr;
        line_->began.store(0, std::memory_order_relaxed);
        next();
        return go_on;
    }

    [[nodiscard]] app::JobRunner<LinuxPort>& runner() noexcept { return runner_; }
    [[nodiscard]] app::RingWriter& record() noexcept { return record_; }
    // True if a job may sleep: for its worker's answer.
    [[nodiscard]] bool sleeps() const noexcept { return sleeps_; }
    [[nodiscard]] const app::JobData& data() const noexcept { return runner_.data(); }
    [[nodiscard]] std::byte* in() noexcept { return in_.get(); }
    [[nodiscard]] std::byte* out() noexcept { return out_.get(); }

    // The calling thread's task and job, for the handler of a crash.
    static TaskLine*& current() noexcept {
        thread_local TaskLine* line = nullptr;
        return line;
    }

  private:
    // Where a worker computes it, if there is such a mode.
    static std::uint32_t any_mode(const RunConfig& config, std::uint16_t index) {
        const auto away =
            config.first_mode(index, [](const plan::Task& t) { return t.worker != plan::none; });
        return away ? *away : config.mode_with(index);
    }
    void take_levels(std::uint32_t mode) noexcept {
        level_ = run_->level(mode, plan_->core, plan_->rank);
        threshold_level_ = run_->level(mode, plan_->core, plan_->threshold);
        most_urgent_ = run_->most_urgent(mode, index_);
        sleeps_ = remote_ != nullptr && plan_->worker != plan::none && run_->waits_asleep(mode, plan_->core);
        worker_sleeps_ = plan_->worker != plan::none && run_->waits_asleep(mode, plan_->worker);
    }
    [[nodiscard]] bool without_ends(std::uint32_t mode, std::uint16_t channel) const noexcept {
        if (channel == app::no_channel || run_->carries(mode, channel)) {
            return false;
        }
        const plan::ChannelKind kind = run_->image.channel(channel).kind;
        return kind == plan::ChannelKind::mailbox || kind == plan::ChannelKind::queue;
    }
    [[nodiscard]] bool by_arrivals() const noexcept { return plan_->arrival != plan::none; }
    std::unique_ptr<LocalStep> local_step(const Catalogue& catalogue) {
        if (config_->remote_state.server.empty()) {
            return entry_->local();
        }
        if (catalogue.attach_state == nullptr) {
            throw std::invalid_argument(entry_->name + ": the program has no library for remote memory");
        }
        state_memory_ = catalogue.attach_state(config_->remote_state, entry_->state.bytes);
        auto made = entry_->local_at(state_memory_->data());
        state_memory_->faults();  // those of the fresh state are of no job
        return made;
    }
    void note_faults() noexcept {
        if (state_memory_ == nullptr) {
            return;
        }
        if (const StateMemory::Faults had = state_memory_->faults(); had.count != 0) {
            runner_.event(Event::remote_faults, had.count);
            runner_.event(Event::remote_waits, Clock::from_ns(had.ns));
        }
    }
    void bind(const RunConfig& config, const Catalogue& catalogue, const Region<>& region, Devices& devices) {
        if (entry_->stand_in) {
            auto input = std::make_shared<StandInSource>(draw_, *plan_);
            stand_in_ = input.get();
            add_read(std::move(input), 0, app::no_channel);
        }
        for (const Binding& b : catalogue.bindings) {
            if (b.task != config_->name) {
                continue;
            }
            if (b.device) {
                const auto device = devices.of(b.source);
                device_owners_.push_back(device);
                if (b.device_reader != nullptr) {
                    add_read(b.device_reader(*device, b), b.offset, app::no_channel);
                } else {
                    add_write(b.device_writer(*device, b), b.offset, app::no_channel);
                }
                continue;
            }
            if (b.open_reader == nullptr && b.open_writer == nullptr) {
                add_rows(b);
                continue;
            }
            const std::uint16_t channel = config.channel_named(b.source);
            if (b.open_reader != nullptr) {
                add_read(b.open_reader(region, b), b.offset, channel);
            } else {
                const auto link = link_of(config.links, channel);
                auto end = posting(b.open_writer(region, b), link ? &shared_->links[*link] : nullptr);
                add_write(announcing(std::move(end), announcements_of(config, channel, *shared_)), b.offset,
                          channel);
            }
        }
    }

    void add_rows(const Binding& b) {
        for (const MemberRows& rows : config_->member_rows) {
            if (rows.member == b.member) {
                add_read(std::make_shared<RowsSource>(read_rows(rows.file, b.bytes), b.bytes, rows.steps),
                         b.offset, app::no_channel);
                return;
            }
        }
        throw std::invalid_argument(config_->name + ": no rows for the member " + b.member);
    }

    void add_read(std::shared_ptr<ReadSource> source, std::uint32_t offset, std::uint16_t channel) {
        reads_.push_back({source.get(),
                          [](void* self, std::byte* to, Ticks as_of) noexcept {
                              return static_cast<ReadSource*>(self)->read(to, as_of);
                          },
                          offset, channel, logical(channel)});
        sources_.push_back(std::move(source));
    }
    void add_write(std::shared_ptr<WriteTarget> target, std::uint32_t offset, std::uint16_t channel) {
        if (dies_.asked()) {
            target = std::make_shared<WriteThatDies>(std::move(target), dies_);
        }
        writes_.push_back({target.get(),
                           [](void* self, const std::byte* from, Ticks visible) noexcept {
                               return static_cast<WriteTarget*>(self)->write(from, visible);
                           },
                           offset, channel, logical(channel)});
        targets_.push_back(std::move(target));
    }

    [[nodiscard]] std::uint64_t job() const noexcept {
        return by_arrivals() ? arrivals_.job() : releases_.job();
    }
    void next() noexcept {
        if (by_arrivals()) {
            arrivals_.next();
        } else {
            releases_.next();
        }
    }

    [[nodiscard]] Ticks tick_of(app::Time time) const noexcept { return start_ + ticks_of(time); }

    [[nodiscard]] bool logical(std::uint16_t channel) const {
        return channel == app::no_channel || run_->image.channel(channel).let;
    }

    // The job that begins has its row: the one after it is that of the next job.
    void leave_rows_out() noexcept {
        if (input_step_ != 1 && rows_ != nullptr) {
            std::uint64_t& row = runner_.executed();
            row += RowSteps::left_out(row + 1, data().row_count, input_step_);
        }
    }

    static void begin_local(void* self, const std::byte* /*in*/, bool reset, Job& /*job*/) noexcept {
        auto& task = *static_cast<PreparedTask*>(self);
        task.leave_rows_out();
        if (reset) {
            task.local_->reset();
        }
    }
    static bool finish_local(void* self, std::byte* out, Ticks /*give_up*/, Job& job) noexcept {
        auto& task = *static_cast<PreparedTask*>(self);
        const Ticks from = LinuxPort::timestamp();
        task.local_->run(task.in_.get(), out);
        const Ticks until = LinuxPort::timestamp();
        job.compute = until - from;
        if (task.checkpoint_ != nullptr && task.plan_->checkpoint) {
            task.dies_.step();
            task.checkpoint_->commit();
            task.dies_.step();
        } else {
            job.finish = until;
        }
        return true;
    }

    static void begin_remote(void* self, const std::byte* in, bool reset, Job& /*job*/) noexcept {
        auto& task = *static_cast<PreparedTask*>(self);
        task.leave_rows_out();
        task.answers_before_ = task.line_->answers.load(std::memory_order_acquire);
        task.remote_->begin(in, reset);
        if (task.worker_sleeps_) {
            CoreLine& worker = task.shared_->cores[task.plan_->worker];
            ring_doorbell(worker.requests, worker.sleeping);
        }
    }
    static bool finish_remote(void* self, std::byte* out, Ticks give_up, Job& /*job*/) noexcept {
        auto& task = *static_cast<PreparedTask*>(self);
        if (task.sleeps_) {
            sleep_for_doorbell(task.line_->answers, task.line_->awaited, task.answers_before_, give_up);
        }
        const CoreLine& worker = task.shared_->cores[task.plan_->worker];
        const offload::JobReport& report = task.remote_->finish(
            out, give_up,
            [](const void* of) {
                return static_cast<const CoreLine*>(of)->alive.load(std::memory_order_relaxed) != 0;
            },
            &worker);
        const bool alive = worker.alive.load(std::memory_order_relaxed) != 0;
        return task.runner_.answered(report, static_cast<std::uint16_t>(task.plan_->worker),
                                     alive ? Event::worker_silent : Event::worker_lost);
    }

    const RunConfig* run_;
    const TaskConfig* config_;
    const plan::Task* plan_;
    plan::Task in_ticks_;  // the same
    const StepEntry* entry_;
    std::uint16_t index_;
    SharedRun* shared_;
    TaskLine* line_;
    app::RingWriter record_;
    Part in_;
    Part out_;
    app::Draw draw_;
    std::unique_ptr<LockedBuffer> rows_;
    std::vector<app::ReadEnd> reads_;
    std::vector<app::WriteEnd> all_writes_;
    std::vector<app::WriteEnd> writes_;  // of the present mode
    std::vector<std::shared_ptr<ReadSource>> sources_;
    std::vector<std::shared_ptr<WriteTarget>> targets_;
    std::vector<std::shared_ptr<Device>> device_owners_;
    std::unique_ptr<StateMemory> state_memory_;  // where the state of `local_` lies, if not in itself
    std::unique_ptr<LocalStep> local_;
    std::unique_ptr<RemoteStep> remote_;
    StandInSource* stand_in_ = nullptr;
    Checkpoint* checkpoint_ = nullptr;
    DiesInJob dies_;
    PendingJob pending_{};
    int level_ = 0;
    int threshold_level_ = 0;
    bool most_urgent_ = false;
    bool at_worker_ = false;        // its state is with the worker
    std::uint32_t input_step_ = 1;  // rows that a job goes on by in the present mode
    bool sleeps_ = false;
    bool worker_sleeps_ = false;
    std::uint32_t answers_before_ = 0;
    app::JobRunner<LinuxPort> runner_;
    app::Releases releases_;
    std::vector<app::Time> distances_;  // in the clock's ticks
    ArrivalReleases arrivals_;
    Ticks start_ = 0;
    Ticks end_ = 0;
    std::uint64_t jobs_ = 0;
};

}  // namespace consort::linux_port
