// SPDX-License-Identifier: Apache-2.0
//
// The port contract on the RV64 of QEMU's virt: the CLINT's timer, which counts at 10 MHz. Its memory is
// coherent: nothing has to be cleaned.
#pragma once

#include <cstddef>
#include <cstdint>

#include "consort/board/memory_map.hpp"
#include "consort/port.hpp"

namespace consort::riscv_virt {

struct Rv64 {
    static Ticks now() noexcept { return *reinterpret_cast<const volatile std::uint64_t*>(board::mtime); }
    static Ticks ticks_per_second() noexcept { return board::clock_of_rv64; }
    static void relax() noexcept { isa::relax(); }
    static void clean(const void* /*begin*/, std::size_t /*bytes*/) noexcept {}
    static void invalidate(const void* /*begin*/, std::size_t /*bytes*/) noexcept {}
    static std::uint32_t core_id() noexcept {
        std::uint64_t hart = 0;
        asm volatile("csrr %0, mhartid" : "=r"(hart));
        return static_cast<std::uint32_t>(hart);
    }
};

// The NS16550.
struct Uart {
    static void put(char c) noexcept {
        while ((registers()[5] & 0x20U) == 0) {  // LSR: transmitter empty
        }
        registers()[0] = static_cast<unsigned char>(c);
    }

  private:
    static volatile unsigned char* registers() noexcept {
        return reinterpret_cast<volatile unsigned char*>(board::uart0);
    }
};

}  // namespace consort::riscv_virt
