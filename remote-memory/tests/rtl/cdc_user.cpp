// SPDX-License-Identifier: Apache-2.0
// Words through consort_phy_cdc both ways, between clocks of any periods and phases: cdc_user SEED RATIOS
// WORDS.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <random>

#include "Vtop.h"
#include "verilated.h"

namespace {

[[noreturn]] void fail(const char* what) {
    std::fprintf(stderr, "%s\n", what);
    std::exit(1);
}

// One clock: when it rises next, and how long it takes.
struct Clock {
    std::uint64_t next, period;
};

class Crossing {
  public:
    // The PHY's clock is no faster than the block's, as consort_phy_cdc wants it.
    explicit Crossing(std::uint64_t seed)
        : top_(std::make_unique<Vtop>(&context_)),
          random_(seed),
          clk_{any(1000), 100 + any(900)},
          phy_{any(1000), clk_.period + any(3000)} {
        top_->rst_ni = 0;
        top_->phy_channel_up_i = 1;
        for (int i = 0; i < 20; ++i) step();
        top_->rst_ni = 1;
        for (int i = 0; i < 40; ++i) step();
    }

    void carry(std::uint64_t words) {
        while (sent_there_ < words || sent_back_ < words) step(words);
        wait_phy(100);
        if (!there_.empty() || !back_.empty()) fail("a word was lost");
    }
    // A hard error of one cycle of the PHY, and one that lasts; a channel that goes down and up.
    void tell() {
        for (const unsigned cycles : {1U, 2U, 3U, 50U}) {
            errors_ = 0;
            top_->phy_hard_err_i = 1;
            wait_phy(cycles);
            top_->phy_hard_err_i = 0;
            wait_phy(20);
            if (errors_ == 0) fail("a hard error is not seen");
        }
        if (top_->hard_err_o) fail("a hard error does not end");
        if (!top_->channel_up_o) fail("a channel that is up is not seen");
        top_->phy_channel_up_i = 0;
        wait_phy(20);
        if (top_->channel_up_o) fail("a channel that is down is not seen");
        top_->phy_channel_up_i = 1;
        wait_phy(20);
    }

  private:
    std::uint64_t any(std::uint64_t most) {
        return std::uniform_int_distribution<std::uint64_t>(1, most)(random_);
    }
    void wait_phy(unsigned cycles) {
        for (const auto until = phy_edges_ + cycles; phy_edges_ < until;) step();
    }

    // To the next edge of either clock: it takes what showed before it, and then the sides drive anew.
    void step(std::uint64_t words = 0) {
        const bool block = clk_.next <= phy_.next;
        const bool phy = phy_.next <= clk_.next;
        top_->eval();
        if (block && top_->rst_ni) sample_block();
        if (phy && top_->rst_ni) sample_phy();
        if (block) top_->clk_i = 1;
        if (phy) top_->phy_clk_i = 1;
        top_->eval();
        if (block) drive_block(words);
        if (phy) drive_phy(words);
        if (block) top_->clk_i = 0;
        if (phy) top_->phy_clk_i = 0;
        top_->eval();
        if (block) clk_.next += clk_.period;
        if (phy) phy_.next += phy_.period;
        phy_edges_ += phy;
    }
    void sample_block() {
        if (top_->tx_valid_i && top_->tx_ready_o) there_.push_back(top_->tx_i);
        if (top_->rx_valid_o) take(back_, top_->rx_o, "a word to the block is not the next one");
        errors_ += top_->hard_err_o;
        took_ = top_->tx_valid_i && top_->tx_ready_o;
    }
    void sample_phy() {
        if (top_->phy_rx_valid_i) back_.push_back(top_->phy_rx_i);
        if (top_->phy_tx_valid_o && top_->phy_tx_ready_i)
            take(there_, top_->phy_tx_o, "a word to the PHY is not the next one");
    }
    void take(std::deque<std::uint32_t>& expected, std::uint32_t word, const char* what) {
        if (expected.empty() || expected.front() != word) fail(what);
        expected.pop_front();
    }
    void drive_block(std::uint64_t words) {
        if (top_->tx_valid_i && !took_) return;  // it stays until it is taken
        top_->tx_valid_i = sent_there_ < words && any(4) > 1;
        if (top_->tx_valid_i) {
            top_->tx_i = static_cast<std::uint32_t>(random_());
            ++sent_there_;
        }
    }
    void drive_phy(std::uint64_t words) {
        top_->phy_tx_ready_i = any(4) > 1;
        top_->phy_rx_valid_i = sent_back_ < words && any(4) > 1;
        if (top_->phy_rx_valid_i) {
            top_->phy_rx_i = static_cast<std::uint32_t>(random_());
            ++sent_back_;
        }
    }

    VerilatedContext context_;
    std::unique_ptr<Vtop> top_;
    std::mt19937_64 random_;
    Clock clk_, phy_;
    std::deque<std::uint32_t> there_, back_;
    std::uint64_t sent_there_ = 0, sent_back_ = 0, phy_edges_ = 0;
    unsigned errors_ = 0;
    bool took_ = false;
};

}  // namespace

int main(int argc, char** argv) {
    if (argc != 4) {
        std::fprintf(stderr, "usage: SEED RATIOS WORDS\n");
        return 2;
    }
    const auto number = [&](int i) { return std::strtoull(argv[i], nullptr, 10); };
    for (std::uint64_t i = 0; i < number(2); ++i) {
        Crossing crossing(number(1) * 1000 + i);
        crossing.carry(number(3));
        crossing.tell();
        crossing.carry(2 * number(3));
    }
    std::printf("{\"ratios\": %llu}\n", number(2));
    return 0;
}
