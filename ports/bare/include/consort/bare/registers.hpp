// SPDX-License-Identifier: Apache-2.0
//
// Device registers.
#pragma once

#include <cstdint>

namespace consort::bare {

// The 32-bit register at a physical address.
inline volatile std::uint32_t& reg(std::uintptr_t address) noexcept {
    return *reinterpret_cast<volatile std::uint32_t*>(address);
}

}  // namespace consort::bare
