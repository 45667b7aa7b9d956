// SPDX-License-Identifier: Apache-2.0
// The simulated pair of blocks with masters on its ports and memories behind it.
#pragma once

#include <functional>
#include <memory>

#include "Vtop.h"
#include "axi.hpp"
#include "lite.hpp"

#ifndef PORTS
#define PORTS 1
#endif
#ifndef LINKS
#define LINKS 1
#endif
#ifndef MEMORIES
#define MEMORIES 1
#endif
#ifndef PHY_WIDTH
#define PHY_WIDTH 128
#endif

namespace sim {

constexpr unsigned kPorts = PORTS;
constexpr unsigned kLinks = LINKS;
constexpr unsigned kMemories = MEMORIES;
constexpr unsigned kPhyWidth = PHY_WIDTH;

// Which block and which of its links the link of a port's cBlock is at the other end.
struct End {
    unsigned cblock, port, mblock, link;
};
#ifdef FIGURE4
// Three cBlocks of one port and two links each, two mBlocks (remote_figure4.sv).
constexpr unsigned kWires = 6, kCblocks = 3, kMblocks = 2;
constexpr unsigned kMblockLinks[] = {2, 4};
constexpr End end_of(unsigned p, unsigned l) {
    return {p, 0, p < 2 ? l : 1, p < 2 ? p : 2 + l};
}
#elif defined(FIGURE10)
// One cBlock of two ports and two links, each to an mBlock of its own (remote_figure10.sv).
constexpr unsigned kWires = 2, kCblocks = 1, kMblocks = 2;
constexpr unsigned kMblockLinks[] = {1, 1};
constexpr End end_of(unsigned p, unsigned l) {
    return {0, p, l, 0};
}
#else
constexpr unsigned kWires = kLinks, kCblocks = 1, kMblocks = 1;
constexpr unsigned kMblockLinks[] = {kLinks};
constexpr End end_of(unsigned p, unsigned l) {
    return {0, p, 0, l};
}
#endif

// Of the paper's blocks; the others have one packetization.
struct Packing {
    bool pipelined = false, fill_beat = false;
};
inline Packing packing;

// Between the blocks of every pair that is made.
struct Wire {
    bool queue = false;  // PHYs keep words while they pause
    bool cdc = false;    // and have a clock of their own
};
inline Wire wire;

// A window of a port, and the segment that it shows.
struct Mapping {
    unsigned cblock = 0, port = 0, window = 0, link = 0;
    unsigned mblock = 0, mblock_link = 0, segment = 0, memory = 0, generation = 0;
    std::uint64_t at = 0, base = 0;
    std::uint32_t rights = 6;  // 2 to read, 4 to write
};

struct Phy {
    unsigned rate = 0;  // words a cycle, of 65536; 0 is one each cycle
    unsigned latency = 0;
    double flip = 0, drop = 0, repeat = 0;  // chances for a word
    unsigned flip_span = 0;
};

// The PHYs' own doing, whatever the wire between them does.
struct Pauses {
    double chance = 0;     // that one begins in a cycle
    unsigned longest = 0;  // cycles, a power of two less one, up to 255
    // The period of their clock, of 1024 to one of the blocks', where it is another one; not shorter.
    unsigned period = 1024;
};

// The share of the PHY's words that a bit error rate harms.
inline double of_word(double bit_error_rate) {
    double good = 1;
    for (int i = 0; i < static_cast<int>(kPhyWidth); ++i) good *= 1 - bit_error_rate;
    return 1 - good;
}

class Pair {
  public:
    // Where port 0 sees its first segment, and where in the memory that is. Of wider addresses the upper bits
    // have a part in both.
    static constexpr std::uint64_t kLpa = 0x4'0000'0000 | (kAddrWidth > 40 ? 0xA5ULL << 36 : 0);
    static constexpr std::uint64_t kBase = kAddrWidth > 40 ? 0x5AULL << 36 : 0;

