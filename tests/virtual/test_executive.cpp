// SPDX-License-Identifier: Apache-2.0
//
// The executive as boards compile it does what it does in virtual time, whose jobs are compared with the
// simulator's: the same jobs, instants and preemptions of random task sets, overloaded ones too, under each
// policy; also where jobs leave the core for a worker.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <random>
#include <tuple>
#include <vector>

#include "consort/app/executive.hpp"
#include "consort/virtual/timed_executive.hpp"
#include "fewer.hpp"

namespace {

using namespace consort::app;
using namespace consort::virtual_time;

struct Planned {
    plan::Task plan{};
    std::vector<Time> lengths;  // of its jobs, in turn
    // Of a task whose jobs leave the core: the lengths of their absence, in turn. A job given up is computed
    // here.
    std::vector<Time> delays;

    [[nodiscard]] bool leaves() const { return plan.worker != plan::none; }

    [[nodiscard]] Time delay(std::uint32_t seq) const { return delays[seq % delays.size()]; }
};

struct Case {
    std::vector<Planned> tasks;
    plan::Policy policy = plan::Policy::fixed_priority;
    Time until = 0;
    std::uint64_t seed = 0;
    // The job that ends the run; tasks.size(): none.
    std::uint32_t stops = 0;
    std::uint32_t stops_at = 0;
};

// Each job's task, number, beginning and end; -1: it was not executed.
using Row = std::tuple<std::uint32_t, std::uint32_t, Time, Time>;
struct Log {
    std::vector<Row> rows;
    std::uint64_t preemptions = 0;
    friend bool operator==(const Log&, const Log&) = default;
};

// A core whose masters sleep.
consort::app::plan::Core sleeping(plan::Policy policy) {
    consort::app::plan::Core core{};
    core.policy = policy;
    core.wait = plan::Wait::sleep;
    return core;
}

// A core in virtual time: a job's length passes with interrupts enabled.
template <class Host>
class Core {
  public:
    explicit Core(const Case& of) : of_(of) {}

    [[nodiscard]] Time now() const noexcept { return now_; }
    void arm(Time at) noexcept { armed_ = at; }
    [[nodiscard]] Time armed() const noexcept { return armed_; }
    [[nodiscard]] Time until() const noexcept { return stopped_ ? 0 : of_.until; }
    [[nodiscard]] bool stopped() const noexcept { return stopped_; }
    void stop() noexcept { stopped_ = true; }
    void enable() noexcept {}
    void disable() noexcept {}
    void settle() noexcept {
        while (event() <= now_) {
            deliver();
            if (host().armed() <= now_) {
                host().due();
            }
        }
    }
    // The answer to a job that has left the core now.
    void expect(std::uint32_t task, std::uint32_t seq) {
        answers_.push_back({now_ + of_.tasks[task].delay(seq), task, seq});
    }

    [[nodiscard]] Time length(std::uint32_t task, std::uint32_t seq) const {
        const auto& lengths = of_.tasks[task].lengths;
        return lengths[seq % lengths.size()];
    }
    [[nodiscard]] bool ends_run(std::uint32_t task, std::uint32_t seq) const {
        return task == of_.stops && seq == of_.stops_at;
    }
    void compute(Time length) {
        while (length != 0) {
            if (event() <= now_) {
                settle();
                host().preempt();
                continue;
            }
            const Time step = event() - now_ < length ? event() - now_ : length;
            now_ += step;
            length -= step;
        }
    }
    void run_all() {
        for (;;) {
            host().dispatch_all();
            if (event() == never) {
                return;
            }
            now_ = event() > now_ ? event() : now_;
            settle();
        }
    }
    Log log;

  protected:
    Host& host() { return static_cast<Host&>(*this); }
    const Case& of_;

  private:
    struct Answer {
        Time at;
        std::uint32_t task;
        std::uint32_t seq;
    };
    // The next instant at which anything happens.
    [[nodiscard]] Time event() const noexcept {
        Time next = static_cast<const Host&>(*this).armed();
        for (const Answer& answer : answers_) {
            next = std::min(next, answer.at);
        }
        return next;
    }
    // Delivers what has come, in the order of tasks.
    void deliver() {
        std::vector<Answer> here;
        std::copy_if(answers_.begin(), answers_.end(), std::back_inserter(here),
                     [this](const Answer& answer) { return answer.at <= now_; });
        answers_.erase(std::remove_if(answers_.begin(), answers_.end(),
                                      [this](const Answer& answer) { return answer.at <= now_; }),
                       answers_.end());
        std::stable_sort(here.begin(), here.end(),
                         [](const Answer& a, const Answer& b) { return a.task < b.task; });
        for (const Answer& answer : here) {
            host().answered(answer.task, answer.seq);
        }
    }

