// SPDX-License-Identifier: Apache-2.0
//
// The scratchpad-centric kernel on the A72: application cores. The first core's program starts the second;
// both then execute what the R5F hands over, each from its own partitions.
#include "consort/versal/scratchpad.hpp"

#include <cstdint>

#include "application_board.hpp"
#include "consort/bare/program.hpp"
#include "consort/spm/application_core.hpp"
#include "consort/versal/kernel_tables.hpp"
#include "consort/versal/second_core.hpp"

namespace {

using namespace consort;
using namespace consort::versal::scratchpad;
using consort::versal::PrivateTimer;

// Read by the first core before it starts the second.
KernelTables kernel_tables;

int run(std::uint32_t core, bare::ControlBlock& block) noexcept {
    enter_kernel(core);
    PrivateTimer::enable(core);
    const auto& tables = *in_window<const Tables>(tables_at);
    ApplicationBoard board(core, kernel_tables, tables);
    board.set_clock();
    spm::ApplicationCore<ApplicationBoard, Access> application(board, on_chip_shared().handover[core],
                                                               kernel_tables.plan.tasks(core),
                                                               kernel_tables.partition[core]);
    const Status status = application.run();
    PrivateTimer::stop();
    block.result(0, board.executed());
    block.result(1, static_cast<std::uint32_t>(board.round_trip()));
    return status == Status::ok ? 0 : bare::fail(block, "what the I/O core handed over cannot be");
}

// The second core's control block.
constexpr std::uint32_t second_place = consort::board::control_block_of_second_core;

}  // namespace

extern "C" void consort_second_main() {
    bare::ControlBlock block(bare::window() + second_place * bare::ControlBlock::bytes);
    block.state(bare::State::running);
    block.state(run(1, block) == 0 ? bare::State::done : bare::State::failed);
}

int consort_program(bare::ControlBlock& block) noexcept {
    if (in_window<const Tables>(tables_at)->magic != Tables::magic_number) {
        return bare::fail(block, "no tables in the window");
    }
    auto* word = reinterpret_cast<volatile std::uint32_t*>(shared_at);
    for (std::uint32_t i = 0; i < sizeof(OnChip) / 4; ++i) {
        word[i] = 0;
    }
    Access::store<SyncPoint::queue_release>(on_chip_shared().cleared, Tables::magic_number);
    if (const char* wrong = read_tables(kernel_tables)) {
        return bare::fail(block, wrong);
    }
    PrivateTimer::enable_distributor();
    if (const std::int64_t refusal =
            versal::start_second_core(reinterpret_cast<std::uintptr_t>(&consort_second_core));
        refusal != 0) {
        bare::Text<80> text;
        text.add("the boot firmware does not start the second core: -");
        return bare::fail(block, text.number(static_cast<std::uint32_t>(-refusal)).c_str());
    }
    return run(0, block);
}
