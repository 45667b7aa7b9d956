// SPDX-License-Identifier: Apache-2.0
//
// Plays the devices that are only described and write channels: numbered blocks, as often as the description
// says that a message may come. An ordinary process, asleep in between. Where something is not written in
// time it is written late, and nothing is left out: a device has no deadlines here.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "consort/linux/executive/core_process.hpp"
#include "consort/linux/release_timer.hpp"

namespace consort::linux_port {

// The channels that such devices write. A block is written at start + k * period, or later.
class DeviceFlows {
  public:
    DeviceFlows(const RunConfig& config, const Catalogue& catalogue, const Region<>& region,
                const SharedRun& shared, app::RingMemory& record)
        : record_(record) {
        for (const Binding& b : catalogue.bindings) {
            if (b.task.empty() && b.open_writer != nullptr) {
                const std::uint16_t channel = config.channel_named(b.source);
                const Ticks period = ticks_of(config.image.channel(channel).device_period);
                auto announcements = announcements_of(config, channel, shared);
                const bool releases = !announcements.empty();
                flows_.push_back({announcing(b.open_writer(region, b), std::move(announcements)), channel,
                                  std::max<Ticks>(period, 1), 0, 0, releases});
            }
        }
    }
    [[nodiscard]] bool empty() const noexcept { return flows_.empty(); }
    void begin(Ticks start) {
        for (Flow& flow : flows_) {
            flow.next = start;
        }
    }
    // When the next block is due. Not of none.
    [[nodiscard]] Ticks next() const { return first()->next; }
    void write_next() {
        Flow& flow = *first();
        const Transferred moved = flow.target->write(nullptr, flow.next);
        const Operation made{Clock::now(),
                             moved.sequence,
                             flow.blocks,
                             Event::none,
                             flow.channel,
                             moved.kind,
                             static_cast<std::uint16_t>(moved.count),
                             0};
        record_.put(app::RecordTable::operation, Event::none, &made, sizeof made);
        ++flow.blocks;
        // A flow that releases tasks keeps its distance, however late this process is.
        flow.next = (flow.releases ? std::max(flow.next, Clock::now()) : flow.next) + flow.period;
    }

  private:
    struct Flow {
        std::shared_ptr<WriteTarget> target;
        std::uint16_t channel;
        Ticks period;
        Ticks next;
        std::uint32_t blocks;
        bool releases;
    };
    std::vector<Flow>::iterator first() { return std::min_element(flows_.begin(), flows_.end(), earlier); }
    [[nodiscard]] std::vector<Flow>::const_iterator first() const {
        return std::min_element(flows_.begin(), flows_.end(), earlier);
    }
    static bool earlier(const Flow& a, const Flow& b) { return a.next < b.next; }

    app::RingWriter record_;
    std::vector<Flow> flows_;
};

class DeviceProcess {
  public:
    DeviceProcess(const RunConfig& config, const Catalogue& catalogue, SharedRun& shared)
        : config_(&config), catalogue_(&catalogue), shared_(&shared) {}

    [[nodiscard]] static bool needed(const RunConfig& config) {
        for (std::uint32_t i = 0; i < config.channels.size(); ++i) {
            if (config.image.channel(i).device_period != 0) {
                return true;
            }
        }
        return false;
    }

    int run(const Region<>& region) {
        DeviceFlows flows(*config_, *catalogue_, region, *shared_, shared_->rings.of_devices());
        const Ticks start = wait_for_start(*shared_);
        const Ticks end = start + ticks_of(config_->duration());
        const ReleaseTimer timer(TimeBase::sleep);
        flows.begin(start);
        while (start != 0 && !flows.empty() && !shared_->stopping() &&
               shared_->run[0].stop_workers.load(std::memory_order_relaxed) == 0) {
            const Ticks next = flows.next();
            if (next >= end) {
                break;
            }
            // In pieces, so that the run's end is seen.
            const Ticks until = std::min(next, Clock::now() + Clock::from_ns(50'000'000));
            timer.wait_until(until);
            if (until == next) {
                flows.write_next();
            }
        }
        return 0;
    }

  private:
    const RunConfig* config_;
    const Catalogue* catalogue_;
    SharedRun* shared_;
};

}  // namespace consort::linux_port
