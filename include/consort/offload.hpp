// SPDX-License-Identifier: Apache-2.0
//
// Offloading: the master commands, the worker computes.
#pragma once

#include "consort/offload/job.hpp"     // IWYU pragma: export
#include "consort/offload/master.hpp"  // IWYU pragma: export
#include "consort/offload/worker.hpp"  // IWYU pragma: export
