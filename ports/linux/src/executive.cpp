// SPDX-License-Identifier: Apache-2.0
//
// The executive's program: a process for each core, a recorder, and a supervisor above all of them. The
// memory of a run is anonymous and every process dies with the supervisor, so a run leaves nothing behind
// however it ends.
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "consort/linux/executive/catalogue.hpp"
#include "consort/linux/executive/cluster_process.hpp"
#include "consort/linux/executive/core_process.hpp"
#include "consort/linux/executive/device_process.hpp"
#include "consort/linux/executive/files.hpp"
#include "consort/linux/executive/link_process.hpp"
#include "consort/linux/executive/mode_process.hpp"
#include "consort/linux/executive/recorder_process.hpp"
#include "consort/linux/executive/run_region.hpp"
#include "consort/linux/executive/stuck_steps.hpp"
#include "consort/linux/executive/where.hpp"
#include "consort/linux/executive/worker_process.hpp"
#include "consort/linux/program.hpp"
#include "consort/linux/watchdog.hpp"

namespace consort::linux_port {

void refuse(const std::string& object, const Refusal& refusal) {
    std::string text = object + ": " + to_string(refusal.reason);
    if (refusal.reason == Reason::wrong_layout) {
        text += " (member '" + std::string(refusal.member.view()) + "': " + refusal.aspect + " " +
                std::to_string(refusal.expected) + " here, " + std::to_string(refusal.found) +
                " in the region)";
    }
    throw std::invalid_argument(text);
}

namespace {

class Executive {
  public:
    Executive(const RunConfig& config, const Catalogue& catalogue, std::filesystem::path raw,
              std::string summary)
        : config_(config),
          catalogue_(catalogue),
          raw_(std::move(raw)),
          summary_(std::move(summary)),
          shared_(config),
          region_(config, catalogue),
          hand_overs_(config, catalogue),
          events_(shared_.rings.of_supervisor()),
          fail_over_(config_, shared_),
          stuck_(config_, shared_) {}

