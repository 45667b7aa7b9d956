// SPDX-License-Identifier: Apache-2.0
// The pair of blocks in the compact packetization: beats and cycles counted on a link without errors, random
// traffic over one with errors, and faults. Prints JSON.
#include "attack.hpp"
#include "campaign.hpp"
#include "configurations.hpp"
#include "fault_log.hpp"
#include "late.hpp"
#include "load.hpp"
#include "neighbour.hpp"
#include "traffic.hpp"
#include "trust.hpp"

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

// What is not mapped, not allowed, detached at the other end, or on a link that is cut.
void faults() {
    constexpr unsigned kDownAfter = 4096;
    Pair pair({.latency = 30}, {.latency = 12});
    pair.bring_up();
    std::printf("{");
    sim::refusals(pair);
    std::printf(", ");
    // A cut: everything outstanding ends, and the link works again after it is restored.
    pair.write(true, 0x014, kDownAfter);
    pair.write(false, 0x014, kDownAfter);
    std::uint64_t longest = 0;
    std::uint64_t errors = 0;
    std::uint64_t outstanding = 0;
    sim::Traffic traffic(pair, 99);
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
        if (sim::one(pair, {.addr = Pair::kLpa}, false).resp != 2)
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

// remote [wire plain|queue|cdc] WHAT ARGUMENT...: see the usage below.
int main(int argc, char** argv) {
    if (argc > 2 && std::string(argv[1]) == "wire") {
        const std::string wire = argv[2];
        if (wire != "plain" && wire != "queue" && wire != "cdc") sim::fail("there is no wire " + wire);
        sim::wire = {.queue = wire != "plain", .cdc = wire == "cdc"};
        argv += 2;
        argc -= 2;
    }
    const std::string what = argc > 1 ? argv[1] : "";
    const auto number = [&](int i) { return static_cast<unsigned>(std::strtoul(argv[i], nullptr, 10)); };
    if (what == "beats")
        all_beats();
    else if (what == "faults")
        faults();
    else if (what == "outstanding")
        sim::outstanding();
    else if (what == "offered" && argc == 3)
        sim::offered(number(2));
    else if (what == "attack" && argc == 5)
        sim::attack(std::strtoull(argv[2], nullptr, 10), std::strtod(argv[3], nullptr), number(4));
    else if (what == "campaign" && argc == 5)
        sim::Campaign(number(3), number(4)).run(std::strtoull(argv[2], nullptr, 10));
    else if (what == "stuck")
        sim::stuck();
    else if (what == "resets")
        sim::resets();
    else if (what == "order" && argc == 4)
        sim::order(number(2), number(3));
    else if (what == "late" && argc == 5)
        sim::late_writes(number(2), number(3), number(4));
    else if (what == "neighbour" && argc == 6)
        sim::neighbour(number(2), number(3), number(4), number(5));
    else if (what == "stalled" && argc == 3)
        sim::stalled(number(2));
    else if (what == "fence" && argc == 3)
        sim::fence(number(2));
    else if (what == "orders" && argc == 3)
        sim::orders(number(2));
    else if (what == "owed" && argc == 3)
        sim::Campaign::owed(number(2));
    else if (what == "unsaid")
        sim::unsaid();
    else if (what == "log")
        sim::fault_log();
    else if (what == "silence" && argc == 3)
        sim::silence(number(2));
    else if (what == "strays" && argc == 3)
        sim::strays(number(2));
    else if (what == "worst" && argc == 10)
        sim::worst(number(2), number(3), number(4), number(5), number(6),
                   {.from = number(7), .share = number(8), .longest = number(9)});
    else if (what == "configurations" && argc == 2 + sim::Board::kWords)
        sim::configurations(sim::Board::of(argv + 2));
    else if (what == "soak" && argc == 9) {
        sim::soak({.beats = std::strtoull(argv[2], nullptr, 10),
                   .bit_error_rate = std::strtod(argv[3], nullptr),
                   .drop = std::strtod(argv[4], nullptr),
                   .repeat = std::strtod(argv[5], nullptr),
                   .span = static_cast<unsigned>(std::strtoul(argv[6], nullptr, 10)),
                   .pause = static_cast<unsigned>(std::strtoul(argv[7], nullptr, 10)),
                   .seed = std::strtoull(argv[8], nullptr, 10)});
    } else {
        std::fprintf(
            stderr,
            "usage: beats | faults | outstanding | offered BURST | campaign TRANSACTIONS SEED FAULTS | "
            "attack TRIES "
            "BIT-ERROR-RATE "
            "SEED | stuck | "
            "resets | order TRIES SEED | late CYCLES ROUNDS SEED | neighbour CYCLES STALLS BEATS SEED | "
            "stalled CYCLES | silence SEED | strays SEED | fence "
            "SEED | orders SEED | owed SEED | unsaid | log | "
            "worst COUNT LATENCY MEMORY-LATENCY RATE SEED URGENT SHARE LONGEST | "
            "soak BEATS BIT-ERROR-RATE DROP REPEAT SPAN PAUSE-PERCENT SEED | "
            "configurations %s\n",
            sim::Board::kUsage);
        return 2;
    }
    return 0;
}
