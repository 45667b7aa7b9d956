// SPDX-License-Identifier: Apache-2.0
#include "spm/bound.hpp"

#include <algorithm>
#include <limits>

#include "spm/lengths.hpp"
#include "spm/sized_operations.hpp"

namespace consort::engine::spm {

namespace {

constexpr Time unbounded = std::numeric_limits<Time>::max();

class Analysis {
  public:
    Analysis(std::span<const Task> tasks, Tdma tdma, const Options& options)
        : tasks_(tasks), lengths_(tdma, options), options_(options) {
        // The two longest of the tasks below each, from the lowest upwards.
        Pair longest{Worst::none, Worst::none};
        below_.resize(tasks.size());
        for (std::size_t i = tasks.size(); i-- > 0;) {
            below_[i] = longest;
            const int index = static_cast<int>(i);
            if (longest.first == Worst::none || execution(index) > execution(longest.first)) {
                longest = {index, longest.first};
            } else if (longest.second == Worst::none || execution(index) > execution(longest.second)) {
                longest.second = index;
            }
        }
        start_.resize(tasks.size(), 0);
        if (sized()) {
            sizes_.emplace(tasks, tdma.slot);
            counts_.resize(tasks.size());
        }
    }

    // The bound of task i; those of all tasks above it have been computed.
    Time respond(std::size_t i, Worst& worst) {
        i_ = static_cast<int>(i);
        final_ = final(i);
        const Time deadline = tasks_[i].deadline;
        limit_ = deadline > unbounded / 4 / options_.limit_factor ? unbounded / 4
                                                                  : deadline * options_.limit_factor;
        best_ = -1;
        full_at_ = -1;
        worst_ = {};
        const Pair below = below_[i];
        const int second = options_.lower_may_overrun ? below.first : below.second;
        consider(below.first, second);
        if (best_ <= limit_) {
            consider(second, below.first);
        }
        if (options_.method != Method::literal && best_ <= limit_) {
            consider_above(below.first, second);
        }
        worst = worst_;
        start_[i] = best_ - final_ - (options_.lemmas.start_jitter ? 0 : own_jitter());
        return best_;
    }

    [[nodiscard]] Time window_jobs(int j, Time window, int u, int x) const {
        const auto& task = tasks_[static_cast<std::size_t>(j)];
        // What is due up to its jitter before the window may be released in it.
        Time from = options_.lemmas.window_jitter ? -task.jitter : 0;
        if (j == u || j == x) {
            from = early(j, u, x);
        }
        return window > std::max<Time>(from, 0) ? ceil_div(window - from, task.period) : 0;
    }

  private:
    // The pairs in which a task above, or the task itself, is in flight.
    void consider_above(int first, int second) {
        // One that is no longer than the second longest below is outdone by that one, whose next release
        // never counts. Likewise a u that has completed when its interval ends adds no more than an empty
        // partition.
        const Time known = execution(second);
        running_.clear();
        loading_.clear();
        for (const int k : {first, second}) {
            running_.push_back(k);
            loading_.push_back(k);
        }
        for (int k = i_; k >= 0; --k) {
            if (execution(k) > std::max(known, lengths_.blocking_min) ||
                (sized() && sizes_->longer_than_below(k, i_))) {
                running_.push_back(k);
            }
            if (execution(k) > known || (sized() && sizes_->longer_than_below(k, i_))) {
                loading_.push_back(k);
            }
        }
        const auto longer = [this](int a, int b) { return execution(a) > execution(b); };
        std::sort(running_.begin(), running_.end(), longer);
        std::sort(loading_.begin(), loading_.end(), longer);
        // From the longest on: where a pair could not be worse even if it took nothing from the interference,
        // no pair of shorter tasks is.
        for (const int u : running_) {
            if (outdone(u, loading_.front())) {
                break;
            }
            for (const int x : loading_) {
                if (outdone(u, x)) {
                    break;
                }
                const bool above = (u != Worst::none && u <= i_) || (x != Worst::none && x <= i_);
                if (above && u != x) {
                    consider(u, x);
                    if (best_ > limit_) {
                        return;
                    }
                }
            }
        }
    }

    // All jobs of the window that the best bound so far has, as if none were in flight before it.
    [[nodiscard]] const Jobs& full() {
        if (full_at_ != best_) {
            full_at_ = best_;
            full_ = {};
            full_window_ = best_ - final_ - own_jitter() - lengths_.window_sub;
            for (int j = 0; j < i_; ++j) {
                full_.add(execution(j), window_jobs(j, full_window_, Worst::none, Worst::none), lengths_);
            }
        }
        return full_;
    }

    // H of the pair in that window; the jobs of all but u and x are known.
    [[nodiscard]] Time step_at_best(int u, int x) {
        Jobs jobs = full();
        jobs.add(execution(x), 1, lengths_);
        for (const int k : {u, x}) {
            if (k != Worst::none && k < i_) {
                jobs.add(execution(k),
                         window_jobs(k, full_window_, u, x) -
                             window_jobs(k, full_window_, Worst::none, Worst::none),
                         lengths_);
            }
        }
        return interference(jobs, full_window_, u, x);
    }

