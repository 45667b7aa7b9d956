// SPDX-License-Identifier: Apache-2.0
// Random traffic with its check, and accesses that the blocks refuse, in any packetization.
#pragma once

#include "pair.hpp"

namespace sim {

// Random traffic over a link with errors: every read is compared, every byte that a write has is counted at
// the memory.
struct Soak {
    std::uint64_t beats;
    double bit_error_rate, drop, repeat;
    unsigned span, pause;
    std::uint64_t seed;
};

class Traffic {
  public:
    Traffic(Pair& pair, std::uint64_t seed) : pair_(pair), random_(seed) {}

    // Keeps the masters busy; nothing touches a page while a write to it is under way.
    void feed() {
        take_done();
        for (unsigned p = 0; p < kPorts; ++p) {
            auto& master = pair_.masters[p];
            while (master.outstanding() < 48 && random_.chance(60)) add(p);
        }
    }
    void rest() {
        for (unsigned waited = 0;; ++waited) {
            take_done();
            bool busy = false;
            for (const auto& master : pair_.masters) busy |= master.outstanding() != 0;
            if (!busy) return;
            if (waited > 2'000'000) fail("no answer: a transaction is stuck");
            pair_.cycle();
        }
    }
    // What a write that ended with an error left is not known: its page is not used until `renew`.
    bool errors_allowed = false;
    std::string doing = "traffic";  // what else goes on, for whoever reads of an error
    // The masters forget what is under way; of writes nobody knows what they left.
    void forget() {
        take_done();
        for (unsigned p = 0; p < kPorts; ++p) {
            pair_.masters[p].forget();
            errors += uses_[p].size();
            uses_[p].clear();
            for (unsigned page = 0; page < kPages; ++page) {
                spoilt_[p][page] |= writing_[p][page] != 0;
                writing_[p][page] = reading_[p][page] = 0;
            }
        }
    }
    // Writes all such pages anew. Nothing is under way before and after it.
    void renew() {
        every_page([&](unsigned p, unsigned page, const Address& address) {
            if (spoilt_[p][page]) pair_.masters[p].write(address, false);
            spoilt_[p][page] = false;
        });
    }
    // Reads every page, so that each byte is compared. Nothing is under way before and after it.
    void read_all() {
        every_page([&](unsigned p, unsigned page, const Address& address) {
            if (!spoilt_[p][page]) pair_.masters[p].read(address);
        });
    }
    bool short_bursts = false;  // few of more than 8 beats
    std::uint64_t finished = 0, errors = 0;
    std::uint64_t bursts[3] = {}, sizes[5] = {}, lengths[3] = {}, unaligned = 0, strobed = 0;

  private:
    static constexpr unsigned kPages = 96;
    struct Use {
        unsigned page;
    };

    template <class Use>
    void every_page(Use use) {
        for (unsigned p = 0; p < kPorts; ++p) {
            for (unsigned page = 0; page < kPages; ++page)
                use(p, page, {.addr = Pair::at(p, page % kLinks) + Pair::page(page, kPages), .len = 255});
        }
        pair_.finish();
        for (auto& master : pair_.masters) {
            for (const auto& done : master.done) {
                if (done.resp != 0) fail("a page that nothing disturbs ended with an error response");
                ++finished;
            }
            master.done.clear();
        }
    }

    void take_done() {
        for (unsigned p = 0; p < kPorts; ++p) {
            auto& master = pair_.masters[p];
            for (const auto& done : master.done) {
                if (done.resp != 0 && !errors_allowed)
                    fail("an access without a fault ended with an error response: " + doing + ", a " +
                         (done.write ? "write" : "read") + " with " + std::to_string(done.resp) +
                         "; links went down " + std::to_string(pair_.sum_of_links(0x108)) + " times");
                const Use use = uses_[p].at(done.serial);
                uses_[p].erase(done.serial);
                (done.write ? writing_[p][use.page] : reading_[p][use.page]) -= 1;
                if (done.write && done.resp != 0) spoilt_[p][use.page] = true;
                ++finished;
                errors += done.resp != 0;
            }
            master.done.clear();
        }
    }

