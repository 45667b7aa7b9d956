// SPDX-License-Identifier: Apache-2.0
//
// The recorded jobs once more, one after another in logical order: the same steps, the same input rows, and
// of each channel the blocks that the job is recorded to have read. What a run applied must equal it to the
// bit; a block that was torn, a state that got lost on its way to a worker or a scratchpad shows.
//
// Writes reference-<task>.bin beside the record: rows of {u64 job number, Out}. Left out are jobs whose
// outputs nobody can predict: of tasks that read a driver or a block's age, and, after an output was held,
// those until the task's state is reset (the worker may or may not have taken up the job that was given up).
// And plant-<device>.bin: rows of {u64 ns of logical time, State} of each plant, by its place in the
// catalogue.
//
// For a debugger, one task can be singled out: its steps alone are computed, once each, in this process, up
// to and with the job in which the run broke off. What it read of others is what they recorded.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "consort/linux/executive/prepared_task.hpp"

// The number of the job that is computed, for a debugger: `print consort_job`, `break … if consort_job ==
// 20`.
inline volatile std::uint64_t consort_job = 0;

namespace consort::linux_port {

namespace detail {

template <class Row>
std::vector<Row> load_rows(const std::filesystem::path& file) {
    std::ifstream in(file, std::ios::binary | std::ios::ate);
    if (!in) {
        return {};
    }
    std::vector<Row> rows(static_cast<std::size_t>(in.tellg()) / sizeof(Row));
    in.seekg(0);
    in.read(reinterpret_cast<char*>(rows.data()), static_cast<std::streamsize>(rows.size() * sizeof(Row)));
    return rows;
}

// Which job is computed, for who waits: in a file of two words beside the record, also once this process is
// gone.
class ReplayPlace {
  public:
    explicit ReplayPlace(const std::filesystem::path& raw) {
        const int file = ::open((raw / "replay-at").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
        void* there = MAP_FAILED;
        if (file >= 0 && ::ftruncate(file, bytes) == 0) {
            there = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        }
        const int error = errno;
        if (file >= 0) {
            ::close(file);
        }
        if (there == MAP_FAILED) {
            throw std::system_error(error, std::generic_category(), "replay-at");
        }
        words_ = static_cast<volatile std::uint32_t*>(there);
        set(~std::uint32_t{0}, 0);
    }
    ReplayPlace(const ReplayPlace&) = delete;
    ReplayPlace& operator=(const ReplayPlace&) = delete;
    ~ReplayPlace() { ::munmap(const_cast<std::uint32_t*>(words_), bytes); }
    void set(std::uint32_t task, std::uint32_t job) noexcept {
        words_[0] = task;
        words_[1] = job;
    }

  private:
    static constexpr std::size_t bytes = 2 * sizeof(std::uint32_t);
    volatile std::uint32_t* words_ = nullptr;
};

class Replay {
  public:
    // `only`: the name of the task whose steps are computed; empty: all.
    Replay(const RunConfig& config, const Catalogue& catalogue, std::filesystem::path raw, Ticks start,
           const std::string& only)
        : config_(config),
          catalogue_(catalogue),
          raw_(std::move(raw)),
          at_(raw_),
          devices_(catalogue, config),
          start_(start),
          only_(task_named(config, only)) {
        for (std::size_t i = 0; i < config.tasks.size(); ++i) {
            tasks_.push_back(make(i));
        }
        if (only_ == all) {
            keep_states();
        }
        devices_.begin(start);
    }

    int run() {
        std::vector<Job> jobs = load_rows<Job>(raw_ / "jobs.bin");
        load_operations();
        load_stays(jobs);
        std::vector<std::pair<Ticks, const Job*>> order;
        if (const auto broken = broken_off(jobs)) {
            jobs.push_back(*broken);
        }
        order.reserve(jobs.size());
        for (const Job& job : jobs) {
            // The job that broke the run off is what a debugger is to see.
            const bool aborted = (job.status & job_status::aborted) != 0 && job.task != only_;
            if ((job.status & job_status::unserved) == 0 && !aborted) {
                order.emplace_back(read_at(job), &job);
            }
        }
        std::stable_sort(order.begin(), order.end(),
                         [](const auto& a, const auto& b) { return a.first < b.first; });
        for (const auto& [at, job] : order) {
            at_.set(job->task, job->seq);
            redo(*job);
        }
        return 0;
    }

