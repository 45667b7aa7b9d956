// SPDX-License-Identifier: Apache-2.0
//
// Arm's UART PL011. The boot firmware has set its baud rate.
#pragma once

#include <cstdint>

#include "consort/bare/registers.hpp"

namespace consort::bare::arm {

template <std::uintptr_t Base>
struct Pl011 {
    static void start() noexcept { reg(Base + 0x30) = 0x301; }  // CR: enabled, transmit, receive
    static void put(char c) noexcept {
        while ((reg(Base + 0x18) & 0x20U) != 0) {  // FR: transmit FIFO full
        }
        reg(Base) = static_cast<unsigned char>(c);
    }
};

}  // namespace consort::bare::arm