    void add(unsigned p) {
        Address address;
        const unsigned page = random_.below(kPages);
        const bool write = random_.chance(50);
        if (writing_[p][page] != 0 || (write && reading_[p][page] != 0)) return;
        if (spoilt_[p][page]) return;
        address.id = static_cast<std::uint16_t>(random_.below(12) * ((1U << kIdWidth) - 1) / 11);
        address.burst = static_cast<std::uint8_t>(random_.chance(70) ? 1 : random_.chance(50) ? 0 : 2);
        address.size = static_cast<std::uint8_t>(random_.chance(60) ? 4 : random_.below(5));
        const unsigned bytes = 1U << address.size;
        unsigned length = 1;
        if (address.burst == 2)
            length = 2U << random_.below(4);
        else if (address.burst == 0)
            length = 1 + random_.below(16);
        else
            length = random_.chance(50)                       ? 4
                     : random_.chance(short_bursts ? 95 : 80) ? 1 + random_.below(short_bursts ? 8 : 32)
                                                              : 1 + random_.below(256);
        std::uint64_t offset = random_.below(4096);
        if (address.burst == 2)
            offset &= ~(bytes - 1ULL);
        else if (random_.chance(60))
            offset &= ~(bytes - 1ULL);
        // A burst stays in its 4 KiB.
        const std::uint64_t start = offset & ~(bytes - 1ULL);
        if (address.burst == 1 && start + length * bytes > 4096)
            length = static_cast<unsigned>((4096 - start) / bytes);
        address.len = static_cast<std::uint8_t>(length - 1);
        const unsigned link = random_.below(kLinks);
        address.addr = Pair::at(p, link) + Pair::page(page, kPages) + offset;
        // A page belongs to one link, so that both views of a master are of the same bytes.
        if (page % kLinks != link) return;
        ++bursts[address.burst];
        ++sizes[address.size];
        ++lengths[length == 1 ? 0 : length <= 16 ? 1 : 2];
        unaligned += (offset & (bytes - 1)) != 0;
        const bool partial = write && random_.chance(30);
        strobed += partial;
        const auto serial = write ? pair_.masters[p].write(address, partial) : pair_.masters[p].read(address);
        (write ? writing_[p][page] : reading_[p][page]) += 1;
        uses_[p][serial] = {page};
    }

