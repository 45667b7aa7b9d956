// SPDX-License-Identifier: Apache-2.0
// A long job: the spectra of many windows of 512 samples, with a safepoint after each stage of each
// transform.
#pragma once

#include <cmath>
#include <cstdint>

#include "../drive/monitor.hpp"
#include "consort/migrate/safepoint.hpp"

namespace migrate::spectrum {

using drive::monitor::constants;
using drive::monitor::Constants;
using drive::monitor::samples;

struct In {
    std::uint32_t seed;
    std::uint32_t windows;  // 0: as many as 16
};
struct State {
    std::uint32_t jobs;
    drive::Health health;
};
struct Out {
    drive::Health health;
    float lines[8];  // the strongest of each eighth of the spectrum, over all windows
};

// Samples that look like a vibration: two tones and noise.
inline void take(const Constants& constants, std::uint32_t& random, std::uint32_t window, float* into) {
    for (std::uint32_t i = 0; i < samples; ++i) {
        random = random * 1664525U + 1013904223U;
        const float noise = static_cast<float>(random >> 8U) / 16777216.0F - 0.5F;
        into[i] = constants.sine[(i * (17 + window)) % (samples / 2)] + 0.5F * noise;
    }
}

inline void note(const float* window, const float* real, const float* imaginary, Out& out) {
    float sum = 0.0F;
    for (std::uint32_t i = 0; i < samples; ++i) {
        sum += window[i] * window[i];
    }
    float largest = 0.0F;
    for (std::uint32_t k = 1; k < samples / 2; ++k) {
        const float power = real[k] * real[k] + imaginary[k] * imaginary[k];
        float& line = out.lines[k / (samples / 16)];
        line = power > line ? power : line;
        if (power > largest) {
            largest = power;
            out.health.peak_bin = k;
        }
    }
    out.health.peak = 2.0F / samples * std::sqrt(largest);
    out.health.rms = std::sqrt(sum / samples);
    ++out.health.windows;
}

inline void clear(Out& out) {
    out = Out{};
}

// Code outside of the loop has no safepoint either: in a function apart, it is not instrumented.
inline void finish(State& state, Out& out) {
    out.health.windows += state.health.windows;
    state.health = out.health;
    ++state.jobs;
}

inline void step(const Constants& constants, const In& in, State& state, Out& out) {
    float window[samples];
    float real[samples];
    float imaginary[samples];
    std::uint32_t random = in.seed + state.jobs;
    clear(out);
    const std::uint32_t windows = in.windows == 0 ? 16 : in.windows;
    for (std::uint32_t i = 0; i < windows; ++i) {
        take(constants, random, i, window);
        drive::monitor::transform(constants, window, real, imaginary);
        note(window, real, imaginary, out);
        consort::safepoint();
    }
    finish(state, out);
}

}  // namespace migrate::spectrum
