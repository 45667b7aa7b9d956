// SPDX-License-Identifier: Apache-2.0
//
// A whole application on Linux: a master process, worker processes, a supervisor above both.
//
// The program that `consort run` builds from system.yaml has one line of its own:
//     struct Servo : consort::offload::Task<&servo::step> { static constexpr const char* name = "servo"; };
//     int main(int argc, char** argv) { return consort::linux_port::application<Servo>(argc, argv); }
//
// The region is anonymous memory and every process dies with the supervisor, so a run leaves nothing behind
// however it ends. Exit statuses: 0 the run is complete and recorded; 1 it was ended by a policy, a lost
// process or the time bound; 2 bad input; 3 the machine lacks something.
#pragma once

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "consort/linux/app_config.hpp"
#include "consort/linux/app_shared.hpp"
#include "consort/linux/app_task.hpp"
#include "consort/linux/port.hpp"
#include "consort/linux/program.hpp"
#include "consort/linux/realtime.hpp"
#include "consort/linux/recorder.hpp"
#include "consort/linux/shared_memory.hpp"
#include "consort/linux/watchdog.hpp"
#include "consort/offload.hpp"

namespace consort::linux_port {

template <class... T>
class Application {
  public:
    Application(AppConfig config, std::string raw)
        : config_(std::move(config)),
          raw_(std::move(raw)),
          region_memory_(SharedMemory::anonymous("consort-region", region_bytes())),
          liveness_(config_.worker_cpus.size()),
          process_events_("consort-events", 1024) {
        if (config_.tasks.size() != sizeof...(T)) {
            throw std::invalid_argument("the configuration has " + std::to_string(config_.tasks.size()) +
                                        " tasks, the program " + std::to_string(sizeof...(T)));
        }
        for (std::size_t i = 0; i < config_.worker_cpus.size(); ++i) {
            served_.push_back(std::make_unique<SharedLog<offload::ServedJob>>("consort-served", all_jobs()));
            worker_realtime_.push_back(
                std::make_unique<SharedLog<WorkerRealtime>>("consort-realtime", 1 + config_.max_restarts));
        }
        make_region();
    }

