// SPDX-License-Identifier: Apache-2.0
//
// Both sides of a shared region, a link between them, and all their memory.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "../link/joined.hpp"
#include "consort/dsm.hpp"
#include "consort/link.hpp"

namespace consort::test {

// A clock that each look at it moves on.
struct SteppedPort {
    static inline Ticks tick = 0;
    static Ticks now() noexcept { return tick++; }
    static Ticks ticks_per_second() noexcept { return 1'000'000; }
    static void relax() noexcept {}
    static void clean(const void*, std::size_t) noexcept {}
    static void invalidate(const void*, std::size_t) noexcept {}
    static std::uint32_t core_id() noexcept { return 0; }
};

template <class Dma = ScriptedDma, std::uint32_t Slots = 16>
struct Shared {
    static constexpr std::uint32_t pages = 4;
    static constexpr std::uint32_t bytes = pages * dsm::page_bytes;
    static constexpr std::uint32_t masks_at = bytes;
    static constexpr std::uint32_t window = bytes + pages * 8;
    using Queue = link::Host<Slots>;
    using Host = dsm::Host<Queue>;
    using Peer = dsm::Peer<>;

    typename link::Ring<Slots>::Shared ring{};
    typename Host::Mail::Shared to_peer{};
    typename Host::Mail::Shared to_host{};
    alignas(64) std::array<std::byte, window> near{};
    alignas(64) std::array<std::byte, window> far{};
    std::array<std::uint64_t, pages> own{};
    std::array<std::uint64_t, pages> last{};
    Dma dma;
    link::Engine<Dma, 1, Slots> engine{dma};
    std::optional<Queue> queue;
    std::optional<Host> host;
    std::optional<Peer> peer;

    explicit Shared(dsm::Pieces pieces = {}) : pieces_(pieces) {
        EXPECT_TRUE(engine.attach(0, ring, {near.data(), window}, {far.data(), window}));
        begin_host(dsm::Right::write);
        begin_peer();
    }
    void begin_host(dsm::Right right) {
        queue.emplace(ring, link::Window{near.data(), window}, window);
        host.emplace(to_peer, to_host, *queue, dsm::Places{0, 0, masks_at, masks_at},
                     dsm::Changes{own.data(), pages}, dsm::Changes{last.data(), pages},
                     dsm::Changes{masks(near), pages}, right, pieces_);
    }
    void begin_peer() { peer.emplace(to_host, to_peer, far.data(), masks(far), pages); }

    std::uint64_t* masks(std::array<std::byte, window>& memory) {
        return reinterpret_cast<std::uint64_t*>(memory.data() + masks_at);
    }
    // Everybody's steps, until nobody has any.
    void settle(Ticks now = 0) {
        for (int idle = 0; idle < 3;) {
            const bool moved = engine.step(now);
            const bool answered = host->serve();
            idle = peer->serve() || moved || answered ? 0 : idle + 1;
        }
    }

  private:
    dsm::Pieces pieces_;
};

}  // namespace consort::test
