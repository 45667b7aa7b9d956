// SPDX-License-Identifier: Apache-2.0
//
// One thread stops what others do, and waits until none of them is at it. Who comes in says so before it
// looks whether it may, and who closes says so before it looks who is in: one of the two sees the other. The
// exploration (tests/relacy/explore_gate.cpp) takes words of its own.
#pragma once

#include <atomic>
#include <cstdint>

namespace consort::remote {

struct GateWords {
    using Word = std::atomic<std::uint32_t>;

    static void come(Word& inside) noexcept { inside.fetch_add(1, std::memory_order_seq_cst); }
    static void go(Word& inside) noexcept { inside.fetch_sub(1, std::memory_order_release); }
    static bool is_closed(const Word& closed) noexcept { return closed.load(std::memory_order_seq_cst) != 0; }
    static bool has_any(const Word& inside) noexcept { return inside.load(std::memory_order_seq_cst) != 0; }
    static void close(Word& closed) noexcept { closed.store(1, std::memory_order_seq_cst); }
    static void open(Word& closed) noexcept { closed.store(0, std::memory_order_release); }
};

template <class Words = GateWords>
class BasicGate {
  public:
    // False where it is closed; else `leave` follows.
    [[nodiscard]] bool enter() noexcept {
        Words::come(inside_);
        if (!Words::is_closed(closed_)) {
            return true;
        }
        Words::go(inside_);
        return false;
    }
    void leave() noexcept { Words::go(inside_); }

    // Nobody is in it afterwards. `wait()` is called while somebody still is.
    template <class Wait>
    void close(Wait wait) noexcept {
        Words::close(closed_);
        while (Words::has_any(inside_)) {
            wait();
        }
    }
    void open() noexcept { Words::open(closed_); }
    [[nodiscard]] bool is_closed() const noexcept { return Words::is_closed(closed_); }

  private:
    typename Words::Word inside_{0};
    typename Words::Word closed_{0};
};

using Gate = BasicGate<>;

}  // namespace consort::remote