    explicit Pair(const Phy& phy, const MemoryBehaviour& behaviour = {}, unsigned pause_percent = 0,
                  std::uint64_t seed = 1)
        : top_(std::make_unique<Vtop>(&context_)) {
        for (unsigned m = 0; m < kMemories; ++m) memories.emplace_back(*top_, m, behaviour, seed * 16 + m);
        for (unsigned p = 0; p < kPorts; ++p) masters.emplace_back(*top_, p, pause_percent, seed * 32 + p);
        set(phy);
        [](auto& top) {
            if constexpr (requires { top.pipelined_i; }) {
                top.pipelined_i = packing.pipelined;
                top.fill_beat_i = packing.fill_beat;
            }
        }(*top_);
        [](auto& top) {
            if constexpr (requires { top.queue_i; }) {
                top.queue_i = wire.queue;
                top.cdc_i = wire.cdc;
            } else if (wire.queue || wire.cdc) {
                fail("between these blocks there is one wire alone");
            }
        }(*top_);
        clock(0);
        top_->rst_ni = 0;
        top_->eval();
        cycle();
        cycle();
        top_->rst_ni = 1;
        cycle();
    }

    void set(const Phy& phy) {
        [&](auto& top) {
            if constexpr (requires { top.rate_i[0]; }) {
                for (unsigned w = 0; w < kWires; ++w) set(phy, w);
            } else {
                top.rate_i = static_cast<std::uint16_t>(phy.rate);
                top.latency_i = static_cast<std::uint16_t>(phy.latency);
            }
        }(*top_);
        [&](auto& top) {
            if constexpr (requires { top.flip_chance_i; }) {
                top.flip_chance_i = chance(phy.flip);
                top.flip_span_i = static_cast<std::uint8_t>(phy.flip_span);
                top.drop_chance_i = chance(phy.drop);
                top.repeat_chance_i = chance(phy.repeat);
            } else if (phy.flip + phy.drop + phy.repeat > 0) {
                fail("this link loses nothing");
            }
        }(*top_);
    }
    void pause(const Pauses& pauses) {
        [&](auto& top) {
            if constexpr (requires { top.pause_chance_i; }) {
                top.pause_chance_i = chance(pauses.chance);
                top.longest_pause_i = static_cast<std::uint8_t>(pauses.longest);
            } else if (pauses.longest != 0) {
                fail("these PHYs do not pause");
            }
        }(*top_);
        if (pauses.period < 1024) fail("the PHYs' clock is faster than the blocks'");
        phy_period_ = pauses.period;
    }
    // Of one wire, where each has its own: its rate and latency.
    void set(const Phy& phy, unsigned wire) {
        [&](auto& top) {
            if constexpr (requires { top.rate_i[0]; }) {
                top.rate_i[wire] = static_cast<std::uint16_t>(phy.rate);
                top.latency_i[wire] = static_cast<std::uint16_t>(phy.latency);
            } else {
                fail("all wires have one rate");
            }
        }(*top_);
    }
    void cut(unsigned link, bool is_cut) {
        [&](auto& top) {
            if constexpr (requires { top.cut_i; })
                top.cut_i[link] = is_cut;
            else
                fail("the paper's link is never cut");
        }(*top_);
    }

    void cycle() {
        [&](auto& top) {
            if constexpr (requires { top.phy_clk_i; }) {
                if (!wire.cdc) return;
                phy_time_ += 1024;
                if (phy_time_ >= phy_period_) {
                    phy_time_ -= phy_period_;
                    top.phy_clk_i = 1;
                    top.eval();
                    top.phy_clk_i = 0;
                }
            }
        }(*top_);
        for (auto& master : masters) master.drive();
        for (auto& memory : memories) memory.drive();
        top_->eval();
        if (watch) watch(*top_);
        for (auto& master : masters) master.sample();
        for (auto& memory : memories) memory.sample();
        clock(1);
        top_->eval();
        // Nothing happens as it falls: the next evaluation, with the next inputs, sees that as well.
        clock(0);
        ++now;
    }

    // Of wider offsets each window is of the 228 GB that a port of the paper reaches.
    static constexpr bool kWide = kOffsetWidth > 28;
    static constexpr std::uint32_t kPages = kWide ? 228'000'000'000 / 4096 : 0x1'0000;  // of a window
    static constexpr std::uint64_t kSegment = 1ULL << (kWide ? 38 : 28);

