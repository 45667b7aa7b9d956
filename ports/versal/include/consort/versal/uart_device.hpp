// SPDX-License-Identifier: Apache-2.0
//
// A UART (Arm PL011) as the scratchpad kernel's I/O device, polled. It has no DMA: the I/O core moves each
// byte between the UART's FIFOs and the device buffers, an input and an output one.
//
// A message on the wire is its bytes and their check sequence (CRC-16 of polynomial 0x1021 from 0xffff, low
// byte first) between flags 0x7e; a byte that is a flag or 0x7d is sent as 0x7d and the byte with 0x20
// changed. A message's first four bytes, little-endian, are its flow. Whatever else comes is refused and
// counted. What the core prints on the same wire the other end has to pass over likewise.
#pragma once

#include <cstddef>
#include <cstdint>

#include "consort/bare/registers.hpp"
#include "consort/spm/message_box.hpp"

namespace consort::versal {

// spm::IoDevice.
class UartDevice {
  public:
    // Bytes of both device buffers, for messages of at most so many bytes.
    [[nodiscard]] static constexpr std::uint32_t bytes(std::uint32_t message) noexcept {
        return room(message) * 2;
    }

    // `memory`: bytes(message), aligned to 4.
    void start(std::uintptr_t base, std::uintptr_t memory, std::uint32_t message) noexcept {
        base_ = base;
        longest_ = message;
        input_ = reinterpret_cast<std::uint8_t*>(memory);
        output_ = input_ + room(message);
        at(line_control) = eight_bits | fifos;
        at(control) = enable;
    }

    [[nodiscard]] bool receive(spm::Message& in) noexcept {
        pump();
        while (!held_ && (at(flags) & receive_empty) == 0) {
            take(static_cast<std::uint8_t>(at(data)));
        }
        if (held_) {
            std::uint32_t flow = 0;
            __builtin_memcpy(&flow, input_, 4);
            in = {flow, filled_ - check_bytes, reinterpret_cast<const std::byte*>(input_)};
        }
        return held_;
    }
    void release() noexcept {
        held_ = false;
        filled_ = 0;
    }
    [[nodiscard]] bool send(const spm::Message& out) noexcept {
        pump();
        if (sent_ != pending_ || out.bytes > longest_) {
            return false;
        }
        __builtin_memcpy(output_, out.payload, out.bytes);
        const std::uint16_t check = check_of(output_, out.bytes);
        output_[out.bytes] = static_cast<std::uint8_t>(check & 0xffU);
        output_[out.bytes + 1] = static_cast<std::uint8_t>(check >> 8U);
        pending_ = out.bytes + check_bytes;
        sent_ = 0;
        opened_ = false;
        pump();
        return true;
    }

    // Bytes between two flags that were not a message.
    [[nodiscard]] std::uint32_t refused() const noexcept { return refused_; }

  private:
    static constexpr std::uint32_t check_bytes = 2;
    static constexpr std::uint8_t flag = 0x7e;
    static constexpr std::uint8_t escape = 0x7d;
    static constexpr std::uint8_t changed = 0x20;
    static constexpr std::uintptr_t data = 0x00;
    static constexpr std::uintptr_t flags = 0x18;
    static constexpr std::uintptr_t line_control = 0x2c;
    static constexpr std::uintptr_t control = 0x30;
    static constexpr std::uint32_t receive_empty = 1U << 4U;
    static constexpr std::uint32_t send_full = 1U << 5U;
    static constexpr std::uint32_t fifos = 1U << 4U;
    static constexpr std::uint32_t eight_bits = 3U << 5U;
    static constexpr std::uint32_t enable = 0x301;  // transmit, receive

    [[nodiscard]] static constexpr std::uint32_t room(std::uint32_t message) noexcept {
        return (message + check_bytes + 3) / 4 * 4;
    }
    [[nodiscard]] volatile std::uint32_t& at(std::uintptr_t offset) const noexcept {
        return bare::reg(base_ + offset);
    }
    [[nodiscard]] static std::uint16_t check_of(const std::uint8_t* bytes, std::uint32_t count) noexcept {
        std::uint32_t check = 0xffff;
        for (std::uint32_t i = 0; i < count; ++i) {
            check ^= std::uint32_t{bytes[i]} << 8U;
            for (std::uint32_t bit = 0; bit < 8; ++bit) {
                check = (check & 0x8000U) != 0 ? check << 1U ^ 0x1021U : check << 1U;
            }
        }
        return static_cast<std::uint16_t>(check);
    }
    void take(std::uint8_t byte) noexcept {
        if (byte == flag) {
            const std::uint32_t bytes = filled_;
            const bool whole =
                !too_long_ && bytes >= 4 + check_bytes &&
                check_of(input_, bytes - check_bytes) == (input_[bytes - 2] | input_[bytes - 1] << 8U);
            held_ = whole;
            // Flags that follow one another are not a message that failed.
            refused_ += whole || bytes == 0 ? 0 : 1;
            filled_ = whole ? bytes : 0;
            escaped_ = too_long_ = false;
        } else if (byte == escape) {
            escaped_ = true;
        } else if (filled_ == longest_ + check_bytes) {
            too_long_ = true;
        } else {
            input_[filled_++] = escaped_ ? byte ^ changed : byte;
            escaped_ = false;
        }
    }
    // Sends as much as the UART takes.
    void pump() noexcept {
        while (sent_ != pending_ && (at(flags) & send_full) == 0) {
            if (!opened_) {
                at(data) = flag;
                opened_ = true;
                continue;
            }
            const std::uint8_t byte = output_[sent_];
            if (!marked_ && (byte == flag || byte == escape)) {
                at(data) = escape;
                marked_ = true;
                continue;
            }
            at(data) = marked_ ? byte ^ changed : byte;
            marked_ = false;
            closing_ = ++sent_ == pending_;
        }
        if (closing_ && (at(flags) & send_full) == 0) {
            at(data) = flag;
            closing_ = false;
        }
    }

    std::uintptr_t base_ = 0;
    std::uint32_t longest_ = 0;
    std::uint8_t* input_ = nullptr;
    std::uint8_t* output_ = nullptr;
    std::uint32_t filled_ = 0;
    std::uint32_t pending_ = 0;
    std::uint32_t sent_ = 0;
    std::uint32_t refused_ = 0;
    bool held_ = false;
    bool escaped_ = false;
    bool too_long_ = false;
    bool opened_ = false;
    bool marked_ = false;
    bool closing_ = false;
};

}  // namespace consort::versal
