// SPDX-License-Identifier: Apache-2.0
// The condition monitor with its tables in its state: for cores that nothing hands constants to.
#pragma once

#include "monitor.hpp"

namespace drive::monitor_alone {

using In = monitor::In;
using Out = monitor::Out;
struct State {
    monitor::Constants tables;
    monitor::State kept;
    std::uint32_t made;
};

inline void step(const In& in, State& state, Out& out) {
    if (state.made == 0) {
        state.tables = monitor::constants();
        state.made = 1;
    }
    monitor::step(state.tables, in, state.kept, out);
}

}  // namespace drive::monitor_alone
