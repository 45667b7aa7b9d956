// SPDX-License-Identifier: Apache-2.0
// expect: a Snapshot has 1 to 64 readers
#include "consort/icc/snapshot.hpp"

#ifdef MENDED
constexpr std::uint32_t readers = 1;
#else
constexpr std::uint32_t readers = 0;
#endif

consort::Snapshot<float, readers>::Shared shared;
