// SPDX-License-Identifier: Apache-2.0
// The memory alone, behind the blocks, and behind the blocks and a wire: STREAM, and single reads.
#pragma once

#include "stream.hpp"

namespace sim {

template <class Platform>
std::uint64_t single(Platform& platform, unsigned bytes) {
    const auto beats = static_cast<std::uint8_t>((bytes + 15) / 16 - 1);
    platform.masters[0].read({.addr = Pair::kLpa, .len = beats});
    for (unsigned i = 0; platform.masters[0].done.empty(); ++i) {
        if (i > 1'000'000) fail("a single read does not end");
        platform.cycle();
    }
    const auto done = platform.masters[0].done.back();
    platform.masters[0].done.clear();
    return done.finished - done.issued;
}

// Two instances of STREAM at one port, and single reads of 64 to 4096 bytes.
inline void configurations(const Board& board) {
    const MemoryBehaviour memory = board.memory();
    const Phy none{};
    const Phy link{.rate = board.link_rate, .latency = board.link_latency};
    const InFlight limit{board.in_flight, board.in_flight};
    StreamRows rows(board);
    std::printf("{\"streams\": [");
    {
        Direct direct(memory);
        rows.of("baseline", direct, two_of(0), limit);
    }
    for (const bool wire : {false, true}) {
        Pair pair(none, memory);
        pair.bring_up();
        attach_segments(pair);
        if (wire) pair.set(link);
        rows.of(wire ? "1-hop" : "0-hop", pair, two_of(0), limit);
    }
    std::printf("],\n\"compared\": %llu,\n\"singles\": [", static_cast<unsigned long long>(rows.compared));
    bool first = true;
    Direct direct(memory);
    Pair near(none, memory);
    Pair far(none, memory);
    near.bring_up();
    far.bring_up();
    far.set(link);
    for (unsigned bytes = 64; bytes <= 4096; bytes *= 2) {
        for (unsigned i = 0; i < 2000; ++i) {  // acknowledgements are out, the memory's budget is full
            direct.cycle();
            near.cycle();
            far.cycle();
        }
        std::printf("%s{\"bytes\": %u, \"baseline\": %llu, \"0-hop\": %llu, \"1-hop\": %llu}",
                    first ? "\n" : ",\n", bytes, static_cast<unsigned long long>(single(direct, bytes)),
                    static_cast<unsigned long long>(single(near, bytes)),
                    static_cast<unsigned long long>(single(far, bytes)));
        first = false;
    }
    std::printf("]}\n");
}

}  // namespace sim
