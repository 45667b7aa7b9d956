// SPDX-License-Identifier: Apache-2.0
//
// Which request a worker serves next.
#pragma once

#include <cstdint>

#include "consort/app/release.hpp"

namespace consort::app {

struct Request {
    std::uint32_t task;
    std::uint32_t seq;
    std::uint32_t rank;  // 0 the most urgent
    Time execution;
};

// The requests that a worker finds, in memory of the caller's for one a task: a mailbox holds one request,
// and a newer one takes the place of one that was not begun.
class Requests {
  public:
    Requests() noexcept = default;
    Requests(Request* memory, bool oldest_first) noexcept : queue_(memory), oldest_first_(oldest_first) {}

    [[nodiscard]] bool empty() const noexcept { return count_ == 0; }

    void arrive(const Request& request) noexcept {
        for (std::uint32_t i = 0; i < count_; ++i) {
            if (queue_[i].task == request.task) {
                queue_[i] = request;
                return;
            }
        }
        queue_[count_++] = request;
    }

    // The most urgent one, of equals the oldest; or the oldest of all. Only where there is one.
    [[nodiscard]] Request take() noexcept {
        std::uint32_t found = 0;
        for (std::uint32_t i = 1; i < count_ && !oldest_first_; ++i) {
            found = queue_[i].rank < queue_[found].rank ? i : found;
        }
        const Request taken = queue_[found];
        for (std::uint32_t i = found + 1; i < count_; ++i) {
            queue_[i - 1] = queue_[i];
        }
        --count_;
        return taken;
    }

  private:
    Request* queue_ = nullptr;
    std::uint32_t count_ = 0;
    bool oldest_first_ = false;
};

}  // namespace consort::app
