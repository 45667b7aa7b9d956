// SPDX-License-Identifier: Apache-2.0
// For tests on the host: the types that a cell's configuration uses.
#pragma once
#include <stdint.h>
typedef uint16_t __u16;
typedef uint32_t __u32;
typedef uint64_t __u64;
#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))