    int run() {
        SupervisorOptions options;
        options.priority = config_.realtime ? config_.priority + 10 : 0;
        const auto run_ms = config_.iterations * config_.tasks[0].period_ns / 1'000'000U;
        // Twice the run's length, as a machine may be busy, and time to start and to write what was recorded.
        options.time_limit = std::chrono::milliseconds(2 * run_ms + 60'000U);
        Supervisor supervisor(options);
        for (std::size_t i = 0; i < config_.worker_cpus.size(); ++i) {
            const std::string name = "worker-" + std::to_string(i);
            supervisor.add({name,
                            [this, i, name] { return run_program(name.c_str(), [&] { return worker(i); }); },
                            false, config_.max_restarts});
        }
        const std::size_t master_index = supervisor.add(
            {"master", [this] { return run_program("master", [this] { return master(); }); }, true, 0});
        supervisor.on_start = [&](std::size_t index, const ChildStatus& status) {
            note(index, status, ProcessEvent::started);
        };
        supervisor.on_death = [&](std::size_t index, const ChildStatus& status) {
            note(index, status, ProcessEvent::ended);
        };
        const Outcome outcome = supervisor.run();
        const ChildStatus& master_status = outcome.children[master_index];
        if (outcome.timed_out) {
            std::fprintf(stderr, "the run was ended by its time bound\n");
            return system_fails;
        }
        if (outcome.interrupted_by != 0) {
            std::fprintf(stderr, "the run was ended by signal %d\n", outcome.interrupted_by);
            return system_fails;
        }
        if (master_status.signal != 0) {
            std::fprintf(stderr, "the master was ended by signal %d\n", master_status.signal);
            return system_fails;
        }
        return master_status.code;
    }

  private:
    using Controls = std::vector<std::unique_ptr<WorkerControl<>::Master>>;

    static std::size_t region_bytes() {
        return 65536 + (0 + ... +
                        (sizeof(typename offload::JobChannels<T>::RequestBox::Shared) +
                         sizeof(typename offload::JobChannels<T>::ResponseBox::Shared) +
                         2 * sizeof(typename offload::JobChannels<T>::StateBox::Shared) +
                         4 * sizeof(Leaf) *
                             (Layout<typename T::In>::count + Layout<typename T::Out>::count +
                              Layout<typename T::State>::count + 16)));
    }

    [[nodiscard]] std::uint64_t jobs_of(const TaskConfig& task) const {
        return (config_.iterations * config_.tasks[0].period_ns + task.period_ns - 1) / task.period_ns;
    }
    [[nodiscard]] std::uint64_t all_jobs() const {
        std::uint64_t sum = 0;
        for (const TaskConfig& task : config_.tasks) {
            sum += jobs_of(task);
        }
        return sum;
    }

    static std::string control_name(std::size_t worker) { return "worker-" + std::to_string(worker); }

    void make_region() {
        RegionMaker<>::Options options;
        options.creator = static_cast<std::uint32_t>(::getpid());
        options.object_capacity = static_cast<std::uint32_t>(4 * sizeof...(T) + config_.worker_cpus.size());
        options.leaf_capacity =
            static_cast<std::uint32_t>((0 + ... +
                                        (Layout<typename T::In>::count + Layout<typename T::Out>::count +
                                         2 * Layout<typename T::State>::count + 16)));
        auto maker = RegionMaker<>::begin(region_memory_.base(), region_memory_.bytes(), options);
        if (!maker) {
            throw std::invalid_argument(to_string(maker.refusal().reason));
        }
        (add_channels<T>(maker.value(), T::name), ...);
        for (std::size_t i = 0; i < config_.worker_cpus.size(); ++i) {
            if (const auto added = maker.value().template add<WorkerControl<>>(control_name(i)); !added) {
                throw std::invalid_argument(control_name(i) + ": " + to_string(added.refusal().reason));
            }
        }
        if (const auto published = maker.value().publish(); !published) {
            throw std::invalid_argument(to_string(published.refusal().reason));
        }
    }

    [[nodiscard]] Region<> attach() const {
        auto region = Region<>::attach(region_memory_.base(), region_memory_.bytes());
        if (!region) {
            throw std::invalid_argument(to_string(region.refusal().reason));
        }
        return region.value();
    }

    void note(std::size_t index, const ChildStatus& status, ProcessEvent::Kind kind) {
        if (index < config_.worker_cpus.size()) {
            liveness_.set(index, kind == ProcessEvent::started);
        }
        process_events_.append({Clock::now(), kind, static_cast<std::uint32_t>(index), status.pid,
                                status.signal, status.code, status.restarts});
    }

    [[nodiscard]] RealtimeOptions realtime_options(int cpu) const {
        RealtimeOptions options;
        if (cpu >= 0) {
            options.cpu = cpu;
        }
        if (!config_.realtime) {
            options.policy = SCHED_OTHER;
            options.priority = 0;
            options.cpu_dma_latency = false;
        } else {
            options.priority = config_.priority;
        }
        return options;
    }

    // The worker's process: serves until it is told to stop.
    int worker(std::size_t index) {
        const RealtimeGuard realtime(realtime_options(config_.worker_cpus[index]));
        // Before the worker's epoch, at which the master begins: what was refused is always in the record.
        worker_realtime_[index]->append(WorkerRealtime::of(realtime.achieved()));
        const Region<> region = attach();
        auto* control = open_or_throw<WorkerControl<>>(region, control_name(index));
        std::size_t kind = 0;
        const auto channels_if_mine = [&]<class U>(U*) -> offload::JobChannels<U> {
            const TaskConfig& task = config_.tasks[kind++];
            return task.offloaded && task.worker == index ? open_channels<U>(region, U::name)
                                                          : offload::JobChannels<U>{};
        };
        // A braced list: evaluated in the order of the tasks, as `kind` counts.
        const std::tuple<offload::JobChannels<T>...> channels{channels_if_mine(static_cast<T*>(nullptr))...};
        const Status status = std::apply(
            [&](const auto&... c) {
                offload::Worker<LinuxPort, access::Coherent, T...> served(*control, c...);
                SharedLog<offload::ServedJob>& log = *served_[index];
                return served.serve([&](const offload::ServedJob& job) { log.append(job); });
            },
            channels);
        return status == Status::ok ? good : system_fails;
    }

    static std::sig_atomic_t volatile& stop_requested() {
        static std::sig_atomic_t volatile flag = 0;
        return flag;
    }

    int master() {
        struct sigaction action {};
        action.sa_handler = [](int) { stop_requested() = 1; };
        ::sigaction(SIGTERM, &action, nullptr);
        const Region<> region = attach();
        Controls controls;
        for (std::size_t i = 0; i < config_.worker_cpus.size(); ++i) {
            controls.push_back(std::make_unique<WorkerControl<>::Master>(
                *open_or_throw<WorkerControl<>>(region, control_name(i))));
        }
        Table<JobRecord> jobs = jobs_table();
        std::size_t kind = 0;
        const auto make = [&]<class U>(U*) {
            const auto at = kind++;
            return std::make_unique<AppTask<U>>(config_.tasks[at], static_cast<std::uint16_t>(at),
                                                jobs_of(config_.tasks[at]), region, controls);
        };
        Tasks tasks{make(static_cast<T*>(nullptr))...};
        const RealtimeGuard realtime(realtime_options(config_.master_cpu));
        if (!wait_for_workers(controls)) {
            return system_fails;
        }
        const bool stopped = cycle(tasks, jobs);
        for (const auto& control : controls) {
            control->order(Command::stop);
        }
        write(tasks, jobs, realtime.achieved(), stopped);
        return stopped ? system_fails : good;
    }

    using Tasks = std::tuple<std::unique_ptr<AppTask<T>>...>;

    [[nodiscard]] Table<JobRecord> jobs_table() const {
        Table<JobRecord> jobs("jobs", all_jobs());
        jobs.timestamp("release", &JobRecord::release)
            .timestamp("start", &JobRecord::start)
            .timestamp("sent", &JobRecord::sent)
            .timestamp("received", &JobRecord::received)
            .timestamp("finish", &JobRecord::finish)
            .duration("compute", &JobRecord::compute)
            .timestamp("worker_receive", &JobRecord::worker_receive)
            .timestamp("worker_send", &JobRecord::worker_send)
            .field("seq", &JobRecord::seq)
            .field("status", &JobRecord::status)
            .field("worker", &JobRecord::worker)
            .field("kind", &JobRecord::kind)
            .field("step", &JobRecord::step);
        nlohmann::json names = nlohmann::json::array();
        nlohmann::json periods = nlohmann::json::array();
        nlohmann::json deadlines = nlohmann::json::array();
        for (const TaskConfig& task : config_.tasks) {
            names.push_back(task.name);
            periods.push_back(task.period_ns);
            deadlines.push_back(task.deadline_ns);
        }
        jobs.attrs = {{"kinds", names}, {"period_ns", periods}, {"deadline_ns", deadlines}};
        return jobs;
    }

    // False if a worker died and is not to be started again: nothing was released, so there is nothing to
    // record.
    bool wait_for_workers(const Controls& controls) {
        const std::uint64_t limit = Clock::now() + Clock::from_ns(5'000'000'000U);
        for (std::size_t i = 0; i < controls.size(); ++i) {
            while (controls[i]->epoch() == 0) {
                if (config_.max_restarts == 0 && !liveness_.alive(i)) {
                    std::fprintf(stderr, "%s died before the first release\n", control_name(i).c_str());
                    return false;
                }
                if (Clock::now() > limit) {
                    throw std::system_error(ETIMEDOUT, std::generic_category(),
                                            "a worker did not start within 5 s");
                }
                ::usleep(100);
            }
        }
        return true;
    }

    template <class F>
    static void each(Tasks& tasks, F&& f) {
        std::apply([&](auto&... task) { (f(*task), ...); }, tasks);
    }

    // The time base: releases jobs until all are done. True if a policy or a signal ended it before.
    bool cycle(Tasks& tasks, Table<JobRecord>& jobs) {
        const ReleaseTimer timer(config_.time_base, config_.margin_ns);
        const std::uint64_t first = Clock::now() + Clock::from_ns(10'000'000U);
        each(tasks, [&](auto& task) { task.first_release(first); });
        const auto alive = [this](std::uint32_t worker) { return liveness_.alive(worker); };
        const auto event = [this](std::uint64_t tick, const char* name, std::uint32_t worker) {
            // Reserved before the run: no allocation here.
            if (events_.size() < events_.capacity()) {
                events_.push_back({tick, name, worker});
            }
        };
        bool stop = false;
        while (!stop) {
            std::uint64_t release = ~std::uint64_t{0};
            each(tasks, [&](auto& task) {
                if (!task.done() && task.next_release() < release) {
                    release = task.next_release();
                }
            });
            if (release == ~std::uint64_t{0}) {
                return false;
            }
            const std::uint64_t woke = timer.wait_until(release);
            // All that are due at this release are sent before the first answer is waited for.
            bool due[sizeof...(T)] = {};
            std::size_t at = 0;
            each(tasks, [&](auto& task) {
                due[at] = !task.done() && task.next_release() == release;
                if (due[at++]) {
                    task.begin(woke);
                }
            });
            at = 0;
            each(tasks, [&](auto& task) {
                if (due[at++]) {
                    stop = task.finish(jobs, alive, event) || stop;
                }
            });
            const std::uint64_t now = Clock::now();
            each(tasks, [&](auto& task) { task.skip_passed_releases(now, jobs); });
            stop = stop || stop_requested() != 0;
        }
        return true;
    }

    void write(Tasks& tasks, Table<JobRecord>& jobs, const Realtime& achieved, bool stopped) {
        RawWriter writer(raw_, "consort-application");
        writer.config = config_.all;
        join_worker_times(jobs);
        writer.table(jobs);
        std::uint64_t late = 0;
        each(tasks, [&](auto& task) {
            task.write(writer);
            late += task.late_answers();
        });
        write_counters(writer, jobs, late, stopped);
        for (const MasterEvent& event : events_) {
            writer.event(event.tick, event.name, {{"worker", event.worker}});
        }
        for (std::uint64_t i = 0; i < process_events_.size(); ++i) {
            const ProcessEvent e = process_events_[i];
            const bool is_master = e.worker >= config_.worker_cpus.size();
            const std::string who = is_master ? "master" : "worker";
            const char* what = e.kind == ProcessEvent::started ? "-started" : (died(e) ? "-died" : "-ended");
            writer.event(e.tick, who + what,
                         {{"worker", e.worker},
                          {"pid", e.pid},
                          {"signal", e.signal},
                          {"code", e.code},
                          {"restarts", e.restarts}});
        }
        writer.realtime(achieved);
        write_worker_realtime(writer);
        writer.finish();
    }

    // The last start of each worker; a note of an earlier one is kept.
    void write_worker_realtime(RawWriter& writer) const {
        for (std::size_t worker = 0; worker < worker_realtime_.size(); ++worker) {
            const SharedLog<WorkerRealtime>& starts = *worker_realtime_[worker];
            Realtime achieved;
            std::vector<std::string> notes;
            for (std::uint64_t i = 0; i < starts.size(); ++i) {
                achieved = starts[i].realtime();
                for (const std::string& note : achieved.notes) {
                    if (std::find(notes.begin(), notes.end(), note) == notes.end()) {
                        notes.push_back(note);
                    }
                }
            }
            achieved.notes = notes;
            if (starts.size() > 0) {
                writer.worker_realtime(control_name(worker), achieved);
            }
        }
    }

    static bool died(const ProcessEvent& event) {
        return event.kind == ProcessEvent::ended && (event.signal != 0 || event.code != 0);
    }

    void write_counters(RawWriter& writer, const Table<JobRecord>& jobs, std::uint64_t late,
                        bool stopped) const {
        std::uint64_t missed = 0;
        std::uint64_t skipped = 0;
        std::uint64_t held = 0;
        std::uint64_t fallback = 0;
        for (std::size_t i = 0; i < jobs.size(); ++i) {
            const std::uint32_t status = jobs[i].status;
            missed += (status & offload::job_status::missed) != 0 ? 1 : 0;
            skipped += (status & status_skipped_release) != 0 ? 1 : 0;
            held += (status & offload::job_status::held) != 0 ? 1 : 0;
            fallback += (status & offload::job_status::fallback) != 0 ? 1 : 0;
        }
        std::uint64_t deaths = 0;
        for (std::uint64_t i = 0; i < process_events_.size(); ++i) {
            deaths += died(process_events_[i]) ? 1 : 0;
        }
        writer.counter("jobs", jobs.size());
        writer.counter("deadline_misses", missed);
        writer.counter("releases_skipped", skipped);
        writer.counter("outputs_held", held);
        writer.counter("local_fallbacks", fallback);
        writer.counter("late_answers", late);
        writer.counter("worker_deaths", deaths);
        writer.counter("stopped_early", stopped ? 1 : 0);
    }

    // The workers' own time stamps, joined by the job's number within its task: the same clock, read on
    // another core.
    void join_worker_times(Table<JobRecord>& jobs) const {
        std::vector<std::vector<offload::ServedJob>> served(sizeof...(T));
        for (const auto& log : served_) {
            for (std::uint64_t i = 0; i < log->size(); ++i) {
                served.at((*log)[i].kind).push_back((*log)[i]);
            }
        }
        std::vector<std::uint32_t> executed(sizeof...(T));
        std::vector<std::size_t> at(sizeof...(T));
        for (std::size_t i = 0; i < jobs.size(); ++i) {
            JobRecord record = jobs[i];
            if ((record.status & status_skipped_release) != 0) {
                continue;
            }
            // Numbers grow in both, so one pass suffices.
            const std::uint32_t number = ++executed[record.kind];
            const auto& log = served[record.kind];
            std::size_t& next = at[record.kind];
            while (next < log.size() && log[next].sequence < number) {
                ++next;
            }
            if (next < log.size() && log[next].sequence == number) {
                record.worker_receive = log[next].received;
                record.worker_send = log[next].answered;
                jobs.replace(i, record);
            }
        }
    }

    struct MasterEvent {
        std::uint64_t tick;
        const char* name;
        std::uint32_t worker;
    };
    static std::vector<MasterEvent> reserved_events() {
        std::vector<MasterEvent> events;
        events.reserve(4096);
        return events;
    }

    AppConfig config_;
    std::string raw_;
    SharedMemory region_memory_;
    Liveness liveness_;
    SharedLog<ProcessEvent> process_events_;
    std::vector<std::unique_ptr<SharedLog<offload::ServedJob>>> served_;
    std::vector<std::unique_ptr<SharedLog<WorkerRealtime>>> worker_realtime_;
    std::vector<MasterEvent> events_ = reserved_events();
};

template <class... T>
int application(int argc, char** argv) {
    return run_program("consort-application", [&]() -> int {
        const char* usage = "usage: --describe | --config FILE --raw DIR [--parent PID]";
        std::string config;
        std::string raw;
        std::string parent;
        for (int i = 1; i < argc; ++i) {
            const std::string argument = argv[i];
            if (argument == "--describe") {
                nlohmann::json tasks = nlohmann::json::array();
                (tasks.push_back({{"name", T::name},
                                  {"in", layout_json<typename T::In>()},
                                  {"state", layout_json<typename T::State>()},
                                  {"out", layout_json<typename T::Out>()}}),
                 ...);
                std::printf("%s\n", nlohmann::json{{"tasks", tasks}}.dump(1).c_str());
                return good;
            }
            if (i + 1 < argc && (argument == "--config" || argument == "--raw" || argument == "--parent")) {
                (argument == "--config" ? config : argument == "--raw" ? raw : parent) = argv[++i];
                continue;
            }
            throw std::invalid_argument("unknown argument '" + argument + "'; " + usage);
        }
        if (config.empty() || raw.empty()) {
            throw std::invalid_argument(usage);
        }
        // Who started the run throws its recording away when it ends: nobody is left to want this one.
        if (!parent.empty() &&
            !die_with_parent(static_cast<pid_t>(std::strtol(parent.c_str(), nullptr, 10)))) {
            std::fprintf(stderr, "the process %s that started this run has ended\n", parent.c_str());
            return system_fails;
        }
        Application<T...> application(read_app_config(config), raw);
        return application.run();
    });
}

}  // namespace consort::linux_port
