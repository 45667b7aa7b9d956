// SPDX-License-Identifier: Apache-2.0
//
// Programs for boards, on the Versal's Cortex-A72.
#pragma once

#include "consort/bare/console.hpp"
#include "consort/bare/desk.hpp"
#include "consort/bare/registers.hpp"
#include "consort/versal/a72.hpp"
#include "consort/versal/memory_map.hpp"
#include "consort/versal/uart.hpp"

namespace consort::bare {

using ThisPort = versal::CortexA72;
inline constexpr const char* this_core = "Cortex-A72";
inline constexpr std::uint32_t this_place = 0;

inline unsigned char* window() noexcept {
    return reinterpret_cast<unsigned char*>(versal::window);
}
inline unsigned char* on_chip() noexcept {
    return reinterpret_cast<unsigned char*>(versal::on_chip);
}
inline void print(const char* text) noexcept {
    print_line<versal::Uart<versal::uart0>>(text);
}

// What the desk of the R5F carries if the R5F is to run: the A72 is the core that starts first.
inline void start_up() noexcept {
    versal::Uart<versal::uart0>::start();
    constexpr std::uint32_t place_of_r5f = 1;
    if (Desk(window() + place_of_r5f * Desk::bytes).ordered()) {
        isa::system_barrier();
        reg(versal::crl_reset_cpu_r5) = 0;
        isa::system_barrier();
    }
}

}  // namespace consort::bare
