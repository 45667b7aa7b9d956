// SPDX-License-Identifier: Apache-2.0
//
// Before the C that wasm2c makes of a step: the linear memory is part of the instance and has a constant
// size, so that the compiler knows both. CONSORT_MEMORY_BYTES: that size; CONSORT_FRAMES_AT: see module.h.
#pragma once

#if defined(CONSORT_MIGRATE_GUARDED)
#define WASM_RT_MEMCHECK_SIGNAL_HANDLER 1
#else
#define WASM_RT_MEMCHECK_SIGNAL_HANDLER 0
#endif
// Assertions of wasm2c need no library then.
#if !defined(NDEBUG)
#define NDEBUG
#endif
// Nothing that recurses is built.
#define WASM_RT_USE_STACK_DEPTH_COUNT 0
// The memory then lies in reverse, so that a load needs no exchange of bytes.
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define WABT_BIG_ENDIAN 1
#define CONSORT_MEMORY_OFFSET(at, bytes) (CONSORT_MEMORY_BYTES - (at) - (bytes))
#else
#define WABT_BIG_ENDIAN 0
#define CONSORT_MEMORY_OFFSET(at, bytes) (at)
#endif
#define CONSORT_MEMORY_AT(memory, at, bytes) ((memory)->data + CONSORT_MEMORY_OFFSET(at, bytes))

#include <wasm-rt.h>

// The data is last, and with it the instance ends.
typedef struct {
    uint64_t reserved;
    uint8_t data[CONSORT_MEMORY_BYTES];
} consort_migrate_memory;

#define wasm_rt_memory_t consort_migrate_memory
#define wasm_rt_allocate_memory(memory, pages, most) ((void)(memory))
#define wasm_rt_free_memory(memory) ((void)(memory))
#define wasm_rt_is_initialized() true
#define wasm_rt_trap(code) consort_migrate_trap(code)

// Asyncify's description of the buffer lies before it: where it is filled up to, and where it ends.
#define CONSORT_DESCRIPTION (CONSORT_FRAMES_AT - 8U)

#include "consort/migrate/module.h"

// Indirect calls compare the numbers of types; wasm2c registers each type once.
static uint32_t consort_migrate_types;
#define wasm_rt_register_func_type(...) (++consort_migrate_types)

#if defined(CONSORT_TABLE_SIZE)
static wasm_rt_funcref_t consort_migrate_table[CONSORT_TABLE_SIZE];
#define wasm_rt_allocate_funcref_table(table, elements, most) \
    ((table)->data = consort_migrate_table, (table)->size = (elements), (table)->max_size = (elements))
#define wasm_rt_free_funcref_table(table) ((void)(table))
#endif
