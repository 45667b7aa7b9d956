// SPDX-License-Identifier: Apache-2.0
//
// RV64 in machine mode.

#include "consort/bare/riscv/riscv_start.h"

    .section .text.start, "ax"
    .global _start
_start:
    riscv_start
    riscv_trap
