// SPDX-License-Identifier: Apache-2.0
//
// Random systems with changes of mode: from mode to mode tasks start and stop, take other periods, deadlines,
// priorities, execution times and cores, are offloaded or not. Requests come at any instant, during changes
// too, and for the mode that there is.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "random_systems.hpp"
#include "sim/modes.hpp"

namespace virtual_tests {

struct ModeCase {
    sim::Modes modes;
    sim::Settings settings;
    std::vector<consort::virtual_time::Channel> channels;
};

class ModeGenerator {
  public:
    explicit ModeGenerator(std::uint64_t seed) : seed_(seed), dice_(~seed) {}

    ModeCase operator()() {
        Case base = suitable();
        ModeCase made;
        made.settings = base.settings;
        made.channels = base.channels;
        for (sim::Task& task : base.system.tasks) {
            task.releases.clear();
            task.on_miss =
                task.on_miss == consort::OnMiss::stop ? consort::OnMiss::hold_last_output : task.on_miss;
        }
        for (const auto& channel : base.channels) {
            base.system.tasks[channel.writer].until_deadline |= channel.let;
        }
        const std::uint64_t modes = 2 + dice_.below(3);
        for (std::uint64_t m = 0; m < modes; ++m) {
            sim::System mode = base.system;
            for (sim::Task& task : mode.tasks) {
                change(mode, task);
            }
            give_thresholds(mode, seed_ + m);
            made.modes.modes.push_back(std::move(mode));
        }
        made.modes.first = static_cast<std::uint32_t>(dice_.below(modes));
        made.modes.agreement = dice_.one_in(3) ? 1 : dice_.between(1, made.settings.duration / 4);
        Time at = 0;
        const Time most = made.settings.duration / (dice_.one_in(2) ? 2 : 8);
        for (std::uint64_t r = dice_.below(10); r != 0; --r) {
            at += dice_.one_in(6) ? 0 : dice_.between(0, most);
            made.modes.requests.push_back({at, static_cast<std::uint32_t>(dice_.below(modes))});
        }
        return made;
    }

  private:
    // One without three-phase cores.
    Case suitable() {
        for (;;) {
            Case c = Generator(seed_, false)();
            if (c.system.dmas.empty() && !c.system.tasks.empty()) {
                return c;
            }
            seed_ = consort::app::mix(seed_);
        }
    }

    void change(const sim::System& system, sim::Task& task) {
        task.rests = dice_.one_in(4);
        if (dice_.one_in(2)) {
            task.period = std::max<Time>(1, task.period * dice_.between(1, 6) / 3);
            task.deadline = std::max<Time>(1, task.deadline * dice_.between(1, 6) / 3);
        }
        if (dice_.one_in(2)) {
            task.rank = static_cast<std::uint32_t>(dice_.between(0, 3));
            task.worker_rank = static_cast<std::uint32_t>(dice_.between(0, 3));
        }
        if (dice_.one_in(3)) {
            task.offset = dice_.between(0, 2 * task.period);
            task.jitter = dice_.one_in(2) ? 0 : dice_.between(0, task.period);
        }
        if (dice_.one_in(3)) {
            task.wcet += dice_.between(0, task.period / 4);
        }
        if (task.offloaded && dice_.one_in(3)) {
            task.offloaded = false;
            task.core = task.master;
        }
        if (!task.offloaded && dice_.one_in(3)) {
            // A migration, as far as scheduling sees it.
            std::vector<std::uint32_t> others;
            for (std::uint32_t c = 0; c < system.cores.size(); ++c) {
                if (system.cores[c].policy != sim::Policy::worker) {
                    others.push_back(c);
                }
            }
            task.core = task.master = others[dice_.below(others.size())];
        }
    }

    std::uint64_t seed_;
    Dice dice_;
};

}  // namespace virtual_tests
