// SPDX-License-Identifier: Apache-2.0
//
// Random systems of every kind that the simulator knows, small numbers so that ties are frequent.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "consort/virtual/system.hpp"
#include "sim/draw.hpp"
#include "sim/model.hpp"

namespace virtual_tests {

namespace sim = consort::engine::sim;
using consort::engine::Time;

struct Case {
    sim::System system;
    sim::Settings settings;
    std::vector<consort::virtual_time::Channel> channels;
};

class Dice {
  public:
    explicit Dice(std::uint64_t seed) : state_(consort::app::mix(seed)) {}
    // 0 … below - 1
    std::uint64_t below(std::uint64_t n) { return consort::app::upper_product(next(), n); }
    Time between(Time low, Time high) {
        return low + static_cast<Time>(below(static_cast<std::uint64_t>(high - low) + 1));
    }
    bool one_in(std::uint64_t n) { return below(n) == 0; }

  private:
    std::uint64_t next() { return state_ = consort::app::mix(state_); }
    std::uint64_t state_;
};

// Thresholds for tasks of preemptive cores on which no job waits, of five such cores about four. Of its own
// choices: a system is what it was but for them.
inline void give_thresholds(sim::System& system, std::uint64_t seed) {
    Dice dice(~consort::app::mix(seed));
    for (std::uint32_t c = 0; c < system.cores.size(); ++c) {
        const auto waits = [c](const sim::Task& t) {
            return t.master == c && (t.offloaded || t.suspension != 0);
        };
        if (system.cores[c].policy != sim::Policy::preemptive || dice.one_in(5) ||
            std::any_of(system.tasks.begin(), system.tasks.end(), waits)) {
            continue;
        }
        for (sim::Task& task : system.tasks) {
            if (task.master == c && !dice.one_in(4)) {
                task.threshold =
                    task.rank - std::min(task.rank, static_cast<std::uint32_t>(dice.between(0, 4)));
            }
        }
    }
}

class Generator {
  public:
    // by_blocks: some tasks are released by the blocks of others.
    explicit Generator(std::uint64_t seed, bool by_blocks = true)
        : dice_(seed), seed_(seed), by_blocks_(by_blocks) {}

    Case operator()() {
        c_ = {};
        // Coarse grids bring ties, fine ones do not.
        static constexpr Time scales[] = {1, 1, 3, 1000};
        scale_ = scales[dice_.below(4)];
        const std::uint64_t kind = dice_.below(4);
        if (kind != 3) {
            releasing();
        }
        if (kind >= 2) {
            three_phase();
        }
        shuffle_ranks_of_three_phase();
        channels();
        if (by_blocks_) {
            give_thresholds(c_.system, seed_);
        }
        c_.settings.seed = dice_.below(std::uint64_t{1} << 62U);
        c_.settings.duration = scale_ * dice_.between(20, 200);
        static constexpr sim::Spread executions[] = {sim::Spread::worst, sim::Spread::uniform,
                                                     sim::Spread::edges};
        c_.settings.execution = executions[dice_.below(3)];
        c_.settings.arrival = executions[1 + dice_.below(2)];
        return std::move(c_);
    }

