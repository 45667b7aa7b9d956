// SPDX-License-Identifier: Apache-2.0
//
// Arm's interrupt controller, version 2 (IHI 0048B): what one interrupt of one core needs.
#pragma once

#include <cstdint>

#include "consort/bare/registers.hpp"

namespace consort::bare::arm {

template <std::uintptr_t Distributor, std::uintptr_t Interface>
struct GicV2 {
    // By each core for itself: those up to 31 are its own, the others go to the core that enables them last.
    static void enable(std::uint32_t interrupt) noexcept {
        reg(Distributor) = 1;
        if (interrupt >= own_interrupts) {
            byte(Distributor + 0x800 + interrupt) = byte(Distributor + 0x800);  // this core as the target
        }
        byte(Distributor + 0x400 + interrupt) = 0;  // the highest priority
        reg(Distributor + 0x100 + interrupt / 32 * 4) = 1U << interrupt % 32;
        reg(Interface + 4) = 0xf0;  // all priorities
        reg(Interface) = 1;
    }
    // The interrupt that is to be handled; 1023: none is.
    static std::uint32_t acknowledge() noexcept { return reg(Interface + 0xc); }
    // By what acknowledge() gave: others may come again.
    static void end(std::uint32_t acknowledged) noexcept { reg(Interface + 0x10) = acknowledged; }
    static constexpr std::uint32_t number(std::uint32_t acknowledged) noexcept {
        return acknowledged & 0x3ffU;
    }

  private:
    static constexpr std::uint32_t own_interrupts = 32;

    static volatile std::uint8_t& byte(std::uintptr_t address) noexcept {
        return *reinterpret_cast<volatile std::uint8_t*>(address);
    }
};

}  // namespace consort::bare::arm
