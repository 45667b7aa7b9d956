// SPDX-License-Identifier: Apache-2.0
//
// Token: which of two sides may read or write a shared region. No memory is touched here, so that all its
// states can be explored (tests/dsm/test_token.cpp).
//
// At any instant both sides may read, or one side may write and the other may do nothing. A side that lacks a
// right asks the other one for it; the other one grants it as soon as it does not use the region against it.
//
//   own right \ other's   none     read     write
//   none                  -        -        yes
//   read                  -        yes      -
//   write                 yes      -        -
//
// (While a grant is on its way the side that gave it has its new right already, the other one its old right.)
//
// When both sides may read and both ask to write at once, the preferred side is granted first. A side that
// was granted what it waits for uses it once; a side that was asked grants before it begins another use. So
// whoever asks waits for one use of the other side at most.
#pragma once

#include <cstdint>

namespace consort::dsm {

enum class Right : std::uint8_t { none = 0, read = 1, write = 2 };

// The right of one side to the region, and the waits for it.
class Token {
  public:
    // `preferred`: exactly one of the two sides. `right`: at the start one side may write, the other nothing.
    constexpr Token(bool preferred, Right right) noexcept : preferred_(preferred), right_(right) {}

    [[nodiscard]] constexpr Right right() const noexcept { return right_; }
    // The side's present use of the region.
    [[nodiscard]] constexpr Right use() const noexcept { return use_; }
    // The right that it has asked for and was not granted yet.
    [[nodiscard]] constexpr Right asked() const noexcept { return asked_; }
    // The right that the other side has asked for and was not granted yet.
    [[nodiscard]] constexpr Right wanted() const noexcept { return wanted_; }

    // The right that the side waits for, and true if it has come and was not used yet.
    [[nodiscard]] constexpr Right waits_for() const noexcept { return waits_for_; }
    [[nodiscard]] constexpr bool fresh() const noexcept { return fresh_; }

    // The side wants to use the region like this, from now until it begins or gives up.
    constexpr void want(Right use) noexcept { waits_for_ = use; }
    constexpr void give_up() noexcept {
        waits_for_ = Right::none;
        fresh_ = false;
    }
    // Begins the use if the right is there, and the other side does not wait for a right against it or this
    // one was just granted. A question that was given up is answered first. All that the other side said by
    // now is to be heard before.
    [[nodiscard]] constexpr bool try_begin() noexcept {
        const Right use = waits_for_;
        if (use == Right::none || use_ != Right::none || asked_ != Right::none || right_ < use ||
            (against(use) && !fresh_)) {
            return false;
        }
        use_ = use;
        give_up();
        return true;
    }
    constexpr void end() noexcept { use_ = Right::none; }

    // Asks for what the side wants, if it lacks it. True: it is to be said to the other side. One question at
    // a time.
    [[nodiscard]] constexpr bool ask() noexcept {
        const Right right = waits_for_;
        if (asked_ != Right::none || right_ >= right || wanted_ != Right::none) {
            return false;
        }
        asked_ = right;
        return true;
    }

    // The other side asked. False: no side that keeps to the protocol asks that now.
    [[nodiscard]] constexpr bool hear_ask(Right right) noexcept {
        // A side that may not even read was asked by one that waits for a right which is on its way to it.
        if (right == Right::none || wanted_ != Right::none || right_ == Right::none ||
            (right_ == Right::read && right != Right::write)) {
            return false;
        }
        wanted_ = right;
        return true;
    }
    // The other side granted what was asked for. False: it was not asked for.
    [[nodiscard]] constexpr bool hear_grant(Right right) noexcept {
        if (right == Right::none || asked_ != right) {
            return false;
        }
        right_ = right;
        asked_ = Right::none;
        fresh_ = waits_for_ != Right::none && waits_for_ <= right;
        return true;
    }

    // True if the right that the other side waits for can be granted now.
    [[nodiscard]] constexpr bool may_grant() const noexcept {
        return wanted_ != Right::none && !used_against(wanted_) && !goes_first() && !fresh_;
    }
    // Grants it: this is to be said to the other side, when what it reads is there. The side's own right
    // shrinks.
    constexpr Right grant() noexcept {
        const Right granted = wanted_;
        right_ = granted == Right::read ? Right::read : Right::none;
        wanted_ = Right::none;
        fresh_ = false;
        return granted;
    }

    // Unanswered requests, on either side, are void: the other side is there for the first time, or anew.
    constexpr void forget_questions() noexcept {
        wanted_ = Right::none;
        asked_ = Right::none;
    }
    // The other side has nothing any more.
    constexpr void take_over() noexcept {
        forget_questions();
        right_ = Right::write;
    }

  private:
    // True if the other side waits for a right that a use of this kind would hold up.
    [[nodiscard]] constexpr bool against(Right use) const noexcept {
        return wanted_ == Right::write || (wanted_ == Right::read && use == Right::write);
    }
    [[nodiscard]] constexpr bool used_against(Right wanted) const noexcept {
        return use_ == Right::write || (use_ == Right::read && wanted == Right::write);
    }
    // Both may read and both have asked to write: the preferred side's question is answered first.
    [[nodiscard]] constexpr bool goes_first() const noexcept {
        return preferred_ && asked_ == Right::write && right_ == Right::read;
    }

    bool preferred_;
    Right right_;
    Right use_ = Right::none;
    Right asked_ = Right::none;
    Right wanted_ = Right::none;
    Right waits_for_ = Right::none;
    bool fresh_ = false;
};

}  // namespace consort::dsm
