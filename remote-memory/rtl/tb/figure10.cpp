// SPDX-License-Identifier: Apache-2.0
// STREAM in the dual-board system of the paper's Figure 10: two instances at each port, one in each of its
// segments S0 to S3. Prints JSON; all data are checked.
#include "stream.hpp"

namespace {

// All four at once, in the system's one cBlock; and each port's two alone, in the same system.
void combined(const sim::Board& board) {
    const unsigned lines = board.in_flight;
    const sim::Phy near{};
    const sim::Phy far{.rate = board.link_rate, .latency = board.link_latency};
    auto all = sim::two_of(0);
    for (const auto& instance : sim::two_of(1)) all.push_back(instance);
    struct Case {
        const char* name;
        std::vector<sim::Instance> instances;
        sim::InFlight limit;
    };
    sim::StreamRows rows(board);
    std::printf("{\"streams\": [");
    for (const Case& of :
         {Case{"combined", all, {lines, 2 * lines}}, Case{"combined, lines shared", all, {lines, lines}},
          Case{"combined, port 0 alone", sim::two_of(0), {lines, lines}},
          Case{"combined, port 1 alone", sim::two_of(1), {lines, lines}}}) {
        sim::Pair pair(near, board.memory());
        pair.bring_up();
        sim::attach_segments(pair);
        pair.set(far, 1);
        rows.of(of.name, pair, of.instances, of.limit);
    }
    std::printf("],\n\"compared\": %llu}\n", static_cast<unsigned long long>(rows.compared));
}

}  // namespace

// figure10 PACKETIZATION BOARD...: see the usage below.
int main(int argc, char** argv) {
    const std::string packetization = argc > 1 ? argv[1] : "";
    if (argc != 2 + sim::Board::kWords ||
        (packetization != "compact" && packetization != "b2b" && packetization != "pipelined")) {
        std::fprintf(stderr, "usage: compact | b2b | pipelined, %s\n", sim::Board::kUsage);
        return 2;
    }
    sim::packing = {.pipelined = packetization == "pipelined", .fill_beat = packetization == "pipelined"};
    combined(sim::Board::of(argv + 2));
    return 0;
}
