// SPDX-License-Identifier: Apache-2.0
//
// Regions that two sides of a link share without coherent memory: entry consistency.
#pragma once

#include "consort/dsm/bound.hpp"    // IWYU pragma: export
#include "consort/dsm/changes.hpp"  // IWYU pragma: export
#include "consort/dsm/host.hpp"     // IWYU pragma: export
#include "consort/dsm/peer.hpp"     // IWYU pragma: export
#include "consort/dsm/side.hpp"     // IWYU pragma: export
#include "consort/dsm/token.hpp"    // IWYU pragma: export
