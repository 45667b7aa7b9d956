// SPDX-License-Identifier: Apache-2.0
//
// A configuration in virtual time: the same tasks, channels, devices and record as on this machine's own
// clock, in one thread, driven by the executive in virtual time (ports/virtual). A job reads its channels
// when the executive begins it, is computed at once, and writes them when the executive ends it.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <deque>
#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "consort/linux/executive/catalogue.hpp"
#include "consort/linux/executive/config.hpp"
#include "consort/linux/executive/device_process.hpp"
#include "consort/linux/executive/files.hpp"
#include "consort/linux/executive/link_turns.hpp"
#include "consort/linux/executive/prepared_task.hpp"
#include "consort/linux/executive/run_region.hpp"
#include "consort/linux/executive/stuck_steps.hpp"
#include "consort/linux/program.hpp"
#include "consort/linux/watchdog.hpp"
#include "consort/virtual/from_plan.hpp"
#include "consort/virtual/machine.hpp"

namespace consort::linux_port {

namespace {

namespace vt = virtual_time;

Ticks tick_of(vt::Time time) {
    return time == app::absent ? Ticks{0} : static_cast<Ticks>(time + vt::origin);
}

// Which job is computed, while one of these is there, for who has to name it. `began` counts such times: what
// looks at it sees by that whether anything goes on.
class AtJob {
  public:
    AtJob(SharedRun& shared, std::uint32_t task, std::uint32_t job, Ticks now) : line_(&shared.tasks[task]) {
        static std::uint64_t count = 0;
        shared.run[0].start.store(now, std::memory_order_relaxed);
        line_->job.store(job, std::memory_order_relaxed);
        line_->began.store(++count, std::memory_order_relaxed);
        PreparedTask::current() = line_;
    }
    AtJob(const AtJob&) = delete;
    AtJob& operator=(const AtJob&) = delete;
    ~AtJob() {
        PreparedTask::current() = nullptr;
        line_->began.store(0, std::memory_order_relaxed);
    }

  private:
    TaskLine* line_;
};

// The steps of a run, at the instants that the executive says.
class Steps final : public vt::Observer {
  public:
    Steps(const RunConfig& config, const Catalogue& catalogue, const vt::Given& given,
          const std::filesystem::path& raw, SharedRun& shared, vt::Machine& machine)
        : machine_(machine),
          config_(config),
          given_(given),
          system_(&given.modes.modes[given.modes.first]),
          shared_(shared),
          region_(config, catalogue),
          attached_(region_.attach()),
          devices_(catalogue, config),
          flows_(config, catalogue, attached_, shared_, shared_.rings.of_devices()),
          events_(shared_.rings.of_supervisor()),
          record_(config, catalogue, shared_, raw) {
        for (std::uint16_t i = 0; i < config.tasks.size(); ++i) {
            Running& task = tasks_.emplace_back();
            // Whoever computes it, it is computed here.
            task.prepared =
                std::make_unique<PreparedTask>(config, i, catalogue, attached_, devices_, shared_, nullptr);
            task.computed = new_part(catalogue.tasks[i].out.bytes);
            task.bytes = catalogue.tasks[i].out.bytes;
            task.stand_in = catalogue.tasks[i].stand_in;
            task.three_phase = config.policy(task.prepared->planned().core) == plan::Policy::three_phase;
        }
        for (const LinkConfig& link : config.links) {
            Link& made = links_.emplace_back();
            std::vector<Ticks> transfers;
            for (const LinkConfig::Carries& one : link.carries) {
                const ChannelEntry& entry = catalogue.channels[one.channel];
                made.carriers.push_back(entry.carrier(attached_, entry.name, nullptr, ~Ticks{0}));
                made.channels.push_back(one.channel);
                transfers.push_back(one.transfer);
            }
            made.written.resize(made.carriers.size(), 0);
            made.turns.emplace(std::move(transfers));
        }
        Clock::set(start);
        devices_.begin(start);
        flows_.begin(start);
    }

    // Releases count from here: 0 is not an instant of a record.
    static constexpr Ticks start = static_cast<Ticks>(vt::origin);

    void begun(std::uint32_t task, const vt::JobTimes& job, vt::Time now) override {
        Running& t = tasks_[task];
        const AtJob at(shared_, task, job.seq, tick_of(now));
        // One that was given up before it began is over already.
        if (t.next <= job.seq) {
            begin(task, job, now);
            compute_step(t);
        }
    }

