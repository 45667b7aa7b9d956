// SPDX-License-Identifier: Apache-2.0
//
// Transforms: FFT (aifftr), inverse FFT (aiifft), inverse DCT (idct).
#pragma once

#include <cmath>
#include <cstddef>
#include <numbers>
#include <utility>

#include "consort/spm/step.hpp"

namespace automotive {

struct Complex {
    float re, im;
};

template <std::size_t n>
struct Twiddles {
    Complex w[n / 2];  // exp(-2 pi i k / n)
};

template <std::size_t n>
inline Twiddles<n> make_twiddles() {
    Twiddles<n> t{};
    for (std::size_t k = 0; k < n / 2; ++k) {
        const double angle = -2 * std::numbers::pi * static_cast<double>(k) / n;
        t.w[k] = {static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle))};
    }
    return t;
}

// In place, radix 2, decimation in time. `sign` -1: the inverse, without its 1/n.
template <std::size_t n>
inline void fft(const Twiddles<n>& t, Complex (&x)[n], float sign) noexcept {
    static_assert((n & (n - 1)) == 0, "a power of two");
    for (std::size_t i = 1, j = 0; i < n; ++i) {
        std::size_t bit = n >> 1U;
        for (; (j & bit) != 0; bit >>= 1U) {
            j ^= bit;
        }
        j ^= bit;
        if (i < j) {
            std::swap(x[i], x[j]);
        }
    }
    for (std::size_t half = 1; half < n; half *= 2) {
        const std::size_t stride = n / (2 * half);
        for (std::size_t base = 0; base < n; base += 2 * half) {
            for (std::size_t k = 0; k < half; ++k) {
                const Complex w{t.w[k * stride].re, sign * t.w[k * stride].im};
                Complex& a = x[base + k];
                Complex& b = x[base + k + half];
                const Complex p{b.re * w.re - b.im * w.im, b.re * w.im + b.im * w.re};
                b = {a.re - p.re, a.im - p.im};
                a = {a.re + p.re, a.im + p.im};
            }
        }
    }
}

struct Aifftr {
    static constexpr const char* name = "aifftr";
    static constexpr std::size_t n = 512;
    using Constants = Twiddles<n>;
    struct In {
        float x[n];
    };
    using State = consort::spm::Empty;
    struct Out {
        Complex x[n];
    };
    static Constants constants() { return make_twiddles<n>(); }
    static void step(const Constants& c, const In& in, State& /*state*/, Out& out) noexcept {
        for (std::size_t i = 0; i < n; ++i) {
            out.x[i] = {in.x[i], 0};
        }
        fft(c, out.x, 1);
    }
};

struct Aiifft {
    static constexpr const char* name = "aiifft";
    static constexpr std::size_t n = 512;
    using Constants = Twiddles<n>;
    struct In {
        Complex x[n];
    };
    using State = consort::spm::Empty;
    struct Out {
        Complex x[n];
    };
    static Constants constants() { return make_twiddles<n>(); }
    static void step(const Constants& c, const In& in, State& /*state*/, Out& out) noexcept {
        for (std::size_t i = 0; i < n; ++i) {
            out.x[i] = in.x[i];
        }
        fft(c, out.x, -1);
        for (Complex& x : out.x) {
            x.re /= n;
            x.im /= n;
        }
    }
};

// 8 x 8 coefficients to picture elements, orthonormal, rows then columns.
struct Idct {
    static constexpr const char* name = "idct";
    static constexpr std::size_t n = 8;
    struct Constants {
        float basis[n][n];  // of frequency k at sample i
    };
    struct In {
        float coefficient[n][n];
    };
    using State = consort::spm::Empty;
    struct Out {
        float element[n][n];
    };
    static Constants constants() {
        Constants c{};
        for (std::size_t k = 0; k < n; ++k) {
            for (std::size_t i = 0; i < n; ++i) {
                const double scale = k == 0 ? std::sqrt(1.0 / n) : std::sqrt(2.0 / n);
                c.basis[k][i] =
                    static_cast<float>(scale * std::cos(std::numbers::pi * (2 * static_cast<double>(i) + 1) *
                                                        static_cast<double>(k) / (2 * n)));
            }
        }
        return c;
    }
    static void step(const Constants& c, const In& in, State& /*state*/, Out& out) noexcept {
        float half[n][n];
        for (std::size_t r = 0; r < n; ++r) {
            for (std::size_t i = 0; i < n; ++i) {
                float sum = 0;
                for (std::size_t k = 0; k < n; ++k) {
                    sum += in.coefficient[r][k] * c.basis[k][i];
                }
                half[r][i] = sum;
            }
        }
        for (std::size_t i = 0; i < n; ++i) {
            for (std::size_t column = 0; column < n; ++column) {
                float sum = 0;
                for (std::size_t k = 0; k < n; ++k) {
                    sum += half[k][column] * c.basis[k][i];
                }
                out.element[i][column] = sum;
            }
        }
    }
};

}  // namespace automotive
