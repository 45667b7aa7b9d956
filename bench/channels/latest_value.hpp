// SPDX-License-Identifier: Apache-2.0
//
// The latest value of a writer that never pauses: how long reads take, and whether any is torn or goes back.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <thread>

#include "consort/icc.hpp"
#include "harness.hpp"

namespace bench {

// 1 KiB of equal numbers: a torn read shows two of them.
struct Numbers {
    std::array<std::uint64_t, 128> value;

    static Numbers of(std::uint64_t n) {
        Numbers all{};
        all.value.fill(n);
        return all;
    }
    [[nodiscard]] bool torn() const {
        std::uint64_t differs = 0;
        for (const std::uint64_t v : value) {
            differs |= v ^ value[0];
        }
        return differs != 0;
    }
};

struct SnapshotCell {
    using S = consort::Snapshot<Numbers, 1>;
    S::Shared shared{};
    S::Writer writer{shared};
    S::Reader reader{shared, 0};
    void write(const Numbers& n) { writer.update(n); }
    // Retries are 0: there are none. False: nothing newer.
    bool read(Numbers& n, std::uint64_t& retries) {
        retries = 0;
        return reader.read(n) == consort::Status::ok;
    }
};

struct DoubleBufferCell {
    using B = consort::DoubleBuffer<Numbers>;
    B::Shared shared{};
    B::Writer writer{shared};
    B::Reader reader{shared};
    void write(const Numbers& n) { writer.update(n); }
    bool read(Numbers& n, std::uint64_t& retries) {
        retries = 0;
        return reader.read_latest(n) == consort::Status::ok;
    }
};

// The usual repair: a counter that is odd while the writer writes; the reader tries again until it saw the
// same even one before and after. Copied word by word, as a plain copy would be a data race.
struct SeqlockCell {
    alignas(64) std::atomic<std::uint32_t> sequence{0};
    alignas(64) std::array<std::atomic<std::uint64_t>, 128> words{};
    void write(const Numbers& n) {
        const std::uint32_t before = sequence.load(std::memory_order_relaxed);
        sequence.store(before + 1, std::memory_order_relaxed);
        std::atomic_thread_fence(std::memory_order_release);
        for (std::size_t i = 0; i < words.size(); ++i) {
            words[i].store(n.value[i], std::memory_order_relaxed);
        }
        sequence.store(before + 2, std::memory_order_release);
    }
    bool read(Numbers& n, std::uint64_t& retries) {
        for (retries = 0;; ++retries) {
            const std::uint32_t before = sequence.load(std::memory_order_acquire);
            for (std::size_t i = 0; i < words.size(); ++i) {
                n.value[i] = words[i].load(std::memory_order_relaxed);
            }
            std::atomic_thread_fence(std::memory_order_acquire);
            if ((before & 1U) == 0 && sequence.load(std::memory_order_relaxed) == before) {
                return true;
            }
            // A writer that never pauses would keep a reader here for ever; the benchmark has an end.
            if (stop.load(std::memory_order_relaxed)) {
                return false;
            }
        }
    }
    alignas(64) std::atomic<bool> stop{false};
};

// A read and the round that it was of.
struct LatestSample {
    std::uint32_t ticks;
    std::uint32_t round;
};

struct LatestResult {
    consort::linux_port::Table<LatestSample> idle;
    consort::linux_port::Table<LatestSample> flat;
    std::uint64_t torn = 0;
    std::uint64_t backward = 0;
    std::uint64_t max_retries = 0;
    std::uint64_t updates = 0;
    LatestResult(const std::string& name, std::size_t reads)
        : idle(name + "-idle", reads), flat(name + "-flat", reads) {
        for (auto* table : {&idle, &flat}) {
            table->field("ticks", &LatestSample::ticks);
            table->field("round", &LatestSample::round);
        }
    }
};

// Idle and flat reads take turns, so that both meet the same interruptions of the machine.
constexpr std::uint32_t latest_rounds = 20;

// `reads` reads that copy with a writer that publishes one value and waits (idle: the value lies in the other
// core's cache, as it does otherwise), and as many with one that never pauses, in rounds of both. Those of
// the second kind take at most `seconds` together.
template <class Cell>
LatestResult measure_latest(const std::string& name, std::size_t reads, double seconds, int writer_cpu) {
    LatestResult result(name, reads);
    const auto cell = std::make_unique<Cell>();
    alignas(64) std::atomic<std::uint64_t> wanted{0};
    alignas(64) std::atomic<std::uint64_t> published{0};
    alignas(64) std::atomic<bool> stop{false};
    // The writer has seen that nothing more is wanted, and `published` is its last number.
    alignas(64) std::atomic<bool> rests{false};
    constexpr std::uint64_t flat_out = ~std::uint64_t{0};
    std::thread writer([&] {
        consort::linux_port::RealtimeOptions options;
        options.cpu = writer_cpu;
        options.policy = SCHED_OTHER;
        options.priority = 0;
        const consort::linux_port::RealtimeGuard pinned(options);
        std::uint64_t n = 0;
        while (!stop.load(std::memory_order_relaxed)) {
            const std::uint64_t want = wanted.load(std::memory_order_acquire);
            if (n < want) {
                cell->write(Numbers::of(++n));
                published.store(n, std::memory_order_release);
            } else {
                rests.store(true, std::memory_order_release);
                consort::isa::relax();
            }
        }
        result.updates = n;
    });
    Numbers value{};
    std::uint64_t last = 0;
    std::uint32_t round = 0;
    const auto timed = [&](consort::linux_port::Table<LatestSample>& table) {
        std::uint64_t retries = 0;
        const std::uint64_t from = Clock::begin();
        const bool fresh = cell->read(value, retries);
        const std::uint64_t ticks = Clock::end() - from;
        if (fresh) {
            table.push({static_cast<std::uint32_t>(ticks < 0xffffffffU ? ticks : 0xffffffffU), round});
            result.torn += value.torn() ? 1 : 0;
            result.backward += value.value[0] < last ? 1 : 0;
            last = value.value[0];
            result.max_retries = retries > result.max_retries ? retries : result.max_retries;
        }
    };
    const auto let = Clock::from_ns(static_cast<std::uint64_t>(seconds * 1e9 / latest_rounds));
    for (round = 0; round < latest_rounds; ++round) {
        const std::size_t share = reads * (round + 1) / latest_rounds;
        for (std::uint64_t number = published.load(std::memory_order_acquire); result.idle.size() < share;) {
            wanted.store(++number, std::memory_order_release);
            while (published.load(std::memory_order_acquire) != number) {
                consort::isa::relax();
            }
            timed(result.idle);
        }
        wanted.store(flat_out, std::memory_order_release);
        const std::uint64_t end = Clock::now() + let;
        std::thread ender;
        if constexpr (requires { cell->stop; }) {
            cell->stop = false;
            ender = std::thread([&] {
                while (Clock::now() < end) {
                    std::this_thread::sleep_for(std::chrono::milliseconds(1));
                }
                cell->stop = true;
            });
        }
        while (result.flat.size() < share && Clock::now() < end) {
            timed(result.flat);
        }
        if (ender.joinable()) {
            ender.join();
        }
        rests.store(false, std::memory_order_relaxed);
        wanted.store(0, std::memory_order_release);
        while (!rests.load(std::memory_order_acquire)) {
            consort::isa::relax();
        }
    }
    stop = true;
    writer.join();
    return result;
}

}  // namespace bench
