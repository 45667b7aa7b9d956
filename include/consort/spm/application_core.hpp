// SPDX-License-Identifier: Apache-2.0
//
// The kernel on an application core: executes what is ready, in the order of the loads, and nothing else.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

#include "consort/icc/access.hpp"
#include "consort/icc/status.hpp"
#include "consort/port.hpp"
#include "consort/spm/event.hpp"
#include "consort/spm/handover.hpp"
#include "consort/spm/task.hpp"

namespace consort::spm {

// Where a job finds its parts. It touches nothing else.
struct Partition {
    std::byte* code;
    std::byte* data;
    const std::byte* inputs;
    std::byte* outputs;
};

[[nodiscard]] inline Partition parts_of(std::byte* base, const Footprint& size) noexcept {
    const Layout layout = layout_of(size);
    return {base, base + layout.data, base + layout.inputs, base + layout.outputs};
}

template <class B>
concept ExecutionBoard = requires(B& board, const ReadyJob& ready, const Partition& parts) {
    { board.now() }
    noexcept->std::same_as<Ticks>;
    // Executes the job from its partition, opening that partition and no other memory of its kind.
    { board.execute(ready, parts) }
    noexcept->std::same_as<Outcome>;
    { board.relax() }
    noexcept;
};

template <ExecutionBoard Board, class A = access::Coherent>
class ApplicationCore {
  public:
    ApplicationCore(Board& board, typename Handover<A>::Shared& shared, Table tasks,
                    std::byte* const (&partition)[partitions]) noexcept
        : board_(&board), hand_(shared), tasks_(tasks), partition_{partition[0], partition[1]} {}

    // Executes one job if one is ready. peer_fault: what the I/O core wrote cannot be.
    [[nodiscard]] Status poll() noexcept {
        ReadyJob ready;
        const Status status = hand_.next(ready);
        if (status != Status::ok) {
            return status;
        }
        if (ready.task >= tasks_.count) {
            return Status::peer_fault;
        }
        const Footprint& size = tasks_.entries[ready.task].image.size;
        std::byte* base = partition_[ready.partition];
        const std::uint32_t bytes = layout_of(size).bytes;
        hand_.begin(board_->now());
        A::observe_range(base, bytes);
        const Outcome outcome = board_->execute(ready, parts_of(base, size));
        A::publish_range(base, bytes);
        hand_.end(board_->now(), outcome);
        return Status::ok;
    }

    // Until the I/O core halts it.
    [[nodiscard]] Status run() noexcept {
        for (;;) {
            const Status status = poll();
            if (status == Status::peer_fault) {
                return status;
            }
            if (status == Status::would_block) {
                if (hand_.halted()) {
                    return Status::ok;
                }
                board_->relax();
            }
        }
    }

  private:
    Board* board_;
    typename Handover<A>::CoreSide hand_;
    Table tasks_;
    std::byte* partition_[partitions];
};

}  // namespace consort::spm
