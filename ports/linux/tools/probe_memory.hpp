// SPDX-License-Identifier: Apache-2.0
//
// Measures accesses to shared memory from one processor: a word that no cache holds, and a block that is
// copied out of it. Alone, and with a memory stream on every other processor.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "consort/icc/wire.hpp"
#include "consort/linux/cpus.hpp"
#include "consort/linux/json.hpp"
#include "consort/linux/shared_memory.hpp"
#include "memory_stream.hpp"
#include "probe_thread.hpp"

namespace consort::linux_port {

// Shared memory whose lines form one random cycle: each holds the number of the next one to visit. No
// prefetcher follows it, and no line is visited again before all others were.
class LineCycle {
  public:
    explicit LineCycle(std::size_t bytes)
        : memory_(SharedMemory::anonymous("consort-probe", bytes)), lines_(bytes / line_bytes) {
        std::vector<std::uint32_t> order(lines_);
        std::iota(order.begin(), order.end(), 0U);
        // The same order in every run: what differs between two runs is the machine.
        std::mt19937 random(1);
        std::shuffle(order.begin() + 1, order.end(), random);
        for (std::size_t i = 0; i < lines_; ++i) {
            word(order[i]) = order[(i + 1) % lines_];
        }
    }

    [[nodiscard]] std::uint32_t next(std::uint32_t line) const noexcept { return word(line); }
    [[nodiscard]] const unsigned char* bytes() const noexcept {
        return static_cast<const unsigned char*>(memory_.base());
    }
    [[nodiscard]] std::size_t size() const noexcept { return lines_ * line_bytes; }

  private:
    [[nodiscard]] volatile std::uint32_t& word(std::size_t line) const noexcept {
        return *reinterpret_cast<volatile std::uint32_t*>(static_cast<unsigned char*>(memory_.base()) +
                                                          line * line_bytes);
    }

    SharedMemory memory_;
    std::size_t lines_;
};

// Streams of memory on the given processors, in the ordinary class, for as long as this exists.
class MemoryLoad {
  public:
    explicit MemoryLoad(const CpuList& cpus) {
        for (const int cpu : cpus) {
            threads_.emplace_back([this, cpu] {
                set_affinity({cpu});
                MemoryStream stream(std::size_t{32} << 20U);
                running_.fetch_add(1);
                stream.run(stop_, moved_);
            });
        }
        while (running_.load() < cpus.size()) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
    }
    MemoryLoad(const MemoryLoad&) = delete;
    MemoryLoad& operator=(const MemoryLoad&) = delete;
    ~MemoryLoad() {
        stop_.store(true);
        for (std::thread& thread : threads_) {
            thread.join();
        }
    }

  private:
    std::atomic<bool> stop_{false};
    std::atomic<std::uint64_t> moved_{0};
    std::atomic<std::size_t> running_{0};
    std::vector<std::thread> threads_;
};

// The block that is copied: a page, which is one access in the descriptions' sense.
constexpr std::size_t probe_block_bytes = 4096;

inline json::Value probe_memory(int cpu, const LineCycle& cycle, const CpuList& others,
                                const ProbeOptions& options) {
    Series access(options.samples);
    Series copy(options.samples);
    std::unique_ptr<MemoryLoad> load;
    if (!others.empty()) {
        load = std::make_unique<MemoryLoad>(others);
    }
    const auto body = [&] {
        std::uint32_t line = 0;
        auto* local = new unsigned char[probe_block_bytes]();
        for (std::size_t i = 0; i < options.samples; ++i) {
            const std::uint64_t begin = Clock::begin();
            line = cycle.next(line);
            access.add(Clock::end() - begin);
            // Pages in the cycle's order, which is random: a block is as cold as its page.
            const std::size_t at = std::size_t{line} * line_bytes / probe_block_bytes * probe_block_bytes;
            const std::size_t from = (at + cycle.size() / 2) % (cycle.size() - probe_block_bytes);
            const std::uint64_t before = Clock::begin();
            std::memcpy(local, cycle.bytes() + from, probe_block_bytes);
            asm volatile("" : : "r"(local) : "memory");
            copy.add(Clock::end() - before);
            if (i % 256 == 255) {
                // Leave the processor now and then: what is limited is the time in one piece.
                std::this_thread::sleep_for(std::chrono::microseconds(200));
            }
        }
        delete[] local;
    };
    const std::string refusal =
        run_threads({{cpu, options.policy == SCHED_FIFO ? options.priority : 0, body}});
    if (!refusal.empty()) {
        return json::object({{"cpu", cpu}, {"refused", refusal}});
    }
    return json::object({{"cpu", cpu},
                         {"loaded_by", others},
                         {"memory_bytes", cycle.size()},
                         {"block_bytes", probe_block_bytes},
                         {"access", access.summary(options.interruption_ns)},
                         {"copy", copy.summary(options.interruption_ns)}});
}

}  // namespace consort::linux_port
