// SPDX-License-Identifier: Apache-2.0
#include "spm/sweep.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "spm/random.hpp"

namespace consort::engine::spm {

namespace {

struct Made {
    std::size_t program;
    Time period;
};

void make(const Sweep& sweep, double utilisation, Random& random, std::vector<Made>& set) {
    set.clear();
    double sum = 0;
    while (sum < utilisation && set.size() < largest_set) {
        const auto program = static_cast<std::size_t>(random.below(static_cast<Time>(sweep.programs.size())));
        const Time period = random.between(sweep.period_low, sweep.period_high);
        const Program& p = sweep.programs[program];
        sum += static_cast<double>(sweep.by_contended ? p.contended : p.scratchpad) /
               static_cast<double>(period);
        if (sum >= utilisation && !sweep.keep_last) {
            break;
        }
        set.push_back({program, period});
    }
    std::stable_sort(set.begin(), set.end(),
                     [](const Made& a, const Made& b) { return a.period < b.period; });
}

bool contended_schedulable(const Sweep& sweep, const std::vector<Made>& set) {
    const auto execution = [&](const Made& m) {
        return sweep.programs[m.program].contended + sweep.switch_contended;
    };
    for (std::size_t i = 0; i < set.size(); ++i) {
        Time response = execution(set[i]);
        for (Time last = 0; response != last && response <= set[i].period;) {
            last = response;
            response = execution(set[i]);
            for (std::size_t j = 0; j < i; ++j) {
                response += ceil_div(last, set[j].period) * execution(set[j]);
            }
        }
        if (response > set[i].period) {
            return false;
        }
    }
    return true;
}

class Judge {
  public:
    explicit Judge(const Sweep& sweep) : sweep_(sweep) {
        for (const Program& p : sweep.programs) {
            longest_ = std::max({longest_, p.load, p.unload});
        }
    }

    bool operator()(Curve curve, const std::vector<Made>& set) {
        if (curve == Curve::contended) {
            return contended_schedulable(sweep_, set);
        }
        tasks_.clear();
        Time longest = 0;
        for (const Made& m : set) {
            const Program& p = sweep_.programs[m.program];
            tasks_.push_back({p.scratchpad + sweep_.switch_scratchpad, m.period, m.period, p.load, p.unload});
            longest = std::max({longest, p.load, p.unload});
        }
        const bool sized = curve == Curve::round_robin;
        const Time slot = sized || sweep_.slot == 0 ? longest : sweep_.slot;
        const Time other = sweep_.other_slot != 0 ? sweep_.other_slot : sized ? longest_ : slot;
        Options options;
        options.method = sized                     ? Method::round_robin
                         : curve == Curve::literal ? Method::literal
                                                   : Method::corrected;
        return schedulable(tasks_, {slot + (sweep_.cores - 1) * other, slot}, options);
    }

  private:
    const Sweep& sweep_;
    std::vector<Task> tasks_;
    Time longest_ = 0;
};

void check(const Sweep& sweep) {
    const auto refuse = [](const char* what) { throw std::invalid_argument(what); };
    if (sweep.programs.empty() || sweep.period_low <= 0 || sweep.period_high < sweep.period_low ||
        sweep.cores < 1) {
        refuse("a sweep needs programs, 0 < period_low <= period_high and at least one core");
    }
    for (const Program& p : sweep.programs) {
        if (p.load <= 0 || p.unload <= 0 || (sweep.slot != 0 && std::max(p.load, p.unload) > sweep.slot)) {
            refuse("each program needs load and unload times above 0 and at most the slot");
        }
    }
}

}  // namespace

std::vector<std::vector<std::uint64_t>> sweep(const Sweep& sweep) {
    check(sweep);
    const std::size_t points = sweep.utilisations.size();
    std::vector<std::vector<std::uint64_t>> total(sweep.curves.size(), std::vector<std::uint64_t>(points, 0));
    std::atomic<std::uint64_t> next{0};
    std::mutex merging;
    const auto work = [&] {
        auto mine = total;
        for (auto& curve : mine) {
            std::fill(curve.begin(), curve.end(), 0);
        }
        Judge judge(sweep);
        std::vector<Made> set;
        for (std::uint64_t n = next++; n < sweep.sets * points; n = next++) {
            const std::size_t point = n % points;
            Random random(sweep.seed * 0x2545f4914f6cdd1dU + n * 0x9e3779b97f4a7c15U);
            make(sweep, sweep.utilisations[point], random, set);
            for (std::size_t c = 0; c < sweep.curves.size(); ++c) {
                mine[c][point] += judge(sweep.curves[c], set) ? 1 : 0;
            }
        }
        const std::scoped_lock lock(merging);
        for (std::size_t c = 0; c < mine.size(); ++c) {
            for (std::size_t p = 0; p < points; ++p) {
                total[c][p] += mine[c][p];
            }
        }
    };
    std::vector<std::thread> threads;
    for (int t = 1; t < sweep.threads; ++t) {
        threads.emplace_back(work);
    }
    work();
    for (std::thread& thread : threads) {
        thread.join();
    }
    return total;
}

}  // namespace consort::engine::spm
