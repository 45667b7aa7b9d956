// SPDX-License-Identifier: Apache-2.0
//
// A simulated system on the executive in virtual time (ports/virtual), with the results in the simulator's
// own form, so that the two can be compared row by row.
#pragma once

#include <vector>

#include "consort/app/plan.hpp"
#include "consort/virtual/machine.hpp"
#include "sim/modes.hpp"
#include "sim/run.hpp"

namespace consort::engine::sim {

// Throws as check() does, and for what virtual time has not: three-phase cores with other than two
// partitions, slots that leave gaps between them or do not begin at 0, executions of no length on such cores.
//
// As run(); the rows stand in the order in which jobs end.
[[nodiscard]] Outcome run_in_virtual_time(virtual_time::Machine& machine, const System& system,
                                          const Settings& settings, Trace* trace,
                                          const std::vector<virtual_time::Channel>& channels = {},
                                          std::vector<Operation>* operations = nullptr);

// The same with changes of mode, as run_modes().
[[nodiscard]] ModesOutcome run_in_virtual_time(virtual_time::Machine& machine, const Modes& modes,
                                               const Settings& settings, Trace* trace,
                                               const std::vector<virtual_time::Channel>& channels = {},
                                               std::vector<Operation>* operations = nullptr);

// A plan image: nothing of the simulator is in what is executed.
[[nodiscard]] ModesOutcome run_plan(virtual_time::Machine& machine, const app::plan::Image& image,
                                    Trace* trace, std::vector<Operation>* operations);

}  // namespace consort::engine::sim