  private:
    void releasing() {
        static constexpr sim::Policy policies[] = {sim::Policy::preemptive, sim::Policy::non_preemptive,
                                                   sim::Policy::edf};
        const std::uint64_t masters = 1 + dice_.below(3);
        const std::uint64_t workers = dice_.below(3);
        for (std::uint64_t m = 0; m < masters; ++m) {
            sim::Core core;
            core.policy = policies[dice_.below(3)];
            core.context_switch = dice_.one_in(2) ? scale_ * dice_.between(0, 2) : 0;
            core.keeps = dice_.one_in(2);
            c_.system.cores.push_back(core);
        }
        for (std::uint64_t w = 0; w < workers; ++w) {
            sim::Core core;
            core.policy = sim::Policy::worker;
            core.by_rank = dice_.one_in(2);
            c_.system.cores.push_back(core);
        }
        // Overloaded now and then. Executions are up to this fraction of the period.
        static constexpr Time fractions[] = {1, 3, 6, 12};
        const Time fraction = fractions[dice_.below(4)];
        const std::uint64_t tasks = 1 + dice_.below(8);
        const bool stops = dice_.one_in(4);
        const bool skips = dice_.one_in(2);
        // Few ranks and deadlines, so that many are equally urgent.
        const Time ranks = dice_.one_in(2) ? 1 : 4;
        const Time deadline = dice_.one_in(3) ? scale_ * dice_.between(4, 20) : 0;
        for (std::uint64_t t = 0; t < tasks; ++t) {
            sim::Task task = common(fraction);
            task.core = task.master = static_cast<std::uint32_t>(dice_.below(masters));
            task.rank = static_cast<std::uint32_t>(dice_.between(0, ranks));
            task.deadline = deadline != 0 ? deadline : task.deadline;
            if (dice_.one_in(4)) {
                keep_distances(task);
            }
            task.skip = skips && !dice_.one_in(3);
            if (workers != 0 && dice_.one_in(2)) {
                offload(task, static_cast<std::uint32_t>(masters + dice_.below(workers)), stops);
            } else if (dice_.one_in(4)) {
                task.suspension = scale_ * dice_.between(0, 6);
            }
            c_.system.tasks.push_back(task);
        }
        if (by_blocks_ && tasks > 1 && dice_.one_in(2)) {
            release_by_blocks();
        }
    }

    // Some of the tasks, at distances that their writers keep now and then. A circle releases nobody.
    void release_by_blocks() {
        const std::size_t tasks = c_.system.tasks.size();
        for (std::uint32_t t = 0; t < tasks; ++t) {
            const auto writer = static_cast<std::uint32_t>(dice_.below(tasks));
            sim::Task& task = c_.system.tasks[t];
            if (writer == t || !dice_.one_in(2)) {
                continue;
            }
            task.offset = task.extra_gap = 0;
            task.releases.clear();
            task.arrival = {writer, dice_.one_in(2)};
            if (dice_.one_in(2)) {
                task.period = c_.system.tasks[writer].period;
            }
            if (dice_.one_in(2)) {
                c_.channels.push_back({writer, {t}, task.arrival->let});
            }
        }
    }

    sim::Task common(Time fraction) {
        sim::Task task;
        task.period = scale_ * dice_.between(2, 30);
        task.deadline = dice_.one_in(2) ? task.period : scale_ * dice_.between(1, 40);
        task.extra_gap = dice_.one_in(4) ? dice_.between(0, task.period) : 0;
        task.offset = dice_.one_in(2) ? scale_ * dice_.between(0, 20) : 0;
        task.jitter = dice_.one_in(3) ? scale_ * dice_.between(0, 12) : 0;
        task.wcet = scale_ * dice_.between(0, task.period / scale_ / fraction);
        task.bcet = dice_.one_in(2) ? task.wcet : dice_.between(0, task.wcet);
        if (dice_.one_in(8)) {
            Time at = 0;
            const std::uint64_t n = 1 + dice_.below(12);
            for (std::uint64_t k = 0; k < n; ++k) {
                at += scale_ * dice_.between(0, 20);
                task.releases.push_back(at);
            }
        }
        if (dice_.one_in(8)) {
            const std::uint64_t n = 1 + dice_.below(5);
            for (std::uint64_t k = 0; k < n; ++k) {
                task.executions.push_back(scale_ * dice_.between(0, 8));
            }
        }
        return task;
    }

    // Bursts: some releases close to one another, or as close as their jitter brings them, and then none.
    void keep_distances(sim::Task& task) {
        Time at = 0;
        for (std::uint64_t n = dice_.one_in(10) ? 30 : 1 + dice_.below(5); n > 0; --n) {
            at += 1 + scale_ * dice_.between(0, n == 1 ? 40 : 8);
            task.distances.push_back(at);
        }
    }

