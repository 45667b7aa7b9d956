// SPDX-License-Identifier: Apache-2.0
#include "consort/virtual/machine.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "channels.hpp"
#include "clock.hpp"
#include "core.hpp"
#include "scratchpads.hpp"

namespace consort::virtual_time {

void Observer::begun(std::uint32_t /*task*/, const JobTimes& /*job*/, Time /*now*/) {}
void Observer::finished(std::uint32_t /*task*/, const JobTimes& /*job*/, const Transfers& /*moved*/,
                        Time /*now*/) {}
void Observer::read(std::uint32_t /*task*/, std::uint32_t /*seq*/, std::uint32_t /*channel*/,
                    std::uint64_t /*sequence*/) {}
void Observer::early(std::uint32_t /*task*/, const JobTimes& /*job*/, Time /*by*/) {}
void Observer::changed(const app::ModeChanged& /*change*/) {}
void Observer::entered(std::uint32_t /*mode*/, Time /*now*/) {}
void Observer::compute(std::uint32_t /*task*/, std::uint32_t /*seq*/) {}
void Observer::write(std::uint32_t /*task*/, std::uint32_t /*seq*/, std::uint32_t /*channel*/,
                     std::uint64_t /*sequence*/) {}

namespace {

constexpr Time largest_time = Time{1} << 60;
constexpr Time last_instant = Time{1} << 62;

void require(bool holds, const char* what, std::size_t index, const char* problem) {
    if (!holds) {
        throw std::invalid_argument(std::string(what) + ' ' + std::to_string(index) + ": " + problem);
    }
}

bool in_range(Time time) {
    return time >= 0 && time < largest_time;
}

bool takes_time(const System& system, std::uint32_t task) {
    const std::span<const Time> executions = system.given_of(task).executions;
    if (executions.empty()) {
        return system.tasks[task].bcet > 0;
    }
    return std::all_of(executions.begin(), executions.end(), [](Time t) { return t > 0; });
}

void check_task(const System& system, std::uint32_t i, bool observed) {
    const app::plan::Task& p = system.tasks[i];
    const GivenTimes given = system.given_of(i);
    require(p.core < system.cores.size() && computed_on(p) < system.cores.size(), "task", i,
            "there is no such core");
    for (const Time time :
         {p.period, p.extra_gap, p.offset, p.jitter, p.bcet, p.wcet, p.deadline, p.give_up, p.suspension,
          p.send, p.receive, p.fallback, p.request, p.response, p.load, p.unload}) {
        require(in_range(time), "task", i, "a time is negative or 2^60 or more");
    }
    require(p.period > 0 && p.deadline > 0, "task", i, "period and deadline must be above 0");
    require(p.bcet <= p.wcet, "task", i, "the best-case execution time is above the worst-case one");
    Time before = 0;
    for (const Time release : given.releases) {
        require(in_range(release) && release >= before, "task", i,
                "releases must be 0 or more, in order, below 2^60");
        before = release;
    }
    require(p.distances.count <= app::Distances::most, "task", i, "it has too many distances");
    require(p.distances.first <= system.times.size() &&
                p.distances.count <= system.times.size() - p.distances.first,
            "task", i, "there are no such times");
    before = 1;
    const app::Distances distances = system.distances_of(i);
    for (std::size_t k = 0; k < distances.count; ++k) {
        require(in_range(distances.least[k]) && distances.least[k] >= before, "task", i,
                "distances must be above 0, in order, below 2^60");
        before = distances.least[k];
    }
    for (const Time execution : given.executions) {
        require(in_range(execution), "task", i, "execution times must be 0 or more and below 2^60");
    }
    require(!observed || takes_time(system, i), "task", i,
            "where data is followed, a step's execution time must be above 0");
    const Policy policy = system.cores[computed_on(p)].policy;
    if (p.arrival != app::plan::none) {
        require(p.arrival < system.channels.size(), "task", i, "there is no such channel");
        const std::uint32_t writer = system.channels[p.arrival].writer;
        require(writer < system.tasks.size() && writer != i, "task", i,
                "another task writes the blocks that release it");
        require(policy != Policy::three_phase &&
                    system.cores[computed_on(system.tasks[writer])].policy != Policy::three_phase,
                "task", i, "no three-phase task writes blocks that release others, or is released by them");
        require(p.offset == 0 && p.extra_gap == 0 && given.releases.empty(), "task", i,
                "a task that blocks release has no other releases");
    }
    if (app::plan::offloaded(p)) {
        require(policy == Policy::worker, "task", i, "an offloaded task needs a worker's core");
        require(releases_tasks(system.cores[p.core]), "task", i,
                "a master's core has fixed priorities or earliest deadline first");
        require(takes_time(system, i), "task", i, "the execution time of an offloaded task must be above 0");
        require(p.suspension == 0, "task", i, "an offloaded task has no other suspension");
        return;
    }
    require(policy != Policy::worker, "task", i, "a worker's core takes offloaded tasks only");
    if (policy == Policy::three_phase) {
        require(p.suspension == 0, "task", i, "a three-phase task does not suspend itself");
        require(!p.skips, "task", i, "a three-phase task does not skip releases");
        require(p.load <= system.cores[p.core].slot && p.unload <= system.cores[p.core].slot, "task", i,
                "load or unload do not fit the slot");
        require(takes_time(system, i), "task", i,
                "in virtual time a three-phase task's execution time must be above 0");
        for (std::size_t k = 0; k < i; ++k) {
            require(computed_on(system.tasks[k]) != p.core || system.tasks[k].rank != p.rank, "task", i,
                    "three-phase tasks of one core need distinct ranks");
        }
    }
}

void check(const System& system, const Settings& settings, bool observed) {
    if (!in_range(settings.duration)) {
        throw std::invalid_argument("duration: it must be 0 or more and below 2^60");
    }
    require(system.cores.size() < 0xffff, "core", system.cores.size(), "there are too many cores");
    std::vector<std::uint32_t> cores_of(system.dmas.size(), 0);
    for (std::size_t c = 0; c < system.cores.size(); ++c) {
        const Core& core = system.cores[c];
        require(in_range(core.context_switch), "core", c,
                "the context switch must be 0 or more and below 2^60");
        if (core.policy != Policy::three_phase) {
            continue;
        }
        require(core.dma < system.dmas.size(), "core", c, "there is no such DMA");
        require(core.slot > 0 && core.slot < largest_time, "core", c,
                "the slot must be above 0 and below 2^60");
        require(++cores_of[core.dma] <= most_scratchpad_cores, "core", c,
                "in virtual time one DMA serves at most 16 cores");
        const auto tasks = std::count_if(system.tasks.begin(), system.tasks.end(),
                                         [c](const app::plan::Task& t) { return computed_on(t) == c; });
        require(tasks <= most_scratchpad_tasks, "core", c,
                "in virtual time a three-phase core has at most 32 tasks");
    }
    require(system.given.empty() || system.given.size() == system.tasks.size(), "task", system.given.size(),
            "times are given for all tasks or for none");
    for (std::uint32_t t = 0; t < system.tasks.size(); ++t) {
        if (!system.tasks[t].rests) {
            check_task(system, t, observed);
        }
    }
    for (std::size_t c = 0; c < system.channels.size(); ++c) {
        const Channel& channel = system.channels[c];
        require(channel.writer < system.tasks.size() ||
                    (channel.writer == app::plan::none && channel.readers.empty()),
                "channel", c, "there is no such writer");
        for (const std::uint32_t r : channel.readers) {
            require(r < system.tasks.size(), "channel", c, "there is no such reader");
        }
    }
}

void check_modes(const Modes& given, const Settings& settings, bool observed) {
    const auto& modes = given.modes;
    if (given.first >= modes.size()) {
        throw std::invalid_argument("modes: there is no such first mode");
    }
    // Two modes share no instant: what one writes at it the other would read.
    const bool change = modes.size() > 1;
    if (change && (given.agreement <= 0 || !in_range(given.agreement))) {
        throw std::invalid_argument("modes: the agreement must be above 0 and below 2^60");
    }
    Time before = 0;
    for (std::size_t r = 0; r < given.requests.size(); ++r) {
        const Modes::Request& request = given.requests[r];
        require(request.to < modes.size(), "request", r, "there is no such mode");
        require(in_range(request.at) && request.at >= before, "request", r,
                "requests must be 0 or more, in order, below 2^60");
        before = request.at;
    }
    for (std::size_t m = 0; m < modes.size(); ++m) {
        require(modes[m].cores.size() == modes[0].cores.size() &&
                    modes[m].tasks.size() == modes[0].tasks.size() &&
                    modes[m].channels.size() == modes[0].channels.size(),
                "mode", m, "all modes have the same cores, tasks and channels");
        check(modes[m], settings, observed);
        if (!change) {
            continue;
        }
        for (const Core& core : modes[m].cores) {
            require(core.policy != Policy::three_phase, "mode", m, "a three-phase core changes no mode");
        }
        for (const GivenTimes& given_to : modes[m].given) {
            require(given_to.releases.empty(), "mode", m, "releases that are given belong to no mode");
        }
        for (const app::plan::Task& task : modes[m].tasks) {
            require(task.arrival == app::plan::none, "mode", m,
                    "blocks that release tasks belong to no mode");
            require(task.rests || !app::plan::offloaded(task) || task.on_miss != OnMiss::stop, "mode", m,
                    "a task that stops the run belongs to no mode");
        }
    }
}

struct Message {
    Time at;
    bool answer;
    app::Request request;
    friend bool operator<(const Message& a, const Message& b) {
        if (a.at != b.at) {
            return a.at > b.at;
        }
        if (a.answer != b.answer) {
            return a.answer;
        }
        return a.request.task != b.request.task ? a.request.task > b.request.task
                                                : a.request.seq > b.request.seq;
    }
};

}  // namespace

struct Machine::Parts final : Journal, WorkerCore::Masters {
    Outcome run(const System& description, const Modes* modes, const Settings& settings, Trace* trace,
                Observer* observer) {
        modes_ = modes;
        observer_ = observer;
        start(description, settings, trace, observer);
        if (modes_ != nullptr) {
            start_modes();
        }
        for (;;) {
            Time ordinary = messages_.empty() ? app::never : messages_.front().at;
            for (ReleasingCore* core : releasing_) {
                ordinary = std::min(ordinary, core->next());
            }
            for (WorkerCore* core : workers_) {
                ordinary = std::min(ordinary, core->completes());
            }
            Time next = ordinary;
            for (std::size_t d = 0; d < scratchpads_in_use_; ++d) {
                next = std::min(next, scratchpads_[d]->next());
            }
            if (next != clock_.now) {
                if (channels_.open()) {
                    channels_.close();
                }
                if (take_asked()) {
                    continue;
                }
                if (modes_ != nullptr) {
                    if (drained()) {
                        continue;
                    }
                    next = ordinary = std::min(next, next_of_modes());
                }
                if (next == app::never) {
                    break;
                }
                if (next > last_instant) {
                    throw std::overflow_error(
                        "a time left the range of 62 bits: give the times in larger units");
                }
                clock_.now = next;
                if (modes_ != nullptr) {
                    follow_modes();
                }
            }
            // A stop at this instant comes before the releases of three-phase tasks.
            if (ordinary == next) {
                instant();
                continue;
            }
            for (std::size_t d = 0; d < scratchpads_in_use_; ++d) {
                if (scratchpads_[d]->next() == next) {
                    scratchpads_[d]->instant();
                    if (!scratchpads_[d]->sound()) {
                        throw std::overflow_error(
                            "more than 64 jobs of a three-phase task wait for their load: its core is "
                            "overloaded");
                    }
                }
            }
        }
        outcome_.stopped = clock_.stopped;
        return outcome_;
    }

