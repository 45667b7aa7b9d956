// SPDX-License-Identifier: Apache-2.0
//
// Inter-core communication: all of consort/icc.
#pragma once

#include "consort/icc/control.hpp"        // IWYU pragma: export
#include "consort/icc/double_buffer.hpp"  // IWYU pragma: export
#include "consort/icc/duplex.hpp"         // IWYU pragma: export
#include "consort/icc/mailbox.hpp"        // IWYU pragma: export
#include "consort/icc/queue.hpp"          // IWYU pragma: export
#include "consort/icc/region.hpp"         // IWYU pragma: export
#include "consort/icc/snapshot.hpp"       // IWYU pragma: export
#include "consort/icc/versions.hpp"       // IWYU pragma: export
