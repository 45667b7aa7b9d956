// SPDX-License-Identifier: Apache-2.0
//
// Cores that execute jobs from their own memory: fixed priorities with and without preemption, earliest
// deadline first, and workers that compute for masters. One object simulates cores that have to do with one
// another, event by event.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "sim/draw.hpp"
#include "sim/parts.hpp"
#include "sim/record.hpp"
#include "sim/windows.hpp"

namespace consort::engine::sim {

// The draws of what a preempted job loads again, apart from all others.
inline constexpr std::uint64_t reload_choices = std::uint64_t{1} << 41;

template <bool traced>
class Processors {
  public:
    // `mine`: the tasks to simulate, in the order of the system's. Releases end at `until`.
    Processors(const System& system, const Settings& settings, Sink<traced>& sink)
        : system_(system), settings_(settings), sink_(sink), division_(settings) {}

    // Returns when a task whose policy is `stop` missed its deadline, or `never`.
    Time run(std::span<const std::uint32_t> mine, std::span<const std::uint32_t> cores, Time until) {
        prepare(mine, cores, until);
        for (;;) {
            const Time now = next_instant();
            if (now == never) {
                return stopped_;
            }
            sink_.at(now);
            for (std::uint32_t c = 0; c < cores_.size(); ++c) {
                CoreState& core = cores_[c];
                follow_supply(core, now);
                if (core.completes == now) {
                    complete(core, now);
                }
                core.look = core.look || core.look_again == now;
            }
            do {
                while (!events_.empty() && events_.front().at == now) {
                    handle(pop(events_), now);
                }
                take_arrivals(now);
                while (!releases_.empty() && releases_.front().at == now) {
                    release(pop(releases_).task, now);
                }
            } while (!arrived_.empty() || (!events_.empty() && events_.front().at == now));
            for (CoreState& core : cores_) {
                if (core.look) {
                    dispatch(core, now);
                }
            }
            take_arrivals(now);
        }
    }

    // Results of the run that ended: the last instant at which something happened to a job, at a worker or
    // with a message; the number of the next job of the task at this place of `mine`.
    [[nodiscard]] Time idle() const { return idle_; }
    [[nodiscard]] std::uint64_t next_job(std::uint32_t t) const { return tasks_[t].releases.job(); }

  private:
    // first: until a job waits for the first time, or its request is sent; second: after that.
    enum class Phase : std::uint8_t { idle, first, away, second, fallback };

    // A task and its job in hand.
    struct JobState : TaskState {
        std::uint32_t core = 0;  // index into cores_ of the core that its own parts need
        std::uint32_t worker = 0;
        Phase phase = Phase::idle;
        bool running = false;
        bool reloads = false;        // it was preempted, and what it goes on with is not in the cache
        bool held = false;           // it holds a resource
        std::uint32_t resource = 0;  // which
        Time holds = never;          // under EDF: the ceiling of the resource that it holds
        std::vector<bool> lost;      // since then, by its useful sets
        Time owed = 0;               // what it has still to load again, the first of what remains
        bool late_answer = false;
        std::uint32_t part = 0;  // counts parts: tells entries of parts given up from the present one
        Time key = 0;
        Time remaining = 0;
        std::vector<Part> parts;  // of the present job, by `divide`
        std::size_t at = 0;       // the one that it is at
        JobRow job{};
    };

    struct Ready {
        Time key;
        std::uint64_t order;
        std::uint32_t task;
        std::uint32_t part;
        friend bool operator<(const Ready& a, const Ready& b) {
            return a.key != b.key ? a.key > b.key : a.order > b.order;
        }
    };

    struct Release {
        Time at;
        std::uint32_t task;
        friend bool operator<(const Release& a, const Release& b) {
            return a.at != b.at ? a.at > b.at : a.task > b.task;
        }
    };

    enum class Kind : std::uint8_t { request, answer, wake, give_up };

    struct Event {
        Time at;
        Kind kind;
        std::uint32_t task;
        std::uint64_t job;
        Time execution;
        friend bool operator<(const Event& a, const Event& b) {
            if (a.at != b.at) {
                return a.at > b.at;
            }
            if (a.kind != b.kind) {
                return a.kind > b.kind;
            }
            return a.task != b.task ? a.task > b.task : a.job > b.job;
        }
    };