    // Whether (u, x) cannot exceed the best bound so far even if both were in flight besides all
    // interference. If so for a pair, then for every pair of tasks that are no longer.
    [[nodiscard]] bool outdone(int u, int x) {
        Jobs jobs = full();
        jobs.add(execution(x), 1, lengths_);
        const Time blocking = sized() ? std::max(execution(u), sizes_->slot())
                                      : std::max(execution(u), lengths_.blocking_min) - lengths_.blocking_sub;
        // The executions between the threshold and L are taken as L.
        const Time h = jobs.long_sum + (jobs.count - jobs.long_count) * lengths_.after_io +
                       std::min(jobs.count - jobs.long_count,
                                lengths_.extra_waste + jobs.long_count + jobs.middle_count) *
                           (lengths_.after_cpu - lengths_.after_io) +
                       jobs.middle_count * (lengths_.after_cpu - lengths_.after_io);
        return blocking + h + final_ + own_jitter() <= best_;
    }

    struct Pair {
        int first;
        int second;
    };
    struct Run {
        Time execution;
        Time count;
    };

    [[nodiscard]] Time execution(int k) const {
        return k == Worst::none ? 0 : tasks_[static_cast<std::size_t>(k)].execution;
    }

    // The earliest release, after the busy period began, of the next job of a task in flight then. A job
    // starts to execute at most R - F after its release, so the next one comes at least T - (R - F) after
    // that start: x starts when u's interval ends, and u started an execution before that. The task under
    // analysis itself meets its deadline in all earlier jobs, so its R - F is at most T - F.
    [[nodiscard]] Time early(int k, int u, int x) const {
        if (k > i_ || k == Worst::none || options_.method == Method::literal) {
            return 0;
        }
        const auto index = static_cast<std::size_t>(k);
        const Time slack = k == i_                 ? final_
                           : lengths_.early_return ? tasks_[index].period - start_[index]
                                                   : tasks_[index].period + final(index);
        return blocking(u, x) + slack - (k == u ? execution(k) : 0);
    }

    [[nodiscard]] Time own_jitter() const {
        return options_.lemmas.own_jitter ? tasks_[static_cast<std::size_t>(i_)].jitter : 0;
    }

    // From when the job was due to the beginning of H, negative where it was due before: by its jitter, for
    // it came after that. Behind one of its own task it was due a certain time after that one's start.
    [[nodiscard]] Time shift(int u, int x) const {
        if (u != i_ && x != i_) {
            return -own_jitter();
        }
        Time sum = 0;
        if (u == i_) {
            sum += early(u, u, x);
        }
        if (x == i_) {
            sum += early(x, u, x);
        }
        return sum;
    }

    // H of the jobs that the window holds: the sum of the n largest of their n executions and n DMA times. No
    // pairing of executions with DMA times gives more.
    [[nodiscard]] Time interference(const Jobs& jobs, Time window, int u, int x) {
        const Time n = jobs.count;
        const Time wasted = std::min(n, lengths_.extra_waste + jobs.long_count + jobs.middle_count);
        Time left = n - jobs.long_count;
        const Time taken = std::min(wasted, left);
        left -= taken;
        const Time dma = jobs.long_sum + taken * lengths_.after_cpu;
        if (left >= jobs.middle_count) {
            return dma + jobs.middle_sum + (left - jobs.middle_count) * lengths_.after_io;
        }
        return dma + longest_middle(left, window, u, x);
    }

    [[nodiscard]] Time longest_middle(Time n, Time window, int u, int x) {
        middle_.clear();
        const auto is_middle = [this](Time c) { return c > lengths_.threshold && c <= lengths_.after_cpu; };
        if (is_middle(execution(x))) {
            middle_.push_back({execution(x), 1});
        }
        for (int j = 0; j < i_; ++j) {
            if (is_middle(execution(j))) {
                middle_.push_back({execution(j), window_jobs(j, window, u, x)});
            }
        }
        std::sort(middle_.begin(), middle_.end(),
                  [](const Run& a, const Run& b) { return a.execution > b.execution; });
        Time sum = 0;
        for (const Run& run : middle_) {
            const Time take = std::min(n, run.count);
            sum += take * run.execution;
            n -= take;
        }
        return sum;
    }

    [[nodiscard]] Jobs jobs_in(Time window, int u, int x) const {
        Jobs jobs;
        jobs.add(execution(x), 1, lengths_);
        for (int j = 0; j < i_; ++j) {
            jobs.add(execution(j), window_jobs(j, window, u, x), lengths_);
        }
        return jobs;
    }

