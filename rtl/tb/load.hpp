// SPDX-License-Identifier: Apache-2.0
// Loads whose time is measured: how much is outstanding at once, the longest access while other ports load
// the link, streams of cache lines, and single accesses of any length. A memory may also stand directly
// behind its master.
#pragma once

#include <algorithm>
#include <memory>

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

// A master at the memory itself.
class Direct {
  public:
    struct Wires {
        VlWide<3> s_aw_i[1], s_ar_i[1], m_aw_o[1], m_ar_o[1];
        VlWide<5> s_w_i[1], m_w_o[1], s_r_o[1], m_r_i[1];
        std::uint32_t s_b_o[1], m_b_i[1];
        std::uint8_t s_aw_valid_i[1], s_aw_ready_o[1], s_w_valid_i[1], s_w_ready_o[1], s_b_valid_o[1],
            s_b_ready_i[1];
        std::uint8_t s_ar_valid_i[1], s_ar_ready_o[1], s_r_valid_o[1], s_r_ready_i[1];
        std::uint8_t m_aw_valid_o[1], m_aw_ready_i[1], m_w_valid_o[1], m_w_ready_i[1], m_b_valid_i[1],
            m_b_ready_o[1];
        std::uint8_t m_ar_valid_o[1], m_ar_ready_i[1], m_r_valid_i[1], m_r_ready_o[1];
    };

    explicit Direct(const MemoryBehaviour& behaviour)
        : wires_(std::make_unique<Wires>()), memory_(*wires_, 0, behaviour, 1) {
        masters.emplace_back(*wires_, 0, 0, 1);
    }
    void cycle() {
        Wires& w = *wires_;
        masters[0].drive();
        memory_.drive();
        w.m_aw_o[0] = w.s_aw_i[0];
        w.m_ar_o[0] = w.s_ar_i[0];
        w.m_w_o[0] = w.s_w_i[0];
        w.s_r_o[0] = w.m_r_i[0];
        w.s_b_o[0] = w.m_b_i[0];
        w.m_aw_valid_o[0] = w.s_aw_valid_i[0];
        w.m_ar_valid_o[0] = w.s_ar_valid_i[0];
        w.m_w_valid_o[0] = w.s_w_valid_i[0];
        w.m_r_ready_o[0] = w.s_r_ready_i[0];
        w.m_b_ready_o[0] = w.s_b_ready_i[0];
        w.s_aw_ready_o[0] = w.m_aw_ready_i[0];
        w.s_ar_ready_o[0] = w.m_ar_ready_i[0];
        w.s_w_ready_o[0] = w.m_w_ready_i[0];
        w.s_r_valid_o[0] = w.m_r_valid_i[0];
        w.s_b_valid_o[0] = w.m_b_valid_i[0];
        masters[0].sample();
        memory_.sample();
        ++now;
    }
    std::uint64_t now = 0;

  private:
    std::unique_ptr<Wires> wires_;
    Memory<Wires> memory_;

  public:
    std::deque<Master<Wires>> masters;
};

// Lines of 64 bytes that a kernel reads and writes for each of its steps, with so many in flight at most.
struct Kernel {
    const char* name;
    unsigned reads, writes;
};
constexpr Kernel kKernels[] = {{"copy", 1, 1}, {"scale", 1, 1}, {"add", 2, 1}, {"triad", 2, 1}};

// Four threads, each with arrays of its own; a line is read or written after those before it in its thread
// have begun. Returns the cycles of `lines` lines after the first ones.
template <class Platform>
std::uint64_t stream(Platform& platform, const Kernel& kernel, unsigned in_flight, unsigned lines) {
    auto& master = platform.masters[0];
    master.check_data = false;
    std::uint64_t done = 0;
    std::uint64_t begun = 0;
    std::uint64_t start = 0;
    const unsigned step = kernel.reads + kernel.writes;
    const unsigned warm_up = 200;
    while (done < lines + warm_up) {
        done += master.done.size();
        master.done.clear();
        if (start == 0 && done >= warm_up) start = platform.now;
        while (begun - done < in_flight) {
            const unsigned thread = static_cast<unsigned>(begun % 4);
            const std::uint64_t of_thread = begun / 4;
            const unsigned array = static_cast<unsigned>(of_thread % step);
            const Address address{
                .addr = Pair::kLpa + (thread * 4ULL + array) * 0x100'0000ULL + of_thread / step * 64,
                .id = static_cast<std::uint16_t>(thread * 4 + array),
                .len = 3};
            if (array < kernel.reads)
                master.read(address);
            else
                master.write(address, false);
            ++begun;
        }
        platform.cycle();
    }
    return platform.now - start;
}

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

// The memory alone, behind the blocks, and behind the blocks and a wire: cycles of streams and of single
// reads.
inline void configurations(unsigned memory_latency, unsigned memory_rate, unsigned link_latency,
                           unsigned link_rate, unsigned in_flight) {
    constexpr unsigned kLines = 4000;
    const MemoryBehaviour memory{.latency = memory_latency, .rate = memory_rate};
    const Phy none{};
    const Phy link{.rate = link_rate, .latency = link_latency};
    std::printf("{\"lines\": %u, \"streams\": [", kLines);
    bool first = true;
    const auto say = [&](const char* configuration, const char* kernel, std::uint64_t cycles) {
        std::printf("%s{\"configuration\": \"%s\", \"kernel\": \"%s\", \"cycles\": %llu}",
                    first ? "\n" : ",\n", configuration, kernel, static_cast<Number>(cycles));
        first = false;
    };
    for (const Kernel& kernel : kKernels) {
        Direct direct(memory);
        say("baseline", kernel.name, stream(direct, kernel, in_flight, kLines));
        for (const bool wire : {false, true}) {
            Pair pair(none, memory);
            pair.bring_up();
            if (wire) pair.set(link);
            say(wire ? "1-hop" : "0-hop", kernel.name, stream(pair, kernel, in_flight, kLines));
        }
    }
    std::printf("],\n\"singles\": [");
    first = true;
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
                    first ? "\n" : ",\n", bytes, static_cast<Number>(single(direct, bytes)),
                    static_cast<Number>(single(near, bytes)), static_cast<Number>(single(far, bytes)));
        first = false;
    }
    std::printf("]}\n");
}

}  // namespace sim
