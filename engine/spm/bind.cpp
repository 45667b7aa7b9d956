// SPDX-License-Identifier: Apache-2.0
//
// Python bindings: three-phase tasks on scratchpads.
#include <nanobind/nanobind.h>

#include "bindings.hpp"

namespace consort::engine {

void bind_spm(nanobind::module_& /*module*/) {}

}  // namespace consort::engine
