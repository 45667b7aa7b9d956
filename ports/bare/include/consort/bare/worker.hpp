// SPDX-License-Identifier: Apache-2.0
//
// A core, or a process beside the board, that computes for masters: it serves the most urgent request that is
// there and does nothing else.
#pragma once

#include "consort/bare/offload.hpp"
#include "consort/bare/stack.hpp"

namespace consort::bare {

// Serves until all masters have ended. T: the tasks, the most urgent first. The program's exit status.
// Results: 1 ticks a second, and the stack's.
template <class... T>
int serve(ControlBlock& block, const RunRegion& region, Control::Shared* control,
          const Channels<T>&... channels) noexcept {
    if (region.refusal().reason != Reason::none) {
        return refused(block, region.refusal());
    }
    paint_stack();
    block.result(1, static_cast<std::uint32_t>(ThisPort::ticks_per_second()));
    offload::Worker<ThisPort, Access, T...> worker(*control, channels...);
    const Status status = worker.serve([](const offload::ServedJob&) { check_stack(); });
    report_stack(block);
    return status == Status::ok ? 0 : fail(block, "the region was damaged");
}

}  // namespace consort::bare
