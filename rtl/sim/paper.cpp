// SPDX-License-Identifier: Apache-2.0
// Counts the beats of one write and one read of each burst length in the packetizations of the paper, and
// prints them as JSON. All data are checked.
#include "Vtop.h"
#include "axi.hpp"

namespace {

void count(const char* name, bool pipelined, bool fill_beat, bool first) {
    VerilatedContext context;
    Vtop top(&context);
    sim::Memory memory(top, 0, {}, 1);
    sim::Master master(top, 0, 0, 2);

    top.pipelined_i = pipelined;
    top.fill_beat_i = fill_beat;
    top.clk_i = 0;
    top.rst_ni = 0;
    top.eval();
    const auto cycle = [&] {
        master.drive();
        memory.drive();
        top.eval();
        master.sample();
        memory.sample();
        top.clk_i = 1;
        top.eval();
        top.clk_i = 0;
        top.eval();
    };
    cycle();
    top.rst_ni = 1;
    const auto finish = [&] {
        for (unsigned waited = 0; master.outstanding() != 0; ++waited) {
            if (waited > 20'000) sim::fail("no answer");
            cycle();
        }
    };
    for (unsigned burst = 1; burst <= 256; ++burst) {
        const sim::Address address{.addr = 0x4000 * burst,
                                   .id = static_cast<std::uint16_t>(burst),
                                   .len = static_cast<std::uint8_t>(burst - 1)};
        const auto total = [&] { return top.request_beats_o + top.response_beats_o; };
        const auto start = total();
        master.write(address, false);
        finish();
        const auto written = total();
        master.read(address);
        finish();
        std::printf(
            "%s\n{\"packetization\": \"%s\", \"burst\": %u, \"write_beats\": %llu, \"read_beats\": %llu}",
            first && burst == 1 ? "" : ",", name, burst, static_cast<unsigned long long>(written - start),
            static_cast<unsigned long long>(total() - written));
    }
}

}  // namespace

int main() {
    std::printf("[");
    count("b2b", false, false, true);
    count("pipelined", true, true, false);
    count("pipelined without the fill beat", true, false, false);
    std::printf("]\n");
    return 0;
}
