// SPDX-License-Identifier: Apache-2.0
//
// Accelerators that clients of several instruction sets and criticalities share.
#pragma once

#include "consort/accel/arbiter.hpp"
#include "consort/accel/client.hpp"
#include "consort/accel/request.hpp"
#include "consort/accel/server.hpp"
