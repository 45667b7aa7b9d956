// SPDX-License-Identifier: Apache-2.0
//
// The rows of a run's record: jobs, channel operations, events. Each is defined here and nowhere else; Python
// reads the layouts that the compiler has (`--describe`). docs/reference/run-record.md.
#pragma once

#include <cstdint>

#include "consort/port.hpp"

namespace consort {

// Events of one job; bits, so that several can be true.
namespace job_status {
inline constexpr std::uint32_t missed = 1U << 0U;        // finished after its deadline, or not at all
inline constexpr std::uint32_t held = 1U << 1U;          // the output is that of an earlier job
inline constexpr std::uint32_t fallback = 1U << 2U;      // the master computed it
inline constexpr std::uint32_t lost = 1U << 3U;          // the worker is known to be dead or silent
inline constexpr std::uint32_t late_answer = 1U << 4U;   // an answer to an earlier job came and was dropped
inline constexpr std::uint32_t wrong_output = 1U << 5U;  // set by the judge
inline constexpr std::uint32_t late_release = 1U << 6U;  // started over a tenth of a period late
inline constexpr std::uint32_t unserved = 1U << 7U;      // the release was skipped: never executed
inline constexpr std::uint32_t aborted = 1U << 8U;       // the step crashed, or exceeded its budget
}  // namespace job_status

// One release of a task. Times in ticks of the run's clock; 0: did not happen.
struct Job {
    Ticks release;         // nominal: response time and deadline count from here
    Ticks ready;           // later by the release's jitter
    Ticks start;           // its first part began on a core
    Ticks sent;            // offloaded: just before the request was written
    Ticks worker_receive;  // offloaded: the worker saw the request; three-phase: the load began
    Ticks worker_send;     // offloaded: the worker wrote the answer; three-phase: the unload began
    Ticks received;        // offloaded: the answer was read, or given up
    Ticks loaded;          // three-phase: the load ended
    Ticks executed;        // three-phase: the execution ended
    Ticks finish;          // its outputs were there; three-phase: the unload ended
    Ticks compute;         // how long the step took on the core that ran it
    std::uint32_t seq;     // counts the task's releases from 0
    std::uint32_t status;  // job_status
    std::uint16_t task;    // position in the configuration
    std::uint16_t core;
    std::uint32_t input;  // row of the recorded input
};
static_assert(sizeof(Job) == 104);

// A job read or wrote a channel.
struct Operation {
    enum Kind : std::uint16_t {
        read = 0,
        write = 1,
        write_dropped = 2,   // the queue or mailbox was full
        read_overtaken = 3,  // the block was overwritten while it was copied
        write_late = 4,      // LET: after the instant at which it was to be visible
        read_corrupt = 5,    // the block was not what its number says
        delivered = 6,       // by a link's engine: the block lies in its reader's memory
    };
    Ticks time;
    std::uint64_t sequence;  // the block's number in its channel, from 1; 0: nothing was there yet
    std::uint32_t seq;       // the job
    std::uint16_t task;
    std::uint16_t channel;
    std::uint16_t kind;
    std::uint16_t count;  // blocks: a queue may be read in batches that end with `sequence`
    std::uint32_t reserved;
};
static_assert(sizeof(Operation) == 32);

struct Event {
    enum Kind : std::uint16_t {
        worker_lost = 0,
        worker_silent = 1,
        worker_back = 2,
        worker_restarted = 3,
        worker_died = 4,
        queue_full = 5,
        overrun = 6,      // value: releases that were skipped
        over_budget = 7,  // value: how long the job had run [ticks]
        crashed = 8,      // value: the signal
        let_late_write = 9,
        let_lap = 10,
        disturbed = 11,  // value: how long the machine kept the core from its thread [ticks]
        started = 12,
        ended = 13,  // value: the exit status
        slot_missed = 14,
        slot_overrun = 15,
        release_lost = 16,
        block_corrupt = 17,  // value: the channel
        early_arrival = 18,  // value: how much before min_interarrival and min_distances allow it [ticks]
        // For a change of mode, written once the new mode is released, each with its own instant.
        mode_requested = 19,  // value: the mode that follows
        mode_idle = 20,       // value: the mode that was left
        mode_entered = 21,    // value: the mode; also at the run's beginning
        // A task that changes its core. Value: how long after the idle instant [ticks].
        state_given = 22,
        state_taken = 23,
        // A core whose tasks go on elsewhere is known to be dead. Value: since its last sign of life [ticks];
        // cause: Death.
        core_died = 24,
        // For a task that changes its core, as state_given: the old core begins to copy its state, and has
        // copied all of it.
        state_prepared = 25,
        state_copied = 26,
        // For a job whose state lies in remote memory: the number of its faults, and the time they took
        // [ticks].
        remote_faults = 27,
        remote_waits = 28,
        // A transaction of a link that ended with an error. Value: the channel; cause: link::Outcome.
        link_failed = 29,
        // A link's engine died, or gave no sign of life and was ended. Value: the link; cause: 1 where it was
        // ended. It is started again.
        link_died = 30,
        // Beside `disturbed` of a job, at the same instant. Value: the CPU time that its thread used from the
        // job's beginning to its end, at least [ticks].
        executed = 31,
        // For a job into which others of its core came. Value: for how long its thread was off its processor
        // from the job's beginning to its end, at most [ticks].
        preempted = 32,
    };
    // For `disturbed`: the known cause for which the thread did not run.
    enum Cause : std::uint16_t {
        unknown = 0,
        stopped = 1,      // off its processor: throttled by the kernel, or preempted
        interrupted = 2,  // on its processor, which an interrupt used; or the hypervisor, see `taken`
        woken_late = 3,   // asleep: its timer, or its processor, came after the time
        taken = 4,        // on its processor, and no interrupt returned to it: the hypervisor, or firmware
        rested = 5,       // it gave the kernel's own threads its processor, which it spins on else
    };
    // For `core_died`.
    enum Death : std::uint16_t {
        of_itself = 0,         // its process ended
        silent = 1,            // it gave no sign of life and was ended
        silent_unwatched = 2,  // so, and meanwhile the supervisor was kept from its processor
    };
    static constexpr std::uint16_t none = 0xffff;
    Ticks time;
    std::uint64_t value;
    std::uint16_t kind;
    std::uint16_t task;   // none: of no task
    std::uint16_t core;   // none: of no core
    std::uint16_t cause;  // of `disturbed`, `core_died` and of links; else 0
};
static_assert(sizeof(Event) == 24);

// What a core does, or for it the DMA, without a break: of simulated runs and of those in virtual time.
enum class Doing : std::uint8_t { execute, context_switch, load, unload, send, receive, fallback, wait };

struct Slice {
    std::int64_t begin;
    std::int64_t end;
    std::uint32_t task;
    std::uint32_t seq;
    std::uint16_t core;
    Doing doing;
};

}  // namespace consort