    // --- what cores tell
    void begun(std::uint32_t task, const JobTimes& job) override {
        const bool by_block = system_->tasks[task].arrival != app::plan::none;
        const Time early = by_block ? master(task).task(place_[task]).releases.early() : 0;
        if (early != 0 && clock_.trace != nullptr) {
            clock_.trace->early.push_back({task, job.release});
        }
        channels_.begun(task, job, early, clock_.now);
    }
    void finished(std::uint32_t task, const JobTimes& job, const Transfers& moved) override {
        ++outcome_.jobs;
        outcome_.misses += (job.status & job_status::missed) != 0 ? 1U : 0U;
        channels_.finished(task, job, moved, clock_.now);
        if ((job.status & (job_status::unserved | job_status::held)) == 0) {
            if (system_->tasks[task].until_deadline) {
                published_ = std::max(published_, app::after(job.release, system_->tasks[task].deadline));
            }
            const Time deadline = app::after(job.release, system_->tasks[task].deadline);
            channels_.ended(task, job.seq, deadline, clock_.now);
            announce(task, deadline);
        }
        if (system_->tasks[task].arrival != app::plan::none) {
            arrived_.push_back(task);
        }
        if (clock_.trace == nullptr) {
            return;
        }
        const auto at = [](Time t) { return t == app::absent ? Ticks{0} : static_cast<Ticks>(t + origin); };
        clock_.trace->jobs.push_back(
            {at(job.release), at(job.ready), at(job.start), at(job.sent), at(job.worker_receive),
             at(job.worker_send), at(job.received), at(moved.loaded), at(moved.executed), at(job.finish),
             static_cast<Ticks>(job.compute), job.seq, job.status, static_cast<std::uint16_t>(task),
             static_cast<std::uint16_t>(system_->tasks[task].core), 0});
        clock_.trace->preemptions.push_back(job.preemptions);
    }
    void send(std::uint32_t task, const JobTimes& job) override {
        const app::plan::Task& t = system_->tasks[task];
        post({app::after(clock_.now, t.request), false, {task, job.seq, t.worker_rank, job.compute}});
    }
    void began(const app::Request& request) override {
        master(request.task).worker_began(place_[request.task], request.seq, clock_.now);
    }
    void ended(const app::Request& request) override {
        master(request.task).worker_ended(place_[request.task], request.seq, clock_.now);
        post({app::after(clock_.now, system_->tasks[request.task].response), true, request});
    }