    Time now_ = 0;
    Time armed_ = never;
    bool stopped_ = false;
    std::vector<Answer> answers_;
};

// Jobs that are stretches of time, which may be given up in their midst: those of virtual time.
class Timed : public Core<Timed>, public TimedExecutive<Timed> {
  public:
    explicit Timed(const Case& of) : Core(of), tasks_(of.tasks.size()) {
        for (std::uint32_t t = 0; t < tasks_.size(); ++t) {
            const Planned& from = of.tasks[t];
            tasks_[t].plan = &from.plan;
            tasks_[t].id = t;
            tasks_[t].draw = Draw(of.seed, t);
            const ReleaseRule rule{from.plan.period, from.plan.extra_gap, from.plan.offset, from.plan.jitter};
            tasks_[t].releases = Releases(rule, tasks_[t].draw, Spread::edges);
            tasks_[t].executions = from.lengths.data();
            tasks_[t].execution_count = from.lengths.size();
        }
        TimedExecutive::start(tasks_.data(), static_cast<std::uint32_t>(tasks_.size()), sleeping(of.policy),
                              Spread::uniform, Spread::edges, 0);
    }
    using Core::disable;
    using Core::enable;
    using Core::now;
    using Core::until;
    using TimedExecutive::armed;
    void due() { timer(); }
    void answered(std::uint32_t task, std::uint32_t seq) { answer(task, seq); }
    void preempt() {
        if (preempts()) {
            ++top()->task->job.preemptions;
            dispatch();
        }
    }
    void dispatch_all() { dispatch(); }

    void switched() noexcept {}
    void spend(Frame& frame, Time length) noexcept {
        TimedTask& task = *frame.task;
        compute(length);
        const bool last = task.phase != Phase::first || !of_.tasks[task.id].leaves();
        if (last && ends_run(task.id, task.job.seq)) {
            Core::stop();
        }
    }
    void end() noexcept { Core::stop(); }
    void decide() noexcept { Core::settle(); }
    void send(const TimedTask& task, const JobTimes& job) noexcept { expect(task.id, job.seq); }
    void begun(const TimedTask&, const JobTimes&) noexcept {}
    void finished(const TimedTask& task, const JobTimes& job) noexcept {
        log.rows.emplace_back(task.id, job.seq, job.start, job.finish);
        log.preemptions += job.preemptions;
        const bool fell_back = (job.status & consort::job_status::fallback) != 0;
        fallbacks += fell_back ? 1 : 0;
        abandons = abandons || (fell_back && job.sent == absent);
    }
    std::uint64_t fallbacks = 0;
    // A job was given up before its first part had ended. On a board that runs to its end all the same.
    bool abandons = false;

  private:
    std::vector<TimedTask> tasks_;
};

using Drawn = ReleasesBy<const plan::Task*, ReleaseForms{.others = false}>;
template <bool parts>
struct Numbered : consort::app::Task<Drawn, parts> {
    std::uint32_t number = 0;
    Time began = 0;
    bool here = false;             // the answer to the job in hand
    std::uint32_t answered = ~0U;  // the last job that an answer came to
};

// Jobs that are code, as on a board. `parts`: whether jobs may leave the core.
template <bool parts>
class Coded : public Core<Coded<parts>>, public Executive<Coded<parts>, Numbered<parts>> {
    using Base = Core<Coded>;
    using Base::of_;
    using Numbered = ::Numbered<parts>;
    friend Executive<Coded, Numbered>;

  public:
    using Base::compute;
    using Base::log;
    using Base::now;

    explicit Coded(const Case& of) : Base(of), tasks_(of.tasks.size()) {
        for (std::uint32_t t = 0; t < tasks_.size(); ++t) {
            tasks_[t].number = t;
            tasks_[t].plan = &of.tasks[t].plan;
            tasks_[t].releases = {tasks_[t].plan, Draw(of.seed, t), Spread::edges};
        }
        this->start(tasks_.data(), static_cast<std::uint32_t>(tasks_.size()), of.policy, 0);
    }
    void due() { this->timer(); }
    void answered(std::uint32_t task, std::uint32_t seq) { tasks_[task].answered = seq; }
    void preempt() { this->dispatch(); }
    void dispatch_all() { this->dispatch(); }
    void end() { log.preemptions = this->preemptions(); }

