// SPDX-License-Identifier: Apache-2.0
//
// The Ethernet controller (Cadence GEM; AM012, GEM module), polled: what the scratchpad kernel's I/O
// subsystem calls a device. The controller's own DMA moves frames between the line and the device buffers,
// two rings in memory that the controller reaches and no cache holds.
//
// A frame carries one message: Ethernet header (a type for local experiments), the message's length, the
// message. A message's first four bytes, little-endian, are its flow. Clocks, pins and the PHY are the boot
// firmware's.
#pragma once

#include <cstddef>
#include <cstdint>

#include "consort/bare/registers.hpp"
#include "consort/port.hpp"
#include "consort/spm/message_box.hpp"

namespace consort::versal {

// The device buffers: frames that wait for the I/O core, and frames that wait for the line.
struct GemRings {
    static constexpr std::uint32_t header = 16;  // of Ethernet, and the message's length
    std::uint32_t receive = 0;                   // buffers
    std::uint32_t send = 0;
    std::uint32_t message = 0;  // bytes of the longest

    // The size of one buffer: the controller counts them in 64 bytes.
    [[nodiscard]] constexpr std::uint32_t buffer() const noexcept {
        return (message + header + 63) / 64 * 64;
    }
    // Two words a descriptor, and one for the queue that is not used.
    [[nodiscard]] constexpr std::uint32_t descriptors() const noexcept {
        return ((receive + send + 1) * 8 + 63) / 64 * 64;
    }
    [[nodiscard]] constexpr std::uint32_t bytes() const noexcept {
        return descriptors() + (receive + send) * buffer();
    }
};

// spm::IoDevice.
class Gem {
  public:
    // The last byte of the address of `here` and of who gets what is sent.
    struct Ends {
        std::uint8_t here;
        std::uint8_t there;
    };

    Gem() = default;
    // `memory`: rings.bytes(), aligned to 64.
    void start(std::uintptr_t base, std::uintptr_t memory, const GemRings& rings, Ends ends) noexcept {
        base_ = base;
        rings_ = rings;
        ends_ = ends;
        receive_ = memory;
        send_ = memory + rings.receive * 8;
        const std::uintptr_t unused = send_ + rings.send * 8;
        buffers_ = memory + rings.descriptors();
        at(network_control) = 0;
        at(interrupt_disable) = ~0U;
        for (std::uint32_t i = 0; i < rings.receive; ++i) {
            word(receive_, i, 1) = 0;
            word(receive_, i, 0) = receive_address(i);
        }
        for (std::uint32_t i = 0; i < rings.send; ++i) {
            word(send_, i, 0) = static_cast<std::uint32_t>(send_buffer(i));
            word(send_, i, 1) = used_sent | (i + 1 == rings.send ? wrap_sent : 0);
        }
        // The second queue, without a buffer for either direction: in its descriptor software has both.
        word(unused, 0, 0) = used_received | wrap_received;
        word(unused, 0, 1) = used_sent | wrap_sent;
        isa::system_barrier();
        at(network_config) = speed_100 | full_duplex | strip_check_sequence;
        at(dma_config) = rings.buffer() / 64 << 16U | 0x704;  // whole packet memory, bursts of four
        at(receive_queue) = static_cast<std::uint32_t>(receive_);
        at(send_queue) = static_cast<std::uint32_t>(send_);
        at(receive_queue_1) = static_cast<std::uint32_t>(unused);
        at(send_queue_1) = static_cast<std::uint32_t>(unused);
        at(address_low) = 0x02;
        at(address_high) = std::uint32_t{ends.here} << 8U;
        at(network_control) = enable_receive | enable_send;
    }