  private:
    // The time in one mode; where none changes, the whole run.
    struct Stay {
        Ticks begin;
        std::uint32_t mode;
        std::vector<std::uint64_t> first_jobs;  // by task
    };

    struct Replayed {
        const StepEntry* entry = nullptr;
        const TaskConfig* config = nullptr;
        bool predictable = true;  // at all
        bool known = true;        // at present: no output was held since the last reset
        std::unique_ptr<LocalStep> step;
        Part in;
        Part out;
        Part high;
        std::unique_ptr<LockedBuffer> rows;
        std::vector<std::unique_ptr<LockedBuffer>> member_rows;
        std::vector<std::pair<const Binding*, std::shared_ptr<ReadSource>>> sources;  // devices, recordings
        std::vector<std::pair<const Binding*, std::shared_ptr<WriteTarget>>> targets;
        std::vector<std::byte> recorded;
        std::size_t next_recorded = 0;
        std::uint64_t executed = 0;
        std::size_t stay = 0;
        app::Releases releases;
        std::ofstream reference;
    };

    // The instant at which a job had read its inputs. Not its start: between the two it may have been
    // preempted, by the very job that wrote what it read.
    [[nodiscard]] Ticks read_at(const Job& job) const {
        Ticks at = job.loaded != 0 ? job.worker_receive : job.start;
        if (const auto found = reads_.find({job.task, job.seq}); found != reads_.end()) {
            for (const Operation& op : found->second) {
                at = std::max(at, op.time);
            }
        }
        return at;
    }

    static constexpr std::size_t all = ~std::size_t{0};
    // Of a plant that makes more steps every second one is kept, or every third one, and so on.
    static constexpr std::int64_t most_states = 100'000;

    void keep_states() {
        for (std::size_t i = 0; i < catalogue_.devices.size(); ++i) {
            const DeviceEntry& entry = catalogue_.devices[i];
            const auto here = std::find(config_.devices.begin(), config_.devices.end(), entry.name);
            if (!entry.plant || here == config_.devices.end()) {
                continue;
            }
            const auto place = static_cast<std::uint32_t>(here - config_.devices.begin());
            const std::int64_t steps =
                config_.duration() / std::max<app::Time>(config_.image.device(place).period, 1);
            states_.emplace_back(raw_ / ("plant-" + std::to_string(i) + ".bin"), std::ios::binary);
            devices_.of(entry.name)
                ->keep_states(states_.back(), static_cast<std::uint64_t>(1 + steps / most_states));
        }
    }

    static std::size_t task_named(const RunConfig& config, const std::string& name) {
        for (std::size_t i = 0; i < config.tasks.size(); ++i) {
            if (config.tasks[i].name == name) {
                return i;
            }
        }
        if (!name.empty()) {
            throw std::invalid_argument("the configuration has no task " + name);
        }
        return all;
    }

    // The job that the task singled out had begun when its core ended: it has no row, but it may have read.
    [[nodiscard]] std::optional<Job> broken_off(const std::vector<Job>& jobs) const {
        const auto events = load_rows<Event>(raw_ / "events.bin");
        const bool crashed = std::any_of(events.begin(), events.end(), [this](const Event& event) {
            return event.task == only_ && (event.kind == Event::crashed || event.kind == Event::over_budget);
        });
        if (!crashed) {
            return {};
        }
        const Stay& stay = last_stay();
        const plan::Task& planned = config_.image.task(stay.mode, static_cast<std::uint32_t>(only_));
        if (config_.policy(planned.core) == plan::Policy::three_phase) {
            return {};
        }
        Job next{};
        // A task may have changed its core, and each core has its own place in the record.
        const Job* served = nullptr;
        for (const Job& job : jobs) {
            if (job.task != only_) {
                continue;
            }
            next.seq = std::max(next.seq, job.seq + 1);
            next.start = std::max(next.start, job.finish);
            if ((job.status & job_status::unserved) == 0 && (served == nullptr || job.seq > served->seq)) {
                served = &job;
            }
        }
        next.input = served == nullptr ? 0 : row_after(*served);
        next.task = static_cast<std::uint16_t>(only_);
        next.core = static_cast<std::uint16_t>(planned.core);
        // It may be the first one of its stay.
        const std::uint64_t first = std::min<std::uint64_t>(stay.first_jobs[only_], next.seq);
        app::Releases releases = releases_in(stay.mode, only_, first);
        while (releases.job() < next.seq) {
            releases.next();
        }
        const bool by_time = planned.arrival == plan::none;
        next.release = by_time ? stay.begin + ticks_of(releases.nominal()) : next.start;
        next.start = std::max(next.start, next.release);
        return next;
    }

