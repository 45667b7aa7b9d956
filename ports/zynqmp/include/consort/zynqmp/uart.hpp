// SPDX-License-Identifier: Apache-2.0
//
// The UART (Cadence). The boot firmware has set its baud rate.
#pragma once

#include <cstdint>

#include "consort/bare/console.hpp"
#include "consort/bare/registers.hpp"

namespace consort::zynqmp {

template <std::uintptr_t Base>
struct Uart {
    static void start() noexcept { bare::reg(Base) = 0x14; }  // control: receive and transmit
    static void put(char c) noexcept {
        while ((bare::reg(Base + 0x2c) & 0x10U) != 0) {  // status: transmit FIFO full
        }
        bare::reg(Base + 0x30) = static_cast<unsigned char>(c);
    }
};

// One line; nowhere by a core that has no UART.
template <bool has_uart, std::uintptr_t Base>
void print(const char* text) noexcept {
    if constexpr (has_uart) {
        bare::print_line<Uart<Base>>(text);
    }
}

}  // namespace consort::zynqmp
