// SPDX-License-Identifier: Apache-2.0
//
// The host of a link: transactions of two pieces there and back, with contents that both change places.
// Arguments: 0 offset of the ring in the window, 1 transactions. Results: 0 those that came back whole, 1
// those that failed, 2 those with other contents.
#include <cstdint>

#include "link_layout.hpp"

namespace {

using namespace consort;
using Host = link::Host<link_test::slots, link_test::Access>;

std::byte content(std::uint32_t number, std::uint32_t i) {
    return static_cast<std::byte>(number * 7U + i * 3U + 1U);
}

}  // namespace

int consort_program(bare::ControlBlock& block) noexcept {
    link_test::Memory& memory = link_test::memory(block);
    Host host(memory.ring, {memory.near, link_test::window_bytes}, link_test::window_bytes);
    std::uint32_t whole = 0;
    std::uint32_t failed = 0;
    std::uint32_t wrong = 0;
    for (std::uint32_t n = 1; n <= block.argument(1); ++n) {
        const std::uint32_t bytes = 8 + n * 36 % 16000 / 4 * 4;
        const std::uint32_t half = bytes / 8 * 4;
        for (std::uint32_t i = 0; i < bytes; ++i) {
            memory.near[i] = content(n, i);
        }
        const link::Piece there[2] = {{0, 16384, half}, {half, 0, bytes - half}};
        const link::Piece back[2] = {{32768 + half, 0, bytes - half}, {32768, 16384, half}};
        link::Outcome outcomes[2] = {};
        if (host.try_post(link::Direction::to_peer, there, 2, 2 * n, link::Completing::by_status) !=
                link::Posting::ok ||
            host.try_post(link::Direction::from_peer, back, 2, 2 * n + 1, link::Completing::by_status) !=
                link::Posting::ok) {
            return bare::fail(block, "the ring took no transaction");
        }
        for (std::uint32_t i = 0; i < 2; ++i) {
            link::Completion done{};
            Status status = Status::would_block;
            while ((status = host.poll(done)) == Status::would_block) {
                bare::ThisPort::relax();
                if (block.stop_requested()) {
                    return bare::fail(block, "stopped while a transaction was under way");
                }
            }
            if (status != Status::ok || done.tag != 2 * n + i) {
                return bare::fail(block, "another completion than was expected");
            }
            outcomes[i] = done.outcome;
        }
        if (outcomes[0] != link::Outcome::moved || outcomes[1] != link::Outcome::moved) {
            failed += 1;
        } else {
            std::uint32_t differs = 0;
            for (std::uint32_t i = 0; i < bytes; ++i) {
                differs += memory.near[32768 + i] == content(n, i) ? 0 : 1;
            }
            wrong += differs == 0 ? 0 : 1;
            whole += differs == 0 ? 1 : 0;
        }
        block.result(0, whole);
        block.result(1, failed);
        block.result(2, wrong);
        block.progress(n);
    }
    return 0;
}