    [[nodiscard]] Time begin() const noexcept { return now(); }
    void disarm() noexcept { this->arm(never); }
    void prepare(Numbered&) noexcept {}
    bool execute(Numbered& task, Time begin) noexcept {
        const Planned& plan = of_.tasks[task.number];
        if (!plan.leaves()) {
            compute(this->length(task.number, task.releases.job()));
        } else {
            compute(task.here ? plan.plan.receive : plan.plan.fallback);
            begin = task.began;
        }
        log.rows.emplace_back(task.number, task.releases.job(), begin, now());
        return !this->ends_run(task.number, task.releases.job());
    }
    void depart(Numbered& task, Time begin) noexcept requires(parts) {
        task.began = begin;
        task.here = false;
        compute(task.plan->send);
        this->expect(task.number, task.releases.job());
    }
    void left() noexcept requires(parts) { this->settle(); }
    [[nodiscard]] bool answered(Numbered& task) const noexcept requires(parts) {
        return task.here = task.answered == task.releases.job();
    }
    [[nodiscard]] Time give_up(const Numbered& task) const noexcept requires(parts) {
        return after(task.releases.nominal(), task.plan->give_up);
    }
    [[nodiscard]] static bool leaves(const Numbered& task) noexcept requires(parts) {
        return task.plan->worker != plan::none;
    }
    void skip(Numbered& task) noexcept {
        log.rows.emplace_back(task.number, task.releases.job(), absent, absent);
    }

  private:
    using Base::arm;
    std::vector<Numbered> tasks_;
};

// `leave`: jobs of some tasks leave the core.
Case random_case(std::uint64_t seed, bool leave) {
    std::mt19937_64 random(seed);
    const auto between = [&](Time low, Time high) {
        return std::uniform_int_distribution<Time>(low, high)(random);
    };
    Case made;
    made.policy = static_cast<plan::Policy>(between(0, 2));
    made.until = between(1, 300);
    made.seed = seed;
    const Time tasks = between(1, 6);
    for (Time t = 0; t < tasks; ++t) {
        Planned one;
        one.plan.worker = plan::none;
        one.plan.skips = true;
        one.plan.on_miss = consort::OnMiss::local_fallback;
        one.plan.period = between(2, 24);
        one.plan.offset = between(0, 12);
        one.plan.extra_gap = between(0, 1) * between(1, one.plan.period);
        one.plan.jitter = between(0, 1) * between(1, 2 * one.plan.period);
        one.plan.deadline = between(1, 2 * one.plan.period);
        const Time key = between(2, 5);
        const Time level = made.policy == plan::Policy::fixed_priority                  ? key - between(0, 2)
                           : made.policy == plan::Policy::fixed_priority_non_preemptive ? 0
                                                                                        : key;
        one.plan.rank = static_cast<std::uint32_t>(key);
        one.plan.threshold = static_cast<std::uint32_t>(level);
        for (Time n = between(1, 5); n != 0; --n) {
            one.lengths.push_back(between(1, one.plan.period / 2 + between(0, 3)));
        }
        if (leave && between(0, 1) == 0) {
            one.plan.worker = 0;
            one.plan.send = between(1, 3);
            one.plan.receive = between(1, 3);
            one.plan.fallback = between(1, 4);
            one.plan.deadline += between(0, 3 * one.plan.period);
            for (Time n = between(1, 5); n != 0; --n) {
                one.delays.push_back(between(0, 1) * between(0, one.plan.deadline));
            }
        }
        one.plan.give_up = one.plan.deadline - one.plan.deadline / 5;
        made.tasks.push_back(one);
    }
    made.stops = static_cast<std::uint32_t>(between(0, 3 * tasks));
    made.stops_at = static_cast<std::uint32_t>(between(0, 8));
    return made;
}

// The counts of compared features.
struct Seen {
    std::uint64_t unserved = 0, preempted = 0, fallbacks = 0, left = 0, abandoned = 0;
};

constexpr std::uint64_t systems = consort::test::fewer(10'000);

template <bool parts>
void compare(std::uint64_t seeds, Seen& seen) {
    for (std::uint64_t seed = 0; seed < seeds; ++seed) {
        const Case of = random_case(seed, parts);
        Timed timed(of);
        timed.run_all();
        if (timed.abandons) {
            ++seen.abandoned;
            continue;
        }
        Coded<parts> coded(of);
        coded.run_all();
        coded.end();
        ASSERT_EQ(timed.log, coded.log) << "seed " << seed;
        for (const Row& row : timed.log.rows) {
            seen.unserved += std::get<2>(row) == absent ? 1 : 0;
            seen.left += of.tasks[std::get<0>(row)].leaves() ? 1 : 0;
        }
        seen.preempted += timed.log.preemptions;
        seen.fallbacks += timed.fallbacks;
    }
}

TEST(Executive, RunsCodeAsItRunsStretchesOfTime) {
    Seen seen;
    compare<false>(2 * systems, seen);
    // Each feature under comparison did happen.
    EXPECT_GT(seen.unserved, systems);
    EXPECT_GT(seen.preempted, systems);
}

TEST(Executive, RunsCodeThatLeavesTheCoreAsItRunsStretchesOfTime) {
    Seen seen;
    compare<true>(3 * systems, seen);
    EXPECT_GT(seen.unserved, systems);
    EXPECT_GT(seen.preempted, systems);
    EXPECT_GT(seen.left, 5 * systems);
    EXPECT_GT(seen.fallbacks, systems);
    EXPECT_LT(seen.abandoned, 2 * systems);
}

}  // namespace