    // Taken once everything at this instant has happened.
    void ask(std::uint32_t mode) {
        if (modes_ == nullptr || mode >= modes_->modes.size()) {
            throw std::invalid_argument("a request for a mode that there is not");
        }
        if (clock_.now < settings_.duration) {
            asked_ = mode;
            asks_ = true;
        }
    }

  private:
    bool take_asked() {
        const bool taken = asks_;
        asks_ = false;
        if (taken && change_.request(asked_, clock_.now)) {
            end_releases();
        }
        return taken;
    }
    void start(const System& system, const Settings& settings, Trace* trace, Observer* observer) {
        system_ = &system;
        settings_ = settings;
        clock_ = Clock{};
        clock_.until = settings.duration;
        clock_.trace = trace;
        outcome_ = {};
        messages_.clear();
        if (trace != nullptr) {
            trace->jobs.clear();
            trace->preemptions.clear();
            trace->slices.clear();
            trace->operations.clear();
            trace->changes.clear();
            trace->early.clear();
        }
        channels_.start(system, trace, observer);
        first_jobs_.assign(system.tasks.size(), 0);
        published_ = 0;
        asks_ = false;
        start_cores(system);
    }

    // All cores of the system begin, with releases that count from now.
    void start_cores(const System& system) {
        system_ = &system;
        releasing_.clear();
        workers_.clear();
        scratchpads_in_use_ = 0;
        place_.assign(system.tasks.size(), 0);
        releasing_of_.assign(system.cores.size(), nullptr);
        worker_of_.assign(system.cores.size(), nullptr);
        start_arrivals();
        for (std::uint32_t c = 0; c < system.cores.size(); ++c) {
            if (releases_tasks(system.cores[c])) {
                start_releasing(c);
            } else if (system.cores[c].policy == Policy::worker) {
                start_worker(c);
            }
        }
        for (std::uint32_t d = 0; d < system.dmas.size(); ++d) {
            start_scratchpads(d);
        }
    }