    // The last time in a mode in which the task that is singled out does not rest.
    [[nodiscard]] const Stay& last_stay() const {
        const auto found = std::find_if(stays_.rbegin(), stays_.rend(), [this](const Stay& stay) {
            return !config_.image.task(stay.mode, static_cast<std::uint32_t>(only_)).rests;
        });
        return found == stays_.rend() ? stays_.back() : *found;
    }

    // The row of the job after one that was served.
    [[nodiscard]] std::uint32_t row_after(const Job& job) const {
        const Replayed& task = tasks_[job.task];
        if (!task.rows) {
            return 0;
        }
        const std::uint64_t count = task.rows->size() / task.entry->in.bytes;
        const std::uint32_t step = task.config->input_steps.in(stays_[stay_at(job.release)].mode);
        const std::uint64_t next = job.input + std::uint64_t{1};
        return static_cast<std::uint32_t>((next + RowSteps::left_out(next, count, step)) % count);
    }

    Replayed make(std::size_t i) {
        Replayed task;
        task.entry = &catalogue_.tasks[i];
        task.config = &config_.tasks[i];
        task.predictable = !task.entry->stand_in;
        task.releases = releases_in(config_.mode_with(i), i);
        task.step = task.entry->local();
        task.in = new_part(task.entry->in.bytes);
        task.out = new_part(task.entry->out.bytes);
        task.high = new_part(task.entry->out.bytes);
        if (!task.config->input_file.empty()) {
            task.rows = read_rows(task.config->input_file, task.entry->in.bytes);
        }
        for (const Binding& b : catalogue_.bindings) {
            if (b.task != task.config->name) {
                continue;
            }
            task.predictable = task.predictable && !b.latest;
            if (b.device) {
                bind_device(task, b, i == only_);
            } else if (b.open_reader == nullptr && b.open_writer == nullptr) {
                for (const MemberRows& rows : task.config->member_rows) {
                    if (rows.member == b.member) {
                        task.sources.emplace_back(
                            &b,
                            std::make_shared<RowsSource>(read_rows(rows.file, b.bytes), b.bytes, rows.steps));
                    }
                }
            }
        }
        task.recorded = load_rows<std::byte>(raw_ / ("outputs-" + std::to_string(i) + ".bin"));
        if (task.predictable && only_ == all) {
            task.reference.open(raw_ / ("reference-" + std::to_string(i) + ".bin"), std::ios::binary);
        }
        return task;
    }

    [[nodiscard]] app::Releases releases_in(std::uint32_t mode, std::size_t task,
                                            std::uint64_t first_job = 0) const {
        const plan::Image& image = config_.image;
        return releases_of(image, image.task(mode, static_cast<std::uint32_t>(task)),
                           app::Draw(image.head().run.seed, task), first_job);
    }

    // A driver leads out of the run: nothing is written to it a second time, and it is asked again only for
    // the task that a debugger is to see.
    void bind_device(Replayed& task, const Binding& b, bool seen) {
        const bool reads = b.device_reader != nullptr;
        const bool plant =
            std::any_of(catalogue_.devices.begin(), catalogue_.devices.end(),
                        [&](const DeviceEntry& entry) { return entry.name == b.source && entry.plant; });
        task.predictable = task.predictable && (plant || !reads);
        if (reads && (plant || seen)) {
            task.sources.emplace_back(&b, b.device_reader(*devices_.of(b.source), b));
        } else if (!reads && plant) {
            task.targets.emplace_back(&b, b.device_writer(*devices_.of(b.source), b));
        }
    }

    void load_operations() {
        for (const Operation& op : load_rows<Operation>(raw_ / "operations.bin")) {
            const auto key = std::make_pair(op.task, op.seq);
            if (op.kind == Operation::write || op.kind == Operation::write_late) {
                writes_[key].push_back(op);
            } else if (op.kind == Operation::read) {
                reads_[key].push_back(op);
            }
        }
    }

