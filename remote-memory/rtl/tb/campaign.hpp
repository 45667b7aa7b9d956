// SPDX-License-Identifier: Apache-2.0
// So many transactions over every kind of fault, with memories that carry out in any order that AXI4 allows.
// Each access has to end, without an error where its fault is one that the link repairs; every read is
// compared, and every byte of every page after each round.
#pragma once

#include "traffic.hpp"

namespace sim {

class Campaign {
  public:
    // In a round so many faults of each mode that has such, or stretches of traffic.
    Campaign(std::uint64_t seed, unsigned faults) : random_(seed), faults_(faults) {}

    void run(std::uint64_t transactions) {
        while (finished_ < transactions) round(random_.bits());
        std::printf(
            "{\"transactions\": %llu, \"rounds\": %llu, \"cycles\": %llu, \"beats\": %llu, "
            "\"corrupted\": %llu, \"kept\": %llu, \"modes\": {",
            say(finished_), say(rounds_), say(cycles_), say(beats_), say(corrupted_), say(kept_));
        for (const Mode& mode : modes_)
            std::printf("%s\n\"%s\": {\"transactions\": %llu, \"errors\": %llu, \"faults\": %llu}",
                        &mode == &modes_[0] ? "" : ",", mode.name, say(mode.finished), say(mode.errors),
                        say(mode.faults));
        std::printf("}}\n");
    }

    // The mBlock is reset while a memory keeps answers and half of a write; it gives them when accesses of
    // the new session wait for it. None of these may get what is not its own.
    static void owed(std::uint64_t seed) {
        Pair pair({.latency = 17}, {.latency = 12, .spread = 30}, 0, seed);
        pair.bring_up();
        Traffic traffic(pair, seed);
        Random random(seed);
        const Times times{1024, 2048, 0};
        set_times(pair, times);
        std::uint64_t kept = 0;
        auto& memory = pair.memories[0];
        constexpr unsigned kRounds = 12;
        for (unsigned i = 0; i < kRounds; ++i) {
            feed(pair, traffic, 2000);
            memory.answers = false;
            traffic.errors_allowed = true;
            feed(pair, traffic, 50 + random.below(200));
            memory.takes = i % 3 != 0;
            feed(pair, traffic, random.below(40));
            reset(pair, traffic, false, times);
            traffic.rest();
            pair.wait_up();
            kept += memory.waiting_reads() + memory.waiting_acks();
            traffic.errors_allowed = false;
            feed(pair, traffic, 500);
            memory.takes = memory.answers = true;
            feed(pair, traffic, 2000);
            traffic.rest();
            traffic.renew();
        }
        traffic.read_all();
        std::printf("{\"rounds\": %u, \"kept\": %llu, \"transactions\": %llu, \"errors\": %llu}\n", kRounds,
                    say(kept), say(traffic.finished), say(traffic.errors));
    }

  private:
    // Registers of times. Most cycles of a fault that ends accesses pass with waiting for these, so most
    // rounds have short ones then. What the link mends needs those that let a frame be lost several times.
    struct Times {
        unsigned ack_timeout, down_after, answer_after;

        [[nodiscard]] Times operator*(unsigned by) const {
            return {ack_timeout * by, down_after * by, answer_after * by};
        }
    };
    static constexpr Times kLong{1024, 4096, 3000}, kShort{256, 1200, 1500};
    // Of PHYs that pause: cycles between two pauses, the longest one, and the period of their clock beside
    // the blocks' (Pauses).
    static constexpr unsigned kApart[] = {40, 200, 1000}, kLongest[] = {7, 31, 63};
    static constexpr unsigned kPeriods[] = {1024, 1031, 1300, 1700};
    struct Mode {
        const char* name;
        Phy phy{};
        // Begins and ends a fault that ends accesses with errors; null where the link mends what happens.
        void (*fault)(Pair& pair, bool on) = nullptr;
        void (*reset)(Pair& pair, Traffic& traffic, const Times& times) = nullptr;  // of one block
        bool loaded = false;  // while accesses are under way
        std::uint64_t finished = 0, errors = 0, faults = 0;
    };
    static unsigned long long say(std::uint64_t value) { return value; }

