// SPDX-License-Identifier: Apache-2.0
//
// The links of a run: which channels each carries, and what the engine of it is given.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace consort::linux_port {

struct LinkConfig {
    struct Carries {
        std::uint16_t channel = 0;
        // In virtual time: one block, by itself [ticks].
        std::uint64_t transfer = 0;
    };
    std::string name;
    int cpu = -1;  // -1: it has none of its own, and sleeps while nothing is posted
    // After so long a transaction is ended as timed out, and an engine without a sign of life is ended.
    std::uint64_t limit_ns = 0;
    std::uint64_t silence_ns = 0;
    std::vector<Carries> carries;
};

// The link that carries a channel.
[[nodiscard]] inline std::optional<std::size_t> link_of(const std::vector<LinkConfig>& links,
                                                        std::uint16_t channel) {
    for (std::size_t i = 0; i < links.size(); ++i) {
        for (const LinkConfig::Carries& one : links[i].carries) {
            if (one.channel == channel) {
                return i;
            }
        }
    }
    return std::nullopt;
}

}  // namespace consort::linux_port
