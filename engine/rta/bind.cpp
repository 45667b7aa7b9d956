// SPDX-License-Identifier: Apache-2.0
//
// Python bindings: response-time analyses.
#include <nanobind/nanobind.h>

#include "bindings.hpp"

namespace consort::engine {

void bind_rta(nanobind::module_& /*module*/) {}

}  // namespace consort::engine
