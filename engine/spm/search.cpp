// SPDX-License-Identifier: Apache-2.0
#include "spm/search.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <numeric>
#include <thread>

namespace consort::engine::spm {

namespace {

constexpr Time slot = 10;
constexpr std::size_t delay_count = 24;

template <class Grant>
void observe_with(std::span<const Task> tasks, Unload unload, const Scenario& scenario, Grant grant,
                  std::size_t max_jobs, std::vector<Time>& worst) {
    worst.assign(tasks.size(), 0);
    std::size_t jobs = 0;
    const auto done = [&](const JobRecord& job) {
        worst[job.task] = std::max(worst[job.task], job.unload_end - job.due);
        return ++jobs < max_jobs;
    };
    if (unload == Unload::fifo) {
        replay<Unload::fifo>(tasks, scenario.arrivals, grant, scenario.until, done);
    } else {
        replay<Unload::lifo>(tasks, scenario.arrivals, grant, scenario.until, done);
    }
}

void observe_into(std::span<const Task> tasks, Tdma tdma, Method method, Unload unload,
                  const Scenario& scenario, std::size_t max_jobs, std::vector<Time>& worst) {
    if (method == Method::round_robin) {
        observe_with(tasks, unload, scenario, RoundRobinGrant{tdma, scenario.delays}, max_jobs, worst);
    } else {
        observe_with(tasks, unload, scenario, TdmaGrant{tdma}, max_jobs, worst);
    }
}

class Climber {
  public:
    Climber(std::span<const Task> tasks, Tdma tdma, const Options& options, Unload unload,
            std::span<const Time> bound, Random& random)
        : tasks_(tasks), bound_(bound), options_(options), random_(random), tdma_(tdma), unload_(unload) {
        for (const Task& t : tasks) {
            reach_ = std::max(reach_, t.period);
            jitter_ = jitter_ || t.jitter != 0;
        }
        finding_.worst.assign(tasks.size(), 0);
    }

    Finding run(const Climb& effort) {
        for (int restart = 0; restart < effort.restarts; ++restart) {
            // The lower a task's priority, the more can go wrong before it.
            const auto n = static_cast<Time>(tasks_.size());
            const auto target = static_cast<std::size_t>(std::max(random_.below(n), random_.below(n)));
            Scenario current = start(target);
            double best = rate(current, target);
            for (int step = 0; step < effort.steps; ++step) {
                Scenario next = current;
                const Time changes = random_.between(1, 3);
                for (Time k = 0; k < changes; ++k) {
                    mutate(next);
                }
                const double value = rate(next, target);
                // Steps down are taken too, ever smaller ones: a job that is late because of the one before
                // it lies behind a valley.
                const double left = 1 - static_cast<double>(step) / effort.steps;
                if (value >= best * (1 - 0.3 * left * random_.unit() * random_.unit())) {
                    best = value;
                    current = std::move(next);
                }
            }
        }
        return std::move(finding_);
    }

  private:
    // Just after an own slot began, just before, or anywhere.
    Time instant(Time limit) {
        const Time rounds = std::max<Time>(1, limit / tdma_.round);
        switch (random_.below(4)) {
            case 0:
                return random_.below(rounds + 1) * tdma_.round;
            case 1:
                return random_.below(limit + 1);
            default:
                return random_.below(rounds + 1) * tdma_.round + 1;
        }
    }

    // The target and all above it released just after two others were loaded.
    Scenario start(std::size_t target) {
        const std::size_t n = tasks_.size();
        Scenario s;
        s.arrivals.resize(n);
        const Time early = random_.chance(0.5) ? 0 : instant(reach_);
        const Time begin = (early / tdma_.round + 2) * tdma_.round;
        for (std::size_t i = 0; i < n; ++i) {
            Arrivals& a = s.arrivals[i];
            a.silent = i > target && random_.chance(0.3);
            a.offset = begin + 1;
        }
        const auto pick = [&] { return static_cast<std::size_t>(random_.below(static_cast<Time>(n))); };
        const std::size_t u = pick();
        const std::size_t x = pick();
        s.arrivals[u].silent = s.arrivals[x].silent = false;
        s.arrivals[u].offset =
            begin - tdma_.round -
            (random_.chance(0.5) ? 0 : std::min(begin - tdma_.round, random_.below(reach_)));
        s.arrivals[x].offset = begin - (random_.chance(0.7) ? 0 : tdma_.round - 1);
        s.arrivals[target].silent = false;
        s.until = begin + 2 * reach_;
        for (std::size_t i = 0; jitter_ && i < n; ++i) {
            // The first jobs come as late as they may, all together as before.
            if (random_.chance(0.8)) {
                Arrivals& a = s.arrivals[i];
                a.late[0] = std::min(tasks_[i].jitter, a.offset);
                a.offset -= a.late[0];
            }
        }
        if (options_.method == Method::round_robin) {
            for (std::size_t k = 0; k < delay_count; ++k) {
                s.delays.push_back(random_.chance(0.8) ? tdma_.round - tdma_.slot
                                                       : random_.below(tdma_.round - tdma_.slot + 1));
            }
        }
        return s;
    }