    // Links on, one window for each port and link: port p sees link l at kLpa + p * 4 GiB + l * 256 MiB, and
    // it lies in memory (p + l) % memories at p * 256 MiB. Of wide windows all ports see link l at kLpa + l *
    // 256 GiB, and they lie at p * 256 GiB.
    void bring_up(unsigned down_after = 65536, unsigned ack_timeout = 1024) {
        for (const bool cblock : {true, false}) {
            write_all(cblock, 0x010, ack_timeout);
            write_all(cblock, 0x014, 2048);  // the silence before a start is as long
        }
        for (unsigned l = 0; l < kLinks; ++l) {
            for (unsigned p = 0; p < kPorts; ++p) open(p, l, p, 0, true, true);
        }
        for (unsigned e = 0; e < kMblocks; ++e) write(false, 0x008, (1U << kMblockLinks[e]) - 1, e);
        write_all(true, 0x008, (1U << kLinks) - 1);
        wait_up();
        write_all(true, 0x014, down_after);
        write_all(false, 0x014, down_after);
        // The ends tell each other with their next keep-alive: an eighth of the time that they know.
        for (unsigned i = 0; i < 400; ++i) cycle();
    }
    // Window l of port p to segment `index` of link l with this generation.
    void open(unsigned p, unsigned l, unsigned index, unsigned generation, bool readable, bool writable) {
        open(p, l, index, generation, readable, writable, kMblocks > 1 ? 0 : (p + l) % kMemories);
    }
    void open(unsigned p, unsigned l, unsigned index, unsigned generation, bool readable, bool writable,
              unsigned memory) {
        const End end = end_of(p, l);
        map({.cblock = end.cblock,
             .port = end.port,
             .window = l,
             .link = l,
             .mblock = end.mblock,
             .mblock_link = end.link,
             .segment = index,
             .memory = memory,
             .generation = generation,
             .at = at(p, l),
             .base = kBase + p * kSegment,
             .rights = (readable ? 2U : 0U) | (writable ? 4U : 0U)});
    }
    void map(const Mapping& of) {
        const std::uint32_t segment = 0x400 + of.mblock_link * 0x100 + of.segment * 0x10;
        write(false, segment, static_cast<std::uint32_t>(of.base >> 12), of.mblock);
        write(false, segment + 4, kPages - 1, of.mblock);
        write(false, segment + 8, of.generation << 5 | of.memory << 3 | 7U, of.mblock);
        const std::uint64_t first = of.at >> 12;
        const std::uint32_t window = 0x400 + of.port * 0x200 + of.window * 0x20;
        write(true, window, static_cast<std::uint32_t>(first), of.cblock);
        write(true, window + 4, static_cast<std::uint32_t>(first + kPages - 1), of.cblock);
        write(true, window + 8, of.generation << 9 | of.segment << 5 | of.link << 3 | of.rights | 1U,
              of.cblock);
    }
    static std::uint64_t at(unsigned p, unsigned l) {
        return kLpa + (kWide ? 0 : p * 0x1'0000'0000ULL) + l * kSegment;
    }
    // The first page of `count` that lie all over a window: the last one is its last.
    static std::uint64_t page(unsigned number, unsigned count) {
        return (kWide ? number * ((kPages - 1ULL) / (count - 1)) +
                            (number == count - 1) * ((kPages - 1ULL) % (count - 1))
                      : number) *
               4096ULL;
    }

