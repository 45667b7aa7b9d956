// SPDX-License-Identifier: Apache-2.0
// Two links of one mBlock share a memory: what the accesses over the one wait while the other's answers are
// not taken.
#pragma once

#include <algorithm>

#include "pair.hpp"

namespace sim {

// Port 0 does what it can over link 0, bursts of `beats`, whose PHY takes no answers for `stalls` cycles and
// then all for 40, again and again; port 1 has one access of 64 bytes at a time over link 1. Both to memory
// 0. Prints the longest of these.
inline void neighbour(unsigned cycles, unsigned stalls, unsigned beats, std::uint64_t seed) {
    if (kLinks < 2 || kPorts < 2) fail("two ports and two links are needed");
    Pair pair({.latency = 20}, {.latency = 12}, 0, seed);
    pair.bring_up(0xFF'FFFF, 0xFFFF);
    for (const unsigned p : {0U, 1U}) pair.open(p, p, p, 0, true, true, 0);
    pair.write_all(false, 0x018, 0);  // no time-out at the memory is what helps
    Random random(seed);
    std::uint64_t longest = 0, accesses = 0, others = 0;
    bool write = false;
    const auto since = pair.now;
    while (pair.now - since < cycles) {
        pair.top().stall_i[1] = stalls != 0 && (pair.now - since) % (stalls + 40) < stalls;
        auto& busy = pair.masters[0];
        while (busy.outstanding() < 100) {
            const Address address{.addr = Pair::at(0, 0) + 4096ULL * random.below(256),
                                  .id = static_cast<std::uint16_t>(random.below(16)),
                                  .len = static_cast<std::uint8_t>(beats - 1)};
            if (random.chance(30))
                busy.write({.addr = address.addr + 0x10'0000, .id = address.id, .len = address.len}, false);
            else
                busy.read(address);
        }
        auto& one = pair.masters[1];
        if (one.outstanding() == 0) {
            const Address address{.addr = Pair::at(1, 1) + 64ULL * random.below(64), .len = 3};
            if ((write = !write))
                one.write(address, false);
            else
                one.read(address);
        }
        pair.cycle();
        for (const Done& done : one.done) {
            if (done.resp != 0) fail("an access beside a link that stalls ends with an error");
            longest = std::max(longest, done.finished - done.issued);
            ++accesses;
        }
        one.done.clear();
        others += busy.done.size();
        busy.done.clear();
    }
    // One that is still under way counts with what it has waited.
    pair.top().stall_i[1] = 0;
    pair.finish();
    for (const Done& done : pair.masters[1].done) longest = std::max(longest, done.finished - done.issued);
    std::printf("{\"accesses\": %llu, \"longest\": %llu, \"others\": %llu}\n",
                static_cast<unsigned long long>(accesses), static_cast<unsigned long long>(longest),
                static_cast<unsigned long long>(others));
}

}  // namespace sim
