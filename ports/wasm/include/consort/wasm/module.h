// SPDX-License-Identifier: Apache-2.0
//
// After the C that wasm2c makes of a step: the safepoint, and the table of consort/migrate/module.h.
// CONSORT_STACK, CONSORT_DATA, CONSORT_FRAMES, CONSORT_IN, CONSORT_STATE, CONSORT_OUT: {address, bytes};
// CONSORT_FRAMES_AT: the address alone; CONSORT_MODULE_HASH, CONSORT_LAYOUT_HASH.
#pragma once

// A job's phase is in the variable CONSORT_PHASE of the step's C.
struct Z_consort_instance_t {
    // Each word has one writer. Those of the asker; `others` is written first.
    uint32_t request;  // counts; unlike `served`: a safepoint has something to do
    uint32_t others;   // safepoints to pass before the one at which the job leaves
    // Those of the processor that runs the job.
    uint32_t served;
    uint32_t served_before;  // while a job returns, which `served` then calls for
    uint32_t passed;         // safepoints since the request
    Z_job_instance_t job;
};

// Once for each job or less: small rather than fast. Not "cold": what only such functions call would be so
// too.
#define CONSORT_SELDOM __attribute__((noinline, optimize("Os")))

static CONSORT_SELDOM void consort_migrate_at_safepoint(struct Z_consort_instance_t* all, uint32_t request) {
    if (all->job.CONSORT_PHASE == consort_migrate_returning) {
        all->job.CONSORT_PHASE = consort_migrate_running;
        all->served = all->served_before;
        return;
    }
    if (all->passed != __atomic_load_n(&all->others, __ATOMIC_RELAXED)) {
        ++all->passed;
        return;
    }
    all->passed = 0;
    all->served = request;
    i32_store(&all->job.w2c_memory, CONSORT_DESCRIPTION, CONSORT_FRAMES_AT);
    all->job.CONSORT_PHASE = consort_migrate_leaving;
}

static __attribute__((optimize("Os"))) void Z_consortZ_safepoint(struct Z_consort_instance_t* all) {
    const uint32_t request = __atomic_load_n(&all->request, __ATOMIC_ACQUIRE);
    if (LIKELY(request == all->served)) {
        return;
    }
    consort_migrate_at_safepoint(all, request);
}

static CONSORT_SELDOM void consort_migrate_reset(void* instance) {
    struct Z_consort_instance_t* all = instance;
    memset(all, 0, sizeof *all);
    if (consort_migrate_types == 0) {
        Z_job_init_module();
    }
    Z_job_instantiate(&all->job, all);
    i32_store(&all->job.w2c_memory, CONSORT_DESCRIPTION, CONSORT_FRAMES_AT);
}

static CONSORT_SELDOM uint32_t consort_migrate_run(void* instance) {
    struct Z_consort_instance_t* all = instance;
    const struct consort_migrate_range frames = CONSORT_FRAMES;
    if (all->job.CONSORT_PHASE != consort_migrate_running) {
        all->served_before = all->served;
        all->served = __atomic_load_n(&all->request, __ATOMIC_RELAXED) + 0x80000000U;
    }
    Z_jobZ_consort_step(&all->job);
    if (all->job.CONSORT_PHASE == consort_migrate_running) {
        // A request that came too late is not for the next job.
        all->served = __atomic_load_n(&all->request, __ATOMIC_RELAXED);
        all->passed = 0;
        return consort_migrate_done;
    }
    if (all->job.CONSORT_PHASE == consort_migrate_returning ||
        i32_load(&all->job.w2c_memory, CONSORT_DESCRIPTION) > frames.at + frames.bytes) {
        // No safepoint was reached: no step has left such frames. Or the step has written over what says how
        // long they are.
        consort_migrate_trap(WASM_RT_TRAP_UNREACHABLE);
    }
    all->job.CONSORT_PHASE = consort_migrate_returning;
    return consort_migrate_left;
}

static CONSORT_SELDOM void consort_migrate_drop(void* instance) {
    struct Z_consort_instance_t* all = instance;
    const struct consort_migrate_range stack = CONSORT_STACK;
    all->job.w2c___stack_pointer = stack.at + stack.bytes;
    all->job.CONSORT_PHASE = consort_migrate_running;
}

static uint8_t* consort_migrate_memory_of(void* instance, uint32_t at, uint32_t bytes) {
    struct Z_consort_instance_t* all = instance;
    return CONSORT_MEMORY_AT(&all->job.w2c_memory, at, bytes);
}

#define CONSORT_OFFSET(WORD) offsetof(struct Z_consort_instance_t, WORD)

const struct consort_migrate_module consort_migrate_job = {
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
    .words = {.request = CONSORT_OFFSET(request),
              .others = CONSORT_OFFSET(others),
              .phase = CONSORT_OFFSET(job.CONSORT_PHASE),
              .stack_pointer = CONSORT_OFFSET(job.w2c___stack_pointer),
              .frames_end = CONSORT_OFFSET(job.w2c_memory.data) +
                            CONSORT_MEMORY_OFFSET(CONSORT_DESCRIPTION, sizeof(uint32_t))},
    .reset = consort_migrate_reset,
    .run = consort_migrate_run,
    .drop = consort_migrate_drop,
    .memory = consort_migrate_memory_of,
};
