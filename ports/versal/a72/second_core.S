// SPDX-License-Identifier: Apache-2.0
//
// The second Cortex-A72 in a program of the first one, which defines consort_second_main and starts it at
// consort_second_core (consort/versal/second_core.hpp).

#include "consort/bare/arm/aarch64_start.h"

    .section .text.second_core, "ax"
// From its release to C++ with the first one's page tables, at consort_second_main.
    .global consort_second_core
consort_second_core:
    enter_core consort_vectors, 3
    join_coherency
    set_stack consort_second_stack_top
    enable_mmu 3
    start_cycle_counter
    bl      consort_second_main
1:  wfi
    b       1b

    .section .bss.second_stack, "aw", %nobits
    .balign 16
    .space  16384
consort_second_stack_top:
