// SPDX-License-Identifier: Apache-2.0
// Condition monitoring: the spectrum of 512 accelerometer samples, and its largest line.
#pragma once

#include <cmath>
#include <cstdint>

#include "consort/migrate/safepoint.hpp"
#include "consort/task/values.hpp"
#include "data.hpp"

namespace drive::monitor {

inline constexpr std::uint32_t samples = 512;

struct Constants {
    float cosine[samples / 2];
    float sine[samples / 2];
    std::uint16_t reversed[samples];  // the bits of an index, backwards
};
struct In {
    consort::Batch<float, samples> taken;
};
struct State {
    float window[samples];  // what is collected so far
    std::uint32_t collected;
    Health health;
};
struct Out {
    Health health;
};

inline Constants constants() {
    Constants made{};
    constexpr double circle = 6.283185307179586;
    for (std::uint32_t i = 0; i < samples / 2; ++i) {
        made.cosine[i] = static_cast<float>(std::cos(circle * i / samples));
        made.sine[i] = static_cast<float>(std::sin(circle * i / samples));
    }
    for (std::uint32_t i = 0; i < samples; ++i) {
        for (std::uint32_t bit = 1, back = samples / 2; bit < samples; bit *= 2, back /= 2) {
            made.reversed[i] = static_cast<std::uint16_t>(made.reversed[i] | ((i & bit) != 0 ? back : 0));
        }
    }
    return made;
}

inline void arrange(const Constants& constants, const float* window, float* real, float* imaginary) {
    for (std::uint32_t i = 0; i < samples; ++i) {
        real[i] = window[constants.reversed[i]];
        imaginary[i] = 0.0F;
    }
}

// One stage of the transform: transforms of twice `half` samples of those of `half`.
inline void stage(const Constants& constants, std::uint32_t half, float* real, float* imaginary) {
    const std::uint32_t stride = samples / (2 * half);
    for (std::uint32_t first = 0; first < samples; first += 2 * half) {
        for (std::uint32_t j = 0; j < half; ++j) {
            const float c = constants.cosine[j * stride];
            const float s = constants.sine[j * stride];
            const std::uint32_t low = first + j;
            const std::uint32_t high = low + half;
            const float re = real[high] * c + imaginary[high] * s;
            const float im = imaginary[high] * c - real[high] * s;
            real[high] = real[low] - re;
            imaginary[high] = imaginary[low] - im;
            real[low] += re;
            imaginary[low] += im;
        }
    }
}

// The discrete Fourier transform of real samples, in place of `real` and `imaginary`: radix 2, decimation in
// time.
inline void transform(const Constants& constants, const float* window, float* real, float* imaginary) {
    arrange(constants, window, real, imaginary);
    for (std::uint32_t half = 1; half < samples; half *= 2) {
        stage(constants, half, real, imaginary);
        // The job may go on on another processor here (docs/explanation/mode-changes.md, "Migration in
        // mid-job").
        consort::safepoint();
    }
}

inline void assess(const Constants& constants, const float* window, Health& health) {
    float real[samples];
    float imaginary[samples];
    transform(constants, window, real, imaginary);
    float largest = 0.0F;
    for (std::uint32_t k = 1; k < samples / 2; ++k) {
        const float power = real[k] * real[k] + imaginary[k] * imaginary[k];
        if (power > largest) {
            largest = power;
            health.peak_bin = k;
        }
    }
    float sum = 0.0F;
    for (std::uint32_t i = 0; i < samples; ++i) {
        sum += window[i] * window[i];
    }
    health.peak = 2.0F / samples * std::sqrt(largest);
    health.rms = std::sqrt(sum / samples);
    ++health.windows;
}

// A batch may hold fewer samples than a window, because sender and monitor do not run in step.
inline void step(const Constants& constants, const In& in, State& state, Out& out) {
    for (std::uint32_t i = 0; i < in.taken.count; ++i) {
        state.window[state.collected++] = in.taken.items[i];
        if (state.collected == samples) {
            assess(constants, state.window, state.health);
            state.collected = 0;
        }
    }
    out.health = state.health;
}

}  // namespace drive::monitor