    void start_arrivals() {
        arrived_.clear();
        arrivals_.clear();
        released_by_.clear();
        const auto& tasks = system_->tasks;
        if (std::none_of(tasks.begin(), tasks.end(),
                         [](const app::plan::Task& t) { return t.arrival != app::plan::none; })) {
            return;
        }
        arrivals_.resize(tasks.size());
        released_by_.resize(tasks.size());
        for (std::uint32_t t = 0; t < tasks.size(); ++t) {
            if (tasks[t].arrival != app::plan::none) {
                released_by_[system_->channels[tasks[t].arrival].writer].push_back(t);
            }
        }
    }

    void start_releasing(std::uint32_t c) {
        std::vector<TimedTask> tasks;
        for (std::uint32_t t = 0; t < system_->tasks.size(); ++t) {
            const app::plan::Task& task = system_->tasks[t];
            if (task.core == c && !task.rests) {
                place_[t] = static_cast<std::uint32_t>(tasks.size());
                app::ReleaseRule rule = system_->release_rule(t);
                rule.first_job = first_jobs_[t];
                rule.arrivals = task.arrival != app::plan::none ? &arrivals_[t] : nullptr;
                const app::Draw draw(settings_.seed, t);
                auto& made = tasks.emplace_back();
                made.plan = &task;
                made.id = t;
                made.draw = draw;
                made.releases = app::Releases(rule, draw, settings_.arrival, clock_.now);
                const std::span<const Time> executions = system_->given_of(t).executions;
                made.executions = executions.data();
                made.execution_count = executions.size();
            }
        }
        if (tasks.empty()) {
            return;
        }
        if (releasing_.size() == all_releasing_.size()) {
            all_releasing_.push_back(std::make_unique<ReleasingCore>(clock_, *this));
        }
        ReleasingCore* core = all_releasing_[releasing_.size()].get();
        releasing_.push_back(core);
        releasing_of_[c] = core;
        core->start(static_cast<std::uint16_t>(c), system_->cores[c], std::move(tasks), settings_);
    }