    int run() {
        Clock::info();
        SupervisorOptions options;
        options.priority = config_.realtime ? highest_priority() + 10 : 0;
        const app::Time run_ms = config_.duration() / 1'000'000'000;
        // Twice the run's length, as a machine may be busy, and time to start and to write the record.
        options.time_limit = std::chrono::milliseconds(2 * run_ms + 60'000);
        Supervisor supervisor(options);
        add_cores(supervisor);
        if (DeviceProcess::needed(config_)) {
            supervisor.add({"devices",
                            [this] {
                                return run_program("devices", [this] {
                                    return DeviceProcess(config_, catalogue_, shared_).run(region_.attach());
                                });
                            },
                            false, 0});
            child_cores_.emplace_back();
        }
        if (ModeProcess::needed(config_)) {
            supervisor.add({"modes",
                            [this] {
                                return run_program("modes", [this] {
                                    return ModeProcess(config_, shared_, highest_priority() + 5).run();
                                });
                            },
                            false, 0});
            child_cores_.emplace_back();
        }
        for (std::size_t i = 0; i < config_.links.size(); ++i) {
            links_.push_back(child_cores_.size());
            supervisor.add({"link:" + config_.links[i].name,
                            [this, i] {
                                return run_program("link", [this, i] {
                                    return LinkProcess(config_, catalogue_, shared_, i,
                                                       highest_priority() + 3)
                                        .run(region_.attach());
                                });
                            },
                            false, most_link_restarts});
            child_cores_.emplace_back();
        }
        recorder_ = supervisor.add(
            {"recorder",
             [this] {
                 return run_program("recorder", [this] {
                     return RecorderProcess(config_, catalogue_, shared_, raw_, summary_).run();
                 });
             },
             true, 0});
        supervisor.on_start = [this](std::size_t child, const ChildStatus& status) {
            started(child, status);
        };
        supervisor.on_death = [this](std::size_t child, const ChildStatus& status) { ended(child, status); };
        supervisor.tick = std::chrono::milliseconds(config_.faults.empty() ? 20 : 1);
        if (fail_over_.needed()) {
            supervisor.tick = std::min(supervisor.tick, fail_over_.look_interval());
        }
        supervisor.on_tick = [this](const std::vector<ChildStatus>& children) { look(children); };
        return conclude(supervisor.run(), options.time_limit);
    }

  private:
    // Says how the run ended, and returns its status. The record is complete afterwards.
    int conclude(const Outcome& outcome, std::chrono::milliseconds time_limit) {
        const ChildStatus& status = outcome.children[recorder_];
        for (const std::string& sentence : sentences_) {
            std::fprintf(stderr, "%s\n", sentence.c_str());
        }
        bool broken_off = true;
        if (outcome.timed_out) {
            std::string why = unfinished(config_, shared_);
            if (why.empty()) {
                why = "every job was released, but these processes had not ended: " +
                      outcome.ended_by_supervisor();
            }
            std::fprintf(stderr, "the run was ended by its time bound of %.0f s: %s\n",
                         std::chrono::duration<double>(time_limit).count(), why.c_str());
        } else if (outcome.interrupted_by != 0) {
            std::fprintf(stderr, "the run was ended by %s\n", signal_words(outcome.interrupted_by).c_str());
        } else if (status.signal != 0) {
            std::fprintf(stderr, "the recorder was ended by %s: what it had not written is lost\n",
                         signal_words(status.signal).c_str());
        } else {
            broken_off = false;
        }
        if (status.signal != 0 && shared_.run[0].start.load() != 0) {
            complete_record(config_, catalogue_, shared_, raw_, shared_.run[0].start.load(), false);
        }
        if (broken_off) {
            return system_fails;
        }
        if (bad_status_ != 0 || status.code != 0) {
            return bad_status_ != 0 ? bad_status_ : status.code;
        }
        return unasked_ ? core_fails : good;
    }

    [[nodiscard]] int highest_priority() const {
        int level = 3;
        const plan::Head& head = config_.image.head();
        for (std::uint32_t row = 0; row < head.modes * head.cores; ++row) {
            level = std::max(level, config_.level(row / head.cores, row % head.cores, 0));
        }
        return std::min(config_.priority + level, 88);
    }

    // Children in the order of `child_cores_`: the cores that each of them is.
    void add_cores(Supervisor& supervisor) {
        const auto add = [&](const std::string& name, std::vector<std::uint16_t> cores, unsigned restarts,
                             auto body) {
            supervisor.add({name, [name, body] { return run_program(name.c_str(), body); }, false, restarts});
            child_cores_.push_back(std::move(cores));
        };
        for (std::uint16_t i = 0; i < config_.cores.size(); ++i) {
            const CoreConfig& core = config_.cores[i];
            if (!used(config_, i) || config_.policy(i) == plan::Policy::three_phase) {
                continue;
            }
            if (config_.is_worker(i)) {
                add(core.name, {i}, core.max_restarts, [this, i] {
                    return WorkerProcess(config_, catalogue_, shared_, i).run(region_.attach());
                });
            } else {
                add(core.name, {i}, 0, [this, i] {
                    return CoreProcess(config_, catalogue_, shared_, i, hand_overs_).run(region_.attach());
                });
            }
        }
        for (std::uint32_t dma = 0; dma < config_.image.count(plan::Table::dmas); ++dma) {
            std::vector<std::uint16_t> cores = ClusterProcess::cores_of(config_, dma);
            std::erase_if(cores, [this](std::uint16_t core) { return !used(config_, core); });
            if (!cores.empty()) {
                const std::string name = "three-phase:" + config_.cores[cores.front()].name;
                add(name, cores, 0, [this, dma] {
                    return ClusterProcess(config_, dma, catalogue_, shared_).run(region_.attach());
                });
            }
        }
    }

    void event(Event::Kind kind, std::uint16_t task, std::uint16_t core, std::uint64_t value,
               std::uint16_t cause = 0) {
        const Event made{Clock::now(), value, kind, task, core, cause};
        events_.put(app::RecordTable::event, task, &made, sizeof made);
    }

    // The link whose engine a child is.
    [[nodiscard]] std::optional<std::size_t> link_at(std::size_t child) const {
        const auto found = std::find(links_.begin(), links_.end(), child);
        return found == links_.end() ? std::nullopt : std::optional<std::size_t>(found - links_.begin());
    }
    void link_ended(std::size_t link, const ChildStatus& status) {
        LinkLine& line = shared_.links[link];
        if (status.failed() && shared_.run[0].stop_workers.load() == 0 && !shared_.stopping()) {
            line.deaths.fetch_add(1);
            const std::uint32_t silent = line.silent.exchange(0);
            const Event made{Clock::now(), link,        Event::link_died,
                             Event::none,  Event::none, static_cast<std::uint16_t>(silent)};
            events_.put(app::RecordTable::event, Event::none, &made, sizeof made);
            if (status.restarts >= most_link_restarts || status.code == bad_input) {
                sentences_.push_back("the engine of the link " + config_.links[link].name +
                                     " ended again and again before the run did");
                shared_.stop();
            }
        }
        line.pulse.store(0);
        line.alive.store(0);
    }
    // An engine that gives no sign of life is ended, and another one goes on.
    void end_silent_links(const std::vector<ChildStatus>& children, Ticks now) {
        for (std::size_t link = 0; link < links_.size(); ++link) {
            LinkLine& line = shared_.links[link];
            const Ticks pulse = line.pulse.load();
            // Where the supervisor itself was kept from its processor, so were others.
            const bool looked = now - links_looked_ < Clock::from_ns(config_.links[link].silence_ns) / 2;
            if (looked && children[links_[link]].running && pulse != 0 && now > pulse &&
                now - pulse > Clock::from_ns(config_.links[link].silence_ns) && line.silent.load() == 0) {
                line.silent.store(1);
                ::kill(children[links_[link]].pid, SIGKILL);
            }
        }
        links_looked_ = now;
    }

    void started(std::size_t child, const ChildStatus& status) {
        if (const auto link = link_at(child)) {
            shared_.links[*link].alive.store(1);
            return;
        }
        if (child >= child_cores_.size() || child_cores_[child].empty()) {
            return;
        }
        for (const std::uint16_t core : child_cores_[child]) {
            shared_.cores[core].over_budget.store(0);
            shared_.cores[core].serving.store(0);
            shared_.cores[core].alive.store(1);
            event(Event::started, Event::none, core, static_cast<std::uint64_t>(status.pid));
        }
    }

    void ended(std::size_t child, const ChildStatus& status) {
        if (const auto link = link_at(child)) {
            link_ended(*link, status);
            return;
        }
        if (child >= child_cores_.size()) {
            return;
        }
        if (child_cores_[child].empty()) {
            if (status.failed() && shared_.run[0].stop_workers.load() == 0) {
                sentences_.push_back(
                    (status.name == "modes" ? "what changes modes: " : "what plays the devices: ") +
                    manner(child, status));
                shared_.stop();
            }
            return;
        }
        const std::uint16_t first = child_cores_[child].front();
        const bool worker = config_.is_worker(first);
        const bool restarts = status.restarts < config_.cores[first].max_restarts;
        const bool finished =
            std::all_of(child_cores_[child].begin(), child_cores_[child].end(), [&](std::uint16_t core) {
                return worker ? shared_.run[0].stop_workers.load() != 0
                              : shared_.cores[core].finished.load(std::memory_order_acquire) != 0;
            });
        const bool good_end = finished && status.signal == 0 && status.code == 0;
        const auto follows = good_end ? std::nullopt : fail_over_.after(first);
        const auto [fault, task] = blamed(child);
        for (const std::uint16_t core : child_cores_[child]) {
            CoreLine& line = shared_.cores[core];
            if (status.failed() || !good_end) {
                line.deaths.fetch_add(1);
                if (follows) {
                    const Ticks now = Clock::now();
                    const Ticks sign =
                        std::min(now, std::max(line.pulse.load(), shared_.run[0].start.load()));
                    event(Event::core_died, Event::none, core, now - sign,
                          static_cast<std::uint16_t>(line.silent.load()));
                } else if (worker) {
                    event(Event::worker_died, task, core, static_cast<std::uint64_t>(status.signal));
                } else if (core == fault && endings_.find(core) == endings_.end()) {
                    event(Event::crashed, task, core, static_cast<std::uint64_t>(status.signal));
                }
            } else {
                event(Event::ended, Event::none, core, 0);
            }
            if (!good_end && !restarts) {
                line.code.store(status.code != 0 || status.signal != 0 ? status.code : 125);
                line.signal.store(status.signal);
            }
            line.alive.store(0);
        }
        // A process that is ended because the run is needs no words.
        if (!good_end && !status.killed_by_supervisor) {
            explain(child, status, restarts, follows);
        }
        if (follows) {
            CoreLine& line = shared_.cores[first];
            line.died_at.store(Clock::now());
            line.dead.store(1, std::memory_order_release);
            note_acknowledgement(shared_);
            return;
        }
        if (!good_end && !worker) {
            // Bad input and a lacking machine are the program's own words already.
            bad_status_ =
                status.code == bad_input || status.code == environment_lacks ? status.code : bad_status_;
            shared_.stop();
        }
    }

    // The user asked for a fault of it.
    [[nodiscard]] bool asked_for(std::size_t child) const {
        if (child >= child_cores_.size()) {
            return false;
        }
        const auto& cores = child_cores_[child];
        return std::any_of(config_.faults.begin(), config_.faults.end(), [&](const FaultConfig& fault) {
            const auto of_core = [&](std::uint16_t core) {
                return fault.task   ? config_.releases(core, *fault.task)
                       : fault.core ? *fault.core == core
                                    : config_.is_worker(core);
            };
            return !fault.link && std::any_of(cores.begin(), cores.end(), of_core);
        });
    }

    // The core of a child that ended, and its task, that it ended for: several may be in one process.
    [[nodiscard]] std::pair<std::uint16_t, std::uint16_t> blamed(std::size_t child) const {
        const auto& cores = child_cores_[child];
        std::pair<std::uint16_t, std::uint16_t> found{cores.front(), Event::none};
        for (const std::uint16_t core : cores) {
            const std::uint16_t task = task_at(config_, shared_, core);
            const bool sure = shared_.cores[core].over_budget.load() != 0 ||
                              (task != Event::none && shared_.tasks[task].fault.load() != 0);
            if (sure || (found.second == Event::none && task != Event::none)) {
                found = {core, task};
            }
            if (sure) {
                break;
            }
        }
        return found;
    }

    void explain(std::size_t child, const ChildStatus& status, bool restarts,
                 std::optional<std::uint32_t> follows) {
        if (status.code == bad_input || status.code == environment_lacks) {
            return;
        }
        const auto [core, task] = blamed(child);
        const CoreLine& line = shared_.cores[core];
        const auto stuck = endings_.find(core);
        if (restarts && asked_for(child)) {
            return;
        }
        unasked_ = unasked_ || !(follows || asked_for(child));
        std::string text = "core " + config_.cores[core].name;
        if (task != Event::none) {
            const std::uint32_t job =
                line.serving.load() != 0 ? line.serving_job.load() : shared_.tasks[task].job.load();
            text += ", task " + config_.tasks[task].name + ", job " + std::to_string(job);
        }
        if (line.silent.load() != 0) {
            text += ": it gave no sign of life and was ended";
        } else if (stuck != endings_.end()) {
            const std::uint64_t ms = Clock::to_ns(stuck->second.lasts) / 1'000'000U;
            text += stuck->second.after_end ? ": the step had not ended after " + std::to_string(ms) +
                                                  " ms, when the run was over, and was ended"
                                            : ": the step did not end within " +
                                                  std::to_string(config_.tasks[task].budget_ns / 1'000'000U) +
                                                  " ms and was ended";
            endings_.erase(stuck);
        } else {
            text += ": " + manner(child, status);
        }
        if (const std::uint32_t change = shared_.run[0].change.load(); change != 0) {
            text += ", during the change of mode " + config_.modes[(change - 1) >> 16U] + " -> " +
                    config_.modes[(change - 1) & 0xffffU];
        }
        if (follows) {
            text += "; the others go on in the mode " + config_.modes[*follows];
        }
        sentences_.push_back(text);
    }

    // A step that does not end: its core is ended, and the run with it.
    void look(const std::vector<ChildStatus>& children) {
        const Ticks now = Clock::now();
        stuck_.look(now);
        for (std::size_t child = 0; child < child_cores_.size(); ++child) {
            for (const std::uint16_t core : child_cores_[child]) {
                // A killed process runs on until it is reaped: one that was ended is not ended again.
                CoreLine& line = shared_.cores[core];
                if (!children[child].running || line.over_budget.load() != 0) {
                    continue;
                }
                if (const auto step = stuck_.on(core, children[child].pid, now)) {
                    line.over_budget.store(std::uint32_t{1} + step->task);
                    endings_[core] = *step;
                    event(Event::over_budget, step->task, core, step->lasts);
                    ::kill(children[child].pid, SIGKILL);
                    break;
                }
            }
        }
        look_for_stopped_ones(children, now);
        end_silent_ones(children, now);
        end_silent_links(children, now);
        make_faults(children, now);
    }

    // A process that somebody stopped: its jobs are not done, and it would be waited for. Without the
    // recorder nothing is kept, so it goes on.
    void look_for_stopped_ones(const std::vector<ChildStatus>& children, Ticks now) {
        if (now - stopped_looked_ < Clock::from_ns(100'000'000)) {
            return;
        }
        stopped_looked_ = now;
        stopped_.resize(children.size());
        for (std::size_t child = 0; child < children.size(); ++child) {
            const bool looked_at = children[child].running && !link_at(child) && !asked_for(child);
            const int signal = looked_at ? stopped_by(children[child].pid) : 0;
            Stopped& known = stopped_[child];
            if (signal == 0) {
                known.since = 0;
                continue;
            }
            known.since = known.since == 0 ? now : known.since;
            if (known.signal != 0 || now - known.since < Clock::from_ns(2'000'000'000)) {
                continue;
            }
            if (child == recorder_) {
                unasked_ = true;
                sentences_.push_back("the recorder was stopped by " + signal_words(signal) +
                                     " and was continued after 2 s");
                known.since = 0;
                ::kill(children[child].pid, SIGCONT);
            } else {
                known.signal = signal;
                ::kill(children[child].pid, SIGKILL);
            }
        }
    }
    // How a process ended, in words.
    [[nodiscard]] std::string manner(std::size_t child, const ChildStatus& status) const {
        if (child < stopped_.size() && stopped_[child].signal != 0) {
            return "the process was stopped by " + signal_words(stopped_[child].signal) + " and was ended";
        }
        return ending_words(status);
    }

    // Whoever gave no sign of life is ended before others go on for it.
    void end_silent_ones(const std::vector<ChildStatus>& children, Ticks now) {
        for (std::size_t child = 0; child < child_cores_.size() && fail_over_.needed(); ++child) {
            for (const std::uint16_t core : child_cores_[child]) {
                if (!children[child].running || shared_.cores[core].silent.load() != 0) {
                    continue;
                }
                if (const auto death = fail_over_.silent(core, now, looked_)) {
                    shared_.cores[core].silent.store(*death);
                    ::kill(children[child].pid, SIGKILL);
                }
            }
        }
        looked_ = now;
    }

    // Faults that the user asked for.
    void make_faults(const std::vector<ChildStatus>& children, Ticks now) {
        const Ticks start = shared_.run[0].start.load();
        if (start == 0 || now < start) {
            return;
        }
        faults_done_.resize(config_.faults.size(), 0);
        for (std::size_t f = 0; f < config_.faults.size(); ++f) {
            const FaultConfig& fault = config_.faults[f];
            if (fault.link) {
                if (faults_done_[f] == 0 && now >= start + Clock::from_ns(fault.at_ns)) {
                    faults_done_[f] = 1;
                    break_link(fault, children[links_[*fault.link]]);
                }
                continue;
            }
            for (std::size_t child = 0; child < child_cores_.size(); ++child) {
                if (child_cores_[child].empty() || !children[child].running || fault.task) {
                    continue;
                }
                const std::uint16_t core = child_cores_[child].front();
                if (fault.core ? core != *fault.core : !config_.is_worker(core)) {
                    continue;
                }
                const Ticks at = start + Clock::from_ns(fault.at_ns);
                const Ticks until = at + Clock::from_ns(fault.for_ns);
                if (now >= at && faults_done_[f] == 0) {
                    faults_done_[f] = 1;
                    ::kill(children[child].pid, fault.kind.starts_with("kill") ? SIGKILL : SIGSTOP);
                }
                if (fault.kind == "stop-worker" && now >= until && faults_done_[f] == 1) {
                    faults_done_[f] = 2;
                    ::kill(children[child].pid, SIGCONT);
                }
            }
        }
    }

    void break_link(const FaultConfig& fault, const ChildStatus& child) {
        LinkLine& line = shared_.links[*fault.link];
        if (fault.kind == "fail-link") {
            line.fail.fetch_add(1);
        } else if (fault.kind == "hang-link") {
            line.hang.fetch_add(1);
        } else if (child.running) {
            ::kill(child.pid, fault.kind == "kill-link" ? SIGKILL : SIGSTOP);
        }
    }

    static constexpr unsigned most_link_restarts = 100;

    const RunConfig& config_;
    const Catalogue& catalogue_;
    std::filesystem::path raw_;
    std::string summary_;
    SharedRun shared_;
    RunRegion region_;
    HandOverMemory hand_overs_;
    app::RingWriter events_;
    FailOver fail_over_;
    StuckSteps stuck_;
    std::map<std::uint16_t, StuckSteps::Step> endings_;  // by core, of those that were ended for it
    Ticks looked_ = 0;
    std::vector<std::vector<std::uint16_t>> child_cores_;
    std::vector<std::size_t> links_;  // the child that is each link's engine
    Ticks links_looked_ = 0;
    std::vector<std::string> sentences_;
    std::vector<int> faults_done_;
    struct Stopped {
        Ticks since = 0;
        int signal = 0;  // for which it was ended
    };
    std::vector<Stopped> stopped_;  // by child
    Ticks stopped_looked_ = 0;
    std::size_t recorder_ = 0;
    int bad_status_ = 0;
    bool unasked_ = false;  // a core ended that nobody asked to, and the run went on
};

// The tasks, channels and bindings that this run has, in the order of the configuration: a program may have
// more, where its cores are run one after another.
Catalogue selected(const Catalogue& all, const RunConfig& config) {
    Catalogue found;
    found.attach_state = all.attach_state;
    const auto take = [](const auto& from, auto& to, const std::string& name, const char* what) {
        for (const auto& entry : from) {
            if (entry.name == name) {
                to.push_back(entry);
                return;
            }
        }
        throw std::invalid_argument("the program has no " + std::string(what) + " " + name);
    };
    for (const TaskConfig& task : config.tasks) {
        take(all.tasks, found.tasks, task.name, "task");
    }
    for (const std::string& channel : config.channels) {
        take(all.channels, found.channels, channel, "channel");
    }
    for (const Binding& binding : all.bindings) {
        for (const TaskConfig& task : config.tasks) {
            if (binding.task == task.name) {
                found.bindings.push_back(binding);
            }
        }
        if (binding.task.empty()) {
            found.bindings.push_back(binding);
        }
    }
    found.devices = all.devices;
    return found;
}

struct Arguments {
    std::string config;
    std::string raw;
    std::string summary;
    std::string task;
    std::string parts;
    std::string image;
    pid_t parent = 0;
    bool describe = false;
    bool replay = false;
    bool complete = false;
};

Arguments read_arguments(int argc, char** argv) {
    Arguments found;
    for (int i = 1; i < argc; ++i) {
        const std::string name = argv[i];
        const auto value = [&]() -> std::string {
            if (i + 1 == argc) {
                throw std::invalid_argument(name + " needs a value");
            }
            return argv[++i];
        };
        if (name == "--describe") {
            found.describe = true;
        } else if (name == "--parts") {
            found.parts = value();
        } else if (name == "--image") {
            found.image = value();
        } else if (name == "--replay") {
            found.replay = true;
        } else if (name == "--complete") {
            found.complete = true;
        } else if (name == "--config") {
            found.config = value();
        } else if (name == "--raw") {
            found.raw = value();
        } else if (name == "--summary") {
            found.summary = value();
        } else if (name == "--task") {
            found.task = value();
        } else if (name == "--parent") {
            found.parent = static_cast<pid_t>(std::stol(value()));
        } else {
            throw std::invalid_argument(name +
                                        ": no such option; --describe [--image FILE], --parts FOLDER, or"
                                        " --config FILE --raw FOLDER [--summary FILE]"
                                        " [--replay [--task NAME]] [--complete] [--parent PID]");
        }
    }
    if (!found.describe && found.parts.empty() && (found.config.empty() || found.raw.empty())) {
        throw std::invalid_argument("--config FILE and --raw FOLDER are needed");
    }
    return found;
}

// `of`: the catalogue, from the file of a plan image where the program needs one.
template <class Of>
int executive_of(int argc, char** argv, Of of, RunProgram run) {
    return run_program("executive", [&]() -> int {
        const Arguments arguments = read_arguments(argc, argv);
        if (arguments.describe) {
            std::printf("%s\n", described(of(arguments.image)).c_str());
            return good;
        }
        if (!arguments.parts.empty()) {
            write_parts(of(arguments.image), arguments.parts);
            return good;
        }
        if (arguments.parent != 0 && !die_with_parent(arguments.parent, SIGTERM)) {
            return system_fails;
        }
        const RunConfig config = read_run_config(arguments.config);
        const Catalogue mine = selected(of(config.image_file), config);
        if (arguments.complete) {
            // Whoever wrote it was killed.
            const Ticks start = start_of(arguments.raw);
            if (start != 0) {
                SharedRun nothing(config);
                complete_record(config, mine, nothing, arguments.raw, start, false);
            }
            return start != 0 ? good : system_fails;
        }
        if (arguments.replay) {
            return replay(config, mine, arguments.raw, arguments.task);
        }
        return run(config, mine, arguments.raw, arguments.summary);
    });
}

}  // namespace

int run_on_this_machine(const RunConfig& config, const Catalogue& catalogue, const std::filesystem::path& raw,
                        const std::string& summary) {
    return Executive(config, catalogue, raw, summary).run();
}

int executive(int argc, char** argv, const Catalogue& catalogue, RunProgram run) {
    return executive_of(
        argc, argv, [&](const std::string&) -> const Catalogue& { return catalogue; }, run);
}

int executive(int argc, char** argv, CatalogueOf catalogue, RunProgram run) {
    return executive_of(argc, argv, catalogue, run);
}

}  // namespace consort::linux_port
