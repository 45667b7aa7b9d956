// SPDX-License-Identifier: Apache-2.0
//
// A three-phase task that misbehaves when its input says so.
#pragma once

#include <cstdint>

#include "consort/spm/application_core.hpp"

struct In {
    std::uint32_t n;
    // 0: nothing; 1: write to `address`; 2: hang; 3: call the monitor; 4: read `address`; 5: write to its own
    // code, 6: to its own constants; 7: execute what it has written to its data, 8: to its stack
    std::uint32_t what;
    std::uint32_t address;
};
struct State {
    std::uint32_t sum;
};
struct Out {
    std::uint32_t sum;
    std::uint32_t constant;
    std::uint32_t base;  // where the image was
};

// Where to write and to execute: a return, which does no harm where it may be executed.
inline void execute(volatile std::uint32_t* there) {
    *there = 0xd65f03c0;
    asm volatile("dsb ish\n isb" ::: "memory");
    reinterpret_cast<void (*)()>(reinterpret_cast<std::uintptr_t>(there))();
}

extern "C" __attribute__((section(".text.consort_entry"))) void consort_entry(
    const consort::spm::Partition& p) {
    const auto& in = *reinterpret_cast<const In*>(p.inputs);
    auto& state = *reinterpret_cast<State*>(p.data);
    auto& out = *reinterpret_cast<Out*>(p.outputs);
    state.sum += in.n;
    out = {state.sum, *reinterpret_cast<const std::uint32_t*>(p.code),
           static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(p.code)) & ~std::uint32_t{4095}};
    auto* there = reinterpret_cast<volatile std::uint32_t*>(std::uintptr_t{in.address});
    switch (in.what) {
        case 1:
            *there = 0xdead;
            break;
        case 2:
            for (;;) {
                asm volatile("");
            }
        case 3:
            asm volatile("smc #0");
            break;
        case 4:
            out.sum = *there;
            break;
        case 5:
            *reinterpret_cast<volatile std::uint32_t*>(reinterpret_cast<std::uintptr_t>(&consort_entry)) =
                0xdead;
            break;
        case 6:
            *reinterpret_cast<volatile std::uint32_t*>(const_cast<std::byte*>(p.code)) = 0xdead;
            break;
        case 7:
            execute(&out.sum);
            break;
        case 8: {
            std::uint32_t word = 0;
            execute(&word);
            break;
        }
        default:
            break;
    }
}
