// SPDX-License-Identifier: Apache-2.0
//
// The instant that a machine in virtual time is at. What happens at one instant, happens in this order
// (docs/explanation/simulator.md): completions; then messages, ends of waits and releases; then decisions.
#pragma once

#include <cstdint>

#include "consort/virtual/system.hpp"

namespace consort::virtual_time {

enum class Stage : std::uint8_t { completing, handling, deciding };

struct Clock {
    Time now = 0;
    Time until = 0;  // no job that is due then or later is released
    Time stopped = app::never;
    Stage stage = Stage::completing;
    Trace* trace = nullptr;
};

}  // namespace consort::virtual_time
