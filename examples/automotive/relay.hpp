// SPDX-License-Identifier: Apache-2.0
//
// A task that answers each message of its flow with the message itself.
#pragma once

#include <cstdint>

#include "consort/spm/message_box.hpp"
#include "consort/spm/step.hpp"

namespace automotive {

template <std::uint32_t capacity, std::uint32_t payload>
struct Relay {
    using Box = consort::spm::Messages<capacity, payload>;
    struct State {
        std::uint32_t answered = 0;
        std::uint32_t lost = 0;  // messages that the mirror buffer had no room for
    };
    static void step(const consort::spm::Empty&, const Box& in, State& state, Box& out) noexcept {
        out.clear();
        for (std::uint32_t i = 0; i < in.count(); ++i) {
            (void)out.put(in.at(i));
        }
        state.answered += in.count();
        state.lost += in.lost();
    }
};

using ShortRelay = Relay<4, 64>;
using LongRelay = Relay<4, 1024>;

}  // namespace automotive
