// SPDX-License-Identifier: Apache-2.0
//
// Compiled for bare cores, without a C++ library: both sides of a link.
#include "consort/link.hpp"

// Not unnamed: what has internal linkage would not be compiled.
namespace bare {

struct Dma {
    volatile std::uint32_t* registers;
    void start(const consort::spm::Transfer& transfer) noexcept { *registers = transfer.bytes(); }
    [[nodiscard]] consort::spm::DmaState state() noexcept {
        return *registers == 0 ? consort::spm::DmaState::idle : consort::spm::DmaState::busy;
    }
    void abort() noexcept { *registers = 0; }
};

using Access = consort::access::SystemBarrier;

}  // namespace bare

template class consort::link::Host<16, bare::Access>;
template class consort::link::Engine<bare::Dma, 4, 16, bare::Access>;
