// SPDX-License-Identifier: Apache-2.0
//
// The fourteen kernels in the order of the paper's Table V, each as a three-phase task.
#pragma once

#include "consort/spm/step.hpp"
#include "data.hpp"
#include "filters.hpp"
#include "lookup.hpp"
#include "timing.hpp"
#include "transforms.hpp"

namespace automotive {

template <class K>
using TaskOf = consort::spm::ThreePhase<&K::step>;

template <class K>
typename K::Constants constants_of() {
    if constexpr (requires { K::constants(); }) {
        return K::constants();
    } else {
        return {};
    }
}

// Calls f.template operator()<K>() for each kernel.
template <class F>
void for_each_kernel(F&& f) {
    const auto list = [&f]<class... K>() { (f.template operator()<K>(), ...); };
    list.template operator()<Tblook, Matrix, A2time, Pntrch, Ttsprk, Iirflt, Canrdr, Bitmnp, Rspeed, Puwm,
                             Aifirf, Aifftr, Aiifft, Idct>();
}

}  // namespace automotive
