// SPDX-License-Identifier: Apache-2.0
// What the blocks may not take for granted: a memory that carries accesses out in another order, that takes
// nothing for long, or that does not answer.
#pragma once

#include <algorithm>

#include "traffic.hpp"

namespace sim {

// Accesses of one id to one address, two at a time, with others of other ids around them. Counts the pairs of
// writes that left the first value, and of reads that gave the new value and then the old one.
inline void order(unsigned tries, std::uint64_t seed) {
    Pair pair({}, {.latency = 12, .spread = 40}, 0, seed);
    pair.bring_up();
    auto& master = pair.masters[0];
    master.check_data = false;
    std::vector<Data> received;
    Random random(seed);
    unsigned writes = 0;
    unsigned reads = 0;
    const auto data = [&](std::uint64_t value) {
        Data bytes{};
        std::memcpy(bytes.data(), &value, sizeof value);
        return bytes;
    };
    const auto others = [&] {
        for (unsigned i = random.below(4); i > 0; --i)
            master.read({.addr = Pair::kLpa + 0x10000 + 128ULL * random.below(30),
                         .id = static_cast<std::uint16_t>(20 + random.below(8)),
                         .len = static_cast<std::uint8_t>(random.below(8))});
    };
    const auto settle = [&] {
        pair.finish();
        master.done.clear();
    };
    const auto read_one = [&](const Address& at) {
        received.clear();
        master.received = &received;
        master.read(at);
        settle();
        master.received = nullptr;
        return received.at(0);
    };
    for (unsigned i = 1; i <= tries; ++i) {
        const auto id = static_cast<std::uint16_t>(random.below(16));
        const Address at{.addr = Pair::kLpa + 16ULL * random.below(256), .id = id};
        const Data first = data(4ULL * i);
        const Data second = data(4ULL * i + 1);
        const Data third = data(4ULL * i + 2);
        others();
        master.write(at, first.data(), first.size());
        master.write(at, second.data(), second.size());
        settle();
        const Data left = read_one(at);
        if (left == first)
            ++writes;
        else if (left != second)
            fail("a write left neither value");
        // Two reads while another id writes: an older value cannot follow a newer one.
        others();
        settle();
        received.clear();
        master.received = &received;
        Address by_another = at;
        by_another.id = 17;
        master.write(by_another, third.data(), third.size());
        for (unsigned wait = random.below(30); wait > 0; --wait) pair.cycle();
        master.read(at);
        master.read(at);
        settle();
        master.received = nullptr;
        if (received.size() != 2) fail("two reads did not give two beats");
        if (received[0] == third && received[1] == second) ++reads;
    }
    std::printf("{\"tries\": %u, \"reordered_writes\": %u, \"reordered_reads\": %u}\n", tries, writes, reads);
}

// All ports ask for all that they can while the memories take nothing for so many cycles. On a perfect wire
// that is no reason for a repetition, nor to go down.
inline void stalled(unsigned cycles) {
    Pair pair({.latency = 20}, {.latency = 12});
    pair.bring_up();
    pair.write_all(false, 0x018, 0);  // they may be silent for ever
    for (auto& memory : pair.memories) memory.takes = false;
    std::uint64_t asked = 0;
    // Each in a frame of its own, at all links in turn.
    for (unsigned i = 0; i < 64; ++i) {
        for (unsigned p = 0; p < kPorts; ++p) {
            const std::uint64_t at = Pair::at(p, i % kLinks) + 64ULL * i;
            pair.masters[p].read({.addr = at, .id = static_cast<std::uint16_t>(i % 16)});
            pair.masters[p].write({.addr = at + 0x10000, .id = static_cast<std::uint16_t>(i % 16)}, false);
            asked += 2;
        }
        for (unsigned k = 0; k < 40; ++k) pair.cycle();
    }
    for (unsigned i = 0; i < cycles; ++i) pair.cycle();
    for (auto& memory : pair.memories) memory.takes = true;
    pair.finish();
    std::uint64_t errors = 0;
    for (const auto& master : pair.masters) {
        for (const auto& done : master.done) errors += done.resp != 0;
    }
    std::printf("{\"asked\": %llu, \"errors\": %llu, \"replays\": %llu, \"downs\": %llu}\n",
                static_cast<unsigned long long>(asked), static_cast<unsigned long long>(errors),
                static_cast<unsigned long long>(pair.sum_of_links(0x104)),
                static_cast<unsigned long long>(pair.sum_of_links(0x108)));
}

// Memory 0 falls silent again and again under traffic: it answers nothing, or takes nothing, or both. All
// that is outstanding there ends; then it answers late, and everything is right again. In between the link
// may go down and has to come up again.
inline void silence(std::uint64_t seed) {
    constexpr unsigned kAnswerAfter = 3000;
    Pair pair({.latency = 20}, {.latency = 12, .spread = 20}, 0, seed);
    pair.bring_up();
    pair.write_all(false, 0x018, kAnswerAfter);
    pair.write_all(true, 0x014, 4096);
    pair.write_all(false, 0x014, 4096);
    Traffic traffic(pair, seed);
    Random random(seed);
    std::uint64_t longest = 0;
    std::uint64_t outstanding = 0;
    std::uint64_t late = 0;
    const auto run = [&](unsigned cycles) {
        for (unsigned i = 0; i < cycles; ++i) {
            traffic.feed();
            pair.cycle();
        }
    };
    constexpr unsigned kRounds = 12;
    for (unsigned round = 0; round < kRounds; ++round) {
        traffic.errors_allowed = false;
        run(1500 + random.below(500));
        traffic.errors_allowed = true;
        auto& memory = pair.memories[0];
        memory.takes = round % 3 == 0;
        memory.answers = round % 3 == 1;
        const auto silent_at = pair.now;
        for (const auto& master : pair.masters) outstanding += master.outstanding();
        traffic.rest();
        longest = std::max(longest, pair.now - silent_at);
        // What comes now is refused without a wait.
        if (pair.read(false, 0x01C) == 1) {
            const auto before = pair.now;
            if (one(pair, {.addr = Pair::kLpa}, round % 2 == 0).resp != 2)
                fail("an access to a silent memory does not end with SLVERR");
            if (pair.now - before > 200) fail("an access to a memory that is known to be silent waits");
        } else {
            fail("a memory that does not answer is not reported");
        }
        if (round % 4 == 3) {
            // The link comes up again whatever the memory does.
            pair.write(true, 0x008, 0);
            for (unsigned i = 0; i < 100; ++i) pair.cycle();
            pair.write(true, 0x008, (1U << kLinks) - 1);
            for (unsigned waited = 0; pair.read(true, 0x00C) != (1U << kLinks) - 1; ++waited)
                if (waited > 300'000) fail("the link does not come up again beside a silent memory");
        }
        late += memory.waiting_reads() + memory.waiting_acks();
        memory.takes = memory.answers = true;
        for (unsigned waited = 0; pair.read(false, 0x01C) != 0; ++waited)
            if (waited > 20'000) fail("a memory that answers again is not used again");
        for (auto& master : pair.masters) master.done.clear();
    }
    traffic.errors_allowed = false;
    run(3000);
    traffic.rest();
    std::printf(
        "{\"answer_after\": %u, \"rounds\": %u, \"outstanding\": %llu, \"errors\": %llu, \"late\": %llu, "
        "\"longest\": %llu, \"downs\": %llu}\n",
        kAnswerAfter, kRounds, static_cast<unsigned long long>(outstanding),
        static_cast<unsigned long long>(traffic.errors), static_cast<unsigned long long>(late),
        static_cast<unsigned long long>(longest), static_cast<unsigned long long>(pair.sum_of_links(0x108)));
}

// All memories answer ids that asked them nothing, beside what they were asked. Nothing is wrong or late for
// it, and the links come up again.
inline void strays(std::uint64_t seed) {
    Pair pair({.latency = 20}, {.latency = 12, .spread = 20}, 0, seed);
    // The checker of a memory's port says that such answers are wrong.
    pair.top().contextp()->assertOn(false);
    for (auto& memory : pair.memories) memory.stray_percent = 30;
    pair.bring_up();
    Traffic traffic(pair, seed);
    constexpr unsigned kRounds = 6;
    for (unsigned round = 0; round < kRounds; ++round) {
        for (unsigned i = 0; i < 3000; ++i) {
            traffic.feed();
            pair.cycle();
        }
        traffic.rest();
        pair.write(true, 0x008, 0);
        for (unsigned i = 0; i < 100; ++i) pair.cycle();
        pair.write(true, 0x008, (1U << kLinks) - 1);
        for (unsigned waited = 0; pair.read(true, 0x00C) != (1U << kLinks) - 1; ++waited)
            if (waited > 300'000) fail("a link does not come up again beside a memory that answers nobody");
    }
    traffic.read_all();
    std::uint64_t strays = 0;
    for (const auto& memory : pair.memories) strays += memory.strays;
    std::printf("{\"rounds\": %u, \"transactions\": %llu, \"errors\": %llu, \"strays\": %llu}\n", kRounds,
                static_cast<unsigned long long>(traffic.finished),
                static_cast<unsigned long long>(traffic.errors), static_cast<unsigned long long>(strays));
}

// A window is closed, its segment too, while accesses are under way to a slow memory. After the fence nothing
// of them reaches the memory. The link may go down in between; then the mBlock says when nothing is under
// way.
inline void fence(std::uint64_t seed) {
    unsigned rounds = 0;
    unsigned waited_for = 0;
    for (const bool cut : {false, true}) {
        for (unsigned round = 0; round < 6; ++round) {
            Pair pair({.latency = 20}, {.latency = 3000, .spread = 500}, 0, seed + round);
            pair.bring_up(2048);
            auto& master = pair.masters[0];
            auto& memory = pair.memories[0];
            for (unsigned i = 0; i < 40; ++i) {
                const Address address{
                    .addr = Pair::kLpa + 256ULL * i, .id = static_cast<std::uint16_t>(i), .len = 15};
                if (i % 3 == 0)
                    master.read(address);
                else
                    master.write(address, false);
            }
            for (unsigned i = 0; i < 150 + 60 * round; ++i) pair.cycle();
            if (cut) pair.cut(0, true);
            pair.write(true, 0x408, 0);   // the window
            pair.write(false, 0x408, 0);  // its segment
            pair.write(true, 0x018, 1);
            unsigned looks = 0;
            while (pair.read(true, 0x018) != 0)
                if (++looks > 100'000) fail("the fence does not end");
            if ((pair.read(false, 0x00C) & 1) == 0) {
                while ((pair.read(false, 0x020) & 1) != 0)
                    if (++looks > 100'000) fail("the memory is busy for ever");
            }
            waited_for += looks > 3;
            const auto written = memory.bytes_done;
            // What was not taken yet meets a closed window.
            pair.finish();
            for (unsigned i = 0; i < 6000; ++i) pair.cycle();
            if (memory.bytes_done != written) fail("a write was carried out after the fence");
            ++rounds;
        }
    }
    std::printf("{\"rounds\": %u, \"waited_for\": %u}\n", rounds, waited_for);
}

// What a request cannot say is refused: exclusive accesses, and windows that are larger than an offset.
inline void unsaid() {
    Pair pair({}, {.latency = 5});
    pair.bring_up();
    unsigned refused = 0;
    for (const bool write : {false, true}) {
        const Address exclusive{.addr = Pair::kLpa, .lock = true};
        refused += one(pair, exclusive, write).resp == 2;
        if (one(pair, {.addr = Pair::kLpa}, write).resp != 0) fail("an access as all is refused");
    }
    if (pair.memories[0].write_bursts + pair.memories[0].read_bursts != 2)
        fail("an exclusive access went on");
    // A window of a page more than 256 MiB: its last page would come out as its first.
    const std::uint64_t first = Pair::kLpa + 0x10'0000'0000;
    pair.write(true, 0x420, static_cast<std::uint32_t>(first >> 12));
    pair.write(true, 0x424, static_cast<std::uint32_t>((first >> 12) + 0x1'0000));
    pair.write(true, 0x428, 7);
    unsigned unmapped = 0;
    for (const std::uint64_t at : {first, first + 0x1000'0000})
        for (const bool write : {false, true}) unmapped += one(pair, {.addr = at}, write).resp == 3;
    pair.write(true, 0x424, static_cast<std::uint32_t>((first >> 12) + 0xFFFF));
    if (one(pair, {.addr = first + 0xFFF'FFF0}, true).resp != 0) fail("a window of 256 MiB does not work");
    // Device memory stays that, all else becomes normal memory that is not cached.
    unsigned attributes = 0;
    for (unsigned cache = 0; cache < 16; ++cache) {
        if (cache > 3 && (cache & 2) == 0) continue;  // AXI4 has no such
        for (const bool write : {false, true}) {
            if (one(pair, {.addr = Pair::kLpa, .cache = static_cast<std::uint8_t>(cache)}, write).resp != 0)
                fail("an access with attributes is refused");
            const unsigned came =
                write ? pair.memories[0].last_write_cache : pair.memories[0].last_read_cache;
            attributes += came == (cache >= 2 ? 3U : 0U);
        }
    }
    std::printf("{\"exclusive_refused\": %u, \"too_large_unmapped\": %u, \"attributes\": %u}\n", refused,
                unmapped, attributes);
}

}  // namespace sim