    [[nodiscard]] Time release_of(std::size_t task, const Arrivals& a, std::size_t job) const {
        Time release = a.offset;
        for (std::size_t k = 0; k < job; ++k) {
            release += tasks_[task].period + (k < Arrivals::given ? a.extra_gap[k] : 0);
        }
        return release + (job < Arrivals::given ? a.late[job] : 0);
    }

    void mutate(Scenario& s) {
        const auto task = static_cast<std::size_t>(random_.below(static_cast<Time>(tasks_.size())));
        Arrivals& a = s.arrivals[task];
        const auto job = static_cast<std::size_t>(random_.below(Arrivals::given));
        if (jitter_ && random_.chance(0.2)) {
            const Time jitter = tasks_[task].jitter;
            a.late[job] = random_.chance(0.4) ? jitter : random_.chance(0.5) ? 0 : random_.below(jitter + 1);
            return;
        }
        switch (random_.below(s.delays.empty() ? 10 : 11)) {
            case 0:
            case 1:
                a.offset = instant(2 * reach_);
                break;
            case 2: {
                const Time step = random_.chance(0.5) ? tdma_.round : 1;
                a.offset = std::max<Time>(0, a.offset + (random_.chance(0.5) ? step : -step));
                break;
            }
            case 3: {
                // Together with another task.
                const auto other = static_cast<std::size_t>(random_.below(static_cast<Time>(tasks_.size())));
                a.offset = s.arrivals[other].offset;
                break;
            }
            case 4:
                a.extra_gap[job] = random_.chance(0.4) ? 0 : random_.below(tasks_[task].period + 1);
                break;
            case 5: {
                const Time step = random_.chance(0.5) ? tdma_.round : 1;
                a.extra_gap[job] = std::max<Time>(0, a.extra_gap[job] + (random_.chance(0.5) ? step : -step));
                break;
            }
            case 6:
                a.shortened[job] = random_.chance(0.6) ? 0 : random_.below(tasks_[task].execution);
                break;
            case 7:
                a.silent = random_.chance(0.2);
                break;
            case 8: {
                // The next job comes just after an own slot began, or with it.
                const Time release = release_of(task, a, job + 1);
                const Time past = release % tdma_.round;
                const Time wanted = random_.chance(0.7) ? 1 : 0;
                a.extra_gap[job] += past <= wanted ? wanted - past : tdma_.round + wanted - past;
                break;
            }
            case 9: {
                // A job comes together with one of another task.
                const auto other = static_cast<std::size_t>(random_.below(static_cast<Time>(tasks_.size())));
                const auto which = static_cast<std::size_t>(random_.below(Arrivals::given));
                const Time lacks = release_of(other, s.arrivals[other], which) - release_of(task, a, job + 1);
                a.extra_gap[job] = std::max<Time>(0, a.extra_gap[job] + lacks);
                break;
            }
            default: {
                const auto k = static_cast<std::size_t>(random_.below(static_cast<Time>(s.delays.size())));
                s.delays[k] = random_.chance(0.6) ? tdma_.round - tdma_.slot
                                                  : random_.below(tdma_.round - tdma_.slot + 1);
                break;
            }
        }
    }

    double rate(const Scenario& s, std::size_t target) {
        observe_into(tasks_, tdma_, options_.method, unload_, s, 400, observed_);
        ++finding_.simulations;
        for (std::size_t i = 0; i < tasks_.size(); ++i) {
            finding_.worst[i] = std::max(finding_.worst[i], observed_[i]);
            const double ratio = static_cast<double>(observed_[i]) / static_cast<double>(bound_[i]);
            if (ratio > finding_.ratio) {
                finding_.ratio = ratio;
                finding_.task = i;
                finding_.scenario = s;
            }
        }
        return static_cast<double>(observed_[target]);
    }