    struct Request {
        std::uint32_t task;
        std::uint64_t job;
        Time execution;
        const Demand* demand = nullptr;  // of an accelerator
    };

    struct CoreState {
        Policy policy = Policy::preemptive;
        std::uint32_t id = 0;
        Time context_switch = 0;
        Time cache_reload = 0;
        Time set_reload = 0;
        bool keeps = false;  // while a job waits for an answer, nothing less urgent runs
        bool by_rank = false;
        bool look = false;  // whether something changed that a decision may depend on
        bool busy = false;
        Ready running{};
        Time since = 0;
        Time begins = 0;  // after the context switch
        Time completes = never;
        Time look_again = never;     // when a switch ends that a more urgent job waits for
        Windows supply;              // of the whole core: always on
        Time switching = 0;          // while it is off: what is left of the running job's switch
        std::vector<Ready> ready;    // a heap
        std::vector<Ready> blocked;  // by resources that others hold
        std::vector<Request> queue;
        Request serving{};
        accel::Arbitration arbitration{};
        Time round = 0;
        std::vector<accel::Account> accounts;
        std::vector<Time> costs;  // by client, of the request that waits; 0: none does
    };

    // The heaps are kept by the standard algorithms: the "largest" element is the earliest or most urgent.
    template <class T>
    static T pop(std::vector<T>& heap) {
        std::pop_heap(heap.begin(), heap.end());
        const T top = heap.back();
        heap.pop_back();
        return top;
    }
    template <class T>
    static void push(std::vector<T>& heap, const T& value) {
        heap.push_back(value);
        std::push_heap(heap.begin(), heap.end());
    }

    // Records for each task the tasks that its blocks release.
    void prepare_arrivals(std::span<const std::uint32_t> mine) {
        arrived_.clear();
        arrivals_.clear();
        released_by_.clear();
        const auto by_blocks = [this](std::uint32_t t) { return system_.tasks[t].arrival.has_value(); };
        if (std::none_of(mine.begin(), mine.end(), by_blocks)) {
            return;
        }
        arrivals_.resize(mine.size());
        released_by_.resize(mine.size());
        for (std::uint32_t t = 0; t < mine.size(); ++t) {
            if (by_blocks(mine[t])) {
                const auto writer =
                    std::find(mine.begin(), mine.end(), system_.tasks[mine[t]].arrival->writer);
                released_by_[static_cast<std::size_t>(writer - mine.begin())].push_back(t);
            }
        }
    }

    void prepare(std::span<const std::uint32_t> mine, std::span<const std::uint32_t> cores, Time until) {
        prepare_arrivals(mine);
        until_ = until;
        stopped_ = never;
        idle_ = 0;
        order_ = 0;
        events_.clear();
        releases_.clear();
        tasks_.resize(mine.size());
        cores_.resize(cores.size());
        index_.assign(system_.cores.size(), 0);
        division_.prepare(system_, mine);
        for (std::uint32_t c = 0; c < cores.size(); ++c) {
            const Core& core = system_.cores[cores[c]];
            CoreState& state = cores_[c];
            index_[cores[c]] = c;
            state.policy = core.policy;
            state.id = cores[c];
            state.context_switch = core.context_switch;
            state.cache_reload = core.cache_reload;
            state.set_reload = core.set_reload;
            state.keeps = core.keeps;
            state.by_rank = core.by_rank;
            state.supply =
                Windows(core.supply, Draw(settings_.seed, supply_choices + cores[c]), settings_.arrival);
            state.look = state.busy = false;
            state.completes = state.look_again = never;
            state.ready.clear();
            state.blocked.clear();
            state.queue.clear();
            state.arbitration = core.arbitration;
            state.round = core.round;
            state.accounts.clear();
            for (const accel::Share& share : core.shares) {
                state.accounts.emplace_back(share);
            }
            state.costs.assign(core.shares.size(), 0);
        }
        for (std::uint32_t t = 0; t < mine.size(); ++t) {
            const Task& task = system_.tasks[mine[t]];
            JobState& state = tasks_[t];
            static_cast<TaskState&>(state) = {system_, settings_, mine[t],
                                              task.arrival ? &arrivals_[t] : nullptr};
            state.core = index_[task.master];
            state.worker = index_[task.core];
            state.phase = Phase::idle;
            state.running = state.reloads = state.late_answer = false;
            state.holds = never;
            state.held = false;
            state.part = 0;
            wait_for_release(t, 0);
        }
    }

