// SPDX-License-Identifier: Apache-2.0
//
// A remote and a driver on one window and one thread, each given its steps by the test.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>

#include "driver.hpp"

namespace consort::rpmsg::testing {

inline constexpr std::uint32_t entries = 8;
inline constexpr std::uint32_t window_at = 0x3000000;  // as the driver reaches it
using RemoteUnderTest = Remote<entries, 2>;
using Shared = RemoteUnderTest::Shared;
using State = RemoteUnderTest::State;

struct Joined {
    std::unique_ptr<Shared> shared = std::make_unique<Shared>();
    std::optional<RemoteUnderTest> remote;
    Linux<entries> linux_side{*shared, window_at};
    // The messages that the remote heard; it answers with the same words where it echoes.
    std::deque<Heard> heard;
    bool echoes = false;
    std::deque<Heard> owed;

    void begin() {
        remote.emplace(*shared, window_at,
                       std::array<Endpoint, 2>{{{"rpmsg-raw", 0x400}, {"monitor", 0x401}}});
        owed.clear();
    }
    bool step() {
        if (!owed.empty() &&
            remote->try_send(owed.front().to - 0x400, owed.front().from, owed.front().payload.data(),
                             static_cast<std::uint32_t>(owed.front().payload.size())) == Sent::ok) {
            owed.pop_front();
            return true;
        }
        return remote->step([&](const Message& message) {
            heard.push_back({message.source, 0x400 + message.endpoint,
                             std::string(reinterpret_cast<const char*>(message.payload), message.bytes)});
            if (echoes) {
                owed.push_back(heard.back());
            }
        });
    }
    void settle() {
        for (int i = 0; i < 10000; ++i) {
            const bool worked = step();
            linux_side.poll();
            if (!worked) {
                return;
            }
        }
    }
    bool attach(bool handshake = true) {
        return linux_side.attach([&] { static_cast<void>(step()); }, handshake);
    }
};

}  // namespace consort::rpmsg::testing
