// SPDX-License-Identifier: Apache-2.0
//
// The kernel's requirements on the application DMA.
#pragma once

#include <cstddef>
#include <cstdint>

namespace consort::spm {

struct Segment {
    const std::byte* from;
    std::byte* to;
    std::uint32_t bytes;
};

// A load moves code, data and inputs; an unload data and outputs.
inline constexpr std::uint32_t largest_transfer = 3;

// One load or unload: the DMA moves its segments in order.
struct Transfer {
    Segment segment[largest_transfer];
    std::uint32_t count = 0;

    void add(const std::byte* from, std::byte* to, std::uint32_t bytes) noexcept {
        if (bytes != 0) {
            segment[count++] = {from, to, bytes};
        }
    }
    [[nodiscard]] std::uint32_t bytes() const noexcept {
        std::uint32_t sum = 0;
        for (std::uint32_t i = 0; i < count; ++i) {
            sum += segment[i].bytes;
        }
        return sum;
    }
};

enum class DmaState : std::uint8_t {
    idle,   // nothing under way: the last transfer is complete, or was aborted
    busy,   // a transfer is under way
    error,  // the last transfer failed; the next start() clears it
};

}  // namespace consort::spm
