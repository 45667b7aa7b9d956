// SPDX-License-Identifier: Apache-2.0
//
// Where things lie on this board (ports/mps2/board.yaml).
#pragma once

#include "consort/board/memory_map.hpp"

namespace consort::mps2 {

using namespace consort::board;

}  // namespace consort::mps2
