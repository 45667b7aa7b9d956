// SPDX-License-Identifier: Apache-2.0
// Starts of a link whose PHY pauses at every moment of them: starts PAUSE-CYCLES. Each end sends numbered
// frames as soon as it may; the other one has to get all of them, in order, with the units that they were
// given. Prints how many starts there were, and of how many something was lost.
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>

#include "Vtop.h"
#include "verilated.h"

namespace {

constexpr unsigned kFrames = 12;     // that each end sends
constexpr unsigned kBefore = 100;    // pauses begin as long before both ends are up, at the earliest
constexpr unsigned kLate = 12;       // that users begin so many cycles after their link is up, and fewer
constexpr unsigned kLimit = 20'000;  // cycles of a start and its frames

struct Lost {};

[[noreturn]] void fail(const char* what, unsigned end, unsigned begins) {
    std::fprintf(stderr, "end %u, pause from cycle %u: %s\n", end, begins, what);
    throw Lost{};
}

std::uint32_t units_of(std::uint32_t number) {
    return (number + 1) * 5 % 17;
}
std::uint32_t unit_of(std::uint32_t number, std::uint32_t index) {
    return number << 8 | index;
}

class Start {
  public:
    // One end's words wait in its PHY for `pause` cycles from cycle `begins` on; users begin `late` cycles
    // after their end is up.
    unsigned run(unsigned pauses, unsigned begins, unsigned pause, unsigned late) {
        ends_ = {};
        for (End& end : ends_) end.wait = late;
        top_->rst_ni = 0;
        for (unsigned e = 0; e < 2; ++e) drive(e);
        for (unsigned i = 0; i < 4; ++i) clock();
        top_->rst_ni = 1;
        unsigned up_at = 0;
        for (unsigned now = 0; ends_[0].came < kFrames || ends_[1].came < kFrames; ++now) {
            if (now > kLimit) fail("not all frames come", pauses, begins);
            for (unsigned e = 0; e < 2; ++e) {
                top_->pause_i[e] = e == pauses && now >= begins && now < begins + pause;
                drive(e);
            }
            top_->eval();
            for (unsigned e = 0; e < 2; ++e) sample(e, begins);
            if (up_at == 0 && top_->up_o[0] && top_->up_o[1]) up_at = now;
            if (up_at != 0 && !(top_->up_o[0] && top_->up_o[1])) fail("the link goes down", pauses, begins);
            clock();
        }
        return up_at;
    }

  private:
    struct End {
        std::uint32_t next = 0;
        std::deque<std::uint32_t> units;  // of frames that were offered, and not taken
        bool offered = false;
        unsigned wait = 0;
        std::uint32_t came = 0;
        std::deque<std::uint32_t> due;  // units of frames that came
    };

    void clock() {
        top_->clk_i = 1;
        top_->eval();
        top_->clk_i = 0;
        top_->eval();
    }
    void drive(unsigned e) {
        End& end = ends_[e];
        if (top_->up_o[e] && end.wait != 0) --end.wait;
        if (!end.offered && end.next < kFrames && end.units.empty() && end.wait == 0) {
            for (std::uint32_t i = 0; i < units_of(end.next); ++i) end.units.push_back(unit_of(end.next, i));
            end.offered = true;
        }
        top_->tx_valid_i[e] = end.offered;
        top_->tx_number_i[e] = end.next;
        top_->tx_units_i[e] = static_cast<std::uint8_t>(units_of(end.next));
        for (unsigned word = 0; word < 4; ++word) top_->tx_unit_i[e][word] = 0;
        top_->tx_unit_i[e][0] = end.units.empty() ? 0 : end.units.front();
        top_->rx_ready_i[e] = 1;
        top_->rx_unit_ready_i[e] = 1;
    }
    void sample(unsigned e, unsigned begins) {
        End& end = ends_[e];
        if (top_->tx_unit_ready_o[e] && !end.units.empty()) end.units.pop_front();
        if (end.offered && top_->tx_ready_o[e]) {
            end.offered = false;
            ++end.next;
        }
        if (top_->rx_unit_valid_o[e]) {
            if (end.due.empty()) fail("a unit of no frame", e, begins);
            if (top_->rx_unit_o[e][0] != end.due.front()) fail("a unit is not the next one", e, begins);
            end.due.pop_front();
        }
        if (top_->rx_valid_o[e]) {
            if (top_->rx_number_o[e] != end.came) fail("a frame is not the next one", e, begins);
            if (top_->rx_units_o[e] != units_of(end.came)) fail("a frame has other units", e, begins);
            for (std::uint32_t i = 0; i < units_of(end.came); ++i) end.due.push_back(unit_of(end.came, i));
            ++end.came;
        }
    }

    VerilatedContext context_;
    std::unique_ptr<Vtop> top_ = std::make_unique<Vtop>(&context_);
    std::array<End, 2> ends_;
};

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        std::fprintf(stderr, "usage: PAUSE-CYCLES\n");
        return 2;
    }
    const auto pause = static_cast<unsigned>(std::strtoul(argv[1], nullptr, 10));
    Start start;
    const unsigned up_at = start.run(0, 0, 0, 0);
    if (up_at < kBefore) {
        std::fprintf(stderr, "the link is up at once\n");
        return 1;
    }
    unsigned starts = 0, losses = 0;
    for (unsigned begins = up_at - kBefore; begins <= up_at; ++begins) {
        for (unsigned end = 0; end < 2; ++end) {
            for (unsigned late = 0; late < kLate; ++late, ++starts) {
                try {
                    start.run(end, begins, pause, late);
                } catch (const Lost&) {
                    ++losses;
                }
            }
        }
    }
    std::printf("{\"starts\": %u, \"losses\": %u}\n", starts, losses);
    return 0;
}