    void finished(std::uint32_t task, const vt::JobTimes& job, const vt::Transfers& moved,
                  vt::Time now) override {
        Running& t = tasks_[task];
        const AtJob at(shared_, task, job.seq, tick_of(now));
        auto& runner = t.prepared->runner();
        if ((job.status & job_status::unserved) != 0) {
            advance(now);
            runner.skip(tick_of(job.release), tick_of(job.ready), job.seq);
            runner.event(Event::overrun, 1);
            t.next = job.seq + std::uint64_t{1};
            drain(task);
            return;
        }
        if (t.next <= job.seq) {
            begin(task, job, now);
            if ((job.status & job_status::held) == 0) {
                compute_step(t);
            }
        }
        advance(now);
        UnderWay& begun = t.under_way.front();
        Job& row = begun.begun.job;
        row.ready = tick_of(job.ready);
        row.start = tick_of(job.start);
        row.sent = tick_of(job.sent);
        row.worker_receive = tick_of(t.three_phase ? moved.load : job.worker_receive);
        row.worker_send = tick_of(t.three_phase ? moved.unload : job.worker_send);
        row.received = tick_of(job.received);
        row.loaded = tick_of(moved.loaded);
        row.executed = tick_of(moved.executed);
        row.compute = static_cast<Ticks>(job.compute);
        row.status |= job.status;
        if ((job.status & job_status::held) == 0) {
            std::memcpy(t.prepared->out(), begun.out.data(), begun.out.size());
        }
        runner.resume(begun.begun);
        if ((job.status & (job_status::held | job_status::fallback)) != 0) {
            runner.event(Event::worker_silent, t.prepared->planned().worker);
        }
        runner.complete(tick_of(now));
        note_written(tick_of(now));
        t.under_way.pop_front();
        if ((job.status & job_status::held) == 0) {
            if (const auto mode = asked_mode(config_, static_cast<std::uint16_t>(task), t.prepared->out())) {
                machine_.request(*mode);
            }
        }
        drain(task);
    }

    void early(std::uint32_t task, const vt::JobTimes& /*job*/, vt::Time by) override {
        tasks_[task].prepared->runner().event(Event::early_arrival, static_cast<std::uint64_t>(by));
    }

    void changed(const app::ModeChanged& change) override {
        event(Event::mode_requested, change.requested, change.to);
        event(Event::mode_idle, change.drained, change.from);
    }
    void entered(std::uint32_t mode, vt::Time now) override {
        if (!config_.changes_modes()) {
            return;
        }
        advance(now);
        system_ = &given_.modes.modes[mode];
        for (std::uint32_t i = 0; i < tasks_.size(); ++i) {
            if (config_.image.task(mode, i).rests) {
                tasks_[i].prepared->discard_for(mode);
            } else {
                tasks_[i].prepared->enter(mode);
            }
        }
        event(Event::mode_entered, now, mode);
    }

    // The record, once the machine has ended.
    void complete() {
        record_.drain();
        record_.close();
        record_.complete(start, {});
    }

  private:
    struct UnderWay {
        app::JobRunner<LinuxPort>::UnderWay begun;
        std::vector<std::byte> out;
    };
    struct Running {
        std::unique_ptr<PreparedTask> prepared;
        // The step's last output: it may leave parts of its output as they were.
        Part computed;
        std::size_t bytes = 0;
        bool stand_in = false;
        bool three_phase = false;
        std::uint64_t next = 0;  // the first job that has not begun
        std::deque<UnderWay> under_way;
    };

    void event(Event::Kind kind, vt::Time at, std::uint32_t mode) {
        const Event made{tick_of(at), mode, kind, Event::none, Event::none, 0};
        events_.put(app::RecordTable::event, Event::none, &made, sizeof made);
    }

    // Lets devices act by themselves until then.
    void advance(vt::Time now) {
        const Ticks tick = tick_of(now);
        const Ticks end = start + ticks_of(config_.duration());
        while (!flows_.empty() && flows_.next() <= tick && flows_.next() < end) {
            Clock::set(flows_.next());
            flows_.write_next();
            drain_full(shared_.rings.of_devices());
        }
        for (Link& link : links_) {
            while (const auto arrived = link.turns->next(tick)) {
                deliver(link, *arrived);
            }
            for (const auto& carrier : link.carriers) {
                serve_words(*carrier);
            }
        }
        Clock::set(tick);
    }

