// SPDX-License-Identifier: Apache-2.0
//
// The interface between the C of a migrating step and the program around it. The C is generated (`consort
// migrate --build`); C and C++ read this file.
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum consort_migrate_end {
    consort_migrate_done = 0,
    consort_migrate_left = 1,  // at a safepoint, ready to go on here or elsewhere
};

// Addresses and lengths [bytes] within the linear memory of the step.
struct consort_migrate_range {
    uint32_t at;
    uint32_t bytes;
};

// Offsets [bytes] within the instance of its words of 32 bits, which the program around the step reads and
// writes itself: a job moves in little more time than its bytes take, so calls would count.
struct consort_migrate_words {
    // Of who asks, in any thread. A job is to leave where `request` has changed, after `others` safepoints
    // more from there; `others` is written first.
    uint32_t request;
    uint32_t others;
    // Of who runs the job.
    uint32_t phase;          // consort_migrate_phase
    uint32_t stack_pointer;  // lowest address of the stack that is in use
    uint32_t frames_end;     // end of what is used of `frames`
};

// Asyncify's state of a job. A job that was left, or has arrived, returns when it is run.
enum consort_migrate_phase {
    consort_migrate_running = 0,
    consort_migrate_leaving = 1,
    consort_migrate_returning = 2,
};

struct consort_migrate_module {
    // Hashes of the instrumented WebAssembly, and of the layout of its memory: equal on all processors.
    uint64_t module_hash;
    uint64_t layout_hash;
    struct consort_migrate_range in;
    struct consort_migrate_range state;
    struct consort_migrate_range out;
    struct consort_migrate_range stack;   // grows down from its end
    struct consort_migrate_range data;    // all that the step may write, but for the stack
    struct consort_migrate_range frames;  // what the functions above a safepoint leave in; the worst case
    uint32_t instance_bytes;
    // Accesses outside of the linear memory are not checked but hit pages without access: the instance must
    // end where these begin (consort/linux/guarded.hpp).
    uint32_t guarded;
    struct consort_migrate_words words;

    // Memory and globals as before the first job.
    void (*reset)(void* instance);
    // Begins a job, or goes on with one that was left; a consort_migrate_end.
    uint32_t (*run)(void* instance);
    // A job that was left does not go on here; another one may begin.
    void (*drop)(void* instance);
    // The bytes [at, at + bytes) of the linear memory; in the opposite order where the processor is
    // big-endian.
    uint8_t* (*memory)(void* instance, uint32_t at, uint32_t bytes);
};

// The step cannot go on: an access outside of its memory, a division by zero, a conversion of NaN, or a state
// that no step leaves behind. The program around it says what then; it does not return.
__attribute__((noreturn)) void consort_migrate_trap(uint32_t code);

#ifdef __cplusplus
}
#endif