    void start_worker(std::uint32_t c) {
        if (workers_.size() == all_workers_.size()) {
            all_workers_.push_back(std::make_unique<WorkerCore>(clock_, *this));
        }
        WorkerCore* core = all_workers_[workers_.size()].get();
        workers_.push_back(core);
        worker_of_[c] = core;
        core->start(static_cast<std::uint16_t>(c), system_->cores[c], system_->tasks.size());
    }

    void start_scratchpads(std::uint32_t d) {
        std::vector<std::uint32_t> cores;
        for (std::uint32_t c = 0; c < system_->cores.size(); ++c) {
            if (system_->cores[c].policy == Policy::three_phase && system_->cores[c].dma == d) {
                cores.push_back(c);
            }
        }
        if (cores.empty()) {
            return;
        }
        if (scratchpads_in_use_ == scratchpads_.size()) {
            scratchpads_.push_back(std::make_unique<Scratchpads>(clock_, *this));
        }
        scratchpads_[scratchpads_in_use_++]->start(*system_, settings_, d, std::move(cores));
    }

    // One round of an instant: docs/explanation/simulator.md, "One instant".
    void instant() {
        const Time now = clock_.now;
        clock_.stage = Stage::completing;
        for (ReleasingCore* core : releasing_) {
            if (core->completes() == now) {
                core->resume();
            }
        }
        for (WorkerCore* core : workers_) {
            if (core->completes() == now) {
                core->resume();
            }
        }
        clock_.stage = Stage::handling;
        bool more = true;
        while (more) {
            while (!messages_.empty() && messages_.front().at == now) {
                deliver();
            }
            for (ReleasingCore* core : releasing_) {
                if (core->armed() <= now) {
                    core->end_waits();
                }
            }
            take_arrivals();
            for (ReleasingCore* core : releasing_) {
                if (core->armed() <= now) {
                    core->release_jobs();
                }
            }
            more = !arrived_.empty() || (!messages_.empty() && messages_.front().at == now);
            for (ReleasingCore* core : releasing_) {
                more = more || core->armed() <= now;
            }
        }
        clock_.stage = Stage::deciding;
        for (ReleasingCore* core : releasing_) {
            if (core->attention()) {
                core->resume();
            }
        }
        for (WorkerCore* core : workers_) {
            if (core->attention()) {
                core->resume();
            }
        }
        take_arrivals();
    }

    // --- changes of mode (consort/app/mode_change.hpp)
    void start_modes() {
        change_ = app::ModeChange(modes_->first, modes_->agreement);
        next_request_ = 0;
        if (observer_ != nullptr) {
            observer_->entered(modes_->first, clock_.now);
        }
        follow_modes();
    }
    [[nodiscard]] Time next_request() const {
        const auto& all = modes_->requests;
        const bool any = next_request_ < all.size() && all[next_request_].at < settings_.duration;
        return any ? all[next_request_].at : app::never;
    }
    [[nodiscard]] Time next_of_modes() const {
        const Time next = next_request();
        switch (change_.stage()) {
            case app::ModeChange::Stage::draining:
                return published_ > clock_.now ? std::min(next, published_) : next;
            case app::ModeChange::Stage::agreed:
                return std::min(next, change_.change().released);
            default:
                return next;
        }
    }
    // At the beginning of an instant: requests, then the agreed release.
    void follow_modes() {
        while (next_request() == clock_.now) {
            if (change_.request(modes_->requests[next_request_++].to, clock_.now)) {
                end_releases();
            }
        }
        if (change_.stage() == app::ModeChange::Stage::agreed && change_.change().released == clock_.now) {
            enter();
        }
    }
    void end_releases() {
        clock_.until = std::min(clock_.until, clock_.now);
        for (ReleasingCore* core : releasing_) {
            core->withhold();
        }
    }
    // Everything at this instant has happened. True: the mode that was left is idle since now.
    [[nodiscard]] bool drained() {
        if (change_.stage() != app::ModeChange::Stage::draining || published_ > clock_.now ||
            !messages_.empty()) {
            return false;
        }
        for (ReleasingCore* core : releasing_) {
            if (!core->idle()) {
                return false;
            }
        }
        for (WorkerCore* core : workers_) {
            if (!core->idle()) {
                return false;
            }
        }
        change_.drained(clock_.now);
        return true;
    }
    void enter() {
        for (std::uint32_t t = 0; t < first_jobs_.size(); ++t) {
            if (!system_->tasks[t].rests) {
                first_jobs_[t] = master(t).task(place_[t]).releases.job();
            }
        }
        const app::ModeChanged change = change_.change();
        if (clock_.trace != nullptr) {
            clock_.trace->changes.push_back(change);
        }
        clock_.until = settings_.duration;
        start_cores(modes_->modes[change.to]);
        if (observer_ != nullptr) {
            observer_->changed(change);
            observer_->entered(change.to, clock_.now);
        }
        if (change_.release()) {
            end_releases();
        }
    }