    void load_stays(const std::vector<Job>& jobs) {
        stays_.push_back({start_, 0, std::vector<std::uint64_t>(tasks_.size(), 0)});
        if (!config_.changes_modes()) {
            return;
        }
        stays_.clear();
        for (const Event& event : load_rows<Event>(raw_ / "events.bin")) {
            if (event.kind == Event::mode_entered && event.value < config_.modes.size()) {
                stays_.push_back({event.time, static_cast<std::uint32_t>(event.value),
                                  std::vector<std::uint64_t>(tasks_.size(), ~std::uint64_t{0})});
            }
        }
        if (stays_.empty()) {
            throw std::invalid_argument(raw_.string() + ": no mode was entered");
        }
        for (const Job& job : jobs) {
            std::uint64_t& first = stays_[stay_at(job.release)].first_jobs[job.task];
            first = std::min<std::uint64_t>(first, job.seq);
        }
        for (Replayed& task : tasks_) {
            task.stay = all;
        }
    }
    [[nodiscard]] std::size_t stay_at(Ticks release) const {
        const auto later = std::upper_bound(stays_.begin(), stays_.end(), release,
                                            [](Ticks at, const Stay& stay) { return at < stay.begin; });
        return later == stays_.begin() ? 0 : static_cast<std::size_t>(later - stays_.begin()) - 1;
    }

    // The instant at which a job's output is there under logical execution time. As the executive had it:
    // from the release in the image's ticks, not from its tick.
    Ticks visible(Replayed& task, const Job& job) {
        const std::size_t here = stay_at(job.release);
        const Stay& stay = stays_[here];
        const plan::Task& planned = config_.image.task(stay.mode, job.task);
        if (planned.arrival != plan::none) {
            return job.release + ticks_of(planned.deadline);
        }
        if (task.stay != here) {
            task.stay = here;
            task.releases = releases_in(stay.mode, job.task, stay.first_jobs[job.task]);
        }
        while (task.releases.job() < job.seq) {
            task.releases.next();
        }
        return stay.begin + ticks_of(task.releases.nominal() + planned.deadline);
    }

    void redo(const Job& job) {
        Replayed& task = tasks_[job.task];
        const std::byte* recorded = recorded_of(task, job.seq);
        const bool held = (job.status & job_status::held) != 0;
        bool reset = false;
        if (task.rows) {
            const std::size_t bytes = task.entry->in.bytes;
            std::memcpy(task.in.get(), task.rows->data() + job.input * bytes, bytes);
            reset = job.input == 0 && task.executed != 0;
        }
        ++task.executed;
        const Ticks release = job.release;
        for (auto& [binding, source] : task.sources) {
            source->enter_mode(stays_[stay_at(release)].mode);
            source->read(task.in.get() + binding->offset, release);
        }
        take_blocks(task, job);
        if (reset) {
            task.step->reset();
            task.known = true;
        }
        task.known = task.known && !held;
        const std::byte* applied = recorded;
        if (job.task == only_) {
            consort_job = job.seq;
            task.step->run(task.in.get(), task.out.get());
            applied = recorded != nullptr ? recorded : task.out.get();
        } else if (only_ == all && task.predictable && task.known) {
            compute(task, recorded);
            applied = task.out.get();
            const std::uint64_t seq = job.seq;
            task.reference.write(reinterpret_cast<const char*>(&seq), sizeof seq);
            task.reference.write(reinterpret_cast<const char*>(applied), task.entry->out.bytes);
        }
        if (applied == nullptr) {
            return;
        }
        const Ticks there = visible(task, job);
        for (auto& [binding, target] : task.targets) {
            target->write(applied + binding->offset, there);
        }
        keep_blocks(task, job, applied);
    }

    // A step may leave parts of its output as they were: what lies there depends on where the step runs, and
    // is not compared. It is what two computations into unlike memory both left as it was; what they made
    // unlike is the work of a state that nobody moves, and wrong.
    static void compute(Replayed& task, const std::byte* recorded) {
        const std::size_t bytes = task.entry->out.bytes;
        std::vector<std::byte> before(task.step->state_bytes());
        std::memcpy(before.data(), task.step->state(), before.size());
        std::memset(task.high.get(), 0xff, std::max<std::size_t>(bytes, 64));
        task.step->run(task.in.get(), task.high.get());
        std::memcpy(task.step->state(), before.data(), before.size());
        std::memset(task.out.get(), 0, std::max<std::size_t>(bytes, 64));
        task.step->run(task.in.get(), task.out.get());
        for (std::size_t i = 0; i < bytes; ++i) {
            if (task.out.get()[i] == std::byte{0} && task.high.get()[i] == std::byte{0xff}) {
                task.out.get()[i] = recorded != nullptr ? recorded[i] : std::byte{0};
            }
        }
    }

