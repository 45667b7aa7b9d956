// SPDX-License-Identifier: Apache-2.0
//
// Runs the jobs of a task on the core that releases it: reads its channels, computes or has computed, writes
// its channels, records. What releases the task and what dispatches it lie outside; so the same
// runner serves threads under a preemptive kernel, a dispatcher on bare metal and virtual time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "consort/app/plan.hpp"
#include "consort/app/ring.hpp"
#include "consort/offload/master.hpp"
#include "consort/port.hpp"
#include "consort/task/job.hpp"
#include "consort/task/miss_policy.hpp"

namespace consort::app {

inline constexpr std::uint16_t no_channel = 0xffff;

struct Transferred {
    std::uint64_t sequence = 0;  // of the last block moved, from 1; 0: there is none yet
    std::uint32_t count = 0;     // blocks moved
    Operation::Kind kind = Operation::read;
};

// A place of the input that a channel or a device fills before each job. `as_of`: LET reads what was visible
// at that instant; the others read the newest.
struct ReadEnd {
    void* self;
    Transferred (*read)(void* self, std::byte* to, Ticks as_of) noexcept;
    std::uint32_t offset;   // in the input
    std::uint16_t channel;  // no_channel: a device, which is not recorded
    bool logical = false;   // at the release, whenever the job begins: LET and devices
};

// A place of the output that goes to a channel or a device after each job. `visible`: LET publishes at that
// instant; the others at once.
struct WriteEnd {
    void* self;
    Transferred (*write)(void* self, const std::byte* from, Ticks visible) noexcept;
    std::uint32_t offset;
    std::uint16_t channel;
    bool logical = false;  // at the deadline, whenever the job ends: LET and devices
};

// Where the step is computed. `begin` may send the inputs away; `finish` brings the outputs, at the latest
// at `give_up`, and returns false if the run is to end. Both fill in what they know of the job.
struct Computation {
    void* self;
    void (*begin)(void* self, const std::byte* in, bool reset, Job& job) noexcept;
    bool (*finish)(void* self, std::byte* out, Ticks give_up, Job& job) noexcept;
};

// What the jobs of a task move and compute. When, and what becomes of late ones, says its row.
struct JobData {
    const plan::Task* plan = nullptr;  // in the port's ticks; it may be another one in another mode
    std::uint16_t task = 0;
    std::uint16_t core = 0;
    // Recorded inputs, one row a job, from the first again at the end, with the state reset. May be null.
    const std::byte* rows = nullptr;
    std::uint64_t row_count = 0;
    std::byte* in = nullptr;
    std::uint32_t in_bytes = 0;
    std::byte* out = nullptr;
    std::uint32_t out_bytes = 0;
    const ReadEnd* reads = nullptr;
    std::uint32_t read_count = 0;
    const WriteEnd* writes = nullptr;
    std::uint32_t write_count = 0;
    Computation computation{};
};

template <Port P>
class JobRunner {
  public:
    JobRunner() = default;
    JobRunner(const JobData& data, RingWriter& record) noexcept
        : data_(data), record_(&record), takes_inputs_(data.rows != nullptr || data.read_count != 0) {}

    // Between two jobs: the row is of another mode from now on. `write_count`: the first writes, which are
    // those of the mode.
    void enter(std::uint16_t core, const Computation& computation, std::uint32_t write_count) noexcept {
        data_.computation = computation;
        data_.write_count = write_count;
        data_.core = core;
    }

    // True if a release can no longer be served: a whole period, or a later deadline, has passed.
    [[nodiscard]] bool passed(Ticks release, Ticks now) const noexcept {
        const Time limit = row().period > row().deadline ? row().period : row().deadline;
        return now > release + static_cast<Ticks>(limit);
    }

