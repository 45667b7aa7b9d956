// SPDX-License-Identifier: Apache-2.0
//
// Makes the system of a machine in virtual time from a plan image, which outlives it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>

#include "consort/app/plan.hpp"
#include "consort/virtual/system.hpp"

namespace consort::virtual_time {

struct Given {
    Modes modes;  // one or more
    Settings settings;
    std::uint64_t ticks_per_second = 0;
};

namespace detail {

// The writer and the readers of each channel, in any mode. What a device writes is followed by no machine.
inline std::vector<Channel> channels_of(const app::plan::Image& image) {
    using app::plan::Table;
    std::vector<Channel> channels(image.count(Table::channels));
    for (std::uint32_t c = 0; c < channels.size(); ++c) {
        channels[c].let = image.channel(c).let;
    }
    const app::plan::Head& head = image.head();
    for (std::uint32_t row = 0; row < head.modes * head.tasks; ++row) {
        const app::plan::Rows& ends = image.task(0, row).ends;
        for (std::uint32_t e = ends.first; e < ends.first + ends.count; ++e) {
            const app::plan::End& end = image.end(e);
            Channel& channel = channels[end.channel];
            const std::uint32_t task = row % head.tasks;
            if (end.reader == app::plan::none) {
                channel.writer = task;
            } else if (std::find(channel.readers.begin(), channel.readers.end(), task) ==
                       channel.readers.end()) {
                channel.readers.push_back(task);
            }
        }
    }
    for (Channel& channel : channels) {
        std::sort(channel.readers.begin(), channel.readers.end());
        if (channel.writer == app::plan::none) {
            channel.readers.clear();
        }
    }
    return channels;
}

}  // namespace detail

// Throws std::invalid_argument for an image that refers to what it has not; what a machine cannot run is
// refused when that begins.
[[nodiscard]] inline Given from_plan(const app::plan::Image& image) {
    using app::plan::Table;
    const app::plan::Head& head = image.head();
    if (const char* wrong = app::plan::wrong_reference(image); wrong != nullptr) {
        throw std::invalid_argument(std::string("the plan image is wrong: ") + wrong);
    }
    Given given;
    given.ticks_per_second = head.ticks_per_second;
    given.settings = {head.run.duration, head.run.seed, head.run.execution, head.run.arrival};
    given.modes.first = head.first;
    given.modes.agreement = head.agreement;
    for (std::uint32_t r = 0; r < image.count(Table::requests); ++r) {
        given.modes.requests.push_back({image.request(r).at, image.request(r).to});
    }
    const std::vector<Channel> channels = detail::channels_of(image);
    for (std::uint32_t m = 0; m < head.modes; ++m) {
        System& mode = given.modes.modes.emplace_back();
        mode.channels = channels;
        for (std::uint32_t c = 0; c < head.cores; ++c) {
            mode.cores.push_back(image.core(m, c));
        }
        for (std::uint32_t d = 0; d < image.count(Table::dmas); ++d) {
            mode.dmas.push_back(image.dma(d));
        }
        for (std::uint32_t t = 0; t < head.tasks; ++t) {
            mode.tasks.push_back(image.task(m, t));
        }
        for (std::uint32_t i = 0; i < image.count(Table::times); ++i) {
            mode.times.push_back(image.time(i));
        }
    }
    return given;
}

}  // namespace consort::virtual_time
