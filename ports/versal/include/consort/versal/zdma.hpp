// SPDX-License-Identifier: Apache-2.0
//
// One ZDMA channel, polled: a copy between physical addresses (simple mode), or a list of them that the
// channel works through by itself (scatter-gather mode). What the port contract calls a DMA: start and done.
#pragma once

#include <cstdint>

#include "consort/bare/registers.hpp"
#include "consort/port.hpp"
#include "consort/versal/memory_map.hpp"

namespace consort::versal {

// An element of a list: one side of one copy.
struct alignas(16) ZdmaDescriptor {
    std::uint32_t address_low;
    std::uint32_t address_high;
    std::uint32_t bytes;
    std::uint32_t control;
};
static_assert(sizeof(ZdmaDescriptor) == 16);

class Zdma {
  public:
    explicit Zdma(std::uint32_t channel) noexcept : base_(zdma0 + channel * zdma_step) {}

    // Begins a copy. Both ranges are visible to the channel: cached ones have been cleaned.
    void start(void* to, const void* from, std::uint32_t bytes) noexcept {
        isa::system_barrier();
        at(isr) = ~0U;
        at(control0) = 0;  // simple mode, read and write
        word_pair(source, from);
        at(source_size) = bytes;
        word_pair(destination, to);
        at(destination_size) = bytes;
        at(control2) = 1;  // enable: starts the transfer
    }
    // One side of a copy of a list; `last` ends the list, on the source's side.
    static ZdmaDescriptor descriptor(const void* at, std::uint32_t bytes, bool last) noexcept {
        const auto address = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(at));
        return {static_cast<std::uint32_t>(address), static_cast<std::uint32_t>(address >> 32U), bytes,
                last ? stop_after : 0};
    }
    // Begins the copies of a list, of equal lengths on both sides. The lists lie in memory that the channel
    // sees as it is, and stay until it is done.
    void start(const ZdmaDescriptor* destinations, const ZdmaDescriptor* sources) noexcept {
        isa::system_barrier();
        at(isr) = ~0U;
        at(control0) = descriptors_in_memory;
        word_pair(source_list, sources);
        word_pair(destination_list, destinations);
        at(control2) = 1;
    }
    [[nodiscard]] bool done() const noexcept {
        const bool finished = (at(isr) & transfer_done) != 0;
        isa::system_barrier();
        return finished;
    }
    // The channel met an error; the copy is not complete.
    [[nodiscard]] bool failed() const noexcept { return (at(isr) & errors) != 0; }
    // Stops a copy; false: the channel is busy all the same.
    bool stop() noexcept {
        at(control2) = 0;
        isa::system_barrier();
        return (at(status) & 3U) != busy;
    }
    // Tests: an access to a register that is not there, which the channel reports as an error.
    void provoke_error() noexcept { at(0x1f0) = 0; }

  private:
    static constexpr std::uintptr_t isr = 0x100;
    static constexpr std::uintptr_t status = 0x11c;
    static constexpr std::uint32_t busy = 2;
    // Errors of the register access, the counters and the bus (AM012, ZDMA ISR).
    static constexpr std::uint32_t errors = 0x3f1;
    static constexpr std::uintptr_t control0 = 0x110;
    static constexpr std::uintptr_t source = 0x128;
    static constexpr std::uintptr_t source_size = 0x130;
    static constexpr std::uintptr_t destination = 0x138;
    static constexpr std::uintptr_t destination_size = 0x140;
    static constexpr std::uintptr_t source_list = 0x158;
    static constexpr std::uintptr_t destination_list = 0x160;
    static constexpr std::uintptr_t control2 = 0x200;
    static constexpr std::uint32_t descriptors_in_memory = 1U << 6U;
    static constexpr std::uint32_t stop_after = 2U << 3U;
    static constexpr std::uint32_t transfer_done = 1U << 10U;

    [[nodiscard]] volatile std::uint32_t& at(std::uintptr_t offset) const noexcept {
        return bare::reg(base_ + offset);
    }
    void word_pair(std::uintptr_t offset, const void* address) const noexcept {
        const auto value = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(address));
        at(offset) = static_cast<std::uint32_t>(value);
        at(offset + 4) = static_cast<std::uint32_t>(value >> 32U);
    }

    std::uintptr_t base_;
};

}  // namespace consort::versal
