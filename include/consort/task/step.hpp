// SPDX-License-Identifier: Apache-2.0
//
// A task is a step over plain data:
//     void step(const In&, State&, Out&)
//     void step(const Constants&, const In&, State&, Out&)
// a free function or a static member function, noexcept or not. The same step runs local, offloaded and
// three-phase; everything that moves its parts is derived from its type.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "consort/icc/wire.hpp"

namespace consort {

// A part that a step does not have: no bytes travel for it.
struct Empty {};

namespace detail {

// Placeholder types for a function that is not a step; they keep the error message short.
template <class F>
struct StepParts {
    static constexpr bool is_step = false;
    using Constants = Empty;
    using In = Empty;
    using State = Empty;
    using Out = Empty;
};
template <class I, class S, class O>
struct StepParts<void (*)(const I&, S&, O&)> {
    static constexpr bool is_step = true;
    using Constants = Empty;
    using In = I;
    using State = S;
    using Out = O;
};
template <class C, class I, class S, class O>
struct StepParts<void (*)(const C&, const I&, S&, O&)> {
    static constexpr bool is_step = true;
    using Constants = C;
    using In = I;
    using State = S;
    using Out = O;
};
template <class I, class S, class O>
struct StepParts<void (*)(const I&, S&, O&) noexcept> : StepParts<void (*)(const I&, S&, O&)> {};
template <class C, class I, class S, class O>
struct StepParts<void (*)(const C&, const I&, S&, O&) noexcept>
    : StepParts<void (*)(const C&, const I&, S&, O&)> {};

template <class F>
inline constexpr bool takes_constants = false;
template <class C, class I, class S, class O>
inline constexpr bool takes_constants<void (*)(const C&, const I&, S&, O&)> = true;
template <class C, class I, class S, class O>
inline constexpr bool takes_constants<void (*)(const C&, const I&, S&, O&) noexcept> = true;

// Stands for "the step has no function that makes its constants".
struct NoConstants {};

}  // namespace detail

// The input with which a master computes a job that its worker did not answer: that of the worker, for every
// step that a user writes.
template <class In>
struct FallbackInput {
    static const In& of(const In& in) noexcept { return in; }
};

// A task made of a step function. `MakeConstants`: a function that returns the step's Constants; needed
// where these are not empty. A fresh state is State{}.
template <auto Function, auto MakeConstants = detail::NoConstants{}>
struct Task {
    using Parts = detail::StepParts<decltype(Function)>;
    static_assert(Parts::is_step,
                  "a step is a function void(const In&, State&, Out&), or with const Constants& first, "
                  "optionally noexcept: it reads its input, changes its state and fills in its output");
    using Constants = typename Parts::Constants;
    using In = typename Parts::In;
    using State = typename Parts::State;
    using Out = typename Parts::Out;
    // Wherever a step runs, its parts may be moved: each says for itself why it cannot be.
    static_assert(sizeof(detail::SayWhyNotCopied<Constants>) + sizeof(detail::SayWhyNotCopied<In>) +
                      sizeof(detail::SayWhyNotCopied<State>) + sizeof(detail::SayWhyNotCopied<Out>) !=
                  0);

    static constexpr bool makes_constants =
        !std::is_same_v<std::remove_cv_t<decltype(MakeConstants)>, detail::NoConstants>;

    // One call for all four forms. `constants` is not looked at by a step that takes none.
    static void call(const Constants& constants, const In& in, State& state, Out& out) {
        static_cast<void>(constants);
        if constexpr (detail::takes_constants<decltype(Function)>) {
            Function(constants, in, state, out);
        } else if constexpr (Parts::is_step) {
            Function(in, state, out);
        }
    }

    // With the constants of this program.
    static void step(const In& in, State& state, Out& out) { call(constants(), in, state, out); }

    [[nodiscard]] static const Constants& constants() {
        static_assert(makes_constants || std::is_empty_v<Constants>,
                      "a step that takes constants needs a function constants() beside it that makes them");
        if constexpr (makes_constants) {
            return made;
        } else {
            static constexpr Constants none{};
            return none;
        }
    }

  private:
    struct Nothing {};
    using Stored = std::conditional_t<makes_constants, Constants, Nothing>;
    static Stored make() {
        if constexpr (makes_constants) {
            return MakeConstants();
        } else {
            return {};
        }
    }
    alignas(64) static inline const Stored made = make();
};

}  // namespace consort
