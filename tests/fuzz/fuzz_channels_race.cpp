// SPDX-License-Identifier: Apache-2.0
//
// Each channel while a peer on another core changes up to 32 of its words without a pause.

#include <new>

#include "attacker.hpp"
#include "channels.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace consort::fuzz;
    Input input(data, size);
    with_channel(input.take<std::uint8_t>(), [&]<class Side>(std::type_identity<Side>) {
        const Memory memory(sizeof(typename Side::Shared));
        std::uint8_t calls[16];
        for (auto& call : calls) {
            call = input.take<std::uint8_t>();
        }
        Side side(*std::launder(reinterpret_cast<typename Side::Shared*>(memory.base())));
        const Attacker attacker(memory, input);
        for (int round = 0; round < 200; ++round) {
            for (const auto call : calls) {
                side.act(call);
            }
        }
    });
    return 0;
}
