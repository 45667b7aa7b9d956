// SPDX-License-Identifier: Apache-2.0
//
// A three-phase task that sends back what it gets, and counts what it gets and what it lost.
#pragma once

#include <cstdint>

#include "consort/spm/message_box.hpp"
#include "consort/spm/step.hpp"

#ifndef CAPACITY
#define CAPACITY 4
#endif
#ifndef PAYLOAD
#define PAYLOAD 64
#endif

struct Echo {
    using In = consort::spm::Messages<CAPACITY, PAYLOAD>;
    using Out = consort::spm::Messages<CAPACITY, PAYLOAD>;
    struct State {
        std::uint32_t got;
        std::uint32_t lost;
        std::uint32_t jobs;
    };
    static void step(const consort::spm::Empty&, const In& in, State& state, Out& out) noexcept {
        out.clear();
        for (std::uint32_t i = 0; i < in.count(); ++i) {
            (void)out.put(in.at(i));
        }
        state.got += in.count();
        state.lost += in.lost();
        ++state.jobs;
    }
};

extern "C" __attribute__((section(".text.consort_entry"))) void consort_entry(
    const consort::spm::Partition& parts) {
    consort::spm::ThreePhase<&Echo::step>::run(parts);
}
