// SPDX-License-Identifier: Apache-2.0
//
// The fate of an offloaded job whose answer is not there in time.
#pragma once

#include <cstdint>

#include "consort/task/job.hpp"

namespace consort {

enum class OnMiss : std::uint8_t {
    hold_last_output,  // the last output stays applied; a restarted worker goes on from its last checkpoint
    local_fallback,    // the master computes the job from the worker's checkpoint, and hands back when it can
    stop,              // the run ends
};

// What follows once the answer is awaited no longer.
struct Remedy {
    std::uint32_t status;  // of the job: job_status
    bool computes;         // the master executes the step
    bool stops;            // the run
};
[[nodiscard]] constexpr Remedy remedy_of(OnMiss policy) noexcept {
    const bool computes = policy == OnMiss::local_fallback;
    return {computes ? job_status::fallback : job_status::held, computes, policy == OnMiss::stop};
}

}  // namespace consort