    struct Link {
        std::vector<std::unique_ptr<Carrier>> carriers;
        std::vector<std::uint16_t> channels;
        std::vector<std::uint32_t> written;
        std::optional<LinkTurns> turns;
    };
    void note_written(Ticks tick) {
        for (Link& link : links_) {
            for (std::size_t i = 0; i < link.carriers.size(); ++i) {
                for (; link.written[i] != link.carriers[i]->written(); ++link.written[i]) {
                    link.turns->written(i, tick);
                }
            }
        }
    }
    // The words that come back take no time of their own here: the platform's figure is of a block with its
    // word.
    void deliver(Link& link, const LinkTurns::Arrival& arrived) {
        Carrier& carrier = *link.carriers[arrived.channel];
        serve_words(carrier);
        const Carrier::Served served = carrier.serve();
        const Operation made{arrived.at,
                             served.sequence,
                             0,
                             Event::none,
                             link.channels[arrived.channel],
                             Operation::delivered,
                             1,
                             0};
        events_.put(app::RecordTable::operation, Event::none, &made, sizeof made);
    }
    static void serve_words(Carrier& carrier) {
        while (carrier.word_is_next()) {
            carrier.serve();
        }
    }

    void begin(std::uint32_t task, const vt::JobTimes& job, vt::Time now) {
        advance(now);
        Running& t = tasks_[task];
        const vt::Time ready = job.ready == app::absent ? job.release : job.ready;
        t.prepared->runner().begin(tick_of(job.release), tick_of(ready),
                                   tick_of(job.release + system_->tasks[task].deadline), job.seq);
        UnderWay begun{t.prepared->runner().under_way(), {}};
        begun.out.assign(t.computed.get(), t.computed.get() + t.bytes);
        t.under_way.push_back(std::move(begun));
        t.next = job.seq + std::uint64_t{1};
    }

    // The job that began last. A stand-in's own execution is the executive's: nothing burns time here.
    void compute_step(Running& t) {
        if (t.stand_in) {
            return;
        }
        UnderWay& begun = t.under_way.back();
        const app::Computation& step = t.prepared->data().computation;
        Job ignored{};
        step.finish(step.self, t.computed.get(), 0, ignored);
        begun.out.assign(t.computed.get(), t.computed.get() + t.bytes);
    }

    // At the same points in every run, so that records are alike to the byte. What is not in a ring any more
    // is in its file: should a step end this process, another one completes the record from both.
    void drain(std::uint32_t task) {
        drain_full(shared_.rings.of_task(task));
        drain_full(shared_.rings.of_supervisor());
    }
    void drain_full(const app::RingMemory& ring) {
        const std::uint32_t there =
            ring.written.load(std::memory_order_relaxed) - ring.read.load(std::memory_order_relaxed);
        if (there > ring.capacity / 2) {
            record_.drain();
            record_.settle();
        }
    }

    vt::Machine& machine_;
    const RunConfig& config_;
    const vt::Given& given_;
    const vt::System* system_;  // as it is in the present mode
    SharedRun& shared_;
    RunRegion region_;
    Region<> attached_;
    Devices devices_;
    DeviceFlows flows_;
    app::RingWriter events_;
    RunRecord record_;
    std::vector<Running> tasks_;
    std::vector<Link> links_;
};

int compute(const RunConfig& config, const Catalogue& catalogue, const vt::Given& given,
            const std::filesystem::path& raw, SharedRun& shared) {
    name_crashes();
    vt::Machine machine;
    Steps steps(config, catalogue, given, raw, shared, machine);
    note_start(raw, Steps::start);
    const vt::Outcome outcome = machine.run(given.modes, given.settings, nullptr, &steps);
    steps.complete();
    shared.run[0].stop_workers.store(1, std::memory_order_release);
    if (outcome.stopped != app::never) {
        std::fprintf(stderr, "a missing answer ended the run after %.6f s\n",
                     static_cast<double>(outcome.stopped) / static_cast<double>(given.ticks_per_second));
        return system_fails;
    }
    return good;
}

// The steps compute in a process of their own; this one says which of them ended it, or did not end, and
// keeps what was recorded.
class Computation {
  public:
    Computation(const RunConfig& config, const Catalogue& catalogue, const vt::Given& given,
                std::filesystem::path raw)
        : config_(config), catalogue_(catalogue), given_(given), raw_(std::move(raw)), shared_(config) {}

