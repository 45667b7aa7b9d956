// SPDX-License-Identifier: Apache-2.0
//
// A three-phase task as the kernel knows it: its row of the plan, and what is moved for it.
//
// Everything here is constant at run time: `consort generate` or the application writes it down.
#pragma once

#include <cstddef>
#include <cstdint>

#include "consort/app/plan.hpp"
#include "consort/port.hpp"

namespace consort::spm {

inline constexpr Ticks never = ~Ticks{0};

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

// A task's image in main memory; it is never executed there.
struct Image {
    Footprint size{};
    const std::byte* code = nullptr;
    std::byte* data = nullptr;
};

// A task of a core. Of its row, whose times are ticks of the kernel's clock, the kernel reads the period, the
// offset, the deadline, and on_request, on_overrun, on_late; a WCET that is watched is the job's budget.
struct Entry {
    const app::plan::Task* plan = nullptr;
    Image image{};

    [[nodiscard]] Ticks period() const noexcept { return static_cast<Ticks>(plan->period); }
    [[nodiscard]] Ticks offset() const noexcept { return static_cast<Ticks>(plan->offset); }
    [[nodiscard]] Ticks deadline() const noexcept { return static_cast<Ticks>(plan->deadline); }
    [[nodiscard]] Ticks wcet() const noexcept { return static_cast<Ticks>(plan->wcet); }
    [[nodiscard]] bool watched() const noexcept {
        return plan->on_overrun != app::plan::OnOverrun::unwatched;
    }
};

// The tasks of a core, the most urgent first.
struct Table {
    const Entry* entries = nullptr;
    std::uint32_t count = 0;
};

}  // namespace consort::spm
