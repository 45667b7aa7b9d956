// SPDX-License-Identifier: Apache-2.0
//
// Compiled for bare cores, without a C++ library: both sides of the kernel.
#include "consort/spm.hpp"

// Not unnamed: what has internal linkage would not be compiled.
namespace bare {

using namespace consort::spm;

struct Board {
    volatile std::uint32_t* dma;
    void dma_start(const Transfer& transfer) noexcept { *dma = transfer.bytes(); }
    [[nodiscard]] DmaState dma_state() noexcept { return *dma == 0 ? DmaState::idle : DmaState::busy; }
    [[nodiscard]] bool dma_abort() noexcept { return true; }
    [[nodiscard]] const std::byte* inputs(std::uint32_t, std::uint32_t) noexcept { return nullptr; }
    [[nodiscard]] std::byte* outputs(std::uint32_t, std::uint32_t) noexcept { return nullptr; }
    void delivered(std::uint32_t, std::uint32_t) noexcept {}
    void stop_job(std::uint32_t, std::uint32_t, std::uint32_t) noexcept {}
    void record(const Event&) noexcept {}
    void finished(const JobRecord&) noexcept {}
    [[nodiscard]] consort::Ticks now() noexcept { return *dma; }
    [[nodiscard]] Outcome execute(const ReadyJob&, const Partition&) noexcept { return Outcome::done; }
    void relax() noexcept { consort::isa::relax(); }
};

using Access = consort::access::SystemBarrier;

}  // namespace bare

template class consort::spm::IoCore<bare::Board, 2, 16, bare::Access>;
template class consort::spm::ApplicationCore<bare::Board, bare::Access>;
