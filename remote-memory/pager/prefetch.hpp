// SPDX-License-Identifier: Apache-2.0
//
// Which pages a program will want next, from those that it wanted, and which it wanted at all. Both are
// called in signal handlers, by several threads at once; what they then lose is a guess.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "transport.hpp"

namespace consort::remote {

// Faults that go through memory in equal steps, forwards or backwards. A sequence by whole pages is taken up
// at its second fault, one with another step at its third; each fault of it brings twice as many pages as the
// one before.
class Sequences {
  public:
    // The pages that a fault on this page should bring, at most `most`.
    Run expected(std::uint32_t page, std::uint32_t most) noexcept {
        for (Sequence& each : all_) {
            if (each.next.load(relaxed) == page) {
                const std::uint32_t window = std::min(most, each.window.load(relaxed) * 2);
                each.window.store(window, relaxed);
                return {page, window, each.stride.load(relaxed)};
            }
        }
        if (most == 1) {
            return {page, 1};
        }
        const std::int32_t stride = stride_of(page);
        Sequence& oldest = all_[turn_.fetch_add(1, relaxed) % all_.size()];
        oldest.window.store(1, relaxed);
        oldest.stride.store(stride, relaxed);
        oldest.next.store(page, relaxed);
        return {page, 1, stride};
    }

    // It brought these pages: the next fault of this sequence is behind them.
    void brought(const Run& run) noexcept {
        for (Sequence& each : all_) {
            if (each.next.load(relaxed) == run.first) {
                each.next.store(run.page(run.count), relaxed);
                return;
            }
        }
    }

  private:
    static constexpr auto relaxed = std::memory_order_relaxed;
    static constexpr std::int32_t longest_step = 4096;
    struct Sequence {
        std::atomic<std::uint32_t> next{UINT32_MAX};
        std::atomic<std::uint32_t> window{1};
        std::atomic<std::int32_t> stride{1};
    };

    // The step by which this page and two of the last faults follow each other; else 1, the most likely one.
    std::int32_t stride_of(std::uint32_t page) noexcept {
        std::int32_t found = 1;
        for (const auto& one : recent_) {
            const auto step = static_cast<std::int32_t>(page - one.load(relaxed));
            if (step == 0 || step == 1 || step > longest_step || step < -longest_step) {
                continue;
            }
            for (const auto& other : recent_) {
                found =
                    static_cast<std::int32_t>(one.load(relaxed) - other.load(relaxed)) == step ? step : found;
            }
        }
        recent_[place_.fetch_add(1, relaxed) % recent_.size()].store(page, relaxed);
        return found;
    }

    std::array<Sequence, 4> all_;
    std::atomic<std::uint32_t> turn_{0};
    std::array<std::atomic<std::uint32_t>, 8> recent_{0x80000000, 0x90000000, 0xa0000000, 0xb0000000,
                                                      0xc0000000, 0xd0000000, 0xe0000000, 0xf0000000};
    std::atomic<std::uint32_t> place_{0};
};

// The pages that came, each once.
class Recorder {
  public:
    explicit Recorder(std::uint32_t pages)
        : seen_(pages == 0 ? nullptr : new std::atomic<bool>[pages]()),
          order_(pages == 0 ? nullptr : new std::atomic<std::uint32_t>[pages]()) {}

    void note(const Run& run) noexcept {
        for (std::uint32_t i = 0; seen_ != nullptr && i < run.count; ++i) {
            if (!seen_[run.page(i)].exchange(true, std::memory_order_relaxed)) {
                order_[used_.fetch_add(1, std::memory_order_relaxed)].store(run.page(i) + 1,
                                                                            std::memory_order_release);
            }
        }
    }
    [[nodiscard]] std::vector<std::uint32_t> pages() const {
        std::vector<std::uint32_t> made;
        const std::uint32_t used = used_.load(std::memory_order_relaxed);
        for (std::uint32_t i = 0; i < used; ++i) {
            // 0: a thread is just writing it.
            if (const std::uint32_t page = order_[i].load(std::memory_order_acquire); page != 0) {
                made.push_back(page - 1);
            }
        }
        return made;
    }

  private:
    std::unique_ptr<std::atomic<bool>[]> seen_;
    std::unique_ptr<std::atomic<std::uint32_t>[]> order_;
    std::atomic<std::uint32_t> used_{0};
};

}  // namespace consort::remote
