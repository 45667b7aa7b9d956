// SPDX-License-Identifier: Apache-2.0
//
// The UART (Arm PL011). The boot firmware has set its baud rate.
#pragma once

#include <cstdint>

#include "consort/bare/registers.hpp"

namespace consort::versal {

template <std::uintptr_t Base>
struct Uart {
    static void start() noexcept { bare::reg(Base + 0x30) = 0x301; }  // CR: enabled, transmit, receive
    static void put(char c) noexcept {
        while ((bare::reg(Base + 0x18) & 0x20U) != 0) {  // FR: transmit FIFO full
        }
        bare::reg(Base) = static_cast<unsigned char>(c);
    }
};

}  // namespace consort::versal