    // Some time, where none is not allowed.
    void lengthen(sim::Task& task) {
        task.bcet = std::max<Time>(task.bcet, 1);
        task.wcet = std::max(task.wcet, task.bcet);
        for (Time& e : task.executions) {
            e = std::max<Time>(e, 1);
        }
    }

    void offload(sim::Task& task, std::uint32_t worker, bool stops) {
        static constexpr consort::OnMiss policies[] = {
            consort::OnMiss::hold_last_output, consort::OnMiss::local_fallback, consort::OnMiss::stop};
        lengthen(task);
        task.core = worker;
        task.offloaded = true;
        task.on_miss = policies[dice_.below(stops ? 3 : 2)];
        task.give_up =
            task.on_miss == consort::OnMiss::local_fallback ? 1 + task.deadline / 3 : task.deadline;
        task.worker_rank = static_cast<std::uint32_t>(dice_.between(0, 3));
        task.send = dice_.one_in(2) ? scale_ * dice_.between(0, 2) : 0;
        task.receive = dice_.one_in(2) ? scale_ * dice_.between(0, 2) : 0;
        task.request = dice_.one_in(2) ? scale_ * dice_.between(0, 4) : 0;
        task.response = dice_.one_in(2) ? scale_ * dice_.between(0, 4) : 0;
        task.fallback = scale_ * dice_.between(0, 5);
    }

    void three_phase() {
        const bool round_robin = dice_.one_in(2);
        const std::uint64_t cores = 1 + dice_.below(4);
        const auto dma = static_cast<std::uint32_t>(c_.system.dmas.size());
        c_.system.dmas.push_back({round_robin, 0});
        Time phase = 0;
        for (std::uint64_t k = 0; k < cores; ++k) {
            sim::Core core;
            core.policy = sim::Policy::three_phase;
            core.context_switch = dice_.one_in(3) ? scale_ * dice_.between(0, 2) : 0;
            core.dma = dma;
            core.slot = scale_ * dice_.between(1, 3);
            core.slot_phase = phase;
            phase += core.slot;
            const auto index = static_cast<std::uint32_t>(c_.system.cores.size());
            c_.system.cores.push_back(core);
            const std::uint64_t tasks = dice_.below(5);
            for (std::uint64_t t = 0; t < tasks; ++t) {
                sim::Task task = common(3);
                lengthen(task);
                // As many as the kernel keeps must not be pending.
                task.period = std::max(task.period, scale_ * 4);
                task.core = task.master = index;
                task.one_in_flight = dice_.one_in(2);
                if (round_robin && !dice_.one_in(4)) {
                    task.load = dice_.between(1, core.slot);
                    task.unload = dice_.between(0, core.slot);
                }
                c_.system.tasks.push_back(task);
            }
        }
        c_.system.dmas[dma].round = phase;
    }

    // Distinct ones, as the table of a kernel has.
    void shuffle_ranks_of_three_phase() {
        std::uint32_t rank = 0;
        for (sim::Task& task : c_.system.tasks) {
            if (c_.system.cores[task.core].policy == sim::Policy::three_phase) {
                task.rank = (dice_.one_in(2) ? 0 : 200) + rank++;
            }
        }
    }

    void channels() {
        const std::size_t tasks = c_.system.tasks.size();
        for (std::uint64_t k = dice_.below(5); tasks > 1 && k != 0; --k) {
            consort::virtual_time::Channel channel;
            channel.writer = static_cast<std::uint32_t>(dice_.below(tasks));
            for (std::uint64_t r = 1 + dice_.below(2); r != 0; --r) {
                channel.readers.push_back(static_cast<std::uint32_t>(dice_.below(tasks)));
            }
            std::sort(channel.readers.begin(), channel.readers.end());
            channel.readers.erase(std::unique(channel.readers.begin(), channel.readers.end()),
                                  channel.readers.end());
            channel.let = dice_.one_in(2);
            c_.channels.push_back(channel);
        }
    }

    Dice dice_;
    std::uint64_t seed_;
    bool by_blocks_;
    Case c_;
    Time scale_ = 1;
};

}  // namespace virtual_tests