    // Takes the pair (u, x) into account.
    void consider(int u, int x) {
        const Time blocking = this->blocking(u, x);
        const Time earlier = shift(u, x);
        if (best_ >= 0) {
            // If H does not grow from where the best bound so far puts it, this pair's least fixed point is
            // not above that: one look instead of an iteration.
            const Time at_best = best_ - blocking - final_ + earlier;
            const bool same_window = earlier == -own_jitter() && !sized();
            if (at_best >= 0 &&
                (same_window ? step_at_best(u, x) : step(at_best, blocking, u, x)) <= at_best) {
                return;
            }
        }
        Time h = 0;
        Time response = 0;
        for (;;) {
            const Time next = step(h, blocking, u, x);
            response = blocking + next + final_ - earlier;
            if (next == h || response > limit_) {
                h = next;
                break;
            }
            h = next;
        }
        if (response > best_) {
            best_ = response;
            const Time window = blocking + h - lengths_.window_sub;
            worst_ = {
                u, x, blocking, h, final_, window, std::max<Time>(earlier, 0), std::max<Time>(-earlier, 0)};
        }
    }

    [[nodiscard]] Time step(Time h, Time blocking, int u, int x) {
        const Time window = blocking + h - lengths_.window_sub;
        if (!sized()) {
            return interference(jobs_in(window, u, x), window, u, x);
        }
        for (int j = 0; j < i_; ++j) {
            counts_[static_cast<std::size_t>(j)] = window_jobs(j, window, u, x);
        }
        return sizes_->interference(i_, u, x, counts_, lengths_.others);
    }

    [[nodiscard]] Time blocking(int u, int x) const {
        if (sized()) {
            return std::max(execution(u), sizes_->load(x, i_));
        }
        return std::max(execution(u), lengths_.blocking_min) - lengths_.blocking_sub;
    }

    [[nodiscard]] Time final(std::size_t i) const {
        const Task& own = tasks_[i];
        if (sized()) {
            return std::max(own.execution + lengths_.final_long,
                            lengths_.final_short + sizes_->longest_unload()) +
                   sizes_->longest_load() + sizes_->unload(static_cast<int>(i), static_cast<int>(i));
        }
        return std::max(own.execution + lengths_.final_long, lengths_.final_short);
    }

    // Operations as long as they take, only under round robin.
    [[nodiscard]] bool sized() const { return options_.method == Method::round_robin; }

    std::span<const Task> tasks_;
    Lengths lengths_;
    Options options_;
    std::vector<Pair> below_;
    std::vector<Time> start_;  // R - F of each task above
    std::vector<int> running_;
    std::vector<int> loading_;
    Jobs full_;
    Time full_at_ = -1;
    Time full_window_ = 0;
    std::vector<Run> middle_;
    std::vector<Time> counts_;  // jobs of each task above in a window
    std::optional<SizedOperations> sizes_;
    int i_ = 0;
    Time final_ = 0;
    Time limit_ = 0;
    Time best_ = -1;
    Worst worst_;
};

}  // namespace

std::vector<Bound> bounds(std::span<const Task> tasks, Tdma tdma, const Options& options) {
    check(tasks, tdma);
    Analysis analysis(tasks, tdma, options);
    std::vector<Bound> result;
    for (std::size_t i = 0; i < tasks.size(); ++i) {
        Bound bound;
        const Time response = analysis.respond(i, bound.worst);
        if (response <= tasks[i].deadline * options.limit_factor) {
            bound.response = response;
        }
        result.push_back(bound);
        if (response > tasks[i].deadline) {
            break;
        }
    }
    return result;
}

std::size_t responses(std::span<const Task> tasks, Tdma tdma, const Options& options,
                      std::span<Time> response) {
    check(tasks, tdma);
    Analysis analysis(tasks, tdma, options);
    Worst worst;
    for (std::size_t i = 0; i < tasks.size(); ++i) {
        response[i] = analysis.respond(i, worst);
        if (response[i] > tasks[i].deadline) {
            return i;
        }
    }
    return tasks.size();
}

bool schedulable(std::span<const Task> tasks, Tdma tdma, const Options& options) {
    check(tasks, tdma);
    Analysis analysis(tasks, tdma, options);
    Worst worst;
    for (std::size_t i = 0; i < tasks.size(); ++i) {
        if (analysis.respond(i, worst) > tasks[i].deadline) {
            return false;
        }
    }
    return true;
}

std::vector<Time> interferers(std::span<const Task> tasks, std::size_t i, Tdma tdma, const Options& options,
                              const Worst& worst) {
    check(tasks, tdma);
    Analysis analysis(tasks, tdma, options);
    Worst ignored;
    for (std::size_t k = 0; k <= i; ++k) {
        static_cast<void>(analysis.respond(k, ignored));
    }
    std::vector<Time> jobs;
    for (std::size_t j = 0; j < i; ++j) {
        jobs.push_back(analysis.window_jobs(static_cast<int>(j), worst.window, worst.running, worst.loading));
    }
    return jobs;
}

}  // namespace consort::engine::spm
