// SPDX-License-Identifier: Apache-2.0
//
// A core as the remote processor of Linux's rpmsg, and messages that outlive both sides.
#pragma once

#include "consort/rpmsg/remote.hpp"  // IWYU pragma: export
#include "consort/rpmsg/stream.hpp"  // IWYU pragma: export
#include "consort/rpmsg/vring.hpp"   // IWYU pragma: export
#include "consort/rpmsg/window.hpp"  // IWYU pragma: export
