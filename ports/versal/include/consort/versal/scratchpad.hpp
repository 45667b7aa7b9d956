// SPDX-License-Identifier: Apache-2.0
//
// The scratchpad-centric kernel on the Versal: what the R5F (I/O core) and the A72 (application cores) agree
// on, and what the host writes into the shared window before they start and reads from it afterwards. The
// host takes structs, enumerations and constants from the image's debug information.
#pragma once

#include <cstddef>
#include <cstdint>

#include "consort/bare/control_block.hpp"
#include "consort/icc/access.hpp"
#include "consort/icc/clock_exchange.hpp"
#include "consort/spm/dma.hpp"
#include "consort/spm/handover.hpp"
#include "consort/versal/memory_map.hpp"
#include "consort/versal/zdma.hpp"

namespace consort::versal::scratchpad {

// The window and the on-chip memory are mapped without caches on all cores.
using Access = access::SystemBarrier;
using Word = Access::Word;

// Application cores that execute, and cores that may own slots: what an analysis of four cores says can be
// tried on two of them, the slots of the others pass unused.
inline constexpr std::uint32_t application_cores = kernel_application_cores;
inline constexpr std::uint32_t most_cores = kernel_slot_owners;
inline constexpr std::uint32_t most_tasks = kernel_tasks;

// --- on-chip memory: a partition is of whole pages, the last pages are the cores' hand-overs

inline constexpr std::uint32_t page = 4096;
inline constexpr std::uint32_t scratchpad_bytes = kernel_scratchpad_bytes;
// A core's stack: the end of its scratchpad. Its jobs follow one another, so they have one.
inline constexpr std::uint32_t stack_bytes = kernel_stack_bytes;
static_assert(scratchpad_bytes / spm::partitions % page == 0 && stack_bytes % page == 0);

[[nodiscard]] constexpr std::uintptr_t scratchpad_at(std::uint32_t core) noexcept {
    return on_chip + std::uintptr_t{core} * scratchpad_bytes;
}
[[nodiscard]] constexpr std::uintptr_t stack_at(std::uint32_t core) noexcept {
    return scratchpad_at(core) + scratchpad_bytes - stack_bytes;
}

// Where tables in the window have the partitions.
inline constexpr std::uint32_t partition_room = scratchpad_bytes / spm::partitions - stack_bytes;
[[nodiscard]] constexpr std::uintptr_t partition_at(std::uint32_t core, std::uint32_t partition) noexcept {
    return scratchpad_at(core) + std::uintptr_t{partition} * (scratchpad_bytes / spm::partitions);
}

struct Control {
    // How an application core learns the I/O core's time.
    ClockExchange<Access>::Shared clock;
    struct alignas(line_bytes) IoLine {  // written by the I/O core
        Word stop;                       // the job that the core is to leave (job_number)
        Word ready_low[4];               // when the n-th job of the core was handed over, for n modulo 4
        Word ready_high[4];
    } io;
};

struct OnChip {
    spm::Handover<Access>::Shared handover[most_cores];
    Control control[most_cores];
    // The application DMA's list, written by the I/O core.
    ZdmaDescriptor from[spm::largest_transfer];
    ZdmaDescriptor to[spm::largest_transfer];
    Word cleared;  // Tables::magic_number, by the first A72, once all else here is 0
};
inline constexpr std::uintptr_t shared_at = on_chip + std::uintptr_t{application_cores} * scratchpad_bytes;
static_assert(shared_at - on_chip + sizeof(OnChip) <= on_chip_bytes);

[[nodiscard]] inline OnChip& on_chip_shared() noexcept {
    return *reinterpret_cast<OnChip*>(shared_at);
}

// Never 0, so that a stop word of 0 stops nothing.
[[nodiscard]] constexpr std::uint32_t job_number(std::uint32_t task, std::uint32_t job) noexcept {
    return (task + 1) << 16U | (job & 0xffffU);
}

// --- the window: tables that the host writes. Addresses are offsets from the window's begin, times
// nanoseconds.

inline constexpr std::uint32_t tables_at = bare::control_blocks_bytes;

struct Tables {
    static constexpr std::uint32_t magic_number = 0x4d505343;  // "CSPM"
    std::uint32_t magic;
    std::uint32_t plan_at;  // the plan image, of a program that has none in it
    std::uint32_t plan_bytes;
    std::uint32_t given;  // one for each task of the plan
    std::uint32_t given_at;
    std::uint32_t requests;  // of tasks that are released when asked for, in the order of their times
    std::uint32_t requests_at;
    std::uint32_t faults;  // to be injected
    std::uint32_t faults_at;
    std::uint32_t events_at;
    std::uint32_t events;  // room
    std::uint32_t jobs_at;
    std::uint32_t jobs;  // room
    std::uint32_t repeats;
    std::uint32_t tolerance;
    std::uint32_t tick;   // how often an application core looks whether it is to leave its job
    std::uint64_t until;  // no releases from here on, counted from the first slot
    // For runs too long for a record of each job: 1: events and jobs beyond the room for them are counted
    // only.
    std::uint32_t beyond;
    std::uint32_t counts_at;     // of events, in the order of spm::Kind
    std::uint32_t summaries_at;  // Summary for each task, in the order of the plan
    std::uint32_t io_at;         // IoTables; 0: no device
    std::uint32_t lead;          // from when all is ready to the first slot
    std::uint32_t reserved;
};
static_assert(sizeof(Tables) <= page, "what the tables lead to follows in the next page");

// What a run gives a task of the plan.
struct Given {
    std::uint32_t code;  // bytes, the image's header included
    std::uint32_t data;
    std::uint32_t inputs;
    std::uint32_t outputs;
    std::uint32_t code_at;
    std::uint32_t data_at;
    std::uint32_t inputs_at;  // rows of inputs, used again from the first
    std::uint32_t input_rows;
    std::uint32_t outputs_at;  // rows of outputs, filled again from the first
    std::uint32_t output_rows;
    // Executions last as long as this table says, for job n its n-th entry or the last one; empty: as long as
    // they last.
    std::uint32_t lasting_at;
    std::uint32_t lasting;
};

struct RequestRow {
    std::uint64_t at;
    std::uint32_t core;
    std::uint32_t task;
};

enum class Injected : std::uint32_t {
    dma_error = 1,   // the n-th transfer meets an error of the channel
    dma_silence,     // the n-th transfer is never begun
    io_core_sleeps,  // the I/O core does not look at its clock from the n-th transfer on, for `length`
};

struct FaultRow {
    std::uint32_t what;  // Injected
    std::uint32_t transfer;
    std::uint32_t length;
    std::uint32_t reserved;
};

// The output of the I/O core.
struct EventRow {
    std::int64_t at;
    std::uint32_t kind;  // spm::Kind
    std::uint32_t core;
    std::uint32_t task;
    std::uint32_t job;
};

struct JobRow {
    std::int64_t release, load, ready, start, finish, unload, end;
    std::uint32_t core, task, job;
    std::uint32_t outcome;  // spm::Outcome
};

struct Summary {
    std::uint64_t response;   // the longest
    std::uint64_t execution;  // the longest
    std::uint32_t jobs;       // that ended
    std::uint32_t late;       // after their deadline
    std::uint32_t not_done;   // stopped or faulted
    std::uint32_t last;       // number of the last one
};

// --- a task's image: this header, then instructions and constants, placed wherever a partition is free.
// Nothing in it is an address: it counts from its own begin.
struct ImageHeader {
    static constexpr std::uint32_t magic_number = 0x474d4943;  // "CIMG"
    std::uint32_t magic;
    std::uint32_t bytes;      // of the code part
    std::uint32_t entry;      // void entry(const spm::Partition&)
    std::uint32_t constants;  // where they begin
    std::uint32_t state;      // bytes of each other part
    std::uint32_t inputs;
    std::uint32_t outputs;
    std::uint32_t hash;  // FNV-1a of all words but this one
};

[[nodiscard]] inline std::uint32_t hash_of(const std::uint32_t* words, std::uint32_t count) noexcept {
    std::uint32_t hash = 2166136261U;
    constexpr std::uint32_t own = offsetof(ImageHeader, hash) / 4;
    for (std::uint32_t i = 0; i < count; ++i) {
        hash = i == own ? hash : (hash ^ words[i]) * 16777619U;
    }
    return hash;
}

template <class T>
[[nodiscard]] T* in_window(std::uint32_t offset) noexcept {
    return reinterpret_cast<T*>(window + offset);
}

}  // namespace consort::versal::scratchpad
