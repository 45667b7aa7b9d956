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

struct LatestResult {
    consort::linux_port::Table<Sample> idle;
    consort::linux_port::Table<Sample> flat;
    std::uint64_t torn = 0;
    std::uint64_t backward = 0;
    std::uint64_t max_retries = 0;
    std::uint64_t updates = 0;
    LatestResult(const std::string& name, std::size_t reads)
        : idle(name + "-idle", reads), flat(name + "-flat", reads) {
        idle.field("ticks", &Sample::ticks);
        flat.field("ticks", &Sample::ticks);
    }
};

// `reads` reads that copy, first with a writer that publishes one value and waits (idle: the value lies in
// the other core's cache, as it does in the second part), then with one that never pauses. The second part
// ends after `seconds`.
template <class Cell>
LatestResult measure_latest(const std::string& name, std::size_t reads, double seconds, int writer_cpu) {
    LatestResult result(name, reads);
    const auto cell = std::make_unique<Cell>();
    alignas(64) std::atomic<std::uint64_t> wanted{0};
    alignas(64) std::atomic<std::uint64_t> published{0};
    alignas(64) std::atomic<bool> stop{false};
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
                consort::isa::relax();
            }
        }
        result.updates = n;
    });
    Numbers value{};
    std::uint64_t last = 0;
    const auto timed = [&](consort::linux_port::Table<Sample>& table) {
        std::uint64_t retries = 0;
        const std::uint64_t from = Clock::begin();
        const bool fresh = cell->read(value, retries);
        const std::uint64_t ticks = Clock::end() - from;
        if (fresh) {
            table.push({static_cast<std::uint32_t>(ticks < 0xffffffffU ? ticks : 0xffffffffU)});
            result.torn += value.torn() ? 1 : 0;
            result.backward += value.value[0] < last ? 1 : 0;
            last = value.value[0];
            result.max_retries = retries > result.max_retries ? retries : result.max_retries;
        }
    };
    for (std::size_t i = 1; i <= reads; ++i) {
        wanted.store(i, std::memory_order_release);
        while (published.load(std::memory_order_acquire) != i) {
            consort::isa::relax();
        }
        timed(result.idle);
    }
    wanted.store(flat_out, std::memory_order_release);
    const std::uint64_t end = Clock::now() + Clock::from_ns(static_cast<std::uint64_t>(seconds * 1e9));
    std::thread ender;
    if constexpr (requires { cell->stop; }) {
        ender = std::thread([&] {
            while (Clock::now() < end) {
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
            }
            cell->stop = true;
        });
    }
    while (result.flat.size() < reads && Clock::now() < end) {
        timed(result.flat);
    }
    if (ender.joinable()) {
        ender.join();
    }
    stop = true;
    writer.join();
    return result;
}

}  // namespace bench