    int run() {
        Supervisor supervisor({.time_limit = std::chrono::hours(24 * 365), .priority = 0});
        supervisor.add({"steps",
                        [this] {
                            return run_program("executive", [this] {
                                return compute(config_, catalogue_, given_, raw_, shared_);
                            });
                        },
                        true, 0});
        supervisor.tick = std::chrono::milliseconds(100);
        supervisor.on_tick = [this](const std::vector<ChildStatus>& children) { look(children.front()); };
        const Outcome outcome = supervisor.run();
        const ChildStatus& status = outcome.children.front();
        const bool complete = shared_.run[0].stop_workers.load(std::memory_order_acquire) != 0;
        if (complete || status.code == bad_input || status.code == environment_lacks) {
            return status.code;
        }
        if (outcome.interrupted_by != 0) {
            std::fprintf(stderr, "the run was ended by %s\n", signal_words(outcome.interrupted_by).c_str());
        } else {
            explain(status);
        }
        complete_record(config_, catalogue_, shared_, raw_, Steps::start, true);
        return system_fails;
    }

  private:
    // How long a job may compute without anything else happening: what takes no time here takes some.
    [[nodiscard]] std::chrono::nanoseconds longest(std::uint16_t task) const {
        return std::chrono::seconds(5) + 10 * std::chrono::nanoseconds(config_.longest_deadline(task) / 1000);
    }

    [[nodiscard]] std::uint16_t at() const {
        for (std::uint16_t i = 0; i < config_.tasks.size(); ++i) {
            if (shared_.tasks[i].began.load(std::memory_order_relaxed) != 0) {
                return i;
            }
        }
        return Event::none;
    }

    void look(const ChildStatus& steps) {
        const std::uint16_t task = at();
        const std::uint64_t began = task == Event::none ? 0 : shared_.tasks[task].began.load();
        const auto now = std::chrono::steady_clock::now();
        const bool stopped = steps.running && stopped_by(steps.pid) != 0;
        if (!stopped) {
            ran_ = now;
        } else if (now - ran_ >= std::chrono::seconds(2)) {
            // Whoever stopped it may be gone. Its time stood still meanwhile: nothing came late.
            ran_ = now;
            ::kill(steps.pid, SIGCONT);
        }
        if (stopped || began == 0 || began != began_) {
            began_ = began;
            since_ = now;
            withheld_ = std::chrono::nanoseconds(withheld_ns(steps.pid));
            return;
        }
        const std::chrono::nanoseconds withheld(withheld_ns(steps.pid));
        if (!ended_ && now - since_ > longest(task) + (withheld - withheld_)) {
            ended_ = true;
            ::kill(steps.pid, SIGKILL);
        }
    }

    void explain(const ChildStatus& status) {
        const std::uint16_t task = at();
        std::string text;
        if (task != Event::none) {
            // In the first mode that has it: where it was computed is known to nobody any more.
            const std::uint32_t mode = config_.mode_with(task);
            const auto core = static_cast<std::uint16_t>(config_.image.task(mode, task).core);
            text = "core " + config_.cores[core].name + ", task " + config_.tasks[task].name + ", job " +
                   std::to_string(shared_.tasks[task].job.load()) + ": ";
            const Event::Kind kind = ended_ ? Event::over_budget : Event::crashed;
            const auto value = ended_ ? Ticks{0} : static_cast<Ticks>(status.signal);
            const Event made{shared_.run[0].start.load(), value, kind, task, core, 0};
            app::RingWriter(shared_.rings.of_supervisor())
                .put(app::RecordTable::event, task, &made, sizeof made);
        }
        if (ended_) {
            const auto s = std::chrono::duration_cast<std::chrono::seconds>(longest(task)).count();
            text += "the step did not end within " + std::to_string(s) + " s and was ended";
        } else {
            text += ending_words(status);
        }
        std::fprintf(stderr, "%s\n", text.c_str());
    }

    const RunConfig& config_;
    const Catalogue& catalogue_;
    const vt::Given& given_;
    std::filesystem::path raw_;
    SharedRun shared_;
    std::uint64_t began_ = 0;
    std::chrono::steady_clock::time_point since_{};
    std::chrono::steady_clock::time_point ran_ = std::chrono::steady_clock::now();  // seen running last
    std::chrono::nanoseconds withheld_{};
    bool ended_ = false;
};

}  // namespace

int run_in_virtual_time(const RunConfig& config, const Catalogue& catalogue, const std::filesystem::path& raw,
                        const std::string& summary) {
    if (!summary.empty()) {
        throw std::invalid_argument("--summary: a run in virtual time cannot be watched");
    }
    const vt::Given given = vt::from_plan(config.image);
    Clock::drive(given.ticks_per_second);
    return Computation(config, catalogue, given, raw).run();
}

}  // namespace consort::linux_port
