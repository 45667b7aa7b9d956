// SPDX-License-Identifier: Apache-2.0
//
// After the C that wasm2c makes of a step: the safepoint, and the table of consort/migrate/module.h.
// CONSORT_STACK, CONSORT_DATA, CONSORT_FRAMES, CONSORT_IN, CONSORT_STATE, CONSORT_OUT: {address, bytes};
// CONSORT_FRAMES_AT: the address alone; CONSORT_MODULE_HASH, CONSORT_LAYOUT_HASH.
#pragma once

enum consort_migrate_phase {
    consort_migrate_running = 0,
    consort_migrate_leaving = 1,
    consort_migrate_standing = 2,  // left, or arrived
    consort_migrate_returning = 3,
};

struct Z_consort_instance_t {
    // Each word has one writer. Those of the asker; `others` is written first.
    uint32_t request;  // counts; unlike `served`: a safepoint has something to do
    uint32_t others;   // safepoints to pass before the one at which the job leaves
    // Those of the processor that runs the job.
    uint32_t served;
    uint32_t served_before;  // while a job returns, which `served` then calls for
    uint32_t passed;         // safepoints since the request
    uint32_t phase;
    Z_job_instance_t job;
};

// Asyncify's description of the buffer lies before it: where it is filled up to, and where it ends.
#define CONSORT_DESCRIPTION (CONSORT_FRAMES_AT - 8U)

static __attribute__((noinline, cold)) void consort_migrate_at_safepoint(struct Z_consort_instance_t* all,
                                                                         uint32_t request) {
    if (all->phase == consort_migrate_returning) {
        Z_jobZ_asyncify_stop_rewind(&all->job);
        all->phase = consort_migrate_running;
        all->served = all->served_before;
        return;
    }
    if (all->passed != __atomic_load_n(&all->others, __ATOMIC_RELAXED)) {
        ++all->passed;
        return;
    }
    all->passed = 0;
    all->served = request;
    all->phase = consort_migrate_leaving;
    i32_store(&all->job.w2c_memory, CONSORT_DESCRIPTION, CONSORT_FRAMES_AT);
    Z_jobZ_asyncify_start_unwind(&all->job, CONSORT_DESCRIPTION);
}

static inline void Z_consortZ_safepoint(struct Z_consort_instance_t* all) {
    const uint32_t request = __atomic_load_n(&all->request, __ATOMIC_ACQUIRE);
    if (LIKELY(request == all->served)) {
        return;
    }
    consort_migrate_at_safepoint(all, request);
}

static void consort_migrate_reset(void* instance) {
    struct Z_consort_instance_t* all = instance;
    const struct consort_migrate_range frames = CONSORT_FRAMES;
    memset(all, 0, sizeof *all);
    if (consort_migrate_types == 0) {
        Z_job_init_module();
    }
    Z_job_instantiate(&all->job, all);
    i32_store(&all->job.w2c_memory, CONSORT_DESCRIPTION, CONSORT_FRAMES_AT);
    i32_store(&all->job.w2c_memory, CONSORT_DESCRIPTION + 4, frames.at + frames.bytes);
}

static uint32_t consort_migrate_run(void* instance) {
    struct Z_consort_instance_t* all = instance;
    if (all->phase == consort_migrate_standing) {
        all->phase = consort_migrate_returning;
        all->served_before = all->served;
        all->served = __atomic_load_n(&all->request, __ATOMIC_RELAXED) + 0x80000000U;
        Z_jobZ_asyncify_start_rewind(&all->job, CONSORT_DESCRIPTION);
    }
    Z_jobZ_consort_step(&all->job);
    if (all->phase == consort_migrate_running) {
        // A request that came too late is not for the next job.
        all->served = __atomic_load_n(&all->request, __ATOMIC_RELAXED);
        all->passed = 0;
        return consort_migrate_done;
    }
    if (all->phase == consort_migrate_returning) {
        // No safepoint was reached: no step has left such frames.
        consort_migrate_trap(WASM_RT_TRAP_UNREACHABLE);
    }
    Z_jobZ_asyncify_stop_unwind(&all->job);
    all->phase = consort_migrate_standing;
    return consort_migrate_left;
}

static void consort_migrate_ask(void* instance, uint32_t others) {
    struct Z_consort_instance_t* all = instance;
    __atomic_store_n(&all->others, others, __ATOMIC_RELAXED);
    __atomic_store_n(&all->request, all->request + 1, __ATOMIC_RELEASE);
}

static void consort_migrate_drop(void* instance) {
    struct Z_consort_instance_t* all = instance;
    const struct consort_migrate_range stack = CONSORT_STACK;
    all->job.w2c___stack_pointer = stack.at + stack.bytes;
    all->phase = consort_migrate_running;
}

static uint8_t* consort_migrate_memory_of(void* instance, uint32_t at, uint32_t bytes) {
    struct Z_consort_instance_t* all = instance;
    return CONSORT_MEMORY_AT(&all->job.w2c_memory, at, bytes);
}

static void consort_migrate_where(void* instance, uint32_t* stack_pointer, uint32_t* frames_end) {
    struct Z_consort_instance_t* all = instance;
    *stack_pointer = all->job.w2c___stack_pointer;
    *frames_end = i32_load(&all->job.w2c_memory, CONSORT_DESCRIPTION);
}

static void consort_migrate_stand(void* instance, uint32_t stack_pointer, uint32_t frames_end) {
    struct Z_consort_instance_t* all = instance;
    all->job.w2c___stack_pointer = stack_pointer;
    i32_store(&all->job.w2c_memory, CONSORT_DESCRIPTION, frames_end);
    all->phase = consort_migrate_standing;
}

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
    .reset = consort_migrate_reset,
    .run = consort_migrate_run,
    .ask = consort_migrate_ask,
    .drop = consort_migrate_drop,
    .memory = consort_migrate_memory_of,
    .where = consort_migrate_where,
    .stand = consort_migrate_stand,
};
