// SPDX-License-Identifier: Apache-2.0
//
// How the application cores share the one DMA.
#pragma once

#include <cstdint>

#include "consort/app/plan.hpp"
#include "consort/port.hpp"

namespace consort::spm {

// As a plan has it. TDMA: each slot belongs to a core and carries at most one operation, whose effect shows
// at the slot's end: what other cores do is not seen. Round robin: whenever the DMA is free, the next core in
// turn that has an operation gets it.
using app::plan::Arbitration;

// TDMA: a slot of the table that repeats. Round robin: the n-th entry is for the n-th core, its length the
// longest operation that the core may ask for.
struct Slot {
    std::uint32_t core;
    Ticks length;
};

struct Schedule {
    Arbitration arbitration = Arbitration::tdma;
    const Slot* slots = nullptr;
    std::uint32_t count = 0;
    Ticks start = 0;      // of the first slot; offsets of tasks count from here
    Ticks tolerance = 0;  // TDMA: an operation may begin this late in its slot and still end in it
    // An operation that was aborted or failed is repeated in the core's next slots, so often; then its job is
    // lost. Repeating is harmless: source and destination are the same.
    std::uint32_t repeats = 1;
};

}  // namespace consort::spm
