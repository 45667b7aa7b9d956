// SPDX-License-Identifier: Apache-2.0
//
// How long `acquire` takes at most (theorem 36, docs/explanation/channels.md).
#pragma once

#include <cstdint>

#include "consort/dsm/changes.hpp"
#include "consort/port.hpp"

namespace consort::dsm {

// Figures of one region, each the largest there is [ticks of any one clock].
struct AcquireCosts {
    Ticks hold;   // one use by the other side, from `acquire` returning to `release`
    Ticks look;   // between two calls of `serve` by the other side while it does not use the region
    Ticks step;   // one call of `serve` by either side, without the DMA's work
    Ticks setup;  // of a transaction: from its posting to the DMA's start, and from its end to its completion
    Ticks piece;  // of a piece, whatever its size
    Ticks page;   // 4 KiB moved by the DMA
    std::uint32_t pages;    // of the region
    std::uint32_t changed;  // bytes in the lines that one side changes between two grants, with the gaps sent
    std::uint32_t pieces;   // of these changes
    std::uint32_t batch = 8;  // pieces of a transaction
};

// The DMA's work for `bytes` in `pieces`, whose transactions do not overlap with one another in this bound.
[[nodiscard]] constexpr Ticks moving(const AcquireCosts& costs, std::uint64_t bytes,
                                     std::uint64_t pieces) noexcept {
    const std::uint64_t transactions = (pieces + costs.batch - 1) / costs.batch;
    return transactions * (costs.setup + costs.step) + pieces * costs.piece +
           (bytes + page_bytes - 1) / page_bytes * costs.page;
}

// A side that asks waits for one use of the other one at most, for its next look, and for what has to be
// moved: the masks and the changes. Each of at most four messages is seen in the reader's next step or look;
// where both sides ask to write, the peer hears the host's question and is granted after the host's use.
[[nodiscard]] constexpr Ticks acquire_bound(const AcquireCosts& costs) noexcept {
    const std::uint64_t masks = std::uint64_t{costs.pages} * sizeof(std::uint64_t);
    return costs.hold + 2 * (costs.look + costs.step) + 4 * 2 * costs.step + moving(costs, masks, 1) +
           moving(costs, costs.changed, costs.pieces);
}

}  // namespace consort::dsm
