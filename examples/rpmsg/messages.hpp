// SPDX-License-Identifier: Apache-2.0
// Messages between the two sides of the example, and their memory.
#pragma once

#include <cstdint>

#include "consort/rpmsg.hpp"

namespace rpmsg_example {

inline constexpr std::uint32_t entries = 64;
inline constexpr std::uint32_t message_bytes = 96;
inline constexpr std::uint32_t kept_messages = 16;
// Addresses of the remote's endpoints. Linux has drivers for these names: what "rpmsg-raw" announces becomes
// /dev/rpmsgN, and "rpmsg-client-sample" is the kernel's own sample, which wants its greeting back.
inline constexpr std::uint32_t raw = 0x400;
inline constexpr std::uint32_t greeting = 0x401;

template <class Access>
using Stream = consort::rpmsg::Stream<message_bytes, kept_messages, Access>;

// The sides' memories lie one behind the other, at multiples of this.
inline constexpr std::uint32_t kept_bytes = 4096;

// Message `number` of Linux, or the remote's answer to it: its length and its words.
struct Words {
    std::uint32_t bytes;
    std::uint32_t at[message_bytes / 4];

    Words(std::uint32_t number, bool answer) noexcept : bytes(4 * (1 + number % (message_bytes / 4))), at{} {
        std::uint32_t state = (number * 2 + (answer ? 1 : 0)) * 2654435761U | 1U;
        for (std::uint32_t i = 0; i < bytes / 4; ++i) {
            state ^= state << 13U;
            state ^= state >> 17U;
            state ^= state << 5U;
            at[i] = consort::wire(state);
        }
    }
    [[nodiscard]] bool equal(const consort::rpmsg::StreamMessage& message) const noexcept {
        return message.bytes == bytes && __builtin_memcmp(message.payload, at, bytes) == 0;
    }
};

}  // namespace rpmsg_example