    // Switches the supply on and off as it did by now.
    void follow_supply(CoreState& core, Time now) {
        while (core.supply.changes() <= now) {
            const Time at = core.supply.changes();
            if (core.busy && core.supply.on() && core.completes != at) {
                pause(core, at);
                core.switching = std::max<Time>(core.begins - at, 0);
                core.completes = core.look_again = never;
            }
            core.supply.next();
            if (core.supply.on()) {
                core.look = true;
                if (core.busy && core.completes == never) {
                    core.since = at;
                    core.begins = add(at, core.switching);
                    core.completes = end_of_stretch(core);
                }
            }
        }
    }

    [[nodiscard]] Time next_instant() const {
        Time next = releases_.empty() ? never : releases_.front().at;
        if (!events_.empty()) {
            next = std::min(next, events_.front().at);
        }
        for (const CoreState& core : cores_) {
            next = std::min({next, core.completes, core.look_again});
            // A core with nothing to do misses nothing while it is off.
            if (core.busy || !core.ready.empty()) {
                next = std::min(next, core.supply.changes());
            }
        }
        return next;
    }

    // The task's next job becomes ready at its release, or now if that has passed.
    void wait_for_release(std::uint32_t t, Time now) {
        const Releases& releases = tasks_[t].releases;
        if (releases.cause() < until_) {
            push(releases_, {std::max(releases.actual(), now), t});
        }
    }

    // The next job of a task that skips releases could begin too late only.
    [[nodiscard]] static bool cannot_begin(const JobState& s, Time now) {
        return s.task->skip && now > app::begin_limit(s.releases.nominal(), s.task->period, s.task->deadline);
    }

    // The running job holds the resource of its part from when it executes the part: what came before that,
    // and is more urgent than the job itself, goes before it.
    void take_resource(CoreState& core, Time now) {
        const JobState& s = tasks_[core.running.task];
        if (!s.parts.empty() && s.parts[s.at].holds && now > core.begins) {
            hold(core, s.parts[s.at]);
        }
    }

    // Under fixed priorities the running job has the ceiling's priority. Under EDF (stack resource policy) it
    // keeps its deadline, and no job begins whose relative deadline is not below the ceiling.
    void hold(CoreState& core, const Part& part) {
        JobState& s = tasks_[core.running.task];
        for (const JobState& other : tasks_) {
            if (&other != &s && other.held && other.resource == part.resource) {
                throw std::logic_error("two jobs hold one resource");
            }
        }
        s.held = true;
        s.resource = part.resource;
        if (part.inherits) {
            return;  // who waits for it raises its priority
        }
        if (core.policy == Policy::edf) {
            s.holds = part.ceiling;
        } else {
            core.running.key = std::min(begun_key(s), part.ceiling);
        }
    }

    // The job that holds the resource of a job's part, if that is another job and the job has to wait.
    [[nodiscard]] JobState* holder_before(const JobState& s) {
        if (s.parts.empty() || !s.parts[s.at].inherits || s.held) {
            return nullptr;
        }
        const auto holds = [&](const JobState& other) {
            return &other != &s && other.held && other.resource == s.parts[s.at].resource;
        };
        const auto found = std::find_if(tasks_.begin(), tasks_.end(), holds);
        return found == tasks_.end() ? nullptr : &*found;
    }

    // When the running job has done its part, or finds that another one holds what it needs for it.
    [[nodiscard]] Time end_of_stretch(const CoreState& core) {
        const JobState& s = tasks_[core.running.task];
        return holder_before(s) != nullptr ? core.begins : add(core.begins, s.remaining);
    }

    // The running job waits for its resource, and who holds that inherits its priority.
    void wait_for_resource(CoreState& core, const JobState& holder, Time now) {
        const Ready waiting = core.running;
        halt(core, now);
        core.blocked.push_back(waiting);
        const auto h = static_cast<std::uint32_t>(&holder - tasks_.data());
        for (Ready& entry : core.ready) {
            if (entry.task == h && entry.part == holder.part) {
                entry.key = std::min(entry.key, waiting.key);
            }
        }
        std::make_heap(core.ready.begin(), core.ready.end());
    }

