// SPDX-License-Identifier: Apache-2.0
//
// Shared by the one-way benchmarks of boards: two sides that go through the same legs, and the leg of one
// byte.
//
// In leg l, message i (from 1), the sender leaves its clock at log[(l * messages + i - 1) * 2], the receiver
// at the next place: 64 bits, nanoseconds of the core's own counter.
#pragma once

#include <cstdint>

#include "consort/bare/program.hpp"

namespace one_way {

using namespace consort::bare;

// All cores count the same nanoseconds of the emulator, from different beginnings. (The generic timer of the
// A72 only advances every 16.)
inline std::uint64_t clock_ns() noexcept {
    if constexpr (this_place == 0) {
        return ThisPort::cycles();
    } else {
        return ThisPort::now();
    }
}

class Legs {
  public:
    // `first`: of the two sides. The log lies in the window.
    Legs(ControlBlock& block, bool first, std::uint32_t messages, std::uint32_t log) noexcept
        : block_(block), first_(first), messages_(messages), log_(window() + log) {}

    [[nodiscard]] std::uint32_t legs() const noexcept { return leg_; }
    [[nodiscard]] std::uint32_t wrong() const noexcept { return wrong_; }
    // The program's result at its end.
    int result(bool done) noexcept {
        block_.result(0, leg_);
        block_.result(1, wrong_);
        if (!done) {
            return fail(block_, "stopped waiting");
        }
        return wrong_ == 0 ? 0 : fail(block_, "a message came with a wrong content");
    }

    // Through the area of memory given. `from_first`: the first side sends.
    bool byte(unsigned char* memory, bool from_first) noexcept {
        if (!begin(memory)) {
            return false;
        }
        auto* flag = reinterpret_cast<volatile std::uint8_t*>(memory + byte_at);
        for (std::uint32_t i = 1; i <= messages_; ++i) {
            const auto value = static_cast<std::uint8_t>(i);
            if (from_first == first_) {
                if (!await_receiver(memory, i)) {
                    return false;
                }
                note(i, 0, clock_ns());
                *flag = value;
                consort::isa::system_barrier();
                give_way();
            } else {
                announce(memory, i);
                const auto before = static_cast<std::uint8_t>(i - 1);
                while (*flag == before) {
                    if (!wait()) {
                        return false;
                    }
                }
                note(i, 1, clock_ns());
                wrong_ += *flag == value ? 0U : 1U;
            }
        }
        ++leg_;
        return true;
    }

  protected:
    static constexpr std::uint32_t meeting = 0x10000;
    static constexpr std::uint32_t ready_at = 0;
    static constexpr std::uint32_t byte_at = 64;
    static constexpr std::uint32_t box_at = 128;
    static constexpr std::uint32_t area = 0x3000;

    // Everything of the other side that belongs to the last leg is over.
    bool meet() noexcept {
        ++meetings_;
        consort::isa::system_barrier();
        word(window() + meeting + (first_ ? 0 : 64)) = meetings_;
        while (word(window() + meeting + (first_ ? 64 : 0)) < meetings_) {
            if (!wait()) {
                return false;
            }
        }
        consort::isa::system_barrier();
        return true;
    }

    static volatile std::uint32_t& word(unsigned char* at) noexcept {
        return *reinterpret_cast<volatile std::uint32_t*>(at);
    }
    bool wait() noexcept {
        ThisPort::relax();
        return ++turns_ % 65536 != 0 || !block_.stop_requested();
    }
    // Empties the memory of the leg; one side does.
    bool begin(unsigned char* memory) noexcept {
        if (!meet()) {
            return false;
        }
        if (first_) {
            for (std::uint32_t at = 0; at < area; at += 4) {
                word(memory + at) = 0;
            }
        }
        return meet();
    }
    void announce(unsigned char* memory, std::uint32_t message) noexcept {
        consort::isa::system_barrier();
        word(memory + ready_at) = message;
        consort::isa::system_barrier();
    }
    bool await_receiver(unsigned char* memory, std::uint32_t message) noexcept {
        while (word(memory + ready_at) != message) {
            if (!wait()) {
                return false;
            }
        }
        // So that the receiver is back in its loop.
        give_way();
        return true;
    }
    // Emulated cores take turns: what the sender went on with would be counted before the receiver's next
    // turn, and belongs to no message.
    static void give_way() noexcept {
        for (int i = 0; i < 16; ++i) {
            ThisPort::relax();
        }
    }
    void note(std::uint32_t message, std::uint32_t which, std::uint64_t ns) noexcept {
        unsigned char* at = log_ + ((std::uint64_t{leg_} * messages_ + message - 1) * 2 + which) * 8;
        word(at) = static_cast<std::uint32_t>(ns);
        word(at + 4) = static_cast<std::uint32_t>(ns >> 32U);
    }

    ControlBlock& block_;
    bool first_;
    std::uint32_t messages_;
    unsigned char* log_;
    std::uint32_t leg_ = 0;
    std::uint32_t wrong_ = 0;

  private:
    std::uint32_t meetings_ = 0;
    std::uint32_t turns_ = 0;
};

}  // namespace one_way
