// SPDX-License-Identifier: Apache-2.0
//
// When blocks arrive over a link in virtual time: the link serves its channels in turn, a block of each, one
// after the other, and each takes what the platform says. As consort.simulate.recording, while the run goes
// on.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "consort/task/job.hpp"

namespace consort::linux_port {

class LinkTurns {
  public:
    struct Arrival {
        std::size_t channel;
        Ticks at;
    };

    // The transfer time of a block of each channel; 0 is none, so that time goes on.
    explicit LinkTurns(std::vector<Ticks> transfers)
        : transfers_(std::move(transfers)), waiting_(transfers_.size()) {}

    void written(std::size_t channel, Ticks at) { waiting_[channel].push_back(at); }

    // The next block that has arrived by `now`, when all that is written before `now` is known.
    std::optional<Arrival> next(Ticks now) {
        if (!under_way_) {
            begin(now);
        }
        if (!under_way_ || under_way_->at > now) {
            return std::nullopt;
        }
        const Arrival arrived = *under_way_;
        under_way_.reset();
        return arrived;
    }

  private:
    // Which block goes next is known once its transfer begins before `now`: others may be written at `now`.
    void begin(Ticks now) {
        std::optional<Ticks> first;
        for (const auto& blocks : waiting_) {
            if (!blocks.empty()) {
                first = first ? std::min(*first, blocks.front()) : blocks.front();
            }
        }
        if (!first) {
            return;
        }
        const Ticks start = std::max(free_, *first);
        if (start >= now) {
            return;
        }
        for (std::size_t i = 0; i < waiting_.size(); ++i) {
            const std::size_t channel = (turn_ + i) % waiting_.size();
            auto& blocks = waiting_[channel];
            if (!blocks.empty() && blocks.front() <= start) {
                blocks.pop_front();
                free_ = start + std::max<Ticks>(transfers_[channel], 1);
                turn_ = (channel + 1) % waiting_.size();
                under_way_ = Arrival{channel, free_};
                return;
            }
        }
    }

    std::vector<Ticks> transfers_;
    std::vector<std::deque<Ticks>> waiting_;
    std::optional<Arrival> under_way_;
    Ticks free_ = 0;
    std::size_t turn_ = 0;
};

}  // namespace consort::linux_port
