// SPDX-License-Identifier: Apache-2.0
//
// A peer on another core that stores to shared memory without a pause, as the fuzzer's bytes say.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "input.hpp"

namespace consort::fuzz {

class Attacker {
  public:
    // Alternates between the given words' present values and the fuzzer's, up to 32 of them.
    Attacker(const Memory& memory, Input& input) : memory_(&memory) {
        while (!input.empty() && stores_.size() < 32) {
            const auto word = static_cast<std::uint32_t>(input.take<std::uint16_t>());
            Store store{word, 0, input.take<std::uint32_t>()};
            const auto* words = reinterpret_cast<const std::uint32_t*>(memory.base());
            store.before = words[word % (memory.bytes() / 4)];
            stores_.push_back(store);
        }
        thread_ = std::thread([this] { run(); });
        while (!running_.load(std::memory_order_acquire)) {
        }
    }
    Attacker(const Attacker&) = delete;
    Attacker& operator=(const Attacker&) = delete;
    Attacker(Attacker&&) = delete;
    Attacker& operator=(Attacker&&) = delete;
    ~Attacker() {
        stop_.store(true, std::memory_order_relaxed);
        thread_.join();
    }

  private:
    struct Store {
        std::uint32_t word, before, value;
    };
    void run() {
        running_.store(true, std::memory_order_release);
        while (!stop_.load(std::memory_order_relaxed)) {
            for (const Store& store : stores_) {
                memory_->poke(store.word, store.value);
            }
            for (const Store& store : stores_) {
                memory_->poke(store.word, store.before);
            }
        }
    }

    const Memory* memory_;
    std::vector<Store> stores_;
    std::atomic<bool> running_{false};
    std::atomic<bool> stop_{false};
    std::thread thread_;
};

}  // namespace consort::fuzz
