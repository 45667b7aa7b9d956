// SPDX-License-Identifier: Apache-2.0
//
// Region::attach and open on memory that a hostile maker has filled. First byte: bit 0, a true region is
// changed at some words, else the whole memory is the fuzzer's; bit 1, the checksum is made to fit, as a
// hostile maker would, so that the checks behind it are reached.

#include "region.hpp"

namespace {

using namespace consort::fuzz;

void fit_checksum(const Memory& memory) {
    using consort::RegionHeader;
    consort::detail::PrivateHeader header;
    consort::detail::copy_in(header, memory.base());
    if (!header.sound() || header.begin() > memory.bytes()) {
        return;
    }
    std::uint32_t sum = 0;
    const consort::detail::RegionMap map{memory.base()};
    static_cast<void>(header.checksum_of(map, sum, [](const consort::ObjectEntry&) { return true; }));
    memory.poke(offsetof(RegionHeader, checksum) / 4, sum);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    Input input(data, size);
    const auto how = input.take<std::uint8_t>();
    const Memory memory(region_bytes);
    if ((how & 1U) != 0) {
        make_region(memory);
        while (!input.empty()) {
            const auto word = input.take<std::uint16_t>();
            memory.poke(word, input.take<std::uint32_t>());
        }
    } else {
        for (std::uint32_t word = 0; !input.empty() && word < region_bytes / 4; ++word) {
            memory.poke(word, input.take<std::uint32_t>());
        }
    }
    if ((how & 2U) != 0) {
        fit_checksum(memory);
    }
    attach_and_use(memory);
    return 0;
}
