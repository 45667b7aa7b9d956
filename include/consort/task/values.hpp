// SPDX-License-Identifier: Apache-2.0
//
// Members of an input that say more than a value: how fresh it is, or how many there are.
#pragma once

#include <cstdint>

namespace consort {

// Bound to a channel, a member of this type also gets the block's number (0: none was ever written) and its
// age at the read [ns], counted from the write; 0 where the writer's clock cannot be compared.
template <class T>
struct Latest {
    using Value = T;
    T value;
    std::uint32_t sequence;
    std::uint32_t reserved;
    std::uint64_t age_ns;
};

// Bound to a queue, a member of this type gets up to `N` elements, the oldest first.
template <class T, std::uint32_t N>
struct Batch {
    using Value = T;
    static constexpr std::uint32_t capacity = N;
    std::uint32_t count;
    std::uint32_t reserved;
    T items[N];
};

}  // namespace consort