    [[nodiscard]] bool receive(spm::Message& in) noexcept {
        while ((word(receive_, next_received_, 0) & used_received) != 0) {
            isa::system_barrier();
            const std::uint32_t frame = word(receive_, next_received_, 1) & 0x1fffU;
            const std::uintptr_t buffer = receive_buffer(next_received_);
            const auto* header = reinterpret_cast<const std::uint32_t*>(buffer);
            const std::uint32_t bytes = header[3] >> 16U;
            if ((header[3] & 0xffffU) == frame_type && bytes >= 4 && bytes + rings_.header <= frame &&
                bytes <= rings_.message) {
                in = {header[4], bytes, reinterpret_cast<const std::byte*>(buffer + rings_.header)};
                return true;
            }
            ++refused_;
            release();
        }
        return false;
    }
    void release() noexcept {
        const std::uint32_t last = next_received_ == 0 ? rings_.receive - 1 : next_received_ - 1;
        exhausted_ += word(receive_, last, 0) & used_received;
        isa::system_barrier();
        word(receive_, next_received_, 0) = receive_address(next_received_);
        next_received_ = next_received_ + 1 == rings_.receive ? 0 : next_received_ + 1;
        // The controller ran out of buffers: it looks again when this says that there are. (The emulated one
        // says so of the unused queue as well.)
        if ((at(receive_status) & no_buffer) != 0) {
            at(receive_status) = no_buffer;
            isa::system_barrier();
            at(network_control) = enable_receive | enable_send;
        }
    }
    [[nodiscard]] bool send(const spm::Message& out) noexcept {
        if ((word(send_, next_sent_, 1) & used_sent) == 0 || out.bytes > rings_.message) {
            return false;
        }
        const std::uintptr_t buffer = send_buffer(next_sent_);
        auto* header = reinterpret_cast<std::uint32_t*>(buffer);
        header[0] = 0x02;
        header[1] = std::uint32_t{ends_.there} << 8U | 0x02U << 16U;
        header[2] = std::uint32_t{ends_.here} << 24U;
        header[3] = frame_type | out.bytes << 16U;
        __builtin_memcpy(reinterpret_cast<void*>(buffer + rings_.header), out.payload, out.bytes);
        isa::system_barrier();
        const bool last = next_sent_ + 1 == rings_.send;
        word(send_, next_sent_, 1) = (out.bytes + rings_.header) | last_of_frame | (last ? wrap_sent : 0);
        isa::system_barrier();
        at(network_control) = enable_receive | enable_send | start_send;
        next_sent_ = last ? 0 : next_sent_ + 1;
        return true;
    }

    // Frames that carry no message of this form, and how often all buffers were full.
    [[nodiscard]] std::uint32_t refused() const noexcept { return refused_; }
    [[nodiscard]] std::uint32_t exhausted() const noexcept { return exhausted_; }

  private:
    static constexpr std::uintptr_t network_control = 0x00;
    static constexpr std::uintptr_t network_config = 0x04;
    static constexpr std::uintptr_t dma_config = 0x10;
    static constexpr std::uintptr_t receive_queue = 0x18;
    static constexpr std::uintptr_t send_queue = 0x1c;
    static constexpr std::uintptr_t receive_status = 0x20;
    static constexpr std::uintptr_t interrupt_disable = 0x2c;
    static constexpr std::uintptr_t address_low = 0x88;
    static constexpr std::uintptr_t address_high = 0x8c;
    static constexpr std::uintptr_t send_queue_1 = 0x440;
    static constexpr std::uintptr_t receive_queue_1 = 0x480;
    static constexpr std::uint32_t enable_receive = 1U << 2U;
    static constexpr std::uint32_t enable_send = 1U << 3U;
    static constexpr std::uint32_t start_send = 1U << 9U;
    static constexpr std::uint32_t speed_100 = 1;
    static constexpr std::uint32_t full_duplex = 2;
    static constexpr std::uint32_t strip_check_sequence = 1U << 17U;
    static constexpr std::uint32_t no_buffer = 1;
    // Descriptors: of a received frame in its first word, of one to be sent in its second.
    static constexpr std::uint32_t used_received = 1;
    static constexpr std::uint32_t wrap_received = 2;
    static constexpr std::uint32_t used_sent = 1U << 31U;
    static constexpr std::uint32_t wrap_sent = 1U << 30U;
    static constexpr std::uint32_t last_of_frame = 1U << 15U;
    static constexpr std::uint32_t frame_type = 0xb588;  // 0x88b5 as it lies in memory

    [[nodiscard]] volatile std::uint32_t& at(std::uintptr_t offset) const noexcept {
        return bare::reg(base_ + offset);
    }
    [[nodiscard]] static volatile std::uint32_t& word(std::uintptr_t ring, std::uint32_t i,
                                                      std::uint32_t n) noexcept {
        return bare::reg(ring + std::uintptr_t{i} * 8 + std::uintptr_t{n} * 4);
    }
    [[nodiscard]] std::uintptr_t receive_buffer(std::uint32_t i) const noexcept {
        return buffers_ + std::uintptr_t{i} * rings_.buffer();
    }
    [[nodiscard]] std::uintptr_t send_buffer(std::uint32_t i) const noexcept {
        return receive_buffer(rings_.receive + i);
    }
    [[nodiscard]] std::uint32_t receive_address(std::uint32_t i) const noexcept {
        return static_cast<std::uint32_t>(receive_buffer(i)) | (i + 1 == rings_.receive ? wrap_received : 0);
    }

    std::uintptr_t base_ = 0;
    GemRings rings_{};
    Ends ends_{};
    std::uintptr_t receive_ = 0;
    std::uintptr_t send_ = 0;
    std::uintptr_t buffers_ = 0;
    std::uint32_t next_received_ = 0;
    std::uint32_t next_sent_ = 0;
    std::uint32_t refused_ = 0;
    std::uint32_t exhausted_ = 0;
};

}  // namespace consort::versal
