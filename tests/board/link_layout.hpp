// SPDX-License-Identifier: Apache-2.0
//
// A link between a process of this machine and a board's core, in the shared window: the ring, then the
// host's memory. The peer's memory is the board's own on-chip memory.
#pragma once

#include "consort/bare/program.hpp"
#include "consort/link.hpp"

namespace link_test {

using Access = consort::access::SystemBarrier;
inline constexpr std::uint32_t slots = 8;
inline constexpr std::uint32_t window_bytes = 65536;
using Ring = consort::link::Ring<slots, Access>;

struct Memory {
    Ring::Shared ring;
    alignas(consort::line_bytes) std::byte near[window_bytes];
};

inline Memory& memory(const consort::bare::ControlBlock& block) noexcept {
    return *reinterpret_cast<Memory*>(consort::bare::window() + block.argument(0));
}

}  // namespace link_test
