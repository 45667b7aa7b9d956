// SPDX-License-Identifier: Apache-2.0
//
// One way between the board's two clusters, in both directions and through both memories: one byte, then
// arrays with a flag (a mailbox). After Coppik et al., NG-RES 2025, section 3.
//
// Role: 1 = this core takes part. Arguments: 0 messages of a leg, 1 offset in the window of the log
// (legs.hpp). Results: 0 legs, 1 wrong contents.
#include <cstdint>

#include "bench/board/legs.hpp"
#include "consort/icc.hpp"

namespace {

using namespace one_way;
using Access = consort::access::SystemBarrier;

// The core with the first control block is the first side.
class Side : public Legs {
  public:
    using Legs::Legs;

    // From the first side to the second.
    template <std::uint32_t N>
    bool array(unsigned char* memory) noexcept {
        struct Array {
            std::uint8_t bytes[N];
        };
        using Mail = consort::Mailbox<Array, Access>;
        if (!begin(memory)) {
            return false;
        }
        auto* shared = reinterpret_cast<typename Mail::Shared*>(memory + box_at);
        alignas(8) static Array array;
        // Seen by others as far as the compiler knows: what is done to it stays on its side of the clock.
        asm volatile("" ::"r"(&array) : "memory");
        if constexpr (this_place == 0) {
            typename Mail::Writer writer(*shared);
            for (std::uint32_t i = 1; i <= messages_; ++i) {
                for (std::uint32_t k = 0; k < N; ++k) {
                    array.bytes[k] = static_cast<std::uint8_t>(i * 7 + k);
                }
                if (!await_receiver(memory, i)) {
                    return false;
                }
                note(i, 0, clock_ns());
                if (writer.try_write(array) != consort::Status::ok) {
                    ++wrong_;
                }
                give_way();
            }
        } else {
            typename Mail::Reader reader(*shared);
            for (std::uint32_t i = 1; i <= messages_; ++i) {
                announce(memory, i);
                consort::Status status = reader.try_read(array);
                while (status == consort::Status::would_block) {
                    if (!wait()) {
                        return false;
                    }
                    status = reader.try_read(array);
                }
                note(i, 1, clock_ns());
                bool good = status == consort::Status::ok;
                for (std::uint32_t k = 0; k < N; ++k) {
                    good = good && array.bytes[k] == static_cast<std::uint8_t>(i * 7 + k);
                }
                wrong_ += good ? 0U : 1U;
            }
        }
        ++leg_;
        return true;
    }
};

template <std::uint32_t... N>
bool arrays(Side& side, unsigned char* memory) noexcept {
    return (side.array<N>(memory) && ...);
}

}  // namespace

int consort_program(ControlBlock& block) noexcept {
    if (block.role() == 0) {
        return 0;
    }
    Side side(block, this_place == 0, block.argument(0), block.argument(1));
    unsigned char* memories[] = {window() + 0x20000, on_chip() + 0x10000};
    bool done = true;
    for (unsigned char* memory : memories) {
        done = done && side.byte(memory, true) && side.byte(memory, false);
    }
    for (unsigned char* memory : memories) {
        done = done && arrays<1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096>(side, memory);
    }
    return side.result(done);
}
