// SPDX-License-Identifier: Apache-2.0
// The pair of blocks in the packetizations of the paper: beats of each burst length, random traffic, refused
// accesses, and the streams and single reads of its figures. Prints JSON; all data are checked.
#include <cstdlib>

#include "configurations.hpp"
#include "traffic.hpp"

namespace {

// Words of the PHY: beats, where it is of 128 bits.
std::uint64_t request_words(sim::Pair& pair) {
    return pair.top().request_words_o[0];
}
std::uint64_t words(sim::Pair& pair) {
    return request_words(pair) + pair.top().response_words_o[0];
}

// One write and one read of each burst length.
void beats() {
    sim::Pair pair({});
    pair.bring_up();
    auto& master = pair.masters[0];
    std::printf("[");
    for (unsigned burst = 1; burst <= 256; ++burst) {
        const sim::Address address{.addr = sim::Pair::kLpa + 0x4000ULL * burst,
                                   .id = static_cast<std::uint16_t>(burst),
                                   .len = static_cast<std::uint8_t>(burst - 1)};
        const auto start = words(pair);
        const auto sent_before = request_words(pair);
        master.write(address, false);
        pair.finish();
        const auto written = words(pair);
        const auto sent = request_words(pair) - sent_before;
        master.read(address);
        pair.finish();
        std::printf(
            "%s\n{\"burst\": %u, \"write_beats\": %llu, \"read_beats\": %llu, \"request_beats\": %llu}",
            burst == 1 ? "" : ",", burst, static_cast<unsigned long long>(written - start),
            static_cast<unsigned long long>(words(pair) - written), static_cast<unsigned long long>(sent));
    }
    std::printf("]\n");
}

void refused() {
    sim::Pair pair({.latency = 30}, {.latency = 12});
    pair.bring_up();
    std::printf("{");
    sim::refusals(pair);
    std::printf("}\n");
}

}  // namespace

// paper PACKETIZATION WHAT ARGUMENT...: see the usage below.
int main(int argc, char** argv) {
    const std::string packetization = argc > 1 ? argv[1] : "";
    const std::string what = argc > 2 ? argv[2] : "";
    const auto number = [&](int i) { return static_cast<unsigned>(std::strtoul(argv[i], nullptr, 10)); };
    sim::packing = {.pipelined = packetization != "b2b", .fill_beat = packetization == "pipelined"};
    const bool known =
        packetization == "b2b" || packetization == "pipelined" || packetization == "pipelined-without-fill";
    if (known && what == "beats")
        beats();
    else if (known && what == "refused")
        refused();
    else if (known && what == "configurations" && argc == 3 + sim::Board::kWords)
        sim::configurations(sim::Board::of(argv + 3));
    else if (known && what == "soak" && argc == 6) {
        sim::soak({.beats = std::strtoull(argv[3], nullptr, 10),
                   .bit_error_rate = 0,
                   .drop = 0,
                   .repeat = 0,
                   .span = 0,
                   .pause = number(4),
                   .seed = std::strtoull(argv[5], nullptr, 10)});
    } else {
        std::fprintf(stderr,
                     "usage: b2b | pipelined | pipelined-without-fill, beats | refused | soak BEATS "
                     "PAUSE-PERCENT SEED | configurations %s\n",
                     sim::Board::kUsage);
        return 2;
    }
    return 0;
}
