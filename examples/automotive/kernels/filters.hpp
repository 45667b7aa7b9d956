// SPDX-License-Identifier: Apache-2.0
//
// Filters: cascaded biquads (iirflt), an adaptive FIR (aifirf).
#pragma once

#include <cstddef>

#include "consort/spm/step.hpp"

namespace automotive {

// Four second-order sections, transposed direct form II: a Butterworth low-pass of order 8 at a tenth of the
// sampling rate.
struct Iirflt {
    static constexpr const char* name = "iirflt";
    static constexpr std::size_t sections = 4, samples = 100;
    struct Constants {
        float b[sections][3];
        float a[sections][2];
    };
    struct In {
        float x[samples];
    };
    struct State {
        float z[sections][2];
    };
    struct Out {
        float y[samples];
    };
    static Constants constants() {
        // scipy.signal.butter(8, 0.2, output="sos")
        return {{{2.39596441e-05F, 4.79192882e-05F, 2.39596441e-05F},
                 {1.0F, 2.0F, 1.0F},
                 {1.0F, 2.0F, 1.0F},
                 {1.0F, 2.0F, 1.0F}},
                {{-1.02635147F, 0.268640191F},
                 {-1.08685846F, 0.343430940F},
                 {-1.21972537F, 0.507663465F},
                 {-1.45157959F, 0.794251053F}}};
    }
    static void step(const Constants& c, const In& in, State& state, Out& out) noexcept {
        for (std::size_t n = 0; n < samples; ++n) {
            float x = in.x[n];
            for (std::size_t s = 0; s < sections; ++s) {
                const float y = c.b[s][0] * x + state.z[s][0];
                state.z[s][0] = c.b[s][1] * x - c.a[s][0] * y + state.z[s][1];
                state.z[s][1] = c.b[s][2] * x - c.a[s][1] * y;
                x = y;
            }
            out.y[n] = x;
        }
    }
};

// Least mean squares: the filter follows the unknown system that made `wanted` from `x`.
struct Aifirf {
    static constexpr const char* name = "aifirf";
    static constexpr std::size_t taps = 64, samples = 64;
    using Constants = consort::spm::Empty;
    struct In {
        float x[samples];
        float wanted[samples];
        float rate;
    };
    struct State {
        float weight[taps];
        float line[taps];  // the last samples, the newest first
    };
    struct Out {
        float y[samples];
        float error[samples];
    };
    static void step(const Constants& /*c*/, const In& in, State& state, Out& out) noexcept {
        for (std::size_t n = 0; n < samples; ++n) {
            for (std::size_t k = taps - 1; k > 0; --k) {
                state.line[k] = state.line[k - 1];
            }
            state.line[0] = in.x[n];
            float y = 0;
            for (std::size_t k = 0; k < taps; ++k) {
                y += state.weight[k] * state.line[k];
            }
            const float error = in.wanted[n] - y;
            for (std::size_t k = 0; k < taps; ++k) {
                state.weight[k] += in.rate * error * state.line[k];
            }
            out.y[n] = y;
            out.error[n] = error;
        }
    }
};

}  // namespace automotive
