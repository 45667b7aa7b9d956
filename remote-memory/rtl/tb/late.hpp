// SPDX-License-Identifier: Apache-2.0
// A memory that answers late, and what waits for it.
#pragma once

#include <algorithm>

#include "pair.hpp"

namespace sim {

// Of a port with windows in two memories a write of one id goes to a memory that gives no answer for
// `cycles`; writes of other ids, and one more of that id, go to the other memory. Only the last may wait.
// Prints the longest of the others and the late ones.
inline void late_writes(unsigned cycles, unsigned rounds, std::uint64_t seed) {
    if (kLinks < 2 || kMemories < 2) fail("two links and two memories are needed");
    Pair pair({.latency = 20}, {.latency = 12}, 0, seed);
    pair.bring_up();
    auto& master = pair.masters[0];
    auto& slow = pair.memories[1];
    Random random(seed);
    std::uint64_t others = 0, longest = 0, shortest_late = ~0ULL, overtaken = 0;
    for (unsigned round = 0; round < rounds; ++round) {
        const auto id = static_cast<std::uint16_t>(random.below(0x10000));
        slow.answers = false;
        const auto place = [&](unsigned link) { return Pair::at(0, link) + 0x1000ULL * random.below(256); };
        const std::uint64_t late = master.write({.addr = place(1), .id = id}, false);
        const std::uint64_t again = master.write({.addr = place(0), .id = id}, false);
        const auto begin = pair.now;
        const auto collect = [&] {
            for (const Done& done : master.done) {
                if (done.resp != 0) fail("a write ends with an error");
                const std::uint64_t took = done.finished - done.issued;
                if (done.serial == late || done.serial == again) {
                    if (slow.answers)
                        shortest_late = std::min(shortest_late, took);
                    else
                        fail("a write is answered before its memory, or before one of its id");
                } else {
                    ++others;
                    longest = std::max(longest, took);
                    overtaken += !slow.answers;
                }
            }
            master.done.clear();
        };
        // Of two other ids at a time, 40 in all: fewer than a port has tags.
        const std::uint16_t ids[] = {static_cast<std::uint16_t>(id + 1 + random.below(1000)),
                                     static_cast<std::uint16_t>(id + 2000 + random.below(1000))};
        unsigned given = 0;
        while (pair.now - begin < cycles) {
            if (given < 40 && master.outstanding() < 10) {
                master.write({.addr = place(0),
                              .id = ids[given % 2],
                              .len = static_cast<std::uint8_t>(random.below(4))},
                             false);
                ++given;
            }
            pair.cycle();
            collect();
        }
        slow.answers = true;
        while (master.outstanding() > 0) {
            pair.cycle();
            collect();
            if (pair.now - begin > cycles + 20'000) fail("a write has no answer");
        }
    }
    std::printf("{\"others\": %llu, \"overtaken\": %llu, \"longest\": %llu, \"shortest_late\": %llu}\n",
                static_cast<unsigned long long>(others), static_cast<unsigned long long>(overtaken),
                static_cast<unsigned long long>(longest), static_cast<unsigned long long>(shortest_late));
}

}  // namespace sim
