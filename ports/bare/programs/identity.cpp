// SPDX-License-Identifier: Apache-2.0
//
// Says who the core is, and that its clock, its memories and its arithmetic work. Arguments: none.
// Results: 0 core id, 1 ticks per second, 2 ticks of 1000 reads of the clock, 3 bytes of on-chip memory
// checked.
#include <cstddef>
#include <cstdint>

#include "consort/bare/program.hpp"

namespace {

using namespace consort::bare;

// Writes a pattern over part of a memory and reads it back: the number of wrong words.
std::uint32_t wrong_words(volatile std::uint32_t* memory, std::uint32_t words) {
    for (std::uint32_t i = 0; i < words; ++i) {
        memory[i] = i * 0x9e3779b9U;
    }
    std::uint32_t wrong = 0;
    for (std::uint32_t i = 0; i < words; ++i) {
        wrong += memory[i] != i * 0x9e3779b9U ? 1U : 0U;
    }
    return wrong;
}

}  // namespace

int consort_program(ControlBlock& block) noexcept {
    block.result(0, ThisPort::core_id());
    block.result(1, static_cast<std::uint32_t>(ThisPort::ticks_per_second()));
    const consort::Ticks begin = ThisPort::now();
    consort::Ticks before = begin;
    for (int i = 0; i < 1000; ++i) {
        const consort::Ticks now = ThisPort::now();
        if (now < before) {
            return fail(block, "the clock went back");
        }
        before = now;
    }
    if (before == begin) {
        return fail(block, "the clock stands still");
    }
    block.result(2, static_cast<std::uint32_t>(before - begin));
    // Each core its own part, so that the cores can do this at once.
    constexpr std::uint32_t words = 1024;
    if (unsigned char* memory = on_chip(); memory != nullptr) {
        if (wrong_words(reinterpret_cast<volatile std::uint32_t*>(memory) + std::size_t{words} * this_place,
                        words) != 0) {
            return fail(block, "the on-chip memory does not hold what was written");
        }
        block.result(3, 4 * words);
    }
    return 0;
}
