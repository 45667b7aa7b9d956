// SPDX-License-Identifier: Apache-2.0
//
// Engine maps: table look-up and interpolation (tblook), tooth to spark (ttsprk).
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "consort/spm/step.hpp"

namespace automotive {

// Where `at` lies on a rising axis: the cell's index and how far into it, held at both ends.
template <std::size_t n>
inline std::size_t locate(const float (&axis)[n], float at, float& fraction) noexcept {
    std::size_t low = 0;
    std::size_t high = n - 1;
    while (high - low > 1) {
        const std::size_t middle = (low + high) / 2;
        (axis[middle] <= at ? low : high) = middle;
    }
    const float f = (at - axis[low]) / (axis[low + 1] - axis[low]);
    fraction = f < 0 ? 0 : f > 1 ? 1 : f;
    return low;
}

template <std::size_t rows, std::size_t columns>
inline float bilinear(const float (&table)[rows][columns], std::size_t r, float fr, std::size_t c,
                      float fc) noexcept {
    const float low = table[r][c] + fc * (table[r][c + 1] - table[r][c]);
    const float high = table[r + 1][c] + fc * (table[r + 1][c + 1] - table[r + 1][c]);
    return low + fr * (high - low);
}

// A map over speed and load with axes that are not evenly spaced, asked at many points.
struct Tblook {
    static constexpr const char* name = "tblook";
    static constexpr std::size_t rows = 48, columns = 40, points = 120;
    struct Constants {
        float speed[rows];
        float load[columns];
        float map[rows][columns];
    };
    struct In {
        float speed[points];
        float load[points];
    };
    using State = consort::spm::Empty;
    struct Out {
        float value[points];
    };
    static Constants constants() {
        Constants c{};
        for (std::size_t r = 0; r < rows; ++r) {
            const auto x = static_cast<float>(r) / (rows - 1);
            c.speed[r] = 600 + 6400 * x * x;
        }
        for (std::size_t k = 0; k < columns; ++k) {
            const auto x = static_cast<float>(k) / (columns - 1);
            c.load[k] = 100 * std::sqrt(x);
        }
        for (std::size_t r = 0; r < rows; ++r) {
            for (std::size_t k = 0; k < columns; ++k) {
                c.map[r][k] = 12 + 18 * std::sin(c.speed[r] / 1500) - 0.12F * c.load[k] +
                              std::cos(static_cast<float>(r * k) / 50);
            }
        }
        return c;
    }
    static void step(const Constants& c, const In& in, State& /*state*/, Out& out) noexcept {
        for (std::size_t i = 0; i < points; ++i) {
            float fr = 0;
            float fc = 0;
            const std::size_t r = locate(c.speed, in.speed[i], fr);
            const std::size_t k = locate(c.load, in.load[i], fc);
            out.value[i] = bilinear(c.map, r, fr, k, fc);
        }
    }
};

// For each cylinder: ignition advance from a map, retarded by knock, held within limits; then the time of the
// spark and of the coil's switching on, in timer ticks after the reference tooth.
struct Ttsprk {
    static constexpr const char* name = "ttsprk";
    static constexpr std::size_t rows = 40, columns = 40, cylinders = 8;
    static constexpr float ticks_per_second = 4.0e6F;
    struct Constants {
        float speed[rows];             // 1/min
        float load[columns];           // %
        float advance[rows][columns];  // degrees before top dead centre
        float dwell_voltage[8];        // V
        float dwell[8];                // s
        float offset[cylinders];  // of each cylinder's top dead centre after the reference tooth, degrees
        float least, most;        // degrees
    };
    struct In {
        float tooth_ticks;  // between the last two teeth, 6 degrees apart
        float load;
        float battery;        // V
        float coolant;        // degrees C
        std::uint32_t knock;  // a bit for each cylinder that knocked
    };
    struct State {
        float retard[cylinders];  // degrees
    };
    struct Out {
        float speed;
        float spark[cylinders];   // ticks after the reference tooth
        float charge[cylinders];  // when the coil is switched on
    };
    static Constants constants() {
        Constants c{};
        for (std::size_t r = 0; r < rows; ++r) {
            c.speed[r] = 500 + 180 * static_cast<float>(r);
        }
        for (std::size_t k = 0; k < columns; ++k) {
            c.load[k] = 100 * static_cast<float>(k) / (columns - 1);
        }
        for (std::size_t r = 0; r < rows; ++r) {
            for (std::size_t k = 0; k < columns; ++k) {
                c.advance[r][k] =
                    8 + 28 * static_cast<float>(r) / rows - 15 * static_cast<float>(k) / columns;
            }
        }
        for (std::size_t i = 0; i < 8; ++i) {
            c.dwell_voltage[i] = 6 + 1.5F * static_cast<float>(i);
            c.dwell[i] = 0.009F / (1 + static_cast<float>(i));
        }
        for (std::size_t i = 0; i < cylinders; ++i) {
            c.offset[i] = 60 + 90 * static_cast<float>(i);
        }
        c.least = -5;
        c.most = 40;
        return c;
    }
    static void step(const Constants& c, const In& in, State& state, Out& out) noexcept {
        const float ticks_per_degree = in.tooth_ticks / 6;
        out.speed = ticks_per_second * 60 / (ticks_per_degree * 360);
        float fr = 0;
        float fc = 0;
        float fv = 0;
        const std::size_t r = locate(c.speed, out.speed, fr);
        const std::size_t k = locate(c.load, in.load, fc);
        const std::size_t v = locate(c.dwell_voltage, in.battery, fv);
        // A cold engine burns slowly: up to 6 degrees earlier.
        const float cold = in.coolant < 60 ? (60 - in.coolant) / 10 : 0;
        const float base = bilinear(c.advance, r, fr, k, fc) + (cold > 6 ? 6 : cold);
        const float dwell = (c.dwell[v] + fv * (c.dwell[v + 1] - c.dwell[v])) * ticks_per_second;
        for (std::size_t i = 0; i < cylinders; ++i) {
            // Quickly back after a knock, slowly forward again.
            float retard = (in.knock >> i & 1U) != 0 ? state.retard[i] + 2 : state.retard[i] - 0.05F;
            retard = retard < 0 ? 0 : retard > 12 ? 12 : retard;
            state.retard[i] = retard;
            float advance = base - retard;
            advance = advance < c.least ? c.least : advance > c.most ? c.most : advance;
            out.spark[i] = (c.offset[i] - advance) * ticks_per_degree;
            out.charge[i] = out.spark[i] - dwell;
        }
    }
};

}  // namespace automotive