    // A job that waited for the resource that a job gives back tries again when its turn comes.
    void give_back(CoreState& core, JobState& s) {
        s.holds = never;
        if (!std::exchange(s.held, false)) {
            return;
        }
        for (std::size_t n = core.blocked.size(); n-- != 0;) {
            const Ready waiting = core.blocked[n];
            const JobState& other = tasks_[waiting.task];
            if (other.parts[other.at].resource == s.resource) {
                core.blocked.erase(core.blocked.begin() + static_cast<std::ptrdiff_t>(n));
                push(core.ready, waiting);
            }
        }
        core.look = true;
    }

    // The key below which a job goes before one that has begun and holds nothing.
    [[nodiscard]] static Time begun_key(const JobState& s) {
        return s.task->threshold ? std::min(s.key, Time{*s.task->threshold}) : s.key;
    }

    [[nodiscard]] bool kept_from_beginning(const CoreState& core, const JobState& s) const {
        return core.policy == Policy::edf && s.job.start == absent &&
               std::any_of(tasks_.begin(), tasks_.end(), [&](const JobState& other) {
                   return &other != &s && &cores_[other.core] == &core && s.task->deadline >= other.holds;
               });
    }

    // Puts the most urgent job that has begun in front of those that may not begin.
    void let_begun_go_on(CoreState& core, Time now) {
        auto best = core.ready.end();
        for (auto entry = core.ready.begin(); entry != core.ready.end(); ++entry) {
            const JobState& s = tasks_[entry->task];
            if (entry->part == s.part && s.job.start != absent &&
                (best == core.ready.end() || *best < *entry)) {
                best = entry;
            }
        }
        const Ready begun = *best;
        core.ready.erase(best);
        std::make_heap(core.ready.begin(), core.ready.end());
        start(core, begun, now);
    }

    // The running job begins its next part, with the next section or without the one that ended.
    void next_part(CoreState& core, Time now) {
        pause(core, now);
        JobState& s = tasks_[core.running.task];
        const bool gives_back = s.parts[s.at].holds;
        const Part& part = s.parts[++s.at];
        s.remaining = part.length;
        // A job that waited for the resource goes before the next section.
        core.running.key = begun_key(s);
        give_back(core, s);
        core.since = core.begins = now;
        core.switching = 0;
        if (part.holds && !gives_back && holder_before(s) == nullptr) {
            hold(core, part);
        }
        core.completes = core.supply.on() ? end_of_stretch(core) : never;
        core.look = true;
    }

    void skip(JobState& s, Time now) {
        idle_ = std::max({idle_, now, s.releases.actual()});
        const Releases& r = s.releases;
        JobRow row{};
        row.release = r.nominal();
        row.ready = r.actual();
        row.start = row.finish = row.sent = row.worker_receive = row.worker_send = row.received = absent;
        row.deadline = add(r.nominal(), s.task->deadline);
        row.seq = static_cast<std::uint32_t>(r.job());
        row.status = job_status::missed | job_status::unserved;
        row.task = s.id;
        sink_.job(row);
        next_release(s);
    }

    void next_release(JobState& s) {
        s.releases.next();
        if (s.task->arrival) {
            arrived_.push_back(static_cast<std::uint32_t>(&s - tasks_.data()));
        }
    }

    // A ready job whose turn has come too late: the task's next one takes its place.
    void skip_ready(std::uint32_t t, Time now) {
        JobState& s = tasks_[t];
        s.phase = Phase::idle;
        ++s.part;
        skip(s, now);
        if (s.releases.cause() < until_ && s.releases.actual() <= now) {
            release(t, now);
        } else {
            wait_for_release(t, now);
        }
    }

