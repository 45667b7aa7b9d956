// SPDX-License-Identifier: Apache-2.0
//
// A segment as its server has it.
#pragma once

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "fabric.hpp"
#include "server.hpp"

namespace consort::remote {

struct Server::Segment {
    Segment(Server& owner, std::uint64_t size)
        : server(owner),
          memory(linux_port::SharedMemory::anonymous("consort-segment", size, owner.options_.huge_pages)) {}
    Segment(const Segment&) = delete;
    Segment& operator=(const Segment&) = delete;
    ~Segment() {
        const std::lock_guard lock(server.mutex_);
        server.used_ -= memory.bytes();
        server.segments_.erase(id);
    }
    [[nodiscard]] std::uint32_t pages() const {
        return static_cast<std::uint32_t>(memory.bytes() / page_bytes);
    }
    [[nodiscard]] std::byte* page(std::uint32_t number) const {
        return static_cast<std::byte*>(memory.base()) + std::size_t{number} * page_bytes;
    }

    Server& server;
    SegmentId id{};
    Secret secret{};
    linux_port::SharedMemory memory;
    std::chrono::milliseconds keep{0};
    // Where its memory is in a fabric, once its client asked; closed before the memory goes.
    std::unique_ptr<fabric::Exposed> exposed;

    // The rest is under this lock.
    std::mutex mutex;
    std::condition_variable changed;
    bool detached = false;
    // The current connection of each role: data over an older one is dropped.
    std::array<std::uint64_t, 2> newest{};
};

}  // namespace consort::remote
