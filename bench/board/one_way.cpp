// SPDX-License-Identifier: Apache-2.0
//
// One way between the board's two clusters, in both directions and through both memories: one byte, then
// arrays with a flag (a mailbox). After Coppik et al., NG-RES 2025, section 3.
//
// Role: 1 = this core takes part. Arguments: 0 iterations, 1 offset in the window of the log. Both sides go
// through the same legs; in leg l, iteration i, the sender leaves its clock at log[(l * iterations + i) * 2],
// the receiver at the next place: 64 bits, nanoseconds of the core's own counter. Results: 0 legs, 1 wrong
// contents.
#include <cstdint>

#include "consort/bare/program.hpp"
#include "consort/icc.hpp"

namespace {

using namespace consort::bare;
using Access = consort::access::SystemBarrier;

constexpr bool is_a72 = this_place == 0;

// Both clusters count the same nanoseconds of the emulator, from different beginnings. (The generic timer of
// the A72 only advances every 16.)
std::uint64_t clock_ns() noexcept {
    if constexpr (is_a72) {
        return ThisPort::cycles();
    } else {
        return ThisPort::now();
    }
}

class Side {
  public:
    Side(Desk& desk, std::uint32_t iterations, unsigned char* log) noexcept
        : desk_(desk), iterations_(iterations), log_(log) {}

    // Everything of the other side that belongs to the last leg is over.
    bool meet() noexcept {
        ++meetings_;
        consort::isa::system_barrier();
        word(window() + meeting + (is_a72 ? 0 : 64)) = meetings_;
        while (word(window() + meeting + (is_a72 ? 64 : 0)) < meetings_) {
            if (!wait()) {
                return false;
            }
        }
        consort::isa::system_barrier();
        return true;
    }

    bool byte(unsigned char* memory, bool to_r5f) noexcept {
        if (!begin(memory)) {
            return false;
        }
        auto* flag = reinterpret_cast<volatile std::uint8_t*>(memory + byte_at);
        for (std::uint32_t i = 1; i <= iterations_; ++i) {
            const auto value = static_cast<std::uint8_t>(i);
            if (to_r5f == is_a72) {
                if (!await_receiver(memory, i)) {
                    return false;
                }
                note(i, 0, clock_ns());
                *flag = value;
                consort::isa::system_barrier();
                give_way();
            } else {
                announce(memory, i);
                const auto before = static_cast<std::uint8_t>(i - 1);
                while (*flag == before) {
                    if (!wait()) {
                        return false;
                    }
                }
                note(i, 1, clock_ns());
                wrong_ += *flag == value ? 0U : 1U;
            }
        }
        ++leg_;
        return true;
    }

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
        if constexpr (is_a72) {
            typename Mail::Writer writer(*shared);
            for (std::uint32_t i = 1; i <= iterations_; ++i) {
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
            for (std::uint32_t i = 1; i <= iterations_; ++i) {
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

    [[nodiscard]] std::uint32_t legs() const noexcept { return leg_; }
    [[nodiscard]] std::uint32_t wrong() const noexcept { return wrong_; }

  private:
    static constexpr std::uint32_t meeting = 0x10000;
    static constexpr std::uint32_t ready_at = 0;
    static constexpr std::uint32_t byte_at = 64;
    static constexpr std::uint32_t box_at = 128;
    static constexpr std::uint32_t area = 0x3000;

    static volatile std::uint32_t& word(unsigned char* at) noexcept {
        return *reinterpret_cast<volatile std::uint32_t*>(at);
    }
    bool wait() noexcept {
        ThisPort::relax();
        return ++turns_ % 65536 != 0 || !desk_.told_to_stop();
    }
    // Empties the memory of the leg; one side does.
    bool begin(unsigned char* memory) noexcept {
        if (!meet()) {
            return false;
        }
        if constexpr (is_a72) {
            for (std::uint32_t at = 0; at < area; at += 4) {
                word(memory + at) = 0;
            }
        }
        return meet();
    }
    void announce(unsigned char* memory, std::uint32_t message) noexcept {
        consort::isa::system_barrier();
        word(memory + ready_at) = message;
        consort::isa::system_barrier();
    }
    bool await_receiver(unsigned char* memory, std::uint32_t message) noexcept {
        while (word(memory + ready_at) != message) {
            if (!wait()) {
                return false;
            }
        }
        // So that the receiver is back in its loop.
        give_way();
        return true;
    }
    // Emulated cores take turns: what the sender went on with would be counted before the receiver's next
    // turn, and belongs to no message.
    static void give_way() noexcept {
        for (int i = 0; i < 16; ++i) {
            ThisPort::relax();
        }
    }
    void note(std::uint32_t message, std::uint32_t which, std::uint64_t ns) noexcept {
        unsigned char* at = log_ + ((std::uint64_t{leg_} * iterations_ + message - 1) * 2 + which) * 8;
        word(at) = static_cast<std::uint32_t>(ns);
        word(at + 4) = static_cast<std::uint32_t>(ns >> 32U);
    }

    Desk& desk_;
    std::uint32_t iterations_;
    unsigned char* log_;
    std::uint32_t meetings_ = 0;
    std::uint32_t leg_ = 0;
    std::uint32_t wrong_ = 0;
    std::uint32_t turns_ = 0;
};

template <std::uint32_t... N>
bool arrays(Side& side, unsigned char* memory) noexcept {
    return (side.array<N>(memory) && ...);
}

}  // namespace

int consort_program(Desk& desk) noexcept {
    if (desk.role() == 0) {
        return 0;
    }
    Side side(desk, desk.argument(0), window() + desk.argument(1));
    unsigned char* memories[] = {window() + 0x20000, on_chip() + 0x10000};
    bool done = true;
    for (unsigned char* memory : memories) {
        done = done && side.byte(memory, true) && side.byte(memory, false);
    }
    for (unsigned char* memory : memories) {
        done = done && arrays<1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096>(side, memory);
    }
    if (!done) {
        return fail(desk, "stopped waiting");
    }
    desk.result(0, side.legs());
    desk.result(1, side.wrong());
    return side.wrong() == 0 ? 0 : fail(desk, "a message came with a wrong content");
}
