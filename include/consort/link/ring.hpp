// SPDX-License-Identifier: Apache-2.0
//
// Ring: the shared memory of one queue of a link. N descriptors from host to engine, N completions back.
//
//   host's line       posted: the doorbell, how many descriptors were posted since the ring was made
//   engine's line     completed: the status word, how many of them are complete
//   descriptors[N]    written by the host; a transaction is a chain of them, the last one marked
//   completions[N]    written by the engine, in the slot of the transaction's last descriptor
//
// Descriptor n lies in slot n modulo N. The host uses a slot again only when it has seen the completion of
// what was in it, so neither side can overrun the other, and one counter in each direction is enough.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "consort/icc/access.hpp"
#include "consort/icc/form.hpp"
#include "consort/icc/wire.hpp"
#include "consort/link/transaction.hpp"

namespace consort::link {

struct Descriptor {
    std::uint32_t local;
    std::uint32_t remote;
    std::uint32_t bytes;
    std::uint32_t control;

    static constexpr std::uint32_t from_peer = 1U << 0U;
    static constexpr std::uint32_t last = 1U << 1U;
    static constexpr std::uint32_t event = 1U << 2U;
    static constexpr std::uint32_t known = from_peer | last | event;
};
static_assert(sizeof(Descriptor) == 16);

struct StatusEntry {
    std::uint32_t number;  // of the transaction's last descriptor, modulo 2^32
    std::uint32_t bytes;
    std::uint32_t outcome;
    std::uint32_t reserved;
};
static_assert(sizeof(StatusEntry) == 16);

template <std::uint32_t N, class A = access::Coherent>
struct Ring {
    static_assert(N >= 2 && std::has_single_bit(N) && N <= (1U << 20U),
                  "a link's ring has a power of two of descriptors, from 2 to 2^20");

    using Value = Descriptor;
    using Access = A;
    static constexpr std::uint32_t kind = 8;
    static constexpr std::uint32_t parameter = N;
    static constexpr Form form = Form::whole_lines;

    struct Shared {
        struct alignas(line_bytes) HostLine {
            typename A::Word posted;
            typename A::Word epoch;
        } host;
        struct alignas(line_bytes) EngineLine {
            typename A::Word completed;
            typename A::Word epoch;
            // How often the host's doorbell held a number that it cannot reach.
            typename A::Word faults;
        } engine;
        struct alignas(line_bytes) Descriptors {
            typename A::template Cell<Descriptor> at[N];
        } descriptors;
        struct alignas(line_bytes) Completions {
            typename A::template Cell<StatusEntry> at[N];
        } completions;
    };

    [[nodiscard]] static auto& descriptor(Shared& shared, std::uint32_t number) noexcept {
        return shared.descriptors.at[number & (N - 1)];
    }
    [[nodiscard]] static auto& completion(Shared& shared, std::uint32_t number) noexcept {
        return shared.completions.at[number & (N - 1)];
    }
};

}  // namespace consort::link
