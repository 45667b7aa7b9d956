// SPDX-License-Identifier: Apache-2.0
//
// The host writes these down for the I/O subsystem on the R5F, beside the kernel's tables, and reads the
// results afterwards, from this image's debug information.
#pragma once

#include <cstdint>

#include "consort/versal/scratchpad.hpp"

namespace consort::versal::scratchpad {

// The I/O core's own part of the on-chip memory: device buffers and mirror buffers.
inline constexpr std::uintptr_t io_at = io_core_memory;
inline constexpr std::uint32_t io_bytes = io_core_memory_bytes;
static_assert(io_at >= shared_at + sizeof(OnChip) && io_at + io_bytes <= on_chip + on_chip_bytes);
static_assert(sizeof(OnChip) <= page);

// Offsets from the window's begin, but for the rings (from the begin of the I/O core's memory) and the mirror
// buffers: addresses.
struct IoTables {
    static constexpr std::uint32_t most_mirrors = 16;
    static constexpr std::uint32_t most_subscriptions = 32;
    static constexpr std::uint32_t most_flows = 16;

    std::uint32_t mirrors;
    std::uint32_t mirrors_at;
    std::uint32_t subscriptions;
    std::uint32_t subscriptions_at;
    std::uint32_t rings_at;  // of the device, in the I/O core's memory
    std::uint32_t receive;   // buffers
    std::uint32_t send;
    std::uint32_t message;  // bytes of the longest
    // The node on the other end of the line, on the second controller: what it sends and checks. 0: there is
    // none, what is on the line is not this board's.
    std::uint32_t flows;
    std::uint32_t flows_at;
    std::uint32_t node_rings_at;  // in the window
    std::uint32_t node_buffers;
    std::uint32_t results_at;  // IoResults, then FlowResult for each flow
    std::uint32_t serial;      // 1: the device is the R5F's UART, else the first Ethernet controller
};

struct MirrorRow {
    std::uint32_t core;
    std::uint32_t task;
    std::uint32_t input;  // messages
    std::uint32_t input_payload;
    std::uint32_t output;
    std::uint32_t output_payload;
    std::uint32_t on_full;  // spm::OnFull
    std::uint32_t input_at;
    std::uint32_t output_at;
};

struct SubscriptionRow {
    std::uint32_t core;
    std::uint32_t task;
    std::uint32_t flow;
    std::uint32_t mask;
};

// The node sends message n at offset + n * period, or as soon after it as the I/O core has time: flow, n, and
// words that both decide. What comes back is to be the same, and the number one more than the one before.
struct FlowRow {
    std::uint64_t period;
    std::uint64_t offset;
    std::uint32_t flow;
    std::uint32_t bytes;
    std::uint32_t count;  // messages
    std::uint32_t reserved;
};

struct FlowResult {
    std::uint32_t sent;
    std::uint32_t held_up;   // the controller's buffers were full: sent later
    std::uint32_t returned;  // and right
    std::uint32_t lost;      // numbers left out
    std::uint32_t repeated;  // a number not above the one before
    std::uint32_t wrong;     // anything else than what was sent
    std::uint32_t last;      // number
    std::uint32_t longest;   // from sending to return, in the window's unit of 64 ns
};

struct IoResults {
    std::uint32_t received;
    std::uint32_t unwanted;
    std::uint32_t delivered;
    std::uint32_t lost;
    std::uint32_t sent;
    std::uint32_t overwritten;
    std::uint32_t refused;     // frames that are not messages
    std::uint32_t exhausted;   // all device buffers full
    std::uint32_t unexpected;  // at the node: of no flow that it sends
    std::uint32_t longest;     // serving one message, ns
};

// The n-th word of message `number` of a flow, from its third one on.
[[nodiscard]] constexpr std::uint32_t word_of(std::uint32_t flow, std::uint32_t number,
                                              std::uint32_t n) noexcept {
    return (flow + 1) * 2654435761U ^ (number * 40503U + n * 0x9e3779b9U);
}

}  // namespace consort::versal::scratchpad
