// SPDX-License-Identifier: Apache-2.0
//
// Instructions of three-phase tasks on a Cortex-A72, out of main memory and through the scratchpad kernel
// (`consort bench scratchpad --board versal`). The I/O core is played by this program, so nothing else
// executes while it counts. The window has the kernel's tables; `counts` are one word for each task, way and
// job.
//
// Every task is one that is called directly (consort_direct, in the order of the tables) and an image.
#include <cstdint>

#include "application_board.hpp"
#include "consort/bare/program.hpp"
#include "consort/spm/application_core.hpp"
#include "consort/versal/kernel_tables.hpp"
#include "consort/versal/scratchpad.hpp"
#include "consort/versal/zdma.hpp"

using namespace consort;
using namespace consort::versal::scratchpad;

extern "C" void (*const consort_direct[])(const spm::Partition&);

// Scratchpad_count itself is the first core's program; there is no second.
extern "C" void consort_second_main() {}

namespace {

alignas(page) std::byte main_memory[scratchpad_bytes];
KernelTables from;

void write(std::byte* to, const std::byte* source, std::uint32_t bytes) noexcept {
    for (std::uint32_t i = 0; i < bytes; ++i) {
        to[i] = source[i];
    }
}

void by_dma(versal::Zdma& dma, std::byte* to, const std::byte* source, std::uint32_t bytes) noexcept {
    if (bytes != 0) {
        dma.start(to, source, bytes);
        while (!dma.done()) {
        }
    }
}

// In main memory, called like any function.
std::uint32_t directly(std::uint32_t t, const spm::Footprint& size, const Given& row, std::byte* inputs,
                       std::byte* state) noexcept {
    spm::Partition parts = spm::parts_of(main_memory, size);
    write(parts.data, state, size.data);
    write(const_cast<std::byte*>(parts.inputs), inputs, size.inputs);
    write(parts.code, in_window<std::byte>(row.code_at), size.code);
    parts.code += reinterpret_cast<const ImageHeader*>(parts.code)->constants;
    const std::uint64_t begin = bare::ThisPort::cycles();
    consort_direct[t](parts);
    const auto took = static_cast<std::uint32_t>(bare::ThisPort::cycles() - begin);
    write(state, parts.data, size.data);
    write(in_window<std::byte>(row.outputs_at) + spm::aligned_part(size.outputs), parts.outputs,
          size.outputs);
    return took;
}

}  // namespace

int consort_program(bare::ControlBlock& block) noexcept {
    const auto& tables = *in_window<const Tables>(tables_at);
    auto* word = reinterpret_cast<volatile std::uint32_t*>(shared_at);
    for (std::uint32_t i = 0; i < sizeof(OnChip) / 4; ++i) {
        word[i] = 0;
    }
    if (const char* wrong = read_tables(from)) {
        return bare::fail(block, wrong);
    }
    enter_kernel(0);
    static ApplicationBoard board(0, from, tables);
    spm::Handover<Access>::Shared& shared = on_chip_shared().handover[0];
    spm::ApplicationCore<ApplicationBoard, Access> core(board, shared, from.plan.tasks(0), from.partition[0]);
    spm::Handover<Access>::IoSide hand(shared);
    versal::Zdma dma(0);
    auto* counts = in_window<std::uint32_t>(tables.events_at);
    const auto* rows = in_window<const Given>(tables.given_at);
    const auto jobs = static_cast<std::uint32_t>(tables.until);
    static std::byte direct_state[scratchpad_bytes];
    for (std::uint32_t t = 0; t < from.plan.tasks(0).count; ++t) {
        const spm::Image& task = from.plan.tasks(0).entries[t].image;
        const Given& row = rows[t];
        write(direct_state, task.data, task.size.data);
        for (std::uint32_t n = 0; n < jobs; ++n) {
            auto* inputs = in_window<std::byte>(row.inputs_at) +
                           std::size_t{n % row.input_rows} * spm::aligned_part(task.size.inputs);
            *counts++ = directly(t, task.size, row, inputs, direct_state);
            std::byte* base = from.partition[0][n % spm::partitions];
            const spm::Layout layout = spm::layout_of(task.size);
            by_dma(dma, base, task.code, task.size.code);
            by_dma(dma, base + layout.data, task.data, task.size.data);
            by_dma(dma, base + layout.inputs, inputs, task.size.inputs);
            hand.publish({t, n % spm::partitions, n});
            const std::uint64_t begin = bare::ThisPort::cycles();
            const Status status = core.poll();
            *counts++ = static_cast<std::uint32_t>(bare::ThisPort::cycles() - begin);
            Ticks finish = 0;
            if (status != Status::ok || hand.finished(0, finish) != Status::ok ||
                hand.take().outcome != spm::Outcome::done) {
                return bare::fail(block,
                                  bare::Text<64>().add("a job of task ").number(t).add(" failed").c_str());
            }
            by_dma(dma, task.data, base + layout.data, task.size.data);
            by_dma(dma, in_window<std::byte>(row.outputs_at), base + layout.outputs, task.size.outputs);
        }
    }
    return 0;
}
