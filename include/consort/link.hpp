// SPDX-License-Identifier: Apache-2.0
//
// Links: descriptor-ring DMA between two sides.
#pragma once

#include "consort/link/block_queue.hpp"  // IWYU pragma: export
#include "consort/link/engine.hpp"       // IWYU pragma: export
#include "consort/link/host.hpp"         // IWYU pragma: export
#include "consort/link/ring.hpp"         // IWYU pragma: export
#include "consort/link/transaction.hpp"  // IWYU pragma: export
