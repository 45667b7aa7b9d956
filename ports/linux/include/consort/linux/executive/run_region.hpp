// SPDX-License-Identifier: Apache-2.0
//
// The region of a run: the channels of its tasks, what goes between masters and workers, and the workers'
// control blocks, in anonymous memory that is shared by fork.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdint>

#include "consort/linux/executive/catalogue.hpp"
#include "consort/linux/executive/config.hpp"
#include "consort/linux/shared_memory.hpp"

namespace consort::linux_port {

inline std::string control_name(const CoreConfig& core) {
    return "worker:" + object_name(core.name);
}

class RunRegion {
  public:
    // Both outlive this. Throws std::invalid_argument: what finds no room or does not fit.
    RunRegion(const RunConfig& config, const Catalogue& catalogue)
        : config_(config),
          catalogue_(catalogue),
          memory_(SharedMemory::anonymous("consort-region", region_bytes())) {
        make_region();
    }

    [[nodiscard]] Region<> attach() const {
        auto region = Region<>::attach(memory_.base(), memory_.bytes());
        if (!region) {
            refuse("the region", region.refusal());
        }
        return region.value();
    }

  private:
    [[nodiscard]] std::size_t region_bytes() const {
        std::size_t bytes = 65536;
        std::size_t leaves = 0;
        for (const StepEntry& task : catalogue_.tasks) {
            bytes += task.region_bytes;
            leaves += task.region_leaves;
        }
        for (const ChannelEntry& channel : catalogue_.channels) {
            bytes += channel.region_bytes;
            leaves += channel.region_leaves;
        }
        return bytes + leaves * sizeof(Leaf) +
               object_count() * (sizeof(ObjectEntry) + 2 * std::size_t{line_bytes});
    }
    [[nodiscard]] std::size_t object_count() const {
        return 4 * catalogue_.tasks.size() + catalogue_.channels.size() + config_.cores.size() + 1;
    }

    void make_region() {
        std::size_t leaves = 64;
        for (const StepEntry& task : catalogue_.tasks) {
            leaves += task.region_leaves;
        }
        for (const ChannelEntry& channel : catalogue_.channels) {
            leaves += channel.region_leaves;
        }
        RegionMaker<>::Options options;
        options.creator = static_cast<std::uint32_t>(::getpid());
        options.object_capacity = static_cast<std::uint32_t>(object_count());
        options.leaf_capacity = static_cast<std::uint32_t>(leaves);
        auto maker = RegionMaker<>::begin(memory_.base(), memory_.bytes(), options);
        if (!maker) {
            refuse("the region", maker.refusal());
        }
        for (std::size_t i = 0; i < catalogue_.tasks.size(); ++i) {
            if (config_.offloaded(i)) {
                catalogue_.tasks[i].add_channels(maker.value(), catalogue_.tasks[i].name);
            }
        }
        for (const ChannelEntry& channel : catalogue_.channels) {
            channel.add(maker.value(), channel.name);
        }
        for (std::uint32_t core = 0; core < config_.cores.size(); ++core) {
            if (config_.is_worker(core)) {
                const std::string name = control_name(config_.cores[core]);
                if (const auto added = maker.value().add<WorkerControl<>>(name); !added) {
                    refuse(name, added.refusal());
                }
            }
        }
        if (const auto published = maker.value().publish(); !published) {
            refuse("the region", published.refusal());
        }
    }

    const RunConfig& config_;
    const Catalogue& catalogue_;
    SharedMemory memory_;
};

}  // namespace consort::linux_port
