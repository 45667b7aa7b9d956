// SPDX-License-Identifier: Apache-2.0
//
// Region::attach and open while a peer on another core changes up to 32 words without a pause.

#include "attacker.hpp"
#include "region.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace consort::fuzz;
    Input input(data, size);
    const Memory memory(region_bytes);
    make_region(memory);
    const auto late = input.take<std::uint8_t>();
    auto attached = consort::Region<>::attach(memory.base(), memory.bytes());
    const Attacker attacker(memory, input);
    for (int i = 0; i < 64; ++i) {
        attach_and_use(memory);
        // Also what was attached to before the attack began.
        if (late % 2 == 0 && attached.ok()) {
            open_and_use<Box>(memory, attached.value(), "box", [](Box::Shared&) {});
            open_and_use<Trace>(memory, attached.value(), "trace", [](Trace::Shared&) {});
        }
    }
    return 0;
}
