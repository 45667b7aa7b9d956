// SPDX-License-Identifier: Apache-2.0
// expect: a Versions channel keeps 2 to 4096 versions
#include "consort/icc/versions.hpp"

#ifdef MENDED
constexpr std::uint32_t versions = 2;
#else
constexpr std::uint32_t versions = 1;
#endif

consort::Versions<float, versions>::Shared shared;
