// SPDX-License-Identifier: Apache-2.0
//
// Changes of mode (docs/explanation/mode-changes.md): a run is one simulation after another, each of the mode
// that the requests lead to, from its release to the request that ends it.
#pragma once

#include <cstdint>
#include <vector>

#include "consort/app/mode_change.hpp"
#include "sim/run.hpp"

namespace consort::engine::sim {

struct ModeRequest {
    Time at;
    std::uint32_t to;
};

// The same cores and tasks in each mode, by their places; what they do may differ.
struct Modes {
    std::vector<System> modes;
    std::uint32_t first = 0;
    Time agreement = 1;  // above 0: from the idle instant of the old mode to the new one's releases
    std::vector<ModeRequest> requests;  // in order; those before the end of the duration count
};

struct ModesOutcome {
    std::vector<std::vector<Figures>> figures;  // by mode, then by task
    std::vector<app::ModeChanged> changes;
    Time stopped = never;  // as of a run without modes
};

// std::invalid_argument as check() of a system, and for what no change of mode can be simulated with:
// three-phase cores, a core's supply, releases that are given, a task whose policy is `stop`.
void check(const Modes& modes, const Settings& settings);

[[nodiscard]] ModesOutcome run_modes(const Modes& modes, const Settings& settings, Trace* trace = nullptr,
                                     Progress* progress = nullptr);

}  // namespace consort::engine::sim
