// SPDX-License-Identifier: Apache-2.0
// A hostile cBlock at link 0 of an mBlock sends good frames of bad content; an honest one at link 1 goes on
// meanwhile. No access of the hostile one may leave its segment or be none that AXI4 has, and the honest one
// is answered in bounded time, with its own data. Prints JSON.
#include <memory>

#include "Vtop.h"
#include "axi.hpp"
#include "lite.hpp"

namespace {

using sim::Data;
using sim::Random;

constexpr std::uint64_t kBase[] = {0x10'0000, 0x80'0000};  // of the links' segments, in the memory
constexpr unsigned kPages = 3;                             // of each
constexpr unsigned kMetaWidth = 72;
constexpr bool kWide = sim::kOffsetWidth > 28;
enum Op : unsigned { kNone, kRead, kWrite, kWriteStrobe };

// As consort_remote_pkg's request_t.
struct Request {
    unsigned prot = 0, more = 0, burst = 1, size = 4, len = 0;
    std::uint64_t offset = 0;
    unsigned generation = 0, index = 0, tag = 0, op = kRead;

    [[nodiscard]] std::uint64_t bits() const {
        return static_cast<std::uint64_t>(prot) << 60 | static_cast<std::uint64_t>(more) << 59 |
               static_cast<std::uint64_t>(burst) << 57 | static_cast<std::uint64_t>(size) << 54 |
               static_cast<std::uint64_t>(len) << 46 | offset << 18 |
               static_cast<std::uint64_t>(generation) << 14 | static_cast<std::uint64_t>(index) << 10 |
               static_cast<std::uint64_t>(tag) << 2 | op;
    }
};

struct Frame {
    Request first;
    unsigned extra = 0;
    std::vector<Data> units;
    // Of the header, above the first request: whether the first unit has the upper bits of offsets, where a
    // build has such, and what is said to be 0.
    unsigned above = 0;
};

class World {
  public:
    explicit World(std::uint64_t seed)
        : top_(std::make_unique<Vtop>(&context_)), memory_(*top_, 0, {.latency = 8, .spread = 6}, seed) {
        top_->rst_ni = 0;
        cycle();
        cycle();
        top_->rst_ni = 1;
        write(0x018, 20000);
        for (unsigned l = 0; l < 2; ++l) {
            const std::uint32_t segment = 0x400 + l * 0x100;
            write(segment, static_cast<std::uint32_t>(kBase[l] >> 12));
            write(segment + 4, kPages - 1);
            write(segment + 8, 7);
        }
        write(0x014, 2048);
        write(0x008, 3);
        for (unsigned waited = 0; !top_->up_o[0] || !top_->up_o[1]; ++waited) {
            if (waited > 100'000) sim::fail("the links do not come up");
            cycle();
        }
    }

    // Puts the next frame on a link; true when the link took it.
    void send(unsigned link, Frame frame) { sources_[link].frames.push_back(std::move(frame)); }
    [[nodiscard]] std::size_t waiting(unsigned link) const { return sources_[link].frames.size(); }

    void cycle() {
        memory_.drive();
        for (unsigned l = 0; l < 2; ++l) drive(l);
        top_->eval();
        check_addresses();
        memory_.sample();
        for (unsigned l = 0; l < 2; ++l) sample(l);
        top_->clk_i = 1;
        top_->eval();
        top_->clk_i = 0;
        top_->eval();
        ++now;
    }

    // One access of the honest link; the data that it read.
    Data honest(Request request, const Data* data) {
        answered_ = false;
        // A read alone in its frame says no operation where offsets have upper bits, and these instead.
        if (kWide && data == nullptr) request.op = 0;
        Frame frame{request, 0, {}};
        if (data != nullptr) frame.units.push_back(*data);
        send(1, frame);
        const auto since = now;
        while (!answered_ || (data == nullptr && !unit_came_)) {
            cycle();
            if (now - since > 20'000) sim::fail("the honest link's access has no answer");
        }
        longest = std::max(longest, now - since);
        unit_came_ = false;
        return unit_;
    }
    std::uint32_t refused() { return read(0x10C); }

    std::uint64_t now = 0, longest = 0, reached = 0;

  private:
    struct Source {
        std::deque<Frame> frames;
        std::deque<Data> units;  // of the frame that was taken
    };

    void drive(unsigned l) {
        Source& source = sources_[l];
        const bool shows = source.units.empty() && !source.frames.empty();
        top_->tx_valid_i[l] = shows;
        if (shows) {
            const Frame& frame = source.frames.front();
            // extra, what is above the first request, that one.
            sim::put(top_->tx_meta_i[l], 0, 64, frame.first.bits());
            sim::put(top_->tx_meta_i[l], 64, 4, frame.above);
            sim::put(top_->tx_meta_i[l], 68, 4, frame.extra);
            top_->tx_units_i[l] = static_cast<std::uint8_t>(frame.units.size());
            if (!frame.units.empty()) sim::put_data(top_->tx_unit_i[l], 0, frame.units.front());
        } else if (!source.units.empty()) {
            sim::put_data(top_->tx_unit_i[l], 0, source.units.front());
        }
    }
    void sample(unsigned l) {
        Source& source = sources_[l];
        if (top_->tx_valid_i[l] && top_->tx_ready_o[l]) {
            auto& units = source.frames.front().units;
            source.units.assign(units.begin(), units.end());
            source.frames.pop_front();
        }
        if (top_->tx_unit_ready_o[l] && !source.units.empty()) source.units.pop_front();
        if (l == 1 && top_->rx_valid_o[l]) {
            // Two parts, and up to three acknowledgements.
            const std::uint64_t low = sim::get(top_->rx_meta_o[l], 0, 34);
            for (unsigned part = 0; part < 2; ++part) {
                const auto kind = low >> 17 * part & 3;
                if (kind != 0) answer(static_cast<unsigned>(low >> (17 * part + 10) & 3));
            }
            for (unsigned ack = 0; ack < 3; ++ack) {
                const auto bits = sim::get(top_->rx_meta_o[l], 34 + 11 * ack, 11);
                if ((bits & 1) != 0) answer(static_cast<unsigned>(bits >> 9));
            }
        }
        if (l == 1 && top_->rx_unit_valid_o[l]) {
            unit_ = sim::get_data(top_->rx_unit_o[l], 0);
            unit_came_ = true;
        }
    }
    void answer(unsigned resp) {
        if (resp != 0) sim::fail("the honest link's access is refused");
        answered_ = true;
    }

    // What the memory is asked lies in the segment of the link that its id names.
    void check_addresses() {
        const auto check = [&](const auto& wires) {
            const auto address = sim::Address::unpack(wires);
            const unsigned link = address.id >> 2;
            for (unsigned beat = 0; beat <= address.len; ++beat) {
                const std::uint64_t at = address.beat(beat);
                if (link > 1 || at < kBase[link] || at >= kBase[link] + kPages * 4096ULL)
                    sim::fail("the memory is asked for an address outside of the link's segment");
            }
            reached += link == 0;
        };
        if (top_->m_ar_valid_o[0] && top_->m_ar_ready_i[0]) check(top_->m_ar_o[0]);
        if (top_->m_aw_valid_o[0] && top_->m_aw_ready_i[0]) check(top_->m_aw_o[0]);
    }

    auto lite() {
        return sim::LiteMaster(
            top_->m_lite_req_i, top_->m_lite_resp_o, [this] { top_->eval(); }, [this] { cycle(); });
    }
    void write(std::uint32_t at, std::uint32_t value) {
        if (!lite().write(at, value)) sim::fail("a register cannot be written");
    }
    std::uint32_t read(std::uint32_t at) {
        std::uint32_t value = 0;
        if (!lite().read(at, value)) sim::fail("a register cannot be read");
        return value;
    }
    VerilatedContext context_;
    std::unique_ptr<Vtop> top_;
    sim::Memory<Vtop> memory_;
    Source sources_[2];
    bool answered_ = false, unit_came_ = false;
    Data unit_{};
};

Request any_request(Random& random) {
    Request of;
    of.op = random.chance(90) ? 1 + random.below(3) : 0;
    of.prot = random.below(8);
    of.more = random.chance(30);
    of.burst = random.chance(60) ? 1 : random.below(4);
    of.size = random.chance(60) ? 4 : random.below(8);
    of.len = random.chance(40) ? random.below(16) : random.chance(30) ? 255 : random.below(256);
    // Often near an end of a page or of the segment.
    of.offset = random.chance(70) ? random.below(kPages + 2) * 4096ULL + 4096 - random.below(300)
                                  : random.bits() & 0xFFF'FFFF;
    of.generation = random.chance(90) ? 0 : random.below(16);
    of.index = random.chance(90) ? 0 : random.below(16);
    // Often one that is under way already.
    of.tag = random.chance(50) ? random.below(3) : random.below(256);
    return of;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) {
        std::fprintf(stderr, "usage: hostile FRAMES SEED\n");
        return 2;
    }
    const auto frames = std::strtoull(argv[1], nullptr, 10);
    const auto seed = std::strtoull(argv[2], nullptr, 10);
    Random random(seed);
    World world(seed);
    std::uint64_t sent = 0;
    std::uint64_t honest = 0;
    Data there{};
    while (sent < frames) {
        while (world.waiting(0) < 4) {
            Frame frame{any_request(random), 0, {}};
            frame.extra = random.chance(30) ? random.below(15) : 0;
            if (kWide && random.chance(30)) frame.above = random.below(16);
            // As many units as it takes, or any.
            const bool counts = random.chance(60);
            const unsigned beats = frame.first.len % 16 + 1;
            unsigned units = frame.first.op == kWrite         ? beats
                             : frame.first.op == kWriteStrobe ? beats + (beats > 8 ? 2 : 1)
                                                              : 0;
            units += (frame.extra + 1) / 2;
            const unsigned highs = frame.above & 1 & (counts && units > 0 ? 1U : 0U);
            if (!counts || units > 18) units = random.below(19);
            if (highs != 0) {
                // Some of the requests within the segment all the same.
                Data unit{};
                if (random.chance(50))
                    for (auto& byte : unit)
                        byte = random.chance(20) ? static_cast<std::uint8_t>(random.bits()) : 0;
                frame.units.push_back(unit);
            }
            // A lone read that is not far beyond the segment.
            if (kWide && units == 0 && random.chance(50)) frame.extra = frame.above = frame.first.op = 0;
            for (unsigned i = 0; i < units; ++i) {
                Data unit;
                const std::uint64_t two[] = {any_request(random).bits(), any_request(random).bits()};
                std::memcpy(unit.data(), two, sizeof two);
                frame.units.push_back(unit);
            }
            world.send(0, frame);
            ++sent;
        }
        const std::uint64_t offset = 16ULL * random.below(kPages * 256);
        for (unsigned i = 0; i < 16; ++i) there[i] = static_cast<std::uint8_t>(random.bits());
        world.honest({.offset = offset, .tag = static_cast<unsigned>(honest % 64), .op = kWrite}, &there);
        const Data read =
            world.honest({.offset = offset, .tag = static_cast<unsigned>(honest % 64)}, nullptr);
        if (read != there) sim::fail("the honest link reads what it did not write");
        ++honest;
    }
    std::printf(
        "{\"frames\": %llu, \"honest\": %llu, \"refused\": %u, \"reached\": %llu, \"longest\": %llu}\n",
        static_cast<unsigned long long>(sent), static_cast<unsigned long long>(honest), world.refused(),
        static_cast<unsigned long long>(world.reached), static_cast<unsigned long long>(world.longest));
    return 0;
}
