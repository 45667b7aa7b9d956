// SPDX-License-Identifier: Apache-2.0
//
// The links of a run: which channels each carries, and what the engine of it is given.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
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

// Throws std::invalid_argument.
inline std::vector<LinkConfig> read_links(const nlohmann::json& given, std::size_t channels,
                                          const std::string& where) {
    std::vector<LinkConfig> links;
    for (const auto& object : given) {
        LinkConfig link;
        try {
            link.name = object.at("name").get<std::string>();
            link.cpu = object.value("cpu", -1);
            link.limit_ns = object.at("limit_ns").get<std::uint64_t>();
            link.silence_ns = object.at("silence_ns").get<std::uint64_t>();
            for (const auto& one : object.at("carries")) {
                link.carries.push_back(
                    {one.at("channel").get<std::uint16_t>(), one.value("transfer", std::uint64_t{0})});
            }
        } catch (const nlohmann::json::exception& error) {
            throw std::invalid_argument(where + ": " + error.what());
        }
        for (const LinkConfig::Carries& one : link.carries) {
            if (one.channel >= channels) {
                throw std::invalid_argument(where + "." + link.name + ": there is no such channel");
            }
        }
        links.push_back(std::move(link));
    }
    return links;
}

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
