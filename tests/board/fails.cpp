// SPDX-License-Identifier: Apache-2.0
//
// A program of a board that finds something wrong.
#include "consort/bare/program.hpp"

int consort_program(consort::bare::ControlBlock& block) noexcept {
    return consort::bare::fail(block, "the clock stands still");
}