    // The job's first half: its inputs are read, and sent away if it is offloaded.
    // `due`: the absolute deadline, at which LET publishes. Given rather than added up: instants that are
    // equal in the system's own time must be the same tick, or a reader takes another version.
    // It begins at `now`, or when that is read.
    void begin(Ticks release, Ticks ready, Ticks due, std::uint32_t seq) noexcept {
        begin(release, ready, due, seq, P::now());
    }
    void begin(Ticks release, Ticks ready, Ticks due, std::uint32_t seq, Ticks now) noexcept {
        prepare(release, ready, due, seq);
        job_.start = now;
        const bool reset = start();
        data_.computation.begin(data_.computation.self, data_.in, reset, job_);
    }
    // The same in two, for a core that computes its tasks itself: what is known before the job begins, and,
    // once `start` of job() is set, its inputs. True: the state is to be reset.
    void prepare(Ticks release, Ticks ready, Ticks due, std::uint32_t seq) noexcept {
        due_ = due;
        job_ = Job{};
        job_.release = release;
        job_.ready = ready;
        job_.seq = seq;
        job_.task = data_.task;
        job_.core = data_.core;
    }
    [[nodiscard]] bool start() noexcept { return takes_inputs_ && take_inputs(); }

    // The second half: its outputs are there, written and recorded. False: the run is to end.
    bool finish() noexcept {
        const bool go_on = data_.computation.finish(data_.computation.self, data_.out, give_up(), job_);
        // One that read the clock at its end says so.
        return ended(go_on, job_.finish != 0 ? job_.finish : P::now());
    }
    // The outputs are there since `now`; `go_on`: the computation's word. False: the run is to end.
    bool ended(bool go_on) noexcept { return ended(go_on, P::now()); }
    bool ended(bool go_on, Ticks now) noexcept {
        complete(now);
        // The master decides this for an offloaded task; a local one that is late ends the run as well.
        return go_on && (row().on_miss != OnMiss::stop || (job_.status & job_status::missed) == 0);
    }
    // When the answer to the job in hand is awaited no longer.
    [[nodiscard]] Ticks give_up() const noexcept { return job_.release + static_cast<Ticks>(row().give_up); }

    // Takes the master's report on the job under way, which a worker computed. `lost`: the event where this
    // job is the first to find the worker lost. False: the run is to end.
    bool answered(const offload::JobReport& report, std::uint32_t worker, Event::Kind lost) noexcept {
        job_.sent = report.sent;
        job_.received = report.received;
        job_.compute = report.compute_ticks;
        job_.status |= report.status;
        if (report.worker_lost) {
            event(lost, worker);
        }
        if (report.worker_restarted) {
            event(Event::worker_restarted, worker);
        }
        if (report.worker_back) {
            event(Event::worker_back, worker);
        }
        return !report.stop;
    }

    // One of several jobs under way (a load begins before the unload of the one before): the one that
    // completes now, with its data from begin().
    struct UnderWay {
        Job job;
        Ticks due;
    };
    [[nodiscard]] UnderWay under_way() const noexcept { return {job_, due_}; }
    void resume(const UnderWay& begun) noexcept {
        job_ = begun.job;
        due_ = begun.due;
    }

    // Its row, its output and the rows of its writes appear in the record at once.
    [[gnu::noinline]] void complete(Ticks finish) noexcept {
        record_->hold();
        const Ticks visible = due_;
        const Ticks released = job_.ready > job_.release ? job_.ready : job_.release;
        if (job_.start > released && job_.start - released > static_cast<Ticks>(row().period) / 10) {
            job_.status |= job_status::late_release;
        }
        write_outputs(finish);
        // The compiler may not move an output's store behind the time stamp.
        asm volatile("" ::"r"(data_.out) : "memory");
        job_.finish = data_.write_count != 0 ? P::now() : finish;
        if ((job_.status & job_status::held) != 0 || job_.finish > visible) {
            job_.status |= job_status::missed;
        }
        put_job();
        record_->release();
        ++executed_;
    }

    // The same of a job that an I/O core moves: it ended at `finish`, whatever its writes take afterwards.
    [[gnu::noinline]] void unloaded(Ticks finish) noexcept {
        record_->hold();
        write_outputs(finish);
        job_.finish = finish;
        if (finish > due_) {
            job_.status |= job_status::missed;
        }
        put_job();
        record_->release();
        ++executed_;
    }

