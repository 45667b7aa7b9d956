// SPDX-License-Identifier: Apache-2.0
//
// A three-phase task from a step over plain data: void(const Constants&, const In&, State&, Out&).
//
// Constants (tables, parameters) travel as the image's read-only part, State as its data, In and Out as its
// inputs and outputs. `Empty` stands for a part that is not there.
#pragma once

#include <cstdint>
#include <type_traits>

#include "consort/spm/application_core.hpp"
#include "consort/spm/task.hpp"

namespace consort::spm {

struct Empty {};

namespace detail {

template <class T>
inline constexpr std::uint32_t bytes_of = std::is_empty_v<T> ? 0 : sizeof(T);

template <class F>
struct StepParts;

template <class C, class I, class S, class O>
struct StepParts<void (*)(const C&, const I&, S&, O&) noexcept> {
    using Constants = C;
    using In = I;
    using State = S;
    using Out = O;
};

}  // namespace detail

template <auto step>
struct ThreePhase : detail::StepParts<decltype(step)> {
    using Parts = detail::StepParts<decltype(step)>;
    using typename Parts::Constants;
    using typename Parts::In;
    using typename Parts::Out;
    using typename Parts::State;
    // Moved byte by byte, to where a partition happens to be.
    static_assert(std::is_trivially_copyable_v<Constants> && std::is_trivially_copyable_v<In> &&
                      std::is_trivially_copyable_v<State> && std::is_trivially_copyable_v<Out>,
                  "the parts of a three-phase task are copied by a DMA: they must be trivially copyable");
    static_assert(alignof(Constants) <= part_alignment && alignof(In) <= part_alignment &&
                      alignof(State) <= part_alignment && alignof(Out) <= part_alignment,
                  "the parts of a three-phase task are aligned to part_alignment and no more");

    static constexpr Footprint footprint{detail::bytes_of<Constants>, detail::bytes_of<State>,
                                         detail::bytes_of<In>, detail::bytes_of<Out>};

    static void run(const Partition& parts) noexcept {
        step(*reinterpret_cast<const Constants*>(parts.code), *reinterpret_cast<const In*>(parts.inputs),
             *reinterpret_cast<State*>(parts.data), *reinterpret_cast<Out*>(parts.outputs));
    }
};

}  // namespace consort::spm
