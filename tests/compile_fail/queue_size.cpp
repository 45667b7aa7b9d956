// SPDX-License-Identifier: Apache-2.0
// expect: a Queue's size is a power of two from 2 to 2^30
#include "consort/icc/queue.hpp"

#ifdef MENDED
constexpr std::uint32_t capacity = 8;
#else
constexpr std::uint32_t capacity = 10;
#endif

consort::Queue<float, capacity>::Shared shared;
