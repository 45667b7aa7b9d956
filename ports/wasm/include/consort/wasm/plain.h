// SPDX-License-Identifier: Apache-2.0
//
// After the C that wasm2c makes of a step that is not instrumented: what the benchmark compares with.
#pragma once

struct Z_consort_instance_t {
    Z_job_instance_t job;
};

static inline void Z_consortZ_safepoint(struct Z_consort_instance_t* all) {
    (void)all;
}

// As in module.h.
#define CONSORT_SELDOM __attribute__((noinline, optimize("Os")))

static CONSORT_SELDOM void consort_migrate_reset(void* instance) {
    struct Z_consort_instance_t* all = instance;
    memset(all, 0, sizeof *all);
    if (consort_migrate_types == 0) {
        Z_job_init_module();
    }
    Z_job_instantiate(&all->job, all);
}

static CONSORT_SELDOM uint32_t consort_migrate_run(void* instance) {
    struct Z_consort_instance_t* all = instance;
    Z_jobZ_consort_step(&all->job);
    return consort_migrate_done;
}

static CONSORT_SELDOM void consort_migrate_drop(void* instance) {
    (void)instance;
}

static uint8_t* consort_migrate_memory_of(void* instance, uint32_t at, uint32_t bytes) {
    struct Z_consort_instance_t* all = instance;
    return CONSORT_MEMORY_AT(&all->job.w2c_memory, at, bytes);
}

const struct consort_migrate_module consort_migrate_plain = {
    .module_hash = CONSORT_MODULE_HASH,
    .layout_hash = CONSORT_LAYOUT_HASH,
    .in = CONSORT_IN,
    .state = CONSORT_STATE,
    .out = CONSORT_OUT,
    .stack = CONSORT_STACK,
    .data = CONSORT_DATA,
    .frames = CONSORT_FRAMES,
    .instance_bytes = sizeof(struct Z_consort_instance_t),
#if defined(CONSORT_MIGRATE_GUARDED)
    .guarded = 1,
#endif
    .reset = consort_migrate_reset,
    .run = consort_migrate_run,
    .drop = consort_migrate_drop,
    .memory = consort_migrate_memory_of,
};
