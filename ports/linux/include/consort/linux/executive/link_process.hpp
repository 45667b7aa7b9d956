// SPDX-License-Identifier: Apache-2.0
//
// The engine of one link: a process that moves the blocks of the link's channels, one transaction of each in
// turn, and records each arrival. With a CPU of its own it looks at the queues all the time; without one it
// sleeps until something is posted. It may die at any instruction: what was not complete is moved again.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "consort/app/ring.hpp"
#include "consort/linux/executive/carrier.hpp"
#include "consort/linux/executive/catalogue.hpp"
#include "consort/linux/executive/config.hpp"
#include "consort/linux/executive/shared.hpp"
#include "consort/linux/port.hpp"
#include "consort/linux/realtime.hpp"
#include "consort/task/job.hpp"

namespace consort::linux_port {

class LinkProcess {
  public:
    LinkProcess(const RunConfig& config, const Catalogue& catalogue, SharedRun& shared, std::size_t link,
                int priority)
        : config_(&config),
          link_(&config.links[link]),
          catalogue_(&catalogue),
          shared_(&shared),
          line_(&shared.links[link]),
          record_(shared.rings.of_link(link)),
          priority_(priority) {}

    int run(const Region<>& region) {
        RealtimeOptions options;
        if (link_->cpu >= 0) {
            options.cpu = link_->cpu;
        }
        options.priority = config_->realtime ? priority_ : 0;
        if (!config_->realtime) {
            options.policy = SCHED_OTHER;
        }
        options.cpu_dma_latency = config_->realtime && link_->cpu >= 0;
        const RealtimeGuard realtime(options);
        for (const LinkConfig::Carries& one : link_->carries) {
            const ChannelEntry& entry = catalogue_->channels[one.channel];
            carriers_.push_back(entry.carrier(region, entry.name, line_, Clock::from_ns(link_->limit_ns)));
        }
        line_->pulse.store(Clock::now(), std::memory_order_relaxed);
        line_->ready.fetch_add(1, std::memory_order_release);
        while (shared_->run[0].stop_workers.load(std::memory_order_relaxed) == 0 && !shared_->stopping()) {
            const std::uint32_t seen = line_->posted.load(std::memory_order_seq_cst);
            line_->pulse.store(Clock::now(), std::memory_order_relaxed);
            if (serve_each()) {
                continue;
            }
            if (link_->cpu >= 0) {
                LinuxPort::relax();
            } else {
                sleep_for_doorbell(line_->posted, line_->sleeping, seen,
                                   Clock::now() + Clock::from_ns(longest_sleep_ns));
            }
        }
        return 0;
    }

  private:
    static constexpr std::uint64_t longest_sleep_ns = 10'000'000;

    bool serve_each() noexcept {
        bool any = false;
        for (std::size_t i = 0; i < carriers_.size(); ++i) {
            const Carrier::Served served = carriers_[i]->serve();
            if (!served.any) {
                continue;
            }
            any = true;
            const std::uint16_t channel = link_->carries[i].channel;
            const Ticks now = Clock::now();
            if (served.sequence != 0) {
                const Operation made{now,     served.sequence,      0, Event::none,
                                     channel, Operation::delivered, 1, 0};
                record_.put(app::RecordTable::operation, Event::none, &made, sizeof made);
            }
            if (served.outcome != link::Outcome::moved) {
                const Event made{now,         channel,     Event::link_failed,
                                 Event::none, Event::none, static_cast<std::uint16_t>(served.outcome)};
                record_.put(app::RecordTable::event, Event::none, &made, sizeof made);
            }
        }
        return any;
    }

    const RunConfig* config_;
    const LinkConfig* link_;
    const Catalogue* catalogue_;
    SharedRun* shared_;
    LinkLine* line_;
    app::RingWriter record_;
    int priority_;
    std::vector<std::unique_ptr<Carrier>> carriers_;
};

}  // namespace consort::linux_port