    std::span<const Task> tasks_;
    std::span<const Time> bound_;
    Options options_;
    Random& random_;
    Tdma tdma_;
    Unload unload_;
    Time reach_ = 0;
    bool jitter_ = false;
    Finding finding_;
    std::vector<Time> observed_;
};

// Executions of one of three kinds of set, in no order.
std::vector<Task> executions(Random& random, bool jitter) {
    const auto kind = random.below(3);
    const Time n = kind == 0 ? random.between(2, 6) : random.between(3, 7);
    std::vector<Task> tasks;
    const auto draw = [&](double low, double high) {
        return std::max<Time>(1, static_cast<Time>(random.log_uniform(low, high) * slot));
    };
    const Time heavy = random.below(n);
    for (Time i = 0; i < n; ++i) {
        Time c = 0;
        if (kind == 0) {
            c = draw(0.1, 80);
        } else if (kind == 1) {
            c = i == heavy ? draw(8, 40) : draw(0.3, 3);
        } else {
            c = draw(1, 12);
        }
        const bool sized = random.chance(0.7);
        tasks.push_back({c, 0, 0, sized ? random.between(1, slot) : 0, sized ? random.between(1, slot) : 0});
        if (jitter && random.chance(0.7)) {
            tasks.back().jitter = draw(0.1, 40);
        }
    }
    return tasks;
}

// Periods at or a little above what the bound asks for; false when the set overloads the core.
bool give_periods(std::vector<Task>& tasks, Tdma tdma, Options options, Random& random,
                  std::vector<Time>& bound) {
    constexpr Time far = Time{1} << 40;
    options.limit_factor = 1;
    for (Task& t : tasks) {
        t.period = t.deadline = far;
    }
    bound.assign(tasks.size(), 0);
    const double loose = random.chance(0.4) ? 0 : random.log_uniform(0.01, 2);
    for (std::size_t i = 0; i < tasks.size(); ++i) {
        for (std::size_t k = 0; k < tasks.size(); ++k) {
            if (k >= i) {
                tasks[k].period = tasks[k].deadline = far;
            }
        }
        responses(std::span(tasks).first(tasks.size()), tdma, options, bound);
        if (bound[i] > 100'000) {
            return false;
        }
        const Time extra =
            random.chance(0.3) ? 0 : static_cast<Time>(random.unit() * loose * static_cast<double>(bound[i]));
        tasks[i].period = bound[i] + extra;
        tasks[i].deadline = random.chance(0.8) ? tasks[i].period : bound[i];
    }
    return responses(tasks, tdma, options, bound) == tasks.size();
}

}  // namespace

std::vector<Time> observe(std::span<const Task> tasks, Tdma tdma, Method method, Unload unload,
                          const Scenario& scenario, std::size_t max_jobs) {
    check(tasks, tdma);
    std::vector<Time> worst;
    observe_into(tasks, tdma, method, unload, scenario, max_jobs, worst);
    return worst;
}

Finding climb(std::span<const Task> tasks, Tdma tdma, const Options& options, Unload unload,
              std::span<const Time> bound, Random& random, const Climb& effort) {
    check(tasks, tdma);
    return Climber(tasks, tdma, options, unload, bound, random).run(effort);
}

Outcome run(const Campaign& campaign) {
    Outcome total;
    std::mutex merging;
    std::atomic<std::uint64_t> next{0};
    const auto work = [&] {
        Outcome mine;
        std::vector<Time> bound;
        for (std::uint64_t set = next++; set < campaign.sets; set = next++) {
            Random random(campaign.seed * 0x2545f4914f6cdd1dU + set * 0x9e3779b97f4a7c15U);
            const Time cores = random.between(campaign.cores_low, campaign.cores_high);
            // Mostly the paper's equal slots, else slots of the other cores' own lengths.
            const Tdma tdma{
                random.chance(0.7) ? cores * slot : slot + (cores - 1) * random.between(1, 3 * slot), slot};
            std::vector<Task> tasks = executions(random, campaign.jitter);
            if (!give_periods(tasks, tdma, campaign.options, random, bound)) {
                continue;
            }
            ++mine.sets;
            Finding found =
                climb(tasks, tdma, campaign.options, campaign.unload, bound, random, campaign.effort);
            mine.simulations += found.simulations;
            mine.largest_ratio = std::max(mine.largest_ratio, found.ratio);
            for (std::size_t i = 0; i < tasks.size(); ++i) {
                const auto bin =
                    static_cast<std::size_t>(found.worst[i] * static_cast<Time>(Outcome::bins) / bound[i]);
                if (found.worst[i] <= bound[i]) {
                    ++mine.tightness[std::min(bin, Outcome::bins - 1)];
                }
            }
            if (found.ratio > 1) {
                ++mine.violated_sets;
                const bool better =
                    !mine.example || tasks.size() < mine.example->tasks.size() ||
                    (tasks.size() == mine.example->tasks.size() && found.ratio > mine.example->finding.ratio);
                if (better) {
                    mine.example = Counterexample{tasks, tdma, bound, std::move(found)};
                }
            }
        }
        const std::scoped_lock lock(merging);
        total.sets += mine.sets;
        total.simulations += mine.simulations;
        total.violated_sets += mine.violated_sets;
        total.largest_ratio = std::max(total.largest_ratio, mine.largest_ratio);
        for (std::size_t b = 0; b < Outcome::bins; ++b) {
            total.tightness[b] += mine.tightness[b];
        }
        if (mine.example) {
            const bool better = !total.example || mine.example->tasks.size() < total.example->tasks.size() ||
                                (mine.example->tasks.size() == total.example->tasks.size() &&
                                 mine.example->finding.ratio > total.example->finding.ratio);
            if (better) {
                total.example = std::move(mine.example);
            }
        }
    };
    std::vector<std::thread> threads;
    for (int t = 1; t < campaign.threads; ++t) {
        threads.emplace_back(work);
    }
    work();
    for (std::thread& thread : threads) {
        thread.join();
    }
    return total;
}

}  // namespace consort::engine::spm