    // The task's block releases others.
    void announce(std::uint32_t task, Time deadline) {
        if (arrivals_.empty()) {
            return;
        }
        for (const std::uint32_t reader : released_by_[task]) {
            const bool let = system_->channels[system_->tasks[reader].arrival].let;
            arrivals_[reader].announce(let ? std::max(deadline, clock_.now) : clock_.now);
            arrived_.push_back(reader);
        }
    }
    void take_arrivals() {
        for (const std::uint32_t task : arrived_) {
            master(task).arrived(place_[task]);
        }
        arrived_.clear();
    }

    void post(const Message& message) {
        messages_.push_back(message);
        std::push_heap(messages_.begin(), messages_.end());
    }

    void deliver() {
        std::pop_heap(messages_.begin(), messages_.end());
        const Message m = messages_.back();
        messages_.pop_back();
        const std::uint32_t task = m.request.task;
        if (m.answer) {
            master(task).answer(place_[task], m.request.seq);
        } else {
            worker_of_[system_->tasks[task].worker]->arrive(m.request);
        }
    }

    [[nodiscard]] ReleasingCore& master(std::uint32_t task) {
        return *releasing_of_[system_->tasks[task].core];
    }

    const System* system_ = nullptr;
    Settings settings_{};
    Clock clock_;
    Outcome outcome_;
    Channels channels_;
    std::vector<Message> messages_;  // a heap
    std::vector<std::unique_ptr<ReleasingCore>> all_releasing_;
    std::vector<std::unique_ptr<WorkerCore>> all_workers_;
    std::vector<std::unique_ptr<Scratchpads>> scratchpads_;
    std::size_t scratchpads_in_use_ = 0;
    std::vector<ReleasingCore*> releasing_;
    std::vector<WorkerCore*> workers_;
    std::vector<ReleasingCore*> releasing_of_;  // by core
    std::vector<WorkerCore*> worker_of_;
    std::vector<std::uint32_t> place_;  // of each task on the core that releases it
    // By task, where any is released by blocks.
    std::vector<app::Arrivals> arrivals_;
    std::vector<std::vector<std::uint32_t>> released_by_;
    std::vector<std::uint32_t> arrived_;
    const Modes* modes_ = nullptr;  // null: there are none
    Observer* observer_ = nullptr;
    app::ModeChange change_;
    bool asks_ = false;  // for `asked_`
    std::uint32_t asked_ = 0;
    std::size_t next_request_ = 0;
    std::vector<std::uint64_t> first_jobs_;  // by task: the number of its first job in the mode
    Time published_ = 0;                     // when the last output is there that is so at a deadline
};

Machine::Machine() : parts_(std::make_unique<Parts>()) {}
Machine::~Machine() = default;

void Machine::request(std::uint32_t mode) {
    parts_->ask(mode);
}

Outcome Machine::run(const System& system, const Settings& settings, Trace* trace, Observer* observer) {
    check(system, settings, observer != nullptr);
    return parts_->run(system, nullptr, settings, trace, observer);
}

Outcome Machine::run(const Modes& modes, const Settings& settings, Trace* trace, Observer* observer) {
    check_modes(modes, settings, observer != nullptr);
    return parts_->run(modes.modes[modes.first], &modes, settings, trace, observer);
}

}  // namespace consort::virtual_time