    void release(std::uint32_t t, Time now) {
        JobState& s = tasks_[t];
        const Releases& r = s.releases;
        while (r.cause() < until_ && cannot_begin(s, now)) {
            skip(s, now);
        }
        if (r.cause() >= until_) {
            return;  // a stop came in between, or there is no further job
        }
        if (r.actual() > now) {
            wait_for_release(t, now);
            return;
        }
        const Task& task = *s.task;
        const Time execution = execution_of(task, s.draw, settings_.execution, r.job());
        const Time deadline = add(r.nominal(), task.deadline);
        s.job = {r.nominal(),
                 r.actual(),
                 absent,
                 absent,
                 deadline,
                 absent,
                 absent,
                 absent,
                 absent,
                 execution,
                 static_cast<std::uint32_t>(r.job()),
                 s.late_answer ? job_status::late_answer : 0U,
                 s.id,
                 0};
        s.late_answer = false;
        s.key = cores_[s.core].policy == Policy::edf ? deadline : Time{task.rank};
        s.phase = Phase::first;
        division_.divide(*s.task, s.id, s.draw, r.job(), execution, s.parts);
        s.at = 0;
        if (task.offloaded) {
            push(events_, {std::max(add(r.nominal(), task.give_up), now), Kind::give_up, t, r.job(), 0});
        }
        begin_part(t, s.parts.front().length, now);
    }

    void begins(JobState& s, Time now) {
        if (s.job.start != absent) {
            return;
        }
        s.job.start = now;
        if (s.releases.early() != 0) {
            sink_.early(s.id);
        }
    }

    // True if a job has its core while it waits after a part: for an answer, where the core is kept for that.
    // One that suspends itself always gives it up.
    [[nodiscard]] static bool kept(const CoreState& core, const Part& part) {
        return core.keeps && (part.asks || part.demand != nullptr);
    }

    // A part that takes no time needs no core, but before a wait for which the core is kept.
    void begin_part(std::uint32_t t, Time length, Time now) {
        JobState& s = tasks_[t];
        CoreState& core = cores_[s.core];
        s.remaining = length;
        s.owed = 0;
        if (core.keeps && s.running) {
            go_on(core, now);
            return;
        }
        if (s.at != 0 && s.phase != Phase::fallback && kept(core, s.parts[s.at - 1])) {
            return;  // preempted while it waited: it still stands among the ready ones
        }
        ++s.part;
        const bool spins =
            s.phase == Phase::fallback ? core.keeps : !last_part(s) && kept(core, s.parts[s.at]);
        if (length == 0 && !spins) {
            begins(s, now);
            end_part(t, now);
            return;
        }
        push(core.ready, {s.key, order_++, t, s.part});
        core.look = true;
    }

    // The running job has a new part, or begins to wait, and stays where it is.
    void go_on(CoreState& core, Time now) {
        const JobState& s = tasks_[core.running.task];
        core.since = now;
        core.begins = std::max(core.begins, now);
        core.completes = s.phase == Phase::away ? never : add(core.begins, s.remaining);
    }

    [[nodiscard]] static bool last_part(const JobState& s) {
        return s.phase == Phase::fallback || s.at + 1 == s.parts.size();
    }

    void end_part(std::uint32_t t, Time now) {
        JobState& s = tasks_[t];
        const Task& task = *s.task;
        if (last_part(s)) {
            finish(t, now);
            return;
        }
        if (s.running) {
            pause(cores_[s.core], now);
        }
        s.phase = Phase::away;
        if (s.running) {
            go_on(cores_[s.core], now);
        }
        const Part& part = s.parts[s.at];
        if (part.demand != nullptr) {
            push(events_, {add(now, part.demand->request), Kind::request, t, s.job.seq, part.computes});
        } else if (part.asks) {
            s.job.sent = now;
            push(events_, {add(now, task.request), Kind::request, t, s.job.seq, s.job.compute});
        } else {
            push(events_, {add(now, part.away), Kind::wake, t, s.job.seq, 0});
        }
    }

    // Goes on after a wait.
    void resume(std::uint32_t t, Time now) {
        JobState& s = tasks_[t];
        if (s.running) {
            pause(cores_[s.core], now);
        }
        ++s.at;
        s.phase = s.task->offloaded && s.job.received == absent ? Phase::first : Phase::second;
        begin_part(t, s.parts[s.at].length, now);
    }