    Pair& pair_;
    Random random_;
    unsigned writing_[kPorts][kPages] = {}, reading_[kPorts][kPages] = {};
    bool spoilt_[kPorts][kPages] = {};
    std::unordered_map<std::uint64_t, Use> uses_[kPorts];
};

inline void soak(const Soak& of) {
    const Phy phy{.rate = 0,
                  .latency = 17,
                  .flip = of_word(of.bit_error_rate),
                  .drop = of.drop,
                  .repeat = of.repeat,
                  .flip_span = of.span};
    Pair pair({.latency = 17}, {.latency = 12, .spread = 30, .pause_percent = of.pause}, of.pause, of.seed);
    pair.bring_up();
    pair.set(phy);
    Traffic traffic(pair, of.seed);
    while (pair.beats() < of.beats) {
        traffic.feed();
        pair.cycle();
    }
    traffic.rest();
    std::uint64_t written = 0;
    std::uint64_t stored = 0;
    for (const auto& master : pair.masters) written += master.bytes_written;
    for (const auto& memory : pair.memories) stored += memory.bytes_written;
    if (written != stored)
        fail("the memory was written " + std::to_string(stored) + " bytes of " + std::to_string(written));
    const std::uint64_t bad = pair.sum_of_links(0x100);
    const std::uint64_t replays = pair.sum_of_links(0x104);
    const std::uint64_t downs = pair.sum_of_links(0x108);
    std::printf(
        "{\"beats\": %llu, \"corrupted\": %llu, \"transactions\": %llu, \"cycles\": %llu, \"bytes_written\": "
        "%llu, \"bad_frames\": %u, "
        "\"replays\": %u, \"downs\": %u, \"covered\": {\"fixed\": %llu, \"incr\": %llu, \"wrap\": %llu, "
        "\"single\": %llu, "
        "\"short\": %llu, \"long\": %llu, \"unaligned\": %llu, \"strobed\": %llu, \"narrow\": %llu}}\n",
        static_cast<unsigned long long>(pair.beats()), static_cast<unsigned long long>(pair.corrupted()),
        static_cast<unsigned long long>(traffic.finished), static_cast<unsigned long long>(pair.now),
        static_cast<unsigned long long>(written), static_cast<unsigned long long>(bad),
        static_cast<unsigned long long>(replays), static_cast<unsigned long long>(downs),
        static_cast<unsigned long long>(traffic.bursts[0]),
        static_cast<unsigned long long>(traffic.bursts[1]),
        static_cast<unsigned long long>(traffic.bursts[2]),
        static_cast<unsigned long long>(traffic.lengths[0]),
        static_cast<unsigned long long>(traffic.lengths[1]),
        static_cast<unsigned long long>(traffic.lengths[2]),
        static_cast<unsigned long long>(traffic.unaligned), static_cast<unsigned long long>(traffic.strobed),
        static_cast<unsigned long long>(traffic.sizes[0] + traffic.sizes[1] + traffic.sizes[2] +
                                        traffic.sizes[3]));
}

// Random traffic to memories that take a write's address and data in each order that AXI4 allows.
inline void orders(std::uint64_t seed) {
    std::printf("{");
    for (const Order order : {Order::Any, Order::Together, Order::AddressFirst, Order::DataFirst}) {
        for (const unsigned pause : {0U, 30U}) {
            Pair pair({.latency = 5}, {.latency = 12, .spread = 30, .pause_percent = pause, .order = order},
                      0, seed);
            pair.bring_up();
            Traffic traffic(pair, seed);
            for (unsigned i = 0; i < 6000; ++i) {
                traffic.feed();
                pair.cycle();
            }
            traffic.rest();
            traffic.read_all();
            std::printf("%s\"%u, pauses %u\": %llu", order == Order::Any && pause == 0 ? "" : ", ",
                        static_cast<unsigned>(order), pause,
                        static_cast<unsigned long long>(traffic.finished));
        }
    }
    std::printf("}\n");
}

inline Done one(Pair& pair, const Address& address, bool write) {
    if (write)
        pair.masters[0].write(address, false);
    else
        pair.masters[0].read(address);
    pair.finish();
    const Done done = pair.masters[0].done.back();
    pair.masters[0].done.clear();
    return done;
}

// Accesses that are not mapped, not allowed, or detached at the other end: members of a JSON object.
inline void refusals(Pair& pair) {
    bool first = true;
    const auto say = [&](const char* name, const Done& done, std::uint64_t beats) {
        std::printf("%s\"%s\": {\"resp\": %u, \"cycles\": %llu, \"beats\": %llu}", first ? "" : ", ", name,
                    done.resp, static_cast<unsigned long long>(done.finished - done.issued),
                    static_cast<unsigned long long>(beats));
        first = false;
    };
    // Longer than acknowledgements wait. Whatever an access sends is on the link by then, also after its
    // answer.
    const auto settle = [&] {
        for (unsigned i = 0; i < 600; ++i) pair.cycle();
    };
    const auto alone = [&](const char* name, std::uint64_t at, bool write) {
        settle();
        const auto before = pair.beats();
        const auto done = one(pair, {.addr = at}, write);
        settle();
        say(name, done, pair.beats() - before);
    };
    // What the other end did to the segment; the window here does not know yet. The first is the one that is
    // reported.
    struct Late {
        const char* what;
        std::uint32_t reg, value;
    };
    for (const bool write : {false, true}) {
        alone(write ? "write_unmapped" : "read_unmapped", Pair::kLpa - 64, write);
        pair.open(0, 0, 0, 0, write, !write);
        alone(write ? "write_forbidden" : "read_forbidden", Pair::kLpa, write);
        for (const Late& late :
             {Late{"another generation", 0x408, 5U << 5 | 7U}, Late{"closed", 0x408, 6U},
              Late{"without the right", 0x408, write ? 3U : 5U}, Late{"smaller", 0x404, 0U}}) {
            pair.open(0, 0, 0, 0, true, true);
            pair.write(false, late.reg, late.value);
            const auto stored = pair.memories[0].write_bursts + pair.memories[0].read_bursts;
            const auto refused = pair.read(false, 0x10C);
            const auto done = one(pair, {.addr = Pair::kLpa + 0x1000, .len = 40}, write);
            if (pair.memories[0].write_bursts + pair.memories[0].read_bursts != stored)
                fail(std::string("a detached segment was reached: it is ") + late.what);
            if (done.resp != 2) fail(std::string("no SLVERR of a segment that is ") + late.what);
            if (pair.read(false, 0x10C) == refused) fail("the mBlock counted no refused request");
            if (late.reg == 0x408 && late.value >> 5 != 0)
                say(write ? "write_detached" : "read_detached", done, 0);
        }
        pair.open(0, 0, 0, 0, true, true);
    }
}

}  // namespace sim
