// SPDX-License-Identifier: Apache-2.0
//
// The parts of consort._engine: each folder of engine/ binds its own.
#pragma once

#include <nanobind/nanobind.h>

namespace consort::engine {

void bind_inspect(nanobind::module_& module);
void bind_rta(nanobind::module_& module);
void bind_spm(nanobind::module_& module);
void bind_sim(nanobind::module_& module);

}  // namespace consort::engine
