// SPDX-License-Identifier: Apache-2.0
//
// Angles, pulses and times: angle to time (a2time), road speed (rspeed), pulse width modulation (puwm).
#pragma once

#include <cstddef>
#include <cstdint>

#include "consort/spm/step.hpp"

namespace automotive {

// A crank wheel of 60 teeth less two, watched for one turn: engine speed, where the gap is, and the times at
// which the crank will reach the angles asked for. The timer has 32 bits and wraps.
struct A2time {
    static constexpr const char* name = "a2time";
    static constexpr std::size_t teeth = 58, targets = 64;
    static constexpr double ticks_per_second = 4.0e6;
    using Constants = consort::spm::Empty;
    struct In {
        std::uint32_t stamp[teeth + 1];  // of consecutive teeth
        float target[targets];           // degrees after the first tooth behind the gap, 0 to 720
    };
    struct State {
        std::uint32_t turns;
        float speed;  // filtered, 1/min
    };
    struct Out {
        std::uint32_t gap;  // index of the first tooth behind the gap
        float speed;
        std::uint32_t time[targets];  // timer value
    };
    static void step(const Constants& /*c*/, const In& in, State& state, Out& out) noexcept {
        // The gap is three teeth wide: the longest interval.
        std::uint32_t longest = 0;
        std::uint32_t turn = 0;
        out.gap = 0;
        for (std::size_t i = 0; i < teeth; ++i) {
            const std::uint32_t interval = in.stamp[i + 1] - in.stamp[i];
            turn += interval;
            if (interval > longest) {
                longest = interval;
                out.gap = static_cast<std::uint32_t>(i + 1);
            }
        }
        const double per_degree = static_cast<double>(turn) / 360;
        const auto now = static_cast<float>(60 * ticks_per_second / static_cast<double>(turn));
        state.speed = state.turns == 0 ? now : state.speed + 0.25F * (now - state.speed);
        ++state.turns;
        out.speed = state.speed;
        for (std::size_t i = 0; i < targets; ++i) {
            const double after = static_cast<double>(in.target[i]) * per_degree;
            out.time[i] = in.stamp[out.gap] + static_cast<std::uint32_t>(after + 0.5);
        }
    }
};

// Speed of each wheel from the time stamps of its pulses, at rest after a time without one; the vehicle's as
// the median of the wheels, and the way since the start.
struct Rspeed {
    static constexpr const char* name = "rspeed";
    static constexpr std::size_t wheels = 4, pulses = 800;
    static constexpr float metres_per_pulse = 0.0208F;
    static constexpr float ticks_per_second = 1.0e6F;
    using Constants = consort::spm::Empty;
    struct In {
        std::uint32_t now;
        std::uint32_t count[wheels];  // stamps of this period, the newest last
        std::uint32_t stamp[wheels][pulses];
    };
    struct State {
        std::uint32_t last[wheels];
        std::uint32_t seen[wheels];  // pulses since the start
        float speed[wheels];
    };
    struct Out {
        float wheel[wheels];  // m/s
        float vehicle;
        float way;  // m, mean of the wheels
    };
    static void step(const Constants& /*c*/, const In& in, State& state, Out& out) noexcept {
        std::uint32_t all = 0;
        for (std::size_t w = 0; w < wheels; ++w) {
            const std::uint32_t n = in.count[w] < pulses ? in.count[w] : pulses;
            for (std::uint32_t i = 0; i < n; ++i) {
                const std::uint32_t interval = in.stamp[w][i] - state.last[w];
                if (state.seen[w] != 0 && interval != 0) {
                    const float speed = metres_per_pulse * ticks_per_second / static_cast<float>(interval);
                    state.speed[w] += 0.125F * (speed - state.speed[w]);
                }
                state.last[w] = in.stamp[w][i];
                ++state.seen[w];
            }
            if (state.seen[w] == 0 || in.now - state.last[w] > 500'000) {
                state.speed[w] = 0;
            }
            out.wheel[w] = state.speed[w];
            all += state.seen[w];
        }
        float sorted[wheels];
        for (std::size_t w = 0; w < wheels; ++w) {
            std::size_t at = w;
            for (; at > 0 && sorted[at - 1] > out.wheel[w]; --at) {
                sorted[at] = sorted[at - 1];
            }
            sorted[at] = out.wheel[w];
        }
        out.vehicle = (sorted[1] + sorted[2]) / 2;
        out.way = static_cast<float>(all) * metres_per_pulse / wheels;
    }
};

// Six half bridges, centre-aligned: for each period and bridge the four switching instants, with dead time
// between the two switches. A pulse shorter than the dead time is left out.
struct Puwm {
    static constexpr const char* name = "puwm";
    static constexpr std::size_t bridges = 6, periods = 20;
    using Constants = consort::spm::Empty;
    struct In {
        std::uint32_t period;                  // ticks
        std::uint32_t dead;                    // ticks
        std::uint16_t duty[periods][bridges];  // of 65536
    };
    struct State {
        std::uint32_t start;  // of the next period
    };
    struct Edges {
        std::uint32_t upper_on, upper_off, lower_off, lower_on;
    };
    struct Out {
        Edges edge[periods][bridges];
    };
    static void step(const Constants& /*c*/, const In& in, State& state, Out& out) noexcept {
        for (std::size_t p = 0; p < periods; ++p) {
            for (std::size_t b = 0; b < bridges; ++b) {
                const std::uint64_t wide = std::uint64_t{in.period} * in.duty[p][b];
                const auto width = static_cast<std::uint32_t>(wide >> 16U);
                const std::uint32_t begin = state.start + (in.period - width) / 2;
                Edges& e = out.edge[p][b];
                if (width <= in.dead) {
                    e = {0, 0, 0, 0};
                } else if (width + 2 * in.dead >= in.period) {
                    e = {state.start, state.start + in.period, 0, 0};
                } else {
                    e = {begin + in.dead, begin + width, begin, begin + width + in.dead};
                }
            }
            state.start += in.period;
        }
    }
};

}  // namespace automotive
