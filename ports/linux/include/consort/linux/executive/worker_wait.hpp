// SPDX-License-Identifier: Apache-2.0
//
// When a worker that waits by spinning gives its processor away. The kernel's own threads of that processor
// get nothing else where real-time throttling is off, and what the rest of the run waits for (a write to
// disk, a page that is freed) may wait for them.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <vector>

#include "consort/linux/clock.hpp"
#include "consort/linux/executive/config.hpp"
#include "consort/linux/executive/shared.hpp"
#include "consort/port.hpp"

namespace consort::linux_port {

class WorkerWait {
  public:
    // How long after a rest an answer is followed by the next one at the latest [ns].
    static constexpr std::uint64_t rest_interval_ns = 10'000'000;

    // `now`: it has just slept, or begun.
    WorkerWait(const RunConfig& config, const SharedRun& shared, std::uint16_t core, Ticks now)
        : shared_(&shared), one_in_(config.cores[core].sleep_one_in), rested_(now) {
        for (std::uint32_t row = 0; row < config.image.count(plan::Table::tasks); ++row) {
            const plan::Task& task = config.image.task(0, row);
            const auto master = static_cast<std::uint16_t>(task.core);
            if (!task.rests && task.worker == core &&
                std::find(masters_.begin(), masters_.end(), master) == masters_.end()) {
                masters_.push_back(master);
            }
        }
    }

    // Nothing was there to serve. True: no request is to be expected now, as the run has not begun, is
    // being stopped, or every master has finished. Looked at once in some hundred calls: the flags are other
    // processors' lines.
    [[nodiscard]] bool idle() noexcept {
        if (!idle_ && ++polls_ % 256 != 0) {
            return false;
        }
        idle_ = shared_->run[0].start.load(std::memory_order_relaxed) == 0 || shared_->stopping() ||
                std::all_of(masters_.begin(), masters_.end(), [this](std::uint16_t core) {
                    return shared_->cores[core].finished.load(std::memory_order_relaxed) != 0;
                });
        return idle_;
    }

    // An answer was written. True: the next request is most likely a period away, and it is time to rest.
    [[nodiscard]] bool rests(Ticks now) noexcept {
        if (one_in_ == 0) {
            return false;
        }
        const bool due = ++answered_ % one_in_ == 0 || now - rested_ >= interval_;
        if (due) {
            rested_ = now;
        }
        return due;
    }

  private:
    const SharedRun* shared_;
    std::uint32_t one_in_;
    Ticks rested_;
    Ticks interval_ = Clock::from_ns(rest_interval_ns);
    std::vector<std::uint16_t> masters_;
    std::uint64_t answered_ = 0;
    std::uint32_t polls_ = 0;
    bool idle_ = true;
};

}  // namespace consort::linux_port
