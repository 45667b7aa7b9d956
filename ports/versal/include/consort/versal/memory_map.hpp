// SPDX-License-Identifier: Apache-2.0
//
// Where things lie on this board (ports/versal/board.yaml), and what the map alone does not say.
#pragma once

#include <cstdint>

#include "consort/board/memory_map.hpp"

namespace consort::versal {

using namespace consort::board;

inline constexpr std::uintptr_t zdma_step = 0x10000;
inline constexpr std::uint32_t zdma_channels = 8;

}  // namespace consort::versal