    void wait_up() {
        for (unsigned d = 0; d < kCblocks; ++d) {
            for (unsigned waited = 0; read(true, 0x00C, d) != (1U << kLinks) - 1; ++waited) {
                if (waited > 20'000) fail("the link does not come up");
            }
        }
        for (unsigned i = 0; i < 100; ++i) cycle();
    }

    std::uint32_t read(bool cblock, std::uint32_t address, unsigned block = 0) {
        std::uint32_t value = 0;
        choose(cblock, block);
        if (!try_read(cblock, address, value)) fail("a register cannot be read");
        return value;
    }
    void write(bool cblock, std::uint32_t address, std::uint32_t value, unsigned block = 0) {
        choose(cblock, block);
        if (!try_write(cblock, address, value)) fail("a register cannot be written");
    }
    void write_all(bool cblock, std::uint32_t address, std::uint32_t value) {
        for (unsigned i = 0; i < (cblock ? kCblocks : kMblocks); ++i) write(cblock, address, value, i);
    }
    // Of a register that each link has, at its place of the first.
    std::uint64_t sum_of_links(std::uint32_t address) {
        std::uint64_t sum = 0;
        for (unsigned d = 0; d < kCblocks; ++d) {
            for (unsigned l = 0; l < kLinks; ++l) sum += read(true, address + 32 * l, d);
        }
        for (unsigned e = 0; e < kMblocks; ++e) {
            for (unsigned l = 0; l < kMblockLinks[e]; ++l) sum += read(false, address + 32 * l, e);
        }
        return sum;
    }
    auto lite(bool cblock) {
        return LiteMaster(
            cblock ? top_->c_lite_req_i : top_->m_lite_req_i,
            cblock ? top_->c_lite_resp_o : top_->m_lite_resp_o, [this] { top_->eval(); },
            [this] { cycle(); });
    }
    bool try_read(bool cblock, std::uint32_t address, std::uint32_t& value) {
        return lite(cblock).read(address, value);
    }
    bool try_write(bool cblock, std::uint32_t address, std::uint32_t value, std::uint32_t strobes = 0xF) {
        return lite(cblock).write(address, value, strobes);
    }

    // Until nothing is outstanding at any master.
    void finish(unsigned limit = 1'000'000) {
        for (unsigned waited = 0;; ++waited) {
            bool busy = false;
            for (const auto& master : masters) busy |= master.outstanding() != 0;
            if (!busy) return;
            if (waited > limit) fail("no answer: a transaction is stuck");
            cycle();
        }
    }

    // In beats of 128 bits, whatever the PHY's words are.
    [[nodiscard]] std::uint64_t request_beats(unsigned link = 0) const {
        return top_->request_words_o[link] * kPhyWidth / 128;
    }
    [[nodiscard]] std::uint64_t response_beats(unsigned link = 0) const {
        return top_->response_words_o[link] * kPhyWidth / 128;
    }
    [[nodiscard]] std::uint64_t beats() const {
        std::uint64_t sum = 0;
        for (unsigned l = 0; l < kWires; ++l) sum += request_beats(l) + response_beats(l);
        return sum;
    }
    [[nodiscard]] std::uint64_t corrupted() const {
        std::uint64_t sum = 0;
        [&](auto& top) {
            if constexpr (requires { top.corrupted_o; }) {
                for (unsigned l = 0; l < 2 * kWires; ++l) sum += top.corrupted_o[l];
            }
        }(*top_);
        return sum;
    }

    // Words that came to a PHY while it paused.
    [[nodiscard]] std::uint64_t kept() const {
        std::uint64_t sum = 0;
        [&](auto& top) {
            if constexpr (requires { top.kept_o; }) {
                for (unsigned l = 0; l < 2 * kWires; ++l) sum += top.kept_o[l];
            }
        }(*top_);
        return sum;
    }

    std::deque<Memory<Vtop>> memories;
    std::deque<Master<Vtop>> masters;
    std::uint64_t now = 0;
    // Called in every cycle with the values that the edge will see.
    std::function<void(Vtop&)> watch;

    [[nodiscard]] VerilatedContext& context() { return context_; }
    [[nodiscard]] Vtop& top() { return *top_; }

  private:
    // PHYs without a clock of their own have the blocks'.
    void clock(std::uint8_t level) {
        [&](auto& top) {
            top.clk_i = level;
            if constexpr (requires { top.phy_clk_i; }) {
                if (!wire.cdc) top.phy_clk_i = level;
            }
        }(*top_);
    }

    static std::uint32_t chance(double of) { return static_cast<std::uint32_t>(of * 4294967295.0); }
    void choose(bool cblock, unsigned block) {
        [&](auto& top) {
            if constexpr (requires { top.c_lite_block_i; }) {
                if (cblock) top.c_lite_block_i = static_cast<std::uint8_t>(block);
            }
            if constexpr (requires { top.m_lite_block_i; }) {
                if (!cblock) top.m_lite_block_i = static_cast<std::uint8_t>(block);
            }
        }(*top_);
    }

    VerilatedContext context_;
    std::unique_ptr<Vtop> top_;
    unsigned phy_period_ = 1024, phy_time_ = 0;
};

}  // namespace sim
