// SPDX-License-Identifier: Apache-2.0
//
// Python bindings: the simulator.
#include <nanobind/nanobind.h>

#include "bindings.hpp"

namespace consort::engine {

void bind_sim(nanobind::module_& /*module*/) {}

}  // namespace consort::engine
