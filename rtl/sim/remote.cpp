// SPDX-License-Identifier: Apache-2.0
// The pair of blocks in the compact packetization: beats and cycles counted on a link without errors, random
// traffic over one with errors, and faults. Prints JSON.
#include "load.hpp"

namespace {

using sim::Address;
using sim::Pair;

// One access after the other, each begun when the one before it is complete.
void idle(unsigned burst, bool write) {
    Pair pair({});
    pair.bring_up();
    constexpr unsigned kCount = 64;
    const auto request = pair.request_beats();
    const auto response = pair.response_beats();
    for (unsigned i = 0; i < kCount; ++i) {
        const Address address{.addr = Pair::kLpa + i * 0x1000ULL,
                              .id = static_cast<std::uint16_t>(i),
                              .len = static_cast<std::uint8_t>(burst - 1)};
        if (write)
            pair.masters[0].write(address, false);
        else
            pair.masters[0].read(address);
        pair.finish();
    }
    std::printf(
        "{\"load\": \"idle\", \"burst\": %u, \"what\": \"%s\", \"count\": %u, \"request_beats\": %llu, "
        "\"response_beats\": %llu}",
        burst, write ? "writes" : "reads", kCount,
        static_cast<unsigned long long>(pair.request_beats() - request),
        static_cast<unsigned long long>(pair.response_beats() - response));
}

// As many as the master's port takes, over a link of 20 Gb/s at 312.5 MHz, with 113 beats of round trip.
enum class Load { Reads, Writes, Both };

// As many as the master's port takes, over a link of 20 Gb/s at 312.5 MHz with 113 beats of round trip. With
// reads and writes at once both directions are busy.
void backlog(unsigned burst, Load load) {
    constexpr unsigned kRate = 31775;  // of 65536: 20 Gb/s less 64b/66b, in beats of 128 bits at 312.5 MHz
    Pair pair({.rate = kRate * 128 / sim::kPhyWidth, .latency = 100}, {.latency = 20});
    pair.bring_up();
    const unsigned count = burst >= 64 ? 200 : 4000 / (burst < 4 ? 1 : burst / 4);
    auto& master = pair.masters[0];
    master.check_data = false;
    std::uint64_t serial = 0;
    std::uint64_t reads = 0;
    std::uint64_t writes = 0;
    std::uint64_t waiting_reads = 0;
    std::uint64_t waiting_writes = 0;
    const auto cycle = [&] {
        for (const auto& done : master.done) {
            (done.write ? writes : reads) += 1;
            (done.write ? waiting_writes : waiting_reads) -= 1;
        }
        master.done.clear();
        const auto next = [&] {
            ++serial;
            return Address{.addr = Pair::kLpa + (serial % 4096) * 0x1000ULL,
                           .id = static_cast<std::uint16_t>(serial % 16),
                           .len = static_cast<std::uint8_t>(burst - 1)};
        };
        if (load != Load::Writes && waiting_reads < 80) {
            master.read(next());
            ++waiting_reads;
        }
        if (load != Load::Reads && waiting_writes < 80) {
            master.write(next(), false);
            ++waiting_writes;
        }
        pair.cycle();
    };
    // Away from the beginning.
    while (reads + writes < count) cycle();
    const auto request = pair.request_beats();
    const auto response = pair.response_beats();
    const auto start = pair.now;
    const auto reads_before = reads;
    const auto writes_before = writes;
    while (reads + writes < 3 * count) cycle();
    std::printf(
        "{\"load\": \"backlog\", \"burst\": %u, \"what\": \"%s\", \"reads\": %llu, \"writes\": %llu, "
        "\"request_beats\": %llu, "
        "\"response_beats\": %llu, \"cycles\": %llu, \"rate\": %.6f}",
        burst,
        load == Load::Reads    ? "reads"
        : load == Load::Writes ? "writes"
                               : "both",
        static_cast<unsigned long long>(reads - reads_before),
        static_cast<unsigned long long>(writes - writes_before),
        static_cast<unsigned long long>(pair.request_beats() - request),
        static_cast<unsigned long long>(pair.response_beats() - response),
        static_cast<unsigned long long>(pair.now - start), kRate / 65536.0);
}

// Cycles from the address until the last answer, beyond what the memory takes by itself.
void latency(unsigned burst, bool write) {
    Pair pair({}, {.latency = 10});
    pair.bring_up();
    const Address address{.addr = Pair::kLpa, .len = static_cast<std::uint8_t>(burst - 1)};
    if (write)
        pair.masters[0].write(address, false);
    else
        pair.masters[0].read(address);
    pair.finish();
    const auto& done = pair.masters[0].done.back();
    // The memory's own: from the address to its first data, and a cycle for each further beat; of a write,
    // from its last data.
    const unsigned own = 10 + burst - 1;
    std::printf(
        "{\"load\": \"latency\", \"burst\": %u, \"what\": \"%s\", \"cycles\": %llu, \"memory_cycles\": %u}",
        burst, write ? "writes" : "reads", static_cast<unsigned long long>(done.finished - done.issued), own);
}

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
        for (unsigned p = 0; p < sim::kPorts; ++p) {
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
            if (waited > 2'000'000) sim::fail("no answer: a transaction is stuck");
            pair_.cycle();
        }
    }
    // What a write that ended with an error left is not known: it is written anew before it is read.
    bool errors_allowed = false;
    std::uint64_t finished = 0, errors = 0;
    std::uint64_t bursts[3] = {}, sizes[5] = {}, lengths[3] = {}, unaligned = 0, strobed = 0;

  private:
    static constexpr unsigned kPages = 96;
    struct Use {
        unsigned page;
    };

    void take_done() {
        for (unsigned p = 0; p < sim::kPorts; ++p) {
            auto& master = pair_.masters[p];
            for (const auto& done : master.done) {
                if (done.resp != 0 && !errors_allowed)
                    sim::fail("an access without a fault ended with an error response");
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
        address.id = static_cast<std::uint16_t>(random_.below(12));
        address.burst = static_cast<std::uint8_t>(random_.chance(70) ? 1 : random_.chance(50) ? 0 : 2);
        address.size = static_cast<std::uint8_t>(random_.chance(60) ? 4 : random_.below(5));
        const unsigned bytes = 1U << address.size;
        unsigned length = 1;
        if (address.burst == 2)
            length = 2U << random_.below(4);
        else if (address.burst == 0)
            length = 1 + random_.below(16);
        else
            length = random_.chance(50)   ? 4
                     : random_.chance(80) ? 1 + random_.below(32)
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
        const unsigned link = random_.below(sim::kLinks);
        address.addr = Pair::at(p, link) + page * 4096ULL + offset;
        // A page belongs to one link, so that both views of a master are of the same bytes.
        if (page % sim::kLinks != link) return;
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
    sim::Random random_;
    unsigned writing_[sim::kPorts][kPages] = {}, reading_[sim::kPorts][kPages] = {};
    bool spoilt_[sim::kPorts][kPages] = {};
    std::unordered_map<std::uint64_t, Use> uses_[sim::kPorts];
};

void soak(const Soak& of) {
    const sim::Phy phy{.rate = 0,
                       .latency = 17,
                       .flip = sim::of_word(of.bit_error_rate),
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
        sim::fail("the memory was written " + std::to_string(stored) + " bytes of " +
                  std::to_string(written));
    std::uint32_t replays = 0;
    std::uint32_t bad = 0;
    std::uint32_t downs = 0;
    for (unsigned l = 0; l < sim::kLinks; ++l) {
        for (const bool cblock : {true, false}) {
            bad += pair.read(cblock, 0x100 + 16 * l);
            replays += pair.read(cblock, 0x104 + 16 * l);
            downs += pair.read(cblock, 0x108 + 16 * l);
        }
    }
    std::printf(
        "{\"beats\": %llu, \"harmed\": %llu, \"transactions\": %llu, \"cycles\": %llu, \"bytes_written\": "
        "%llu, \"bad_frames\": %u, "
        "\"replays\": %u, \"downs\": %u, \"covered\": {\"fixed\": %llu, \"incr\": %llu, \"wrap\": %llu, "
        "\"single\": %llu, "
        "\"short\": %llu, \"long\": %llu, \"unaligned\": %llu, \"strobed\": %llu, \"narrow\": %llu}}\n",
        static_cast<unsigned long long>(pair.beats()), static_cast<unsigned long long>(pair.harmed()),
        static_cast<unsigned long long>(traffic.finished), static_cast<unsigned long long>(pair.now),
        static_cast<unsigned long long>(written), bad, replays, downs,
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

sim::Done one(Pair& pair, const Address& address, bool write) {
    if (write)
        pair.masters[0].write(address, false);
    else
        pair.masters[0].read(address);
    pair.finish();
    const sim::Done done = pair.masters[0].done.back();
    pair.masters[0].done.clear();
    return done;
}

// What is not mapped, not allowed, detached at the other end, or on a link that is cut.
void faults() {
    constexpr unsigned kDownAfter = 4096;
    Pair pair({.latency = 30}, {.latency = 12});
    pair.bring_up();
    std::printf("{");
    const auto say = [&](const char* name, const sim::Done& done, std::uint64_t beats) {
        std::printf("\"%s\": {\"resp\": %u, \"cycles\": %llu, \"beats\": %llu}, ", name, done.resp,
                    static_cast<unsigned long long>(done.finished - done.issued),
                    static_cast<unsigned long long>(beats));
    };
    for (const bool write : {false, true}) {
        for (unsigned i = 0; i < 400; ++i) pair.cycle();  // acknowledgements are out
        auto before = pair.beats();
        auto done = one(pair, {.addr = Pair::kLpa - 64}, write);
        say(write ? "write_unmapped" : "read_unmapped", done, pair.beats() - before);
        pair.open(0, 0, 0, 0, write, !write);
        before = pair.beats();
        done = one(pair, {.addr = Pair::kLpa}, write);
        say(write ? "write_forbidden" : "read_forbidden", done, pair.beats() - before);
        // The other end has given the segment to another generation; the window here does not know yet.
        pair.open(0, 0, 0, 0, true, true);
        pair.write(false, 0x408, 5U << 5 | 7U);
        const auto stored = pair.memories[0].write_bursts + pair.memories[0].read_bursts;
        done = one(pair, {.addr = Pair::kLpa, .len = 40}, write);
        if (pair.memories[0].write_bursts + pair.memories[0].read_bursts != stored)
            sim::fail("a detached segment was reached");
        say(write ? "write_detached" : "read_detached", done, 0);
        pair.open(0, 0, 0, 0, true, true);
    }
    if (pair.read(false, 0x10C) == 0) sim::fail("the mBlock counted no refused request");
    // A cut: everything outstanding ends, and the link works again after it is mended.
    pair.write(true, 0x014, kDownAfter);
    pair.write(false, 0x014, kDownAfter);
    std::uint64_t longest = 0;
    std::uint64_t errors = 0;
    std::uint64_t outstanding = 0;
    Traffic traffic(pair, 99);
    traffic.errors_allowed = true;
    for (unsigned round = 0; round < 6; ++round) {
        for (unsigned i = 0; i < 700 + 331 * round; ++i) {
            traffic.feed();
            pair.cycle();
        }
        pair.cut(0, true);
        const auto cut_at = pair.now;
        for (const auto& master : pair.masters) outstanding += master.outstanding();
        traffic.rest();
        if (pair.now - cut_at > longest) longest = pair.now - cut_at;
        errors = traffic.errors;
        if (one(pair, {.addr = Pair::kLpa}, false).resp != 2)
            sim::fail("a read while the link is down is not SLVERR");
        pair.cut(0, false);
        pair.wait_up();
    }
    // In the end all of it is right again.
    traffic.errors_allowed = false;
    for (unsigned i = 0; i < 3000; ++i) {
        traffic.feed();
        pair.cycle();
    }
    traffic.rest();
    std::printf(
        "\"cut\": {\"down_after\": %u, \"longest\": %llu, \"outstanding\": %llu, \"errors\": %llu}}\n",
        kDownAfter, static_cast<unsigned long long>(longest), static_cast<unsigned long long>(outstanding),
        static_cast<unsigned long long>(errors));
}

void all_beats() {
    std::printf("[");
    bool first = true;
    const auto comma = [&] {
        std::printf(first ? "\n" : ",\n");
        first = false;
    };
    for (unsigned burst = 1; burst <= 256; burst *= 2) {
        for (const bool write : {false, true}) {
            comma();
            idle(burst, write);
        }
        for (const auto load : {Load::Reads, Load::Writes, Load::Both}) {
            comma();
            backlog(burst, load);
        }
    }
    for (const unsigned burst : {1U, 4U, 16U, 256U}) {
        comma();
        latency(burst, false);
        comma();
        latency(burst, true);
    }
    std::printf("]\n");
}

}  // namespace

// remote WHAT ARGUMENT...: see the usage below.
int main(int argc, char** argv) {
    const std::string what = argc > 1 ? argv[1] : "";
    const auto number = [&](int i) { return static_cast<unsigned>(std::strtoul(argv[i], nullptr, 10)); };
    if (what == "beats")
        all_beats();
    else if (what == "faults")
        faults();
    else if (what == "outstanding")
        sim::outstanding();
    else if (what == "worst" && argc == 7)
        sim::worst(number(2), number(3), number(4), number(5), number(6));
    else if (what == "configurations" && argc == 7)
        sim::configurations(number(2), number(3), number(4), number(5), number(6));
    else if (what == "soak" && argc == 9) {
        soak({.beats = std::strtoull(argv[2], nullptr, 10),
              .bit_error_rate = std::strtod(argv[3], nullptr),
              .drop = std::strtod(argv[4], nullptr),
              .repeat = std::strtod(argv[5], nullptr),
              .span = static_cast<unsigned>(std::strtoul(argv[6], nullptr, 10)),
              .pause = static_cast<unsigned>(std::strtoul(argv[7], nullptr, 10)),
              .seed = std::strtoull(argv[8], nullptr, 10)});
    } else {
        std::fprintf(stderr,
                     "usage: beats | faults | outstanding | worst COUNT LATENCY MEMORY-LATENCY RATE SEED | "
                     "configurations "
                     "MEMORY-LATENCY MEMORY-RATE LINK-LATENCY LINK-RATE IN-FLIGHT | soak BEATS "
                     "BIT-ERROR-RATE DROP REPEAT "
                     "SPAN PAUSE-PERCENT SEED\n");
        return 2;
    }
    return 0;
}
