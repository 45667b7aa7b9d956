// SPDX-License-Identifier: Apache-2.0
// A borrower that writes frames as data, a wire that passes control frames alone, and blocks that are reset
// by themselves: what a link must not be taken in by.
#pragma once

#include <algorithm>
#include <span>

#include "traffic.hpp"

namespace sim {

// A beat of 128 bits on the wire.
struct WireBeat {
    std::uint64_t low, high;
};

// CRC-32 as the frames have it: of all bytes, without the inversion at the end.
inline std::uint32_t crc_of(std::span<const std::uint8_t> bytes) {
    std::uint32_t crc = ~0U;
    for (const std::uint8_t byte : bytes) {
        crc ^= byte;
        for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ ((crc & 1) != 0 ? 0xEDB8'8320U : 0U);
    }
    return crc;
}

constexpr WireBeat kResync = {0x6A83'F05C'1B7E'44AF, 0xC0A5'0F37'9E11'D24B};

// A ResyncBeat and after it a good frame of one unit with this content (72 bits, low and high 32 and 40).
inline void forge(std::vector<WireBeat>& beats, unsigned seq, unsigned ack, std::uint32_t meta_low,
                  std::uint64_t meta_high, const Data& unit) {
    std::uint64_t half[2];
    std::memcpy(half, unit.data(), sizeof half);
    const std::uint64_t header = 1 | 1U << 3 | seq << 8 | ack << 16 | meta_high << 24;
    WireBeat frame[2] = {{header, half[0]}, {half[1], meta_low}};
    std::uint8_t bytes[28];
    std::memcpy(bytes, frame, sizeof bytes);
    frame[1].high |= static_cast<std::uint64_t>(crc_of(bytes)) << 32;
    beats.push_back(kResync);
    beats.insert(beats.end(), frame, frame + 2);
}

// Units of data that lie on the wire as these beats: each unit is half a beat further up.
inline std::vector<std::uint8_t> as_data(const std::vector<WireBeat>& beats) {
    std::vector<std::uint8_t> bytes(16 * beats.size());
    std::memcpy(bytes.data(), &beats[0].high, 8);
    for (std::size_t i = 1; i < beats.size(); ++i) std::memcpy(&bytes[16 * i - 8], &beats[i], 16);
    return bytes;
}

// A borrower fills its segment with forged requests to another segment and forged answers, and reads them
// back, over a wire with errors; beside them goes honest traffic of the same port. A try is a forged frame on
// the wire.
inline void attack(std::uint64_t tries, double bit_error_rate, std::uint64_t seed) {
    Pair pair({}, {.latency = 12}, 0, seed);
    pair.bring_up(20'000);
    // The victim: segment 1 of the link, which no window reaches.
    constexpr std::uint64_t kVictim = 0x3000'0000;
    pair.write(false, 0x410, kVictim >> 12);
    pair.write(false, 0x414, 0xFFFF);
    pair.write(false, 0x418, 7);
    pair.set({.flip = of_word(bit_error_rate)});
    Random random(seed);
    auto& master = pair.masters[0];
    constexpr unsigned kBeats = 256;
    constexpr std::uint64_t kOwn = Pair::kLpa + 0x10'0000;
    std::uint64_t sent = 0;
    std::uint64_t honest = 0;
    std::uint64_t wrong = 0;
    while (sent < tries) {
        std::vector<WireBeat> beats;
        const bool answers = random.chance(50);
        while (beats.size() + 3 <= 16) {
            Data unit;
            unit.fill(0xEE);
            const unsigned seq = random.below(256);
            if (answers) {
                // Data of a read, for a tag of the port.
                const std::uint32_t part = 1 | random.below(64) << 2;
                forge(beats, seq, seq, part, 0, unit);
            } else {
                // A write of a beat of 16 bytes to segment 1.
                const std::uint64_t request = 2 | random.below(64) << 2 | 1U << 10 |
                                              static_cast<std::uint64_t>(random.below(64) * 16) << 18 |
                                              4ULL << 54 | 1ULL << 57;
                forge(beats, seq, seq, static_cast<std::uint32_t>(request), request >> 32, unit);
            }
        }
        // Each message of a burst has 16 beats, so every 16 of them lie on the wire alike.
        beats.resize(16, kResync);
        std::vector<std::uint8_t> burst;
        for (unsigned i = 0; i < kBeats / 16; ++i) {
            const auto part = as_data(beats);
            burst.insert(burst.end(), part.begin(), part.end());
        }
        const Address own{.addr = kOwn + 4096ULL * random.below(16), .id = 1, .len = kBeats - 1};
        master.write(own, burst.data(), burst.size());
        const Address other{.addr = Pair::kLpa + 64ULL * random.below(64), .id = 2, .len = 3};
        master.write(other, true);
        pair.finish(200'000);
        master.read(own);
        for (unsigned i = 0; i < 8; ++i)
            master.read({.addr = Pair::kLpa + 64ULL * random.below(64), .id = 2, .len = 3});
        pair.finish(200'000);
        for (const auto& done : master.done) wrong += done.resp != 0;
        honest += 10;
        master.done.clear();
        // On the way there and on the way back.
        sent += 2 * (kBeats / 16) * 5;
    }
    std::uint64_t reached = 0;
    for (std::uint64_t at = kVictim; at < kVictim + 1024; ++at) reached += pair.memories[0].store.at(at) != 0;
    std::printf(
        "{\"tries\": %llu, \"reached\": %llu, \"honest\": %llu, \"errors\": %llu, \"corrupted\": %llu, "
        "\"bad_frames\": %llu, \"refused\": %u, \"downs\": %llu}\n",
        static_cast<unsigned long long>(sent), static_cast<unsigned long long>(reached),
        static_cast<unsigned long long>(honest), static_cast<unsigned long long>(wrong),
        static_cast<unsigned long long>(pair.corrupted()),
        static_cast<unsigned long long>(pair.sum_of_links(0x100)), pair.read(false, 0x10C),
        static_cast<unsigned long long>(pair.sum_of_links(0x108)));
}

// A bit of the PHY that is stuck at 0, in either direction: control frames pass as they are, most frames of
// data are corrupted again and again. All accesses end in bounded time.
inline void stuck() {
    constexpr unsigned kDownAfter = 4096;
    // Of a tail's content: a request's tag, an answer's length; 0 in every control frame and in a ResyncBeat.
    constexpr std::uint8_t kBit[] = {66, 77};
    std::printf("[");
    for (const unsigned direction : {0U, 1U}) {
        Pair pair({.latency = 20}, {.latency = 12});
        pair.bring_up(kDownAfter);
        auto& master = pair.masters[0];
        for (unsigned i = 0; i < 200; ++i) {
            const Address address{
                .addr = Pair::kLpa + 64ULL * i, .id = static_cast<std::uint16_t>(i % 16), .len = 3};
            if (i % 2 == 0)
                master.write(address, false);
            else
                master.read(address);
        }
        for (unsigned i = 0; i < 150; ++i) pair.cycle();
        pair.top().stuck_i[direction] = kBit[direction];
        const auto since = pair.now;
        pair.finish(400'000);
        const auto took = pair.now - since;
        std::uint64_t errors = 0;
        for (const auto& done : master.done) errors += done.resp != 0;
        std::printf("%s{\"down_after\": %u, \"cycles\": %llu, \"errors\": %llu, \"replays\": %llu}",
                    direction == 0 ? "" : ",\n", kDownAfter, static_cast<unsigned long long>(took),
                    static_cast<unsigned long long>(errors),
                    static_cast<unsigned long long>(pair.sum_of_links(0x104)));
        // Mended, it works again.
        pair.top().stuck_i[direction] = 0;
        pair.wait_up();
        master.done.clear();
        if (one(pair, {.addr = Pair::kLpa}, true).resp != 0) fail("a restored link does not work");
    }
    std::printf("]\n");
}

// Either block is reset alone, again and again, while the other waits for a shorter or much longer time. The
// link comes up with a new session each time: accesses end, and are right.
inline void resets() {
    struct Times {
        unsigned cblock, mblock;
    };
    std::uint64_t accesses = 0;
    std::uint64_t longest = 0;
    for (const Times& times : {Times{2048, 2048}, Times{2048, 1'000'000}, Times{12'000, 1500}}) {
        for (const bool cblock : {true, false}) {
            Pair pair({.latency = 30}, {.latency = 12});
            pair.bring_up();
            const auto set_times = [&] {
                pair.write_all(true, 0x014, times.cblock);
                pair.write_all(false, 0x014, times.mblock);
            };
            set_times();
            auto& master = pair.masters[0];
            for (unsigned round = 0; round < 4; ++round) {
                // Some frames, so that the numbers of the old session are not those of a new one.
                for (unsigned i = 0; i < 20 + round; ++i) {
                    const Address address{.addr = Pair::kLpa + 16ULL * i,
                                          .id = static_cast<std::uint16_t>(i)};
                    if (round % 2 == 0)
                        master.write(address, false);
                    else
                        master.read(address);
                    const auto since = pair.now;
                    pair.finish(100'000);
                    longest = std::max(longest, pair.now - since);
                    ++accesses;
                }
                for (const auto& done : master.done)
                    if (done.resp != 0) fail("an access in a new session ends with an error");
                master.done.clear();
                (cblock ? pair.top().c_reset_i : pair.top().m_reset_i) = 1;
                for (unsigned i = 0; i < 3; ++i) pair.cycle();
                (cblock ? pair.top().c_reset_i : pair.top().m_reset_i) = 0;
                for (unsigned l = 0; l < kLinks; ++l)
                    for (unsigned p = 0; p < kPorts; ++p) pair.open(p, l, p, 0, true, true);
                set_times();
                pair.write_all(cblock, 0x008, (1U << kLinks) - 1);
                // An end that was not reset finds out in its time.
                for (unsigned waited = 0; waited < 4 * std::max(times.cblock, 2048U); ++waited) pair.cycle();
                pair.wait_up();
                if (pair.read(true, 0x110) != times.mblock || pair.read(false, 0x110) != times.cblock)
                    fail("an end does not know how long the other waits");
            }
        }
    }
    std::printf("{\"accesses\": %llu, \"longest\": %llu}\n", static_cast<unsigned long long>(accesses),
                static_cast<unsigned long long>(longest));
}

}  // namespace sim
