// SPDX-License-Identifier: Apache-2.0
//
// The scratchpad kernel's own cost on the I/O core, in instructions (`consort bench scratchpad --board
// versal`). One application core with one task, both played by this program; the DMA is the board's.
//
// Results: shortest of all slots of a kind, without what reading the clock takes, in the order of `Slots`;
// the jobs that ended.
#include <cstdint>

#include "consort/bare/program.hpp"
#include "consort/spm/io_core.hpp"
#include "consort/versal/scratchpad.hpp"
#include "r5f/application_dma.hpp"

namespace {

using namespace consort;
using namespace consort::versal::scratchpad;
using bare::ThisPort;

constexpr std::uint32_t jobs = 64;
constexpr Ticks slot_length = 100000;

// The actions of a step at a slot's begin.
enum Slots : std::uint32_t {
    nothing,
    load_begins,
    load_ends,  // and the job is handed over
    unload_begins,
    unload_ends,
    transfer_started,  // the DMA alone: one channel programmed
    count,
};

class Board {
  public:
    explicit Board(std::byte* mirror) noexcept : mirror_(mirror) {}
    void dma_start(const spm::Transfer& transfer) noexcept { dma_.start(transfer, false, 0, 0); }
    spm::DmaState dma_state() noexcept { return dma_.poll(0); }
    bool dma_abort() noexcept { return dma_.abort(); }
    const std::byte* inputs(std::uint32_t /*core*/, std::uint32_t /*task*/) noexcept { return mirror_; }
    std::byte* outputs(std::uint32_t /*core*/, std::uint32_t /*task*/) noexcept { return mirror_ + page; }
    void delivered(std::uint32_t /*core*/, std::uint32_t /*task*/) noexcept {}
    void stop_job(std::uint32_t /*core*/, std::uint32_t /*task*/, std::uint32_t /*job*/) noexcept {}
    void record(const spm::Event& event) noexcept { last = event.kind; }
    void finished(const spm::JobRecord& /*job*/) noexcept { ++ended; }

    spm::Kind last = spm::Kind::count;
    std::uint32_t ended = 0;

  private:
    std::byte* mirror_;
    ApplicationDma dma_;
};

using Shared = spm::Handover<Access>::Shared;

template <class F>
std::uint32_t instructions(F&& f) noexcept {
    const Ticks begin = ThisPort::timestamp();
    f();
    return static_cast<std::uint32_t>(ThisPort::timestamp() - begin);
}

}  // namespace

int consort_program(bare::ControlBlock& block) noexcept {
    if (block.role() == 0) {
        return 0;
    }
    auto* memory = reinterpret_cast<std::byte*>(versal::window) + 0x100000;
    auto* words = reinterpret_cast<volatile std::uint32_t*>(shared_at);
    for (std::uint32_t i = 0; i < sizeof(Shared) / 4; ++i) {
        words[i] = 0;
    }
    auto& shared = *reinterpret_cast<Shared*>(shared_at);
    app::plan::Task row{};
    row.period = row.deadline = 8 * slot_length;
    const spm::Entry task{&row, {{2 * page, 1024, 1024, 1024}, memory, memory + 4 * page}};
    spm::CoreSetup<Access> setup;
    setup.tasks = {&task, 1};
    setup.handover = &shared;
    for (std::uint32_t p = 0; p < spm::partitions; ++p) {
        setup.partition[p] = reinterpret_cast<std::byte*>(partition_at(0, p));
    }
    const spm::Slot slot{0, slot_length};
    spm::Schedule schedule;
    schedule.slots = &slot;
    schedule.count = 1;
    // The kernel gets its time from this loop, which makes the slots.
    static Board board(memory + 8 * page);
    static spm::IoCore<Board, 1, 1, Access> kernel(board, &setup, 1, schedule);
    spm::Handover<Access>::CoreSide core(shared);
    std::uint32_t shortest[Slots::count];
    for (std::uint32_t& s : shortest) {
        s = ~0U;
    }
    std::uint32_t clock = ~0U;
    const auto keep = [](std::uint32_t& least, std::uint32_t found) {
        least = found < least ? found : least;
    };
    for (Ticks at = 0; board.ended < jobs; at += slot_length) {
        keep(clock, instructions([] {}));
        board.last = spm::Kind::count;
        const std::uint32_t before = board.ended;
        spm::ReadyJob ready{};
        const bool had = core.next(ready) == Status::ok;
        const std::uint32_t took = instructions([&] { kernel.step(at); });
        const bool has = core.next(ready) == Status::ok;
        if (board.last == spm::Kind::load_begin) {
            keep(shortest[load_begins], took);
        } else if (board.last == spm::Kind::unload_begin) {
            keep(shortest[unload_begins], took);
        } else if (board.ended != before) {
            keep(shortest[unload_ends], took);
        } else if (has && !had) {
            keep(shortest[load_ends], took);
        } else {
            keep(shortest[nothing], took);
        }
        // The DMA goes on from part to part while the I/O core looks.
        while (board.dma_state() == spm::DmaState::busy) {
        }
        if (core.next(ready) == Status::ok) {
            core.begin(at + 1);
            core.end(at + 2, spm::Outcome::done);
        }
    }
    versal::Zdma channel(1);
    for (std::uint32_t i = 0; i < jobs; ++i) {
        keep(shortest[transfer_started],
             instructions([&] { channel.start(setup.partition[0], memory, 1024); }));
        while (!channel.done()) {
        }
    }
    for (std::uint32_t i = 0; i < Slots::count; ++i) {
        block.result(i, shortest[i] - clock);
    }
    block.result(Slots::count, board.ended);
    return 0;
}
