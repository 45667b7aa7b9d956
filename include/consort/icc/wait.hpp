// SPDX-License-Identifier: Apache-2.0
//
// The two waiting loops of the channels: for ever, and until a deadline.
#pragma once

#include "consort/icc/status.hpp"
#include "consort/port.hpp"

namespace consort::detail {

// Tries until the answer is another than would_block, for ever if it never is.
template <class Spin, class Attempt>
[[nodiscard]] Status wait(Attempt&& attempt) noexcept {
    for (;;) {
        const Status status = attempt();
        if (status != Status::would_block) {
            return status;
        }
        Spin::relax();
    }
}

// As wait, until P::now() >= deadline [ticks of P]; then timeout. Tries at least once.
template <Port P, class Spin, class Attempt>
[[nodiscard]] Status wait_until(Ticks deadline, Attempt&& attempt) noexcept {
    for (;;) {
        const Status status = attempt();
        if (status != Status::would_block) {
            return status;
        }
        if (P::now() >= deadline) {
            return Status::timeout;
        }
        Spin::relax();
    }
}

}  // namespace consort::detail
