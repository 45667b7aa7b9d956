// SPDX-License-Identifier: Apache-2.0
//
// A three-phase task from a step (consort/task/step.hpp).
//
// Constants (tables, parameters) travel as the image's read-only part, State as its data, In and Out as its
// inputs and outputs. `Empty` stands for a part that is not there.
#pragma once

#include <cstdint>
#include <type_traits>

#include "consort/spm/application_core.hpp"
#include "consort/spm/task.hpp"
#include "consort/task/step.hpp"

namespace consort::spm {

using consort::Empty;

namespace detail {

template <class T>
inline constexpr std::uint32_t bytes_of = std::is_empty_v<T> ? 0 : sizeof(T);

}  // namespace detail

template <auto step>
struct ThreePhase : consort::Task<step> {
    using typename consort::Task<step>::Constants;
    using typename consort::Task<step>::In;
    using typename consort::Task<step>::Out;
    using typename consort::Task<step>::State;
    static_assert(alignof(Constants) <= part_alignment && alignof(In) <= part_alignment &&
                      alignof(State) <= part_alignment && alignof(Out) <= part_alignment,
                  "the parts of a three-phase task are aligned to part_alignment and no more");

    static constexpr Footprint footprint{detail::bytes_of<Constants>, detail::bytes_of<State>,
                                         detail::bytes_of<In>, detail::bytes_of<Out>};

    static void run(const Partition& parts) noexcept {
        consort::Task<step>::call(
            *reinterpret_cast<const Constants*>(parts.code), *reinterpret_cast<const In*>(parts.inputs),
            *reinterpret_cast<State*>(parts.data), *reinterpret_cast<Out*>(parts.outputs));
    }
};

}  // namespace consort::spm
