// SPDX-License-Identifier: Apache-2.0
//
// Transactions over a link: their pieces, and how each one ended.
//
// A link joins two sides by a DMA engine. The host posts transactions; the engine moves bytes between the
// host's window and the peer's window and completes each transaction. A place is an offset into a window,
// never an address: the three parties map the windows at different addresses.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

#include "consort/icc/status.hpp"
#include "consort/icc/wire.hpp"
#include "consort/spm/dma.hpp"

namespace consort::link {

// A memory that transactions may read and write, as one party maps it: up to 4 GiB.
struct Window {
    std::byte* base = nullptr;
    std::uint32_t bytes = 0;

    [[nodiscard]] constexpr bool holds(std::uint32_t offset, std::uint32_t length) const noexcept {
        return offset <= bytes && length <= bytes - offset;
    }
};

enum class Direction : std::uint8_t { to_peer, from_peer };

// How the host learns that a transaction is complete. The status word is always written; by_event the engine
// raises the host's event as well.
enum class Completing : std::uint8_t { by_status, by_event };

// One contiguous part of a transaction [bytes]. Several of them scatter or gather.
struct Piece {
    std::uint32_t local;   // offset in the host's window
    std::uint32_t remote;  // offset in the peer's window
    std::uint32_t bytes;
};

enum class Outcome : std::uint32_t {
    moved = 0,          // all bytes arrived
    out_of_window = 1,  // a piece reaches outside of a window; nothing was moved
    malformed = 2,      // the engine could not read the transaction's descriptors; nothing was moved
    dma_error = 3,      // the DMA failed; some of the bytes may have arrived
    timed_out = 4,      // the DMA took longer than the engine allows and was stopped; as dma_error
};
inline constexpr std::uint32_t outcomes = 5;

[[nodiscard]] constexpr const char* to_string(Outcome outcome) noexcept {
    switch (outcome) {
        case Outcome::moved:
            return "moved";
        case Outcome::out_of_window:
            return "a piece reaches outside of a window";
        case Outcome::malformed:
            return "the descriptors could not be read";
        case Outcome::dma_error:
            return "the DMA failed";
        case Outcome::timed_out:
            return "the DMA took too long and was stopped";
    }
    return "unknown outcome";
}

struct Completion {
    std::uint32_t tag;  // what the host gave when it posted the transaction
    Outcome outcome;
    std::uint32_t bytes;  // moved for certain
};

enum class Posting : std::uint8_t {
    ok,
    // The ring has no room now: back-pressure. Poll for completions and try again.
    full,
    // No such transaction can be posted: no piece, more pieces than the ring holds, a piece outside of a
    // window, or 4 GiB or more in all. Trying again is of no use.
    refused,
};

// The interface of every kind of link to the side that posts. No call blocks.
template <class Q>
concept TransferQueue = requires(Q& queue, const Q& constant, const Piece* pieces, std::uint32_t n,
                                 Completion& completion) {
    { queue.try_post(Direction::to_peer, pieces, n, n, Completing::by_status) }
    noexcept->std::same_as<Posting>;
    // ok: `completion` is the oldest transaction's; would_block: it is under way, or none is; peer_fault.
    { queue.poll(completion) }
    noexcept->std::same_as<Status>;
    { constant.in_flight() }
    noexcept->std::same_as<std::uint32_t>;
};

// The engine's requirements on the DMA that moves the bytes: the interface of the scratchpad kernel's DMA. A
// DMA that copies with the core's own instructions has `advance` as well, which moves the next part.
template <class D>
concept Dma = requires(D& dma, const spm::Transfer& transfer) {
    { dma.start(transfer) }
    noexcept;
    { dma.state() }
    noexcept->std::same_as<spm::DmaState>;
    // After it the DMA touches neither memory any more.
    { dma.abort() }
    noexcept;
};

// Raises nothing: completion by status alone, and an engine that looks at its doorbells all the time.
struct NoEvent {
    void operator()(std::uint32_t /*queue*/) noexcept {}
};

}  // namespace consort::link
