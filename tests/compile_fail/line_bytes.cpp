// SPDX-License-Identifier: Apache-2.0
// expect: CONSORT_LINE_BYTES must be a power of two from 32 to 1024
#ifndef MENDED
#define CONSORT_LINE_BYTES 48
#endif
#include "consort/icc/wire.hpp"