    void finish(std::uint32_t t, Time now) {
        JobState& s = tasks_[t];
        s.job.finish = now;
        give_back(cores_[s.core], s);
        idle_ = std::max(idle_, now);
        if (s.task->until_deadline && (s.job.status & job_status::held) == 0) {
            idle_ = std::max(idle_, s.job.deadline);
        }
        if (now > s.job.deadline) {
            s.job.status |= job_status::missed;
        }
        if ((s.job.status & job_status::held) != 0) {
            s.job.compute = 0;
        }
        sink_.job(s.job);
        s.phase = Phase::idle;
        ++s.part;
        announce(t, now);
        next_release(s);
        wait_for_release(t, now);
    }

    // The output of the task's job is a block that releases others, before the next releases.
    void announce(std::uint32_t t, Time now) {
        const JobRow& job = tasks_[t].job;
        if (released_by_.empty() || (job.status & job_status::held) != 0) {
            return;
        }
        for (const std::uint32_t r : released_by_[t]) {
            arrivals_[r].announce(tasks_[r].task->arrival->let ? std::max(job.deadline, now) : now);
            arrived_.push_back(r);
        }
    }
    void take_arrivals(Time now) {
        for (const std::uint32_t r : arrived_) {
            if (tasks_[r].releases.look()) {
                wait_for_release(r, now);
            }
        }
        arrived_.clear();
    }

    void handle(const Event& e, Time now) {
        JobState& s = tasks_[e.task];
        const bool present = s.phase != Phase::idle && s.job.seq == e.job;
        switch (e.kind) {
            case Kind::request:
                if (const Demand* demand = demanded(s); demand != nullptr) {
                    arrive(cores_[index_[demand->accelerator]], {e.task, e.job, e.execution, demand});
                } else {
                    arrive(cores_[s.worker], {e.task, e.job, e.execution});
                }
                break;
            case Kind::answer:
                idle_ = std::max(idle_, now);
                if (present && s.phase == Phase::away) {
                    s.job.received = now;
                    resume(e.task, now);
                } else if (s.phase != Phase::idle) {
                    s.job.status |= job_status::late_answer;
                } else {
                    s.late_answer = true;
                }
                break;
            case Kind::wake:
                if (present && s.phase == Phase::away) {
                    resume(e.task, now);
                }
                break;
            case Kind::give_up:
                if (present && s.phase != Phase::fallback && s.job.received == absent) {
                    give_up(e.task, now);
                }
                break;
        }
    }

    [[nodiscard]] static const Demand* demanded(const JobState& s) {
        return s.parts.empty() || s.phase == Phase::fallback ? nullptr : s.parts[s.at].demand;
    }

    // A mailbox holds one request a task: a newer one takes the place of one that was not begun.
    void arrive(CoreState& worker, Request request) {
        worker.look = true;
        for (Request& waiting : worker.queue) {
            if (waiting.task == request.task) {
                waiting = request;
                return;
            }
        }
        worker.queue.push_back(request);
    }

    void give_up(std::uint32_t t, Time now) {
        JobState& s = tasks_[t];
        CoreState& core = cores_[s.core];
        const bool goes_on = s.running && core.keeps && s.task->on_miss == OnMiss::local_fallback;
        if (goes_on) {
            pause(core, now);
        } else if (s.running) {
            halt(core, now);
        }
        begins(s, now);
        if (!goes_on) {
            ++s.part;  // whatever of it waits on the master's core is void
        }
        if (s.task->on_miss == OnMiss::local_fallback) {
            s.job.status |= job_status::fallback;
            s.job.compute = s.task->fallback;
            s.phase = Phase::fallback;
            begin_part(t, s.task->fallback, now);
            return;
        }
        s.job.status |= job_status::missed | job_status::held;
        if (s.task->on_miss == OnMiss::stop && now < until_) {
            until_ = now;
            stopped_ = now;
        }
        finish(t, now);
    }

    [[nodiscard]] Doing doing(const JobState& s) const {
        if (s.phase == Phase::fallback) {
            return Doing::fallback;
        }
        if (s.phase == Phase::away) {
            return Doing::wait;
        }
        if (!s.task->offloaded) {
            return Doing::execute;
        }
        return s.phase == Phase::first ? Doing::send : Doing::receive;
    }

