// SPDX-License-Identifier: Apache-2.0
//
// A task that two sides can run passes from one to the other at a job boundary, with its state; either side
// may die meanwhile. docs/explanation/mode-changes.md, "When a side dies".
//
// Each side has words that only it writes: how often it gave the task away, the number of its last
// checkpoint, and two slots for states. The task belongs to side 0 where both gave it away equally often,
// else to side 1. After each job the owner writes the state into the slot that its last checkpoint does not
// hold, then the checkpoint's number: one store commits the job. One more store gives the task away. So at
// every instant exactly one side owns it, whatever either is doing, and the newest checkpoint is whole.
//
// Prepare: the other side polls. Copy: save(). Commit: give(). Release: poll() returns true there.
//
// A side that died has lost its own memory; the shared words stay. It may be restarted, and goes on with the
// newest checkpoint if it is the owner; or the other side takes over from it. Whoever says that a side is
// dead (the kernel, a watchdog that holds it in reset) must know that it writes nothing any more until it is
// restarted, and restarts it before or after a take-over, not during one.
//
// Every call makes at most one access to a shared word, so that its time is bounded on any processor. Loads
// and stores only, aligned words of 32 bits.
#pragma once

#include <concepts>
#include <cstdint>

#include "consort/icc/wire.hpp"

namespace consort::migrate {

// Shared words by their numbers. A store is visible before later stores are; a load sees what was stored
// before what an earlier load saw.
template <class M>
concept SharedWords = requires(M& memory, std::uint32_t index, std::uint32_t value) {
    { memory.load(index) }
    noexcept->std::same_as<std::uint32_t>;
    { memory.store(index, value) }
    noexcept;
};

// Those at an address that both sides have mapped, coherent or uncached.
class WordsAt {
  public:
    explicit WordsAt(std::uint32_t* words) noexcept : words_(words) {}
    [[nodiscard]] std::uint32_t load(std::uint32_t index) noexcept {
        return wire(__atomic_load_n(words_ + index, __ATOMIC_ACQUIRE));
    }
    void store(std::uint32_t index, std::uint32_t value) noexcept {
        __atomic_store_n(words_ + index, wire(value), __ATOMIC_RELEASE);
    }

  private:
    std::uint32_t* words_;
};

// Where a side has its own copy of the state: in itself, or, of a size that is known at run time, elsewhere.
template <std::uint32_t words>
struct StateHere {
    static constexpr std::uint32_t size() noexcept { return words; }
    [[nodiscard]] std::uint32_t* at() noexcept { return state; }
    std::uint32_t state[words] = {};
};
struct StateAt {
    [[nodiscard]] std::uint32_t size() const noexcept { return words; }
    [[nodiscard]] std::uint32_t* at() const noexcept { return state; }
    std::uint32_t* state = nullptr;
    std::uint32_t words = 0;
};

[[nodiscard]] constexpr std::uint32_t shared_words(std::uint32_t size) noexcept {
    return 2 * (2 + 2 * size);
}

// One side of the hand-over of a state of `size` words. Its shared words are 0 at first: job 0 is the one
// before the first, its state all 0.
template <class Copy>
class HandOverOf {
  public:
    constexpr HandOverOf() noexcept = default;
    constexpr explicit HandOverOf(std::uint32_t side, Copy copy = {}) noexcept : self_(side), copy_(copy) {}

    // True if this side may run the next job; its state is here. Else a step is made towards it: called again
    // and again while the other side is the owner, and size + 4 times once this one is.
    template <SharedWords M>
    bool poll(M& memory) noexcept {
        switch (at_) {
            case 0:
                given_[self_] = memory.load(gave(self_));
                ++at_;
                return false;
            case 1:
                given_[1 - self_] = memory.load(gave(1 - self_));
                at_ = owner() == self_ ? 2 : 0;
                return false;
            case 2:
                last_[self_] = memory.load(checkpoint(self_));
                ++at_;
                return false;
            case 3:
                last_[1 - self_] = memory.load(checkpoint(1 - self_));
                ++at_;
                // Job numbers may wrap: the newer one is ahead by less than half of them.
                from_ = static_cast<std::int32_t>(last_[1] - last_[0]) > 0 ? 1 : 0;
                number_ = last_[from_];
                return false;
            default:
                break;
        }
        if (at_ < 4 + size()) {
            copy_.at()[at_ - 4] = memory.load(slot(from_, number_) + at_ - 4);
            ++at_;
        }
        return at_ == 4 + size() && saved_ == idle;
    }

    // Where poll() returned true: the state, to be changed by the job, and the number of the last job.
    [[nodiscard]] std::uint32_t* state() noexcept { return copy_.at(); }
    [[nodiscard]] std::uint32_t number() const noexcept { return number_; }
    // As of the last poll().
    [[nodiscard]] bool owns() const noexcept { return at_ == 4 + size(); }

    // After the job: called until it returns true, size + 1 times. With the last store the job is committed.
    template <SharedWords M>
    bool save(M& memory) noexcept {
        saved_ = saved_ == idle ? 0 : saved_;
        if (saved_ < size()) {
            memory.store(slot(self_, number_ + 1) + saved_, copy_.at()[saved_]);
            ++saved_;
            return false;
        }
        memory.store(checkpoint(self_), ++number_);
        saved_ = idle;
        return true;
    }

    // At a job boundary, where poll() returned true: the task is the other side's from now on.
    template <SharedWords M>
    void give(M& memory) noexcept {
        memory.store(gave(self_), ++given_[self_]);
        at_ = 0;
    }

    // The other side is dead: what it owns is this side's from now on. Three calls; true: done.
    template <SharedWords M>
    bool take_over(M& memory) noexcept {
        if (taking_ < 2) {
            // poll() may have read them long ago: the other side may have given the task away before it died.
            const std::uint32_t side = taking_++;
            given_[side] = memory.load(gave(side));
            return false;
        }
        taking_ = 0;
        if (owner() != self_) {
            memory.store(gave(1 - self_), ++given_[1 - self_]);
            at_ = 0;
        }
        return true;
    }

  private:
    static constexpr std::uint32_t idle = ~std::uint32_t{0};
    [[nodiscard]] constexpr std::uint32_t size() const noexcept { return copy_.size(); }
    [[nodiscard]] constexpr std::uint32_t side_words() const noexcept { return 2 + 2 * size(); }
    [[nodiscard]] constexpr std::uint32_t gave(std::uint32_t side) const noexcept {
        return side * side_words();
    }
    [[nodiscard]] constexpr std::uint32_t checkpoint(std::uint32_t side) const noexcept {
        return side * side_words() + 1;
    }
    [[nodiscard]] constexpr std::uint32_t slot(std::uint32_t side, std::uint32_t number) const noexcept {
        return side * side_words() + 2 + (number & 1U) * size();
    }
    [[nodiscard]] constexpr std::uint32_t owner() const noexcept { return given_[0] == given_[1] ? 0 : 1; }

    std::uint32_t self_ = 0;
    std::uint32_t at_ = 0;        // of poll()
    std::uint32_t saved_ = idle;  // of save(): words written
    std::uint32_t from_ = 0;
    std::uint32_t number_ = 0;
    std::uint32_t given_[2] = {0, 0};
    std::uint32_t last_[2] = {0, 0};
    Copy copy_{};
    std::uint32_t taking_ = 0;  // of take_over(): words read
};

template <std::uint32_t size>
using HandOver = HandOverOf<StateHere<size>>;

}  // namespace consort::migrate
