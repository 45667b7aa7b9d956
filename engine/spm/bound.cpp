// SPDX-License-Identifier: Apache-2.0
#include "spm/bound.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "spm/lengths.hpp"
#include "spm/sized_operations.hpp"

namespace consort::engine::spm {

namespace {

constexpr Time unbounded = std::numeric_limits<Time>::max();

class Analysis {
  public:
    Analysis(std::span<const Task> tasks, Tdma tdma, const Options& options)
        : tasks_(tasks), lengths_(tdma, options), options_(options) {
        start(tasks, tdma, options);
    }

    // Takes another set, in the memory of the one before.
    void start(std::span<const Task> tasks, Tdma tdma, const Options& options) {
        tasks_ = tasks;
        lengths_ = Lengths(tdma, options);
        options_ = options;
        least_ = {};
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
        longest_ = longest;
        start_.assign(tasks.size(), 0);
        counted_.assign(tasks.size(), {});
        middle_.clear();
        for (int k = 0; k < static_cast<int>(tasks.size()); ++k) {
            if (is_middle(execution(k))) {
                middle_.push_back(k);
            }
        }
        std::sort(middle_.begin(), middle_.end(),
                  [this](int a, int b) { return execution(a) > execution(b); });
        sizes_.reset();
        if (sized()) {
            sizes_.emplace(tasks, tdma.slot);
            counts_.resize(tasks.size());
        }
    }

    // The bound of task i; those of all tasks above it have been computed.
    Time respond(std::size_t i, Worst& worst) {
        begin(i);
        const Pair below = below_[i];
        const int second = options_.lower_may_overrun ? below.first : below.second;
        consider(below.first, second);
        if (best_ <= limit_) {
            consider(second, below.first);
        }
        misses_behind_lower_ = best_ > limit_;
        if (options_.method != Method::literal && best_ <= limit_) {
            consider_above(below.first, second);
        }
        worst = worst_;
        start_[i] = best_ - final_ - (options_.lemmas.start_jitter ? 0 : own_jitter());
        return best_;
    }

    // True if task i meets its deadline even if the longest of all tasks both blocked it and waited, and no
    // interfering job came later for being in flight before. The response time that follows is not below that
    // of respond(): the executions in H only grow with x, and a task in flight is released again no earlier
    // than others (early() > 0). Where it is known of tasks above instead of theirs, respond() finds no less
    // than the bound, for early() falls with it.
    bool surely_meets(std::size_t i) {
        begin(i);
        std::optional<Time> h = most_behind(longest_.first, longest_.first, least_[0]);
        if (!h && !options_.lower_may_overrun) {
            // One of the two is no longer than the second longest.
            h = most_behind(longest_.first, longest_.second, least_[1]);
            const auto other = h ? most_behind(longest_.second, longest_.first, least_[2]) : std::nullopt;
            h = other ? std::optional(std::max(*h, *other)) : std::nullopt;
        }
        if (h) {
            start_[i] = *h + (options_.lemmas.start_jitter ? own_jitter() : 0);
        }
        return h.has_value();
    }

    // For the task of the last respond(): true if it misses its deadline behind the two longest tasks below
    // it, whatever is known of the tasks above.
    [[nodiscard]] bool misses_behind_lower() const { return misses_behind_lower_; }

    [[nodiscard]] Time window_jobs(int j, Time window, int u, int x) const {
        const auto& task = tasks_[static_cast<std::size_t>(j)];
        // A job that is due up to its jitter before the window may be released in it.
        const Time from = j == u || j == x                ? early(j, u, x)
                          : options_.lemmas.window_jitter ? -task.jitter
                                                          : 0;
        return window > std::max<Time>(from, 0) ? ceil_div(window - from, task.period) : 0;
    }

  private:
    // B and H behind u and x, where the task meets its deadline then; see surely_meets(). `least`: what H of
    // a task above was found to be, whose jobs are among these.
    [[nodiscard]] std::optional<Time> most_behind(int u, int x, Time& least) const {
        const Time blocking = this->blocking(u, x);
        while (blocking + least + final_ + own_jitter() <= limit_) {
            Jobs jobs = due_in(blocking + least - lengths_.window_sub, Worst::none, Worst::none);
            jobs.add(execution(x), 1, lengths_);
            const Time next = most(jobs);
            if (next == least) {
                return blocking + least;
            }
            least = next;
        }
        return std::nullopt;
    }

    void begin(std::size_t i) {
        i_ = static_cast<int>(i);
        final_ = final(i);
        const Time deadline = tasks_[i].deadline;
        limit_ = deadline > unbounded / 4 / options_.limit_factor ? unbounded / 4
                                                                  : deadline * options_.limit_factor;
        best_ = -1;
        full_at_ = -1;
        worst_ = {};
    }

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
            full_window_ = best_ - final_ - own_jitter() - lengths_.window_sub;
            full_ = due_in(full_window_, Worst::none, Worst::none);
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