    // Ends the stretch that the core has spent on its job, which keeps what remains.
    void pause(CoreState& core, Time now) {
        JobState& s = tasks_[core.running.task];
        take_resource(core, now);
        sink_.slice(core.since, std::min(core.begins, now), s.id, s.job.seq, core.id, Doing::context_switch);
        if (now > core.begins) {
            sink_.slice(std::max(core.since, core.begins), now, s.id, s.job.seq, core.id, doing(s));
            s.remaining -= s.phase == Phase::away ? 0 : now - core.begins;
            s.owed = std::max<Time>(0, s.owed - (now - core.begins));
        }
    }

    void halt(CoreState& core, Time now) {
        pause(core, now);
        tasks_[core.running.task].running = false;
        core.busy = false;
        core.completes = never;
        core.look = true;
    }

    void complete(CoreState& core, Time now) {
        if (core.policy == Policy::accelerator) {
            const Request done = core.serving;
            sink_.slice(core.since, now, tasks_[done.task].id, done.job, core.id, Doing::execute);
            push(events_, {add(now, done.demand->response), Kind::wake, done.task, done.job, 0});
            core.busy = false;
            core.completes = never;
            core.look = true;
            return;
        }
        if (core.policy == Policy::worker) {
            const Request done = core.serving;
            JobState& s = tasks_[done.task];
            sink_.slice(core.since, now, s.id, done.job, core.id, Doing::execute);
            if (s.phase == Phase::away && s.job.seq == done.job) {
                s.job.worker_send = now;
            }
            push(events_, {add(now, s.task->response), Kind::answer, done.task, done.job, 0});
            core.busy = false;
            core.completes = never;
            core.look = true;
            return;
        }
        const std::uint32_t t = core.running.task;
        if (const JobState* holder = holder_before(tasks_[t]); holder != nullptr) {
            wait_for_resource(core, *holder, now);
            return;
        }
        if (!last_part(tasks_[t]) && tasks_[t].parts[tasks_[t].at].goes_on) {
            next_part(core, now);
            return;
        }
        if (last_part(tasks_[t]) || !kept(core, tasks_[t].parts[tasks_[t].at])) {
            halt(core, now);
        }
        end_part(t, now);
    }

    void dispatch(CoreState& core, Time now) {
        core.look = false;
        core.look_again = never;
        if (core.policy == Policy::worker) {
            if (!core.busy && !core.queue.empty()) {
                serve(core, now);
            }
            return;
        }
        if (core.policy == Policy::accelerator) {
            if (!core.busy && !core.queue.empty()) {
                arbitrate(core, now);
            }
            return;
        }
        if (!core.supply.on()) {
            return;  // it looks again when it is on
        }
        for (;;) {
            while (!core.ready.empty() && core.ready.front().part != tasks_[core.ready.front().task].part) {
                pop(core.ready);
            }
            if (core.ready.empty()) {
                return;
            }
            if (core.busy) {
                take_resource(core, now);
            }
            if (core.busy &&
                (core.policy == Policy::non_preemptive || core.ready.front().key >= core.running.key)) {
                return;
            }
            if (core.busy && now < core.begins) {
                core.look_again = core.begins;  // a switch under way is not interrupted
                return;
            }
            if (kept_from_beginning(core, tasks_[core.ready.front().task])) {
                if (!core.busy) {
                    let_begun_go_on(core, now);
                }
                return;
            }
            const std::uint32_t next = core.ready.front().task;
            if (tasks_[next].job.start != absent || !cannot_begin(tasks_[next], now)) {
                break;
            }
            skip_ready(next, now);
            core.look = false;
        }
        if (core.busy) {
            const Ready preempted = core.running;
            halt(core, now);
            core.look = false;
            ++tasks_[preempted.task].job.preemptions;
            preempt(core, tasks_[preempted.task]);
            const Ready urgent = pop(core.ready);
            push(core.ready, preempted);
            start(core, urgent, now);
            return;
        }
        start(core, pop(core.ready), now);
    }

