// SPDX-License-Identifier: Apache-2.0
//
// Each channel between two sides and a hostile third: the fuzzer's bytes alternate calls of a side with
// stores of any value to any word.

#include <new>

#include "channels.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace consort::fuzz;
    Input input(data, size);
    with_channel(input.take<std::uint8_t>(), [&]<class Side>(std::type_identity<Side>) {
        const Memory memory(sizeof(typename Side::Shared));
        // Words that were written before the sides came: a region taken over.
        for (auto words = input.take<std::uint8_t>() % 8; words > 0; --words) {
            const auto word = input.take<std::uint16_t>();
            memory.poke(word, input.take<std::uint32_t>());
        }
        Side side(*std::launder(reinterpret_cast<typename Side::Shared*>(memory.base())));
        while (!input.empty()) {
            const auto what = input.take<std::uint8_t>();
            if (what < 64) {
                const auto word = input.take<std::uint16_t>();
                memory.poke(word, input.take<std::uint32_t>());
            } else {
                side.act(input.take<std::uint8_t>());
            }
        }
    });
    return 0;
}
