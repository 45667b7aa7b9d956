// SPDX-License-Identifier: Apache-2.0
//
// Loads and unloads three-phase jobs of the second R5F: a ZDMA channel of its own, and two partitions. QEMU's
// machine has no tightly coupled memory; a part of the on-chip memory stands for it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "consort/bare/this_core.hpp"
#include "consort/spm/dma.hpp"
#include "consort/versal/zdma.hpp"

namespace consort::bare {

class CoreDma {
  public:
    static std::byte* partition(std::uint32_t number) noexcept {
        return reinterpret_cast<std::byte*>(versal::r5f_1_scratchpad) +
               number * (versal::r5f_1_scratchpad_bytes / 2);
    }
    static void start(const spm::Transfer& transfer) noexcept {
        active = transfer.count != 0;
        if (!active) {
            return;
        }
        for (std::uint32_t i = 0; i < transfer.count; ++i) {
            const spm::Segment& s = transfer.segment[i];
            from[i] = versal::Zdma::descriptor(s.from, s.bytes, i + 1 == transfer.count);
            to[i] = versal::Zdma::descriptor(s.to, s.bytes, false);
        }
        ThisPort::clean(from, sizeof from);
        ThisPort::clean(to, sizeof to);
        versal::Zdma(channel).start(to, from);
    }
    static spm::DmaState state() noexcept {
        const versal::Zdma dma(channel);
        if (!active || dma.done()) {
            return spm::DmaState::idle;
        }
        return dma.failed() ? spm::DmaState::error : spm::DmaState::busy;
    }
    static bool abort() noexcept { return versal::Zdma(channel).stop(); }

  private:
    // The scratchpad kernel has the first one.
    static constexpr std::uint32_t channel = 1;
    alignas(32) static inline versal::ZdmaDescriptor from[spm::largest_transfer]{};
    alignas(32) static inline versal::ZdmaDescriptor to[spm::largest_transfer]{};
    static inline bool active = false;
};

}  // namespace consort::bare