    static void cut(Pair& pair, bool on) {
        for (unsigned l = 0; l < kLinks; ++l) pair.cut(l, on);
    }
    static void phy_down(Pair& pair, bool on) { pair.top().phy_down_i[0] = on; }
    // Of data, not of control frames: see attack.hpp.
    static void stuck_there(Pair& pair, bool on) { pair.top().stuck_i[0] = on ? 66 : 0; }
    static void stuck_back(Pair& pair, bool on) { pair.top().stuck_i[1] = on ? 77 : 0; }
    static void no_answers(Pair& pair, bool on) { pair.memories[0].answers = !on; }
    static void takes_nothing(Pair& pair, bool on) { pair.memories[0].takes = !on; }
    static void reset(Pair& pair, Traffic& traffic, bool cblock, const Times& times) {
        // A cBlock is reset together with its masters.
        if (cblock) traffic.forget();
        (cblock ? pair.top().c_reset_i : pair.top().m_reset_i) = 1;
        for (unsigned i = 0; i < 3; ++i) pair.cycle();
        (cblock ? pair.top().c_reset_i : pair.top().m_reset_i) = 0;
        for (unsigned l = 0; l < kLinks; ++l)
            for (unsigned p = 0; p < kPorts; ++p) pair.open(p, l, p, 0, true, true);
        set_times(pair, times);
        pair.write_all(cblock, 0x008, (1U << kLinks) - 1);
        // The end that was not reset finds out in its time.
        for (unsigned i = 0; i < 4 * times.down_after; ++i) pair.cycle();
    }
    static void reset_cblock(Pair& pair, Traffic& traffic, const Times& times) {
        reset(pair, traffic, true, times);
    }
    static void reset_mblock(Pair& pair, Traffic& traffic, const Times& times) {
        reset(pair, traffic, false, times);
    }
    // Under traffic: once the block says so the memory has nothing under way, until it is used again.
    static void isolated(Pair& pair, bool on) {
        pair.top().isolate_i[0] = on;
        for (unsigned waited = 0; pair.top().isolated_o[0] != on; ++waited) {
            if (waited > 20'000)
                fail(on ? "a memory is never isolated" : "an isolated memory is never used again");
            pair.cycle();
        }
        const auto& memory = pair.memories[0];
        if (on && memory.waiting_reads() + memory.waiting_acks() != 0)
            fail("an isolated memory owes answers");
    }
    static void set_times(Pair& pair, const Times& times) {
        for (const bool cblock : {true, false}) {
            pair.write_all(cblock, 0x010, times.ack_timeout);
            pair.write_all(cblock, 0x014, times.down_after);
        }
        pair.write_all(false, 0x018, times.answer_after);
    }

    void round(std::uint64_t seed) {
        const unsigned pause = random_.below(3) * 10;
        const Times& own = random_.chance(75) ? kShort : kLong;
        const auto order = static_cast<Order>(random_.below(4));
        Pair pair({.latency = 17}, {.latency = 12, .spread = 30, .pause_percent = pause, .order = order},
                  pause, seed);
        // A link keeps up to 512 beats, and acknowledges nothing while it repeats them: its times are longer
        // than a wire takes for these.
        unsigned slower = 1;
        if (wire.queue) {
            const unsigned apart = kApart[random_.below(3)];
            const unsigned longest = kLongest[random_.below(3)];
            const unsigned period = kPeriods[random_.below(4)];
            pair.pause({.chance = 1.0 / apart, .longest = longest, .period = period});
            slower += period * (2 * apart + longest) / (1024 * 2 * apart);
        }
        const Times times = own * slower;
        const Times relaxed = kLong * slower;
        pair.bring_up();
        Traffic traffic(pair, seed);
        traffic.short_bursts = random_.chance(70);
        for (Mode& mode : modes_) {
            const bool mends = mode.fault == nullptr && mode.reset == nullptr;
            set_times(pair, mends ? relaxed : times);
            traffic.doing = mode.name;
            const auto finished = traffic.finished;
            const auto errors = traffic.errors;
            Phy phy = mode.phy;
            phy.latency = 17;
            pair.set(phy);
            const auto corrupted = pair.corrupted();
            for (unsigned i = 0; i < faults_; ++i) {
                feed(pair, traffic, 6000 + random_.below(6000));
                if (mode.fault != nullptr) {
                    traffic.errors_allowed = true;
                    mode.fault(pair, true);
                    feed(pair, traffic, random_.below(200));
                    traffic.rest();
                    mode.fault(pair, false);
                    restored(pair);
                    traffic.errors_allowed = false;
                    traffic.renew();
                } else if (mode.reset != nullptr) {
                    traffic.errors_allowed = mode.loaded;
                    if (!mode.loaded) traffic.rest();
                    mode.reset(pair, traffic, times);
                    traffic.rest();
                    restored(pair);
                    if (mode.loaded) traffic.renew();
                    traffic.errors_allowed = false;
                }
                mode.faults += mode.fault != nullptr || mode.reset != nullptr;
            }
            traffic.rest();
            mode.faults += pair.corrupted() - corrupted;
            mode.finished += traffic.finished - finished;
            mode.errors += traffic.errors - errors;
        }
        pair.set({.latency = 17});
        traffic.read_all();
        finished_ += traffic.finished;
        cycles_ += pair.now;
        beats_ += pair.beats();
        corrupted_ += pair.corrupted();
        kept_ += pair.kept();
        ++rounds_;
    }
    static void feed(Pair& pair, Traffic& traffic, unsigned cycles) {
        for (unsigned i = 0; i < cycles; ++i) {
            traffic.feed();
            pair.cycle();
        }
    }
    // The link is up, and the memory has answered what it owed.
    static void restored(Pair& pair) {
        pair.wait_up();
        for (unsigned waited = 0; pair.read(false, 0x01C) != 0; ++waited)
            if (waited > 20'000) fail("a memory that answers again is not used again");
    }

    Random random_;
    const unsigned faults_;
    std::uint64_t finished_ = 0, rounds_ = 0, cycles_ = 0, beats_ = 0, corrupted_ = 0, kept_ = 0;
    std::vector<Mode> modes_ = {
        {.name = "none"},
        {.name = "single bits, rarely", .phy = {.flip = of_word(1e-5)}},
        {.name = "single bits, often", .phy = {.flip = of_word(1e-4)}},
        {.name = "bursts of bits", .phy = {.flip = of_word(2e-5), .flip_span = 60}},
        {.name = "words lost", .phy = {.drop = 2e-3}},
        {.name = "words repeated", .phy = {.repeat = 2e-3}},
        {.name = "all of these",
         .phy = {.flip = of_word(2e-5), .drop = 5e-4, .repeat = 5e-4, .flip_span = 40}},
        {.name = "wire cut", .fault = cut},
        {.name = "PHY says that it is down", .fault = phy_down},
        {.name = "bit stuck, there", .fault = stuck_there},
        {.name = "bit stuck, back", .fault = stuck_back},
        {.name = "memory without answers", .fault = no_answers},
        {.name = "memory that takes nothing", .fault = takes_nothing},
        {.name = "cBlock reset", .reset = reset_cblock},
        {.name = "mBlock reset", .reset = reset_mblock},
        {.name = "cBlock reset under load", .reset = reset_cblock, .loaded = true},
        {.name = "mBlock reset under load", .reset = reset_mblock, .loaded = true},
        {.name = "memory isolated", .fault = isolated},
    };
};

}  // namespace sim
