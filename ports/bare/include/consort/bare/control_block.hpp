// SPDX-License-Identifier: Apache-2.0
//
// The control block of a core: where the host leaves orders before the core starts, and reads its report.
//
// One page of the shared window for each core or process of an application. Words and lines follow the wire
// rules (consort/icc/wire.hpp): aligned 32-bit little-endian, one writer a line. Orders are complete before
// the core is released, a report's words before its state says so.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "consort/icc/wire.hpp"
#include "consort/port.hpp"

namespace consort::bare {

enum class State : std::uint32_t {
    silent = 0,   // the core has not reached its program
    running = 1,  // it has read its orders
    done = 2,     // its program came to its end
    failed = 3,   // it gave up; the report's text says why
};

class ControlBlock {
  public:
    static constexpr std::uint32_t magic_number = 0x4b534443;  // "CDSK"
    static constexpr std::size_t bytes = 4096;
    static constexpr std::uint32_t arguments = 14;  // beside the role
    static constexpr std::uint32_t more_arguments = 448;
    static constexpr std::uint32_t results = 16;
    static constexpr std::uint32_t text_bytes = 256;

    explicit ControlBlock(void* page) noexcept : layout_(static_cast<Layout*>(page)) {}

    // False: nobody has given this core orders.
    [[nodiscard]] bool ordered() const noexcept { return load(layout_->magic) == magic_number; }
    // The program's role; its meaning is the program's.
    [[nodiscard]] std::uint32_t role() const noexcept { return load(layout_->role); }
    [[nodiscard]] std::uint32_t argument(std::uint32_t i) const noexcept {
        return load(i < arguments ? layout_->argument[i] : layout_->more[i - arguments]);
    }

    // Raised by the host: the program is to end.
    [[nodiscard]] bool stop_requested() const noexcept { return load(layout_->stop) != 0; }

    void progress(std::uint32_t value) noexcept { store(layout_->progress, value); }
    void result(std::uint32_t i, std::uint32_t value) noexcept { store(layout_->result[i], value); }
    void text(const char* text) noexcept {
        std::uint32_t length = 0;
        while (text[length] != '\0' && length + 1 < text_bytes) {
            ++length;
        }
        // Word by word: the window may be device memory.
        for (std::uint32_t at = 0; at < text_bytes; at += 4) {
            std::uint32_t word = 0;
            for (std::uint32_t i = 0; i < 4 && at + i < length; ++i) {
                word |= std::uint32_t{static_cast<unsigned char>(text[at + i])} << (8 * i);
            }
            store(layout_->text[at / 4], word);
        }
    }
    void state(State state) noexcept {
        isa::system_barrier();
        store(layout_->state, static_cast<std::uint32_t>(state));
        isa::system_barrier();
    }

  private:
    using Word = std::atomic<std::uint32_t>;
    struct Layout {
        // Written by the host.
        alignas(line_bytes) Word magic;
        Word role;
        Word argument[arguments];
        alignas(line_bytes) Word stop;
        // Written by the core.
        alignas(line_bytes) Word state;
        Word progress;
        alignas(line_bytes) Word result[results];
        alignas(line_bytes) Word text[text_bytes / 4];
        // Written by the host.
        alignas(line_bytes) Word more[more_arguments];
    };
    static_assert(sizeof(Layout) <= bytes && line_bytes == 64,
                  "tests/board/test_layouts.py compares it with python/consort/board/control_block.py");

    static std::uint32_t load(const Word& word) noexcept {
        return wire(word.load(std::memory_order_relaxed));
    }
    static void store(Word& word, std::uint32_t value) noexcept {
        word.store(wire(value), std::memory_order_relaxed);
    }

    Layout* layout_;
};

// The shared window begins with control blocks; everything else comes behind them.
inline constexpr std::uint32_t control_blocks = 16;
inline constexpr std::size_t control_blocks_bytes = control_blocks * ControlBlock::bytes;

}  // namespace consort::bare