    // A release that is not served.
    [[gnu::cold]] void skip(Ticks release, Ticks ready, std::uint32_t seq) noexcept {
        job_ = Job{};
        job_.release = release;
        job_.ready = ready;
        job_.seq = seq;
        job_.task = data_.task;
        job_.core = data_.core;
        job_.status = job_status::missed | job_status::unserved;
        record_->put(RecordTable::job, data_.task, &job_, sizeof job_);
    }

    [[gnu::cold]] void event(Event::Kind kind, std::uint64_t value) noexcept {
        const Event made{P::now(), value, kind, data_.task, data_.core, 0};
        record_->put(RecordTable::event, data_.task, &made, sizeof made);
    }

    // How many jobs were executed, with the rows of recorded inputs that were left out: the next job's row.
    [[nodiscard]] std::uint64_t& executed() noexcept { return executed_; }
    [[nodiscard]] const Job& job() const noexcept { return job_; }
    [[nodiscard]] Job& job() noexcept { return job_; }
    [[nodiscard]] const JobData& data() const noexcept { return data_; }

  private:
    [[nodiscard]] const plan::Task& row() const noexcept { return *data_.plan; }
    // Out of line: a task without inputs begins sooner.
    [[gnu::noinline]] bool take_inputs() noexcept {
        bool reset = false;
        if (data_.rows != nullptr) {
            job_.input = static_cast<std::uint32_t>(executed_ % data_.row_count);
            std::memcpy(data_.in, data_.rows + job_.input * std::uint64_t{data_.in_bytes}, data_.in_bytes);
            reset = job_.input == 0 && executed_ != 0;
        }
        for (std::uint32_t i = 0; i < data_.read_count; ++i) {
            const ReadEnd& end = data_.reads[i];
            note(end.channel,
                 end.read(end.self, data_.in + end.offset, end.logical ? job_.release : job_.start));
        }
        return reset;
    }

    void write_outputs(Ticks finish) noexcept {
        const Ticks visible = due_;
        for (std::uint32_t i = 0; i < data_.write_count; ++i) {
            const WriteEnd& end = data_.writes[i];
            Transferred moved = end.write(end.self, data_.out + end.offset, end.logical ? visible : finish);
            if (end.logical && finish > visible && moved.kind == Operation::write) {
                moved.kind = Operation::write_late;
            }
            note(end.channel, moved);
        }
    }

    void put_job() noexcept {
        record_->put(RecordTable::job, data_.task, &job_, sizeof job_);
        if (data_.out_bytes != 0) {
            const std::uint64_t seq = job_.seq;
            record_->put(RecordTable::output, data_.task, &seq, sizeof seq, data_.out, data_.out_bytes);
        }
    }

    [[gnu::noinline]] void note(std::uint16_t channel, const Transferred& moved) noexcept {
        if (channel == no_channel) {
            return;
        }
        const Operation made{P::now(),
                             moved.sequence,
                             job_.seq,
                             data_.task,
                             channel,
                             moved.kind,
                             static_cast<std::uint16_t>(moved.count > 0xffff ? 0xffff : moved.count),
                             0};
        record_->put(RecordTable::operation, data_.task, &made, sizeof made);
        if (moved.kind == Operation::write_dropped) {
            event(Event::queue_full, channel);
        } else if (moved.kind == Operation::write_late) {
            event(Event::let_late_write, channel);
        } else if (moved.kind == Operation::read_overtaken) {
            event(Event::let_lap, channel);
        } else if (moved.kind == Operation::read_corrupt) {
            event(Event::block_corrupt, channel);
        }
    }

    JobData data_{};
    RingWriter* record_ = nullptr;
    bool takes_inputs_ = false;
    Job job_{};
    Ticks due_ = 0;
    std::uint64_t executed_ = 0;
};

}  // namespace consort::app
