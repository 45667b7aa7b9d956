// SPDX-License-Identifier: Apache-2.0
//
// The kernel's account of a run: an event at each turn of a job's life and at each fault, and one record of
// each job.
#pragma once

#include <cstdint>

#include "consort/port.hpp"

namespace consort::spm {

enum class Kind : std::uint8_t {
    release,          // a job of the task is pending
    load_begin,       // the DMA begins to move it in
    load_end,         // it is ready
    unload_begin,     // the DMA begins to move its data and outputs out
    unload_end,       // the job is over
    slot_wasted,      // TDMA: neither a load nor an unload was possible
    slot_missed,      // TDMA: the I/O core came too late to begin an operation in it
    slot_overrun,     // TDMA: the DMA was not done at the end of the slot; the operation was aborted
    dma_error,        // the DMA reported an error; the operation is repeated like an aborted one
    dma_stuck,        // the DMA did not stop when ordered to: nothing is moved until it has
    transfer_failed,  // as often as allowed in vain: the job is lost, its task stopped
    early_request,    // a sporadic request before one period was over: its release is put off
    release_lost,     // as many jobs pending as are kept: this one does not come to be
    execution_overrun,
    deadline_missed,
    job_dropped,  // given up before its load, because its deadline had passed
    job_fault,    // the core reported that the job faulted (protection, illegal instruction)
    task_stopped,
    core_fault,  // what the core reported cannot be: nothing is moved for it any more
    count,
};

[[nodiscard]] constexpr const char* to_string(Kind kind) noexcept {
    constexpr const char* names[] = {"release",      "load begin",        "load end",        "unload begin",
                                     "unload end",   "slot wasted",       "slot missed",     "slot overrun",
                                     "DMA error",    "DMA stuck",         "transfer failed", "early request",
                                     "release lost", "execution overrun", "deadline missed", "job dropped",
                                     "job fault",    "task stopped",      "core fault"};
    static_assert(sizeof(names) / sizeof(names[0]) == static_cast<unsigned>(Kind::count));
    return kind < Kind::count ? names[static_cast<unsigned>(kind)] : "unknown event";
}

inline constexpr std::uint32_t no_task = ~std::uint32_t{0};

struct Event {
    Ticks at;
    Kind kind;
    std::uint32_t core;
    std::uint32_t task;  // no_task: of the core or of its slot
    std::uint32_t job;   // counts the task's releases from 0

    friend bool operator==(const Event&, const Event&) = default;
};

// How a job's execution ended.
enum class Outcome : std::uint32_t {
    done = 0,
    stopped = 1,  // by the kernel, over its budget
    fault = 2,    // by the protection unit or a trap
};

struct JobRecord {
    std::uint32_t core;
    std::uint32_t task;
    std::uint32_t job;
    Outcome outcome;
    Ticks release;
    Ticks load;    // began
    Ticks ready;   // the core got the order to execute
    Ticks start;   // of the execution
    Ticks finish;  // of the execution
    Ticks unload;  // began
    Ticks end;     // of the unload; the response time is end - release
};

}  // namespace consort::spm
