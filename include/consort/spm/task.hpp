// SPDX-License-Identifier: Apache-2.0
//
// A three-phase task as the kernel knows it: when it is released, what is moved for it, what to do when it
// fails.
//
// Everything here is constant at run time: `consort generate` or the application writes it down.
#pragma once

#include <cstddef>
#include <cstdint>

#include "consort/port.hpp"

namespace consort::spm {

inline constexpr Ticks never = ~Ticks{0};

enum class Release : std::uint8_t {
    periodic,  // at offset, offset + period, …
    sporadic,  // when asked for, at least one period after the release before
};

// Execution longer than the budget.
enum class OnOverrun : std::uint8_t {
    report,     // the job goes on
    stop_job,   // the core is ordered to leave it; what it computed is dropped
    stop_task,  // and it is not released again
};

// A job's unload not ended at its deadline.
enum class OnMiss : std::uint8_t {
    report,     // the job goes on
    drop,       // a job not loaded yet is given up; one in flight goes on
    stop_task,  // also: the task is not released again
};

// Bytes of each part of a task's image. A partition holds them in this order, each aligned.
struct Footprint {
    std::uint32_t code = 0;     // never written back
    std::uint32_t data = 0;     // kept from job to job: loaded, and written back at unload
    std::uint32_t inputs = 0;   // from the I/O core's mirror buffer
    std::uint32_t outputs = 0;  // to the I/O core's mirror buffer
};

// Each part begins on a line of its own: a DMA needs it, and cache maintenance of one part then never
// touches another.
inline constexpr std::uint32_t part_alignment = 64;

// Offsets of the parts in a partition.
struct Layout {
    std::uint32_t data;
    std::uint32_t inputs;
    std::uint32_t outputs;
    std::uint32_t bytes;
};

[[nodiscard]] constexpr std::uint32_t aligned_part(std::uint32_t bytes) noexcept {
    return (bytes + part_alignment - 1) / part_alignment * part_alignment;
}

[[nodiscard]] constexpr Layout layout_of(const Footprint& size) noexcept {
    const std::uint32_t data = aligned_part(size.code);
    const std::uint32_t inputs = data + aligned_part(size.data);
    const std::uint32_t outputs = inputs + aligned_part(size.inputs);
    return {data, inputs, outputs, outputs + aligned_part(size.outputs)};
}

struct Task {
    Ticks period = 0;
    Ticks deadline = 0;  // after the release; the unload must have ended
    Ticks offset = 0;    // of the first periodic release, from the kernel's start
    Ticks budget = 0;    // longest execution; 0: not watched
    Release release = Release::periodic;
    OnOverrun on_overrun = OnOverrun::report;
    OnMiss on_miss = OnMiss::report;
    Footprint size{};
    // The image in main memory; it is never executed there.
    const std::byte* code = nullptr;
    std::byte* data = nullptr;
};

// A contiguous list in priority order, the most urgent first.
struct TaskTable {
    const Task* tasks = nullptr;
    std::uint32_t count = 0;
};

}  // namespace consort::spm
