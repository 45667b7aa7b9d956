// SPDX-License-Identifier: Apache-2.0
//
// Messages of a task in one contiguous stretch: what the DMA moves to it with its load, or from it with its
// unload.
//
// A header of four words (messages, index of the oldest, lost, zero), then `capacity` cells of two words
// (flow, bytes) and the payload. The same on both ends of the DMA; one side at a time has it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace consort::spm {

struct BoxShape {
    std::uint32_t capacity = 0;  // messages
    std::uint32_t payload = 0;   // bytes of the longest one

    [[nodiscard]] constexpr std::uint32_t cell() const noexcept { return 8 + (payload + 7) / 8 * 8; }
    [[nodiscard]] constexpr std::uint32_t bytes() const noexcept {
        return capacity == 0 ? 0 : 16 + capacity * cell();
    }
};

enum class OnFull : std::uint8_t {
    overwrite,  // the oldest message goes: a reader wants the newest
    refuse,     // the new message goes: a reader wants none out of the middle gone
};

enum class Put : std::uint8_t {
    stored,
    replaced,  // and the oldest one is gone
    refused,   // full, or longer than a cell
};

struct Message {
    std::uint32_t flow;
    std::uint32_t bytes;
    const std::byte* payload;
};

class MessageBox {
  public:
    MessageBox() = default;
    // `memory` holds shape.bytes().
    MessageBox(std::byte* memory, BoxShape shape) noexcept : memory_(memory), shape_(shape) {}

    void clear() noexcept {
        for (std::uint32_t i = 0; i < 4; ++i) {
            write(i * 4, 0);
        }
    }
    // Every message lost is counted in lost().
    Put put(const Message& message, OnFull policy) noexcept {
        if (message.bytes > shape_.payload || shape_.capacity == 0) {
            lose();
            return Put::refused;
        }
        const bool full = count() == shape_.capacity;
        if (full) {
            lose();
            if (policy == OnFull::refuse) {
                return Put::refused;
            }
            write(4, next(first()));
            write(0, count() - 1);
        }
        std::byte* at = cell(count());
        __builtin_memcpy(at, &message.flow, 4);
        __builtin_memcpy(at + 4, &message.bytes, 4);
        if (message.bytes != 0) {
            __builtin_memcpy(at + 8, message.payload, message.bytes);
        }
        write(0, count() + 1);
        return full ? Put::replaced : Put::stored;
    }
    // Never more than the capacity, whatever stands in the memory: a task may have overwritten it.
    [[nodiscard]] std::uint32_t count() const noexcept {
        const std::uint32_t n = read(0);
        return n < shape_.capacity ? n : shape_.capacity;
    }
    [[nodiscard]] std::uint32_t lost() const noexcept { return read(8); }
    // The i-th oldest, i < count().
    [[nodiscard]] Message at(std::uint32_t i) const noexcept {
        const std::byte* at = cell(i);
        Message message{0, 0, at + 8};
        __builtin_memcpy(&message.flow, at, 4);
        __builtin_memcpy(&message.bytes, at + 4, 4);
        message.bytes = message.bytes < shape_.payload ? message.bytes : shape_.payload;
        return message;
    }
    [[nodiscard]] const std::byte* memory() const noexcept { return memory_; }
    [[nodiscard]] std::byte* memory() noexcept { return memory_; }

  private:
    [[nodiscard]] std::uint32_t read(std::uint32_t offset) const noexcept {
        std::uint32_t value = 0;
        if (shape_.capacity != 0) {
            __builtin_memcpy(&value, memory_ + offset, 4);
        }
        return value;
    }
    void write(std::uint32_t offset, std::uint32_t value) noexcept {
        if (shape_.capacity != 0) {
            __builtin_memcpy(memory_ + offset, &value, 4);
        }
    }
    [[nodiscard]] std::uint32_t first() const noexcept {
        const std::uint32_t i = read(4);
        return i < shape_.capacity ? i : 0;
    }
    [[nodiscard]] std::uint32_t next(std::uint32_t i) const noexcept {
        return i + 1 == shape_.capacity ? 0 : i + 1;
    }
    [[nodiscard]] std::byte* cell(std::uint32_t i) const noexcept {
        const std::uint32_t place = first() + i;
        return memory_ + 16 +
               static_cast<std::size_t>(place < shape_.capacity ? place : place - shape_.capacity) *
                   shape_.cell();
    }
    void lose() noexcept { write(8, read(8) + 1); }

    std::byte* memory_ = nullptr;
    BoxShape shape_{};
};

// The input or output of a step that messages are moved for (consort/spm/step.hpp): up to `capacity` of them,
// each of at most `payload` bytes. An output is what the last job left: clear() it first.
template <std::uint32_t capacity, std::uint32_t payload>
struct Messages {
    static constexpr BoxShape shape{capacity, payload};
    alignas(8) std::byte memory[shape.bytes()];

    void clear() noexcept { box().clear(); }
    Put put(const Message& message) noexcept { return box().put(message, OnFull::refuse); }
    [[nodiscard]] std::uint32_t count() const noexcept { return box().count(); }
    // How many messages of its flows the task did not get since its last job.
    [[nodiscard]] std::uint32_t lost() const noexcept { return box().lost(); }
    [[nodiscard]] Message at(std::uint32_t i) const noexcept { return box().at(i); }

  private:
    [[nodiscard]] MessageBox box() noexcept { return {memory, shape}; }
    // Only read.
    [[nodiscard]] MessageBox box() const noexcept { return {const_cast<std::byte*>(memory), shape}; }
};

}  // namespace consort::spm
