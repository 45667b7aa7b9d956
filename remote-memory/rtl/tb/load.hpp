// SPDX-License-Identifier: Apache-2.0
// Loads whose time is measured: how much is outstanding at once, and the longest access while other ports
// load the link.
#pragma once

#include <algorithm>

#include "pair.hpp"

namespace sim {

using Number = unsigned long long;

// As many reads and as many writes of 64 bytes as the blocks take at once, with a memory that takes its time.
inline void outstanding() {
    Pair pair({.latency = 50}, {.latency = 4000});
    pair.bring_up();
    auto& master = pair.masters[0];
    for (unsigned i = 0; i < 200; ++i) {
        master.read({.addr = Pair::kLpa + 64ULL * i, .id = static_cast<std::uint16_t>(i), .len = 3});
        master.write({.addr = Pair::kLpa + 65536 + 64ULL * i, .id = static_cast<std::uint16_t>(i), .len = 3},
                     false);
    }
    std::size_t reads = 0;
    std::size_t writes = 0;
    for (unsigned i = 0; i < 3500; ++i) {
        pair.cycle();
        reads = std::max(reads, pair.memories[0].waiting_reads());
        writes = std::max(writes, pair.memories[0].waiting_acks());
    }
    // All of them at the memory and none answered: so many are outstanding on the link.
    if (!master.done.empty()) fail("an answer before its time");
    std::printf("{\"reads\": %llu, \"writes\": %llu}\n", static_cast<Number>(reads),
                static_cast<Number>(writes));
}

// Bursts of so many beats at rates from a tenth of a beat a cycle to one, writes or reads, over a PHY of a
// beat a cycle: how many come through, and how much of what their direction of the wire carries is theirs.
inline void offered(unsigned burst) {
    std::printf("[");
    for (const bool write : {true, false}) {
        for (unsigned percent = 10; percent <= 100; percent += 10) {
            Pair pair({.latency = 10}, {.latency = 20});
            pair.bring_up();
            auto& master = pair.masters[0];
            master.check_data = false;
            std::uint64_t serial = 0, done = 0, budget = 0;
            const auto run = [&](unsigned cycles) {
                for (unsigned i = 0; i < cycles; ++i) {
                    // What could not be offered is not offered later.
                    budget = std::min<std::uint64_t>(budget + percent, 400ULL * burst);
                    while (budget >= 100ULL * burst && master.outstanding() < 120) {
                        budget -= 100ULL * burst;
                        const Address address{.addr = Pair::kLpa + (++serial % 4096) * 0x1000ULL,
                                              .id = static_cast<std::uint16_t>(serial % 16),
                                              .len = static_cast<std::uint8_t>(burst - 1)};
                        if (write)
                            master.write(address, false);
                        else
                            master.read(address);
                    }
                    pair.cycle();
                    done += master.done.size();
                    master.done.clear();
                }
            };
            run(4000);
            done = 0;
            const auto beats = [&] { return write ? pair.request_beats() : pair.response_beats(); };
            const auto before = beats();
            constexpr unsigned kCycles = 12000;
            run(kCycles);
            std::printf(
                "%s{\"what\": \"%s\", \"burst\": %u, \"offered\": %.2f, \"taken\": %.4f, \"payload\": %.4f}",
                write && percent == 10 ? "" : ",\n", write ? "writes" : "reads", burst, percent / 100.0,
                static_cast<double>(done * burst) / kCycles,
                static_cast<double>(done * burst) / static_cast<double>(beats() - before));
        }
    }
    std::printf("]\n");
}

// What of the accesses is urgent, and what of the others may be under way, as the cBlock's registers have it.
struct Urgency {
    std::uint32_t from = 0, share = 0;
    unsigned longest = 256;  // beats of the other ports' bursts
};

// Port 0 makes one access of 64 bytes after the other, urgent ones; all others do what they can over the same
// link to the same memory. Pattern: 0 long reads, 1 long writes, 2 both, 3 short both, 4 a mixture.
inline void worst(unsigned count, unsigned latency, unsigned memory_latency, unsigned rate,
                  std::uint64_t seed, const Urgency& urgency) {
    namespace registers = consort::remote::cblock;
    std::printf("[");
    for (unsigned pattern = 0; pattern < 5; ++pattern) {
        Pair pair({.rate = rate, .latency = latency}, {.latency = memory_latency}, 0, seed);
        pair.bring_up();
        pair.write(true, registers::Urgent::at(), urgency.from);
        pair.write(true, registers::Share::at(), urgency.share);
        for (unsigned p = 0; p < kPorts; ++p) pair.open(p, 0, p, 0, true, true, 0);
        Random random(seed + pattern);
        std::uint64_t longest[2] = {};
        std::uint64_t others = 0;
        unsigned done = 0;
        std::uint64_t rest = 3000;  // until the others have filled everything
        for (auto& master : pair.masters) master.check_data = false;
        while (done < 2 * count) {
            for (unsigned p = 1; p < kPorts; ++p) {
                auto& other = pair.masters[p];
                others += other.done.size();
                other.done.clear();
                while (other.outstanding() < 160) {
                    const bool write = pattern == 0 ? false : pattern == 1 ? true : random.chance(50);
                    const unsigned length = pattern < 3    ? urgency.longest
                                            : pattern == 3 ? 1
                                                           : 1 + random.below(urgency.longest);
                    const Address address{.addr = Pair::at(p, 0) + 4096ULL * random.below(4096),
                                          .id = static_cast<std::uint16_t>(random.below(64)),
                                          .len = static_cast<std::uint8_t>(length - 1)};
                    if (write)
                        other.write(address, pattern == 4 && random.chance(50));
                    else
                        other.read(address);
                }
            }
            auto& own = pair.masters[0];
            for (const auto& access : own.done) {
                auto& most = longest[access.write ? 1 : 0];
                most = std::max(most, access.finished - access.issued);
                ++done;
                rest = random.below(60);
            }
            own.done.clear();
            if (own.outstanding() == 0 && rest-- == 0) {
                const Address address{.addr = Pair::kLpa + 64ULL * random.below(1000), .len = 3, .qos = 15};
                if (done % 2 == 0)
                    own.read(address);
                else
                    own.write(address, false);
            }
            pair.cycle();
            if (pair.now > 40'000'000) fail("accesses under load do not end");
        }
        std::printf(
            "%s{\"pattern\": %u, \"accesses\": %u, \"longest_read\": %llu, \"longest_write\": %llu, "
            "\"others\": %llu}",
            pattern == 0 ? "" : ",\n", pattern, done, static_cast<Number>(longest[0]),
            static_cast<Number>(longest[1]), static_cast<Number>(others));
    }
    std::printf("]\n");
}

}  // namespace sim