    // Recorded outputs lie in the order of their jobs.
    static const std::byte* recorded_of(Replayed& task, std::uint32_t seq) {
        const std::size_t row = sizeof(std::uint64_t) + task.entry->out.bytes;
        if (task.entry->stand_in || task.recorded.size() < row) {
            return nullptr;
        }
        const std::size_t rows = task.recorded.size() / row;
        for (; task.next_recorded < rows; ++task.next_recorded) {
            std::uint64_t found = 0;
            std::memcpy(&found, task.recorded.data() + task.next_recorded * row, sizeof found);
            if (found == seq) {
                return task.recorded.data() + task.next_recorded * row + sizeof found;
            }
            if (found > seq) {
                break;
            }
        }
        return nullptr;
    }

    // Bindings of one task and one channel, in the order of the catalogue, as the executive made its ends.
    template <class F>
    void each_operation(const std::map<std::pair<std::uint16_t, std::uint32_t>, std::vector<Operation>>& all,
                        const Replayed& task, const Job& job, bool reading, F&& f) {
        const auto found = all.find({job.task, job.seq});
        if (found == all.end()) {
            return;
        }
        for (const Operation& op : found->second) {
            for (const Binding& b : catalogue_.bindings) {
                const bool reads = b.open_reader != nullptr;
                if (b.task == task.config->name && b.source == config_.channels[op.channel] && !b.device &&
                    reads == reading && (b.open_reader != nullptr || b.open_writer != nullptr)) {
                    f(op, b);
                }
            }
        }
    }

    void take_blocks(Replayed& task, const Job& job) {
        each_operation(reads_, task, job, true, [&](const Operation& op, const Binding& b) {
            if (b.batch != 0) {
                take_batch(task, op, b);
                return;
            }
            const auto& blocks = blocks_[op.channel];
            if (const auto block = blocks.find(op.sequence); block != blocks.end()) {
                std::memcpy(task.in.get() + b.offset, block->second.data(), b.bytes);
            }
        });
    }

    void take_batch(Replayed& task, const Operation& op, const Binding& b) {
        const std::uint32_t count = op.count;
        std::memcpy(task.in.get() + b.offset, &count, sizeof count);
        const auto& blocks = blocks_[op.channel];
        auto block = blocks.upper_bound(op.sequence);
        for (std::uint32_t i = count; i > 0 && block != blocks.begin(); --i) {
            --block;
            std::memcpy(task.in.get() + b.offset + b.batch_items + std::size_t{i - 1} * b.block_bytes,
                        block->second.data(), b.block_bytes);
        }
    }

    void keep_blocks(const Replayed& task, const Job& job, const std::byte* out) {
        each_operation(writes_, task, job, false, [&](const Operation& op, const Binding& b) {
            auto& blocks = blocks_[op.channel];
            blocks[op.sequence].assign(out + b.offset, out + b.offset + b.block_bytes);
            // Readers are at most a queue behind.
            while (blocks.size() > 65536) {
                blocks.erase(blocks.begin());
            }
        });
    }

    const RunConfig& config_;
    const Catalogue& catalogue_;
    std::filesystem::path raw_;
    ReplayPlace at_;
    std::deque<std::ofstream> states_;  // outlive the plants that write them
    Devices devices_;
    Ticks start_;
    std::size_t only_;
    std::vector<Replayed> tasks_;
    std::vector<Stay> stays_;
    std::map<std::pair<std::uint16_t, std::uint32_t>, std::vector<Operation>> reads_;
    std::map<std::pair<std::uint16_t, std::uint32_t>, std::vector<Operation>> writes_;
    std::map<std::uint16_t, std::map<std::uint64_t, std::vector<std::byte>>> blocks_;
};

}  // namespace detail

}  // namespace consort::linux_port
