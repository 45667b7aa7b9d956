// SPDX-License-Identifier: Apache-2.0
// expect: a link's ring has a power of two of descriptors, from 2 to 2^20
#include "consort/link.hpp"

#ifdef MENDED
constexpr std::uint32_t descriptors = 8;
#else
constexpr std::uint32_t descriptors = 10;
#endif

consort::link::Ring<descriptors>::Shared shared;
