// SPDX-License-Identifier: Apache-2.0
//
// The fate of an offloaded job whose answer is not there in time.
#pragma once

#include <cstdint>

namespace consort {

enum class OnMiss : std::uint8_t {
    hold_last_output,  // the last output stays applied; a restarted worker goes on from its last checkpoint
    local_fallback,    // the master computes the job from the worker's checkpoint, and hands back when it can
    stop,              // the run ends
};

}  // namespace consort
