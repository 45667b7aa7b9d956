// SPDX-License-Identifier: Apache-2.0
//
// The engine of a link on a core of the Versal, whose bytes a channel of the ZDMA moves. Arguments: 0 offset
// of the ring in the window, 1 the transaction whose copy fails, 0: none. Results: 0 transactions, 1 faults.
#include "consort/versal/link_dma.hpp"
#include "link_layout.hpp"

namespace {

using namespace consort;

// Fails on request.
struct Failing : versal::LinkDma {
    using LinkDma::LinkDma;
    std::uint32_t started = 0;
    std::uint32_t fails = 0;

    void start(const spm::Transfer& transfer) noexcept {
        LinkDma::start(transfer);
        if (++started == fails) {
            provoke_error();
        }
    }
};

// Behind the peer's window.
constexpr std::uint32_t lists_at = 0x18000;

}  // namespace

int consort_program(bare::ControlBlock& block) noexcept {
    auto* const chip = reinterpret_cast<std::byte*>(bare::on_chip());
    Failing dma(1, *reinterpret_cast<versal::LinkDma::Lists*>(chip + lists_at));
    dma.fails = block.argument(1);
    link::Engine<Failing, 1, link_test::slots, link_test::Access> engine(dma);
    link_test::Memory& memory = link_test::memory(block);
    if (!engine.attach(0, memory.ring, {memory.near, link_test::window_bytes},
                       {chip, link_test::window_bytes})) {
        return bare::fail(block, "the engine refused its queue");
    }
    while (!block.stop_requested()) {
        if (!engine.step(bare::ThisPort::now())) {
            bare::ThisPort::relax();
        }
        block.result(0, dma.started);
        block.result(1, engine.faults(0));
    }
    return 0;
}