    // True if (u, x) cannot exceed the best bound so far even if both were in flight besides all
    // interference. If so for a pair, then for every pair of tasks that are no longer.
    [[nodiscard]] bool outdone(int u, int x) {
        Jobs jobs = full();
        jobs.add(execution(x), 1, lengths_);
        const Time blocking = sized() ? std::max(execution(u), sizes_->slot())
                                      : std::max(execution(u), lengths_.blocking_min) - lengths_.blocking_sub;
        return blocking + most(jobs) + final_ + own_jitter() <= best_;
    }

    // Not below H of these jobs: the executions between the threshold and L are taken as L.
    [[nodiscard]] Time most(const Jobs& jobs) const {
        const Time more = lengths_.after_cpu - lengths_.after_io;
        const Time others = jobs.count - jobs.long_count;
        return jobs.long_sum + others * lengths_.after_io +
               std::min(others, lengths_.extra_waste + jobs.long_count + jobs.middle_count) * more +
               jobs.middle_count * more;
    }

    struct Pair {
        int first;
        int second;
    };
    // The number of a task's jobs in each window longer than `above` and no longer than `until`.
    struct Counted {
        Time jobs = 0;
        Time above = unbounded;
        Time until = 0;
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
    [[nodiscard]] Time interference(const Jobs& jobs, Time window, int u, int x) const {
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

    [[nodiscard]] Time longest_middle(Time n, Time window, int u, int x) const {
        Time sum = 0;
        // The waiting job of x stands before others that are no longer.
        Time waiting = is_middle(execution(x)) ? execution(x) : 0;
        for (const int j : middle_) {
            if (waiting >= execution(j) && n > 0) {
                sum += std::exchange(waiting, 0);
                --n;
            }
            if (j < i_) {
                const Time take = std::min(n, window_jobs(j, window, u, x));
                sum += take * execution(j);
                n -= take;
            }
        }
        return sum + (n > 0 ? waiting : 0);
    }

    [[nodiscard]] bool is_middle(Time c) const { return c > lengths_.threshold && c <= lengths_.after_cpu; }

    // The jobs that are due in the window; those of u and x are next released as early() says.
    [[nodiscard]] Jobs due_in(Time window, int u, int x) const {
        Jobs jobs;
        for (int j = 0; j < i_; ++j) {
            const Time n = j == u || j == x ? window_jobs(j, window, u, x) : window_jobs(j, window);
            jobs.add(execution(j), n, lengths_);
        }
        return jobs;
    }

    // The jobs of a task that is not in flight. Most windows hold as many as the last one that was looked at.
    [[nodiscard]] Time window_jobs(int j, Time window) const {
        Counted& known = counted_[static_cast<std::size_t>(j)];
        if (window <= known.above || window > known.until) {
            const auto& task = tasks_[static_cast<std::size_t>(j)];
            const Time jobs = window_jobs(j, window, Worst::none, Worst::none);
            const Time until = jobs * task.period - (options_.lemmas.window_jitter ? task.jitter : 0);
            known = {jobs, jobs == 0 ? unbounded : std::max<Time>(until - task.period, 0), until};
        }
        return known.jobs;
    }

    // Those, and the one of x that waits.
    [[nodiscard]] Jobs jobs_in(Time window, int u, int x) const {
        Jobs jobs = due_in(window, u, x);
        jobs.add(execution(x), 1, lengths_);
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
    mutable std::vector<Counted> counted_;
    Pair longest_{Worst::none, Worst::none};
    std::array<Time, 3> least_{};  // not above H in surely_meets() for the next task
    std::vector<int> running_;
    std::vector<int> loading_;
    Jobs full_;
    Time full_at_ = -1;
    Time full_window_ = 0;
    std::vector<int> middle_;   // the tasks between the threshold and L, the longest first
    std::vector<Time> counts_;  // jobs of each task above in a window
    std::optional<SizedOperations> sizes_;
    int i_ = 0;
    Time final_ = 0;
    Time limit_ = 0;
    Time best_ = -1;
    bool misses_behind_lower_ = false;
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

bool schedulable(std::span<const Task> tasks, Tdma tdma, const Options& options, bool each) {
    check(tasks, tdma);
    // Asked for millions of sets in a row.
    static thread_local Analysis analysis({}, {1, 1}, {});
    analysis.start(tasks, tdma, options);
    if (options.method == Method::corrected && options.limit_factor == 1 && !each) {
        // Most sets are far from the border: bounds that are larger, or smaller, say which side they are on.
        Worst ignored;
        std::size_t i = 0;
        while (i < tasks.size() &&
               (analysis.surely_meets(i) || analysis.respond(i, ignored) <= tasks[i].deadline)) {
            ++i;
        }
        if (i == tasks.size()) {
            return true;
        }
        if (analysis.misses_behind_lower()) {
            return false;
        }
    }
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
