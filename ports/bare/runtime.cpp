// SPDX-License-Identifier: Apache-2.0
//
// Where programs begin, and the end of what cannot go on.
#include <cstdint>

#include "consort/bare/program.hpp"
#include "consort/bare/stack.hpp"

extern "C" {

// A processor exception: `what` and where, on the console and on the core's control block, for good. Where
// the stack was too short, that is the cause.
[[noreturn]] void consort_exception(const char* what, std::uint64_t at, std::uint64_t syndrome,
                                    std::uint64_t address) {
    using namespace consort::bare;
    check_stack();
    Text<160> text;
    text.add("consort: ").add(this_core).add(": ").add(what);
    text.add(" at ").hex(at, 8).add(", syndrome ").hex(syndrome, 8).add(", address ").hex(address, 8);
    print(text.c_str());
    ControlBlock block(window() + this_place * ControlBlock::bytes);
    block.text(text.c_str());
    block.state(State::failed);
    for (;;) {
        consort::isa::relax();
    }
}

// Entered by the start-up code once the core can run C++.
void consort_main() {
    consort::bare::start_up();
    consort::bare::run_program(consort::bare::this_place);
}
}
