// SPDX-License-Identifier: Apache-2.0
//
// A program for a board's core is one function. The same source is compiled for every core; each port's
// consort/bare/this_core.hpp says what the core offers:
//
//   consort::bare::ThisPort       the port contract on this core
//   consort::bare::this_core      its name
//   consort::bare::window()       the memory that all sides share, beginning with the control blocks
//   consort::bare::on_chip()      on-chip memory that the board's cores share, or nullptr
//   consort::bare::print(text)    one line on its console
#pragma once

#include "consort/bare/console.hpp"
#include "consort/bare/control_block.hpp"
#include "consort/bare/this_core.hpp"
#include "consort/port.hpp"

// The program: 0 = done; anything else = failed, after it has said why on its control block.
int consort_program(consort::bare::ControlBlock& block) noexcept;

namespace consort::bare {

static_assert(Port<ThisPort>);

// Says why the program fails, on the control block and on the console.
inline int fail(ControlBlock& block, const char* why) noexcept {
    block.text(why);
    print(why);
    return 1;
}

// Runs the program, from "running" to "done"; called by the port's start-up code. False: it failed.
inline bool run_program(std::uint32_t place) noexcept {
    ControlBlock block(window() + place * ControlBlock::bytes);
    if (!block.ordered()) {
        // A board started by hand: the core is alive, and has nothing to do.
        print(Text<64>().add("consort: ").add(this_core).add(" is up, without orders").c_str());
        return true;
    }
    print(Text<64>().add("consort: ").add(this_core).add(" runs").c_str());
    block.state(State::running);
    const int status = consort_program(block);
    print(Text<64>().add("consort: ").add(this_core).add(status == 0 ? " is done" : " failed").c_str());
    block.state(status == 0 ? State::done : State::failed);
    return status == 0;
}

}  // namespace consort::bare