    void start(CoreState& core, const Ready& entry, Time now) {
        JobState& s = tasks_[entry.task];
        begins(s, now);
        if (std::exchange(s.reloads, false)) {
            const Draw draw(app::mix(settings_.seed + reload_choices + s.job.preemptions), s.id);
            const auto sets = static_cast<Time>(std::count(s.lost.begin(), s.lost.end(), true));
            const Time most = add(core.cache_reload, mul(sets, core.set_reload));
            const Time longer = draw(settings_.execution, Choice::suspension, s.job.seq, 0, most);
            // Blocks that it had not loaded again when it was preempted once more cannot be lost a second
            // time.
            const Time all = add(core.cache_reload, mul(static_cast<Time>(s.lost.size()), core.set_reload));
            const Time owed = std::min(all, add(s.owed, longer));
            s.remaining = add(s.remaining, owed - s.owed);
            s.owed = owed;
        }
        if (core.set_reload != 0) {
            evict(core, *s.task);
        }
        s.running = true;
        core.busy = true;
        core.running = entry;
        core.running.key = std::min(entry.key, begun_key(s));
        core.since = now;
        core.begins = add(now, core.context_switch);
        core.completes = s.phase == Phase::away ? never : end_of_stretch(core);
    }

    static void preempt(const CoreState& core, JobState& s) {
        s.reloads = core.cache_reload != 0 || core.set_reload != 0;
        s.lost.assign(s.task->useful.size(), false);
    }

    // Blocks that a job touches are lost to those that it, or another, preempted.
    void evict(const CoreState& core, const Task& task) {
        for (JobState& other : tasks_) {
            if (other.task == &task || !other.reloads || &cores_[other.core] != &core) {
                continue;
            }
            for (std::size_t k = 0; k < other.lost.size(); ++k) {
                const std::uint32_t set = other.task->useful[k];
                other.lost[k] = other.lost[k] || std::find(task.evicting.begin(), task.evicting.end(), set) !=
                                                     task.evicting.end();
            }
        }
    }

    // As the server of include/consort/accel does, by the same functions.
    void arbitrate(CoreState& core, Time now) {
        std::fill(core.costs.begin(), core.costs.end(), 0);
        for (const Request& waiting : core.queue) {
            core.costs[waiting.demand->client] = waiting.demand->cost;
        }
        const auto at = static_cast<Ticks>(now);
        const accel::Choice choice = accel::choose(
            core.arbitration, static_cast<Ticks>(core.round),
            static_cast<std::uint32_t>(core.accounts.size()), at,
            [&core](std::uint32_t i) -> const accel::Account& { return core.accounts[i]; },
            [&core](std::uint32_t i) { return static_cast<Ticks>(core.costs[i]); });
        if (choice.client == accel::nobody) {
            core.look_again =
                choice.look_again == accel::never ? never : static_cast<Time>(choice.look_again);
            return;
        }
        const auto next = std::find_if(core.queue.begin(), core.queue.end(), [&](const Request& waiting) {
            return waiting.demand->client == choice.client;
        });
        core.serving = *next;
        core.queue.erase(next);
        core.accounts[choice.client].begin(core.arbitration, at,
                                           static_cast<Ticks>(core.serving.demand->cost));
        core.busy = true;
        core.since = now;
        core.completes = add(now, core.serving.execution);
    }

    void serve(CoreState& worker, Time now) {
        auto next = worker.queue.begin();
        if (worker.by_rank) {
            next = std::min_element(next, worker.queue.end(), [this](const Request& a, const Request& b) {
                return tasks_[a.task].task->worker_rank < tasks_[b.task].task->worker_rank;
            });
        }
        worker.serving = *next;
        worker.queue.erase(next);
        JobState& s = tasks_[worker.serving.task];
        if (s.phase == Phase::away && s.job.seq == worker.serving.job) {
            s.job.worker_receive = now;
        }
        worker.busy = true;
        worker.since = now;
        worker.completes = add(now, worker.serving.execution);
    }

    const System& system_;
    const Settings& settings_;
    Sink<traced>& sink_;
    Time until_ = 0;
    Time stopped_ = never;
    Time idle_ = 0;
    std::uint64_t order_ = 0;
    std::vector<JobState> tasks_;
    std::vector<CoreState> cores_;
    std::vector<std::uint32_t> index_;
    Division division_;
    std::vector<Event> events_;      // a heap
    std::vector<Release> releases_;  // a heap
    // By task, where any is released by blocks.
    std::vector<app::Arrivals> arrivals_;
    std::vector<std::vector<std::uint32_t>> released_by_;
    std::vector<std::uint32_t> arrived_;
};

}  // namespace consort::engine::sim
