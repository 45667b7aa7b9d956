// SPDX-License-Identifier: Apache-2.0
// Times the step in every arithmetic beside the same arithmetic unrolled by hand and beside the dense
// product:
//   step_bench [BLOCKS]        prints one JSON object; exit status 1 when the hand-unrolled outputs differ
//   from the step's
// All variants run in turn within each block, so that a change of clock or a busy neighbour hits them alike;
// the figure of a variant is the median over the blocks. The goal's ratio is the median of the ratios within
// the blocks.
#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "../dense.hpp"
#include "../step.hpp"
#include "hand_unrolled.hpp"

namespace {

constexpr int steps_per_block = 2000;  // as many inputs as the published benchmark looped over

template <auto Step, class In, class State, class Out>
[[gnu::noinline]] double time_block(const std::vector<In>& inputs, State& state, std::vector<Out>& outputs) {
    const auto begin = std::chrono::steady_clock::now();
    for (std::size_t i = 0; i < inputs.size(); ++i) Step(inputs[i], state, outputs[i]);
    const auto end = std::chrono::steady_clock::now();
    return std::chrono::duration<double, std::nano>(end - begin).count() / static_cast<double>(inputs.size());
}

// The step must be a call, as it is for a worker: inlined into the loop, the states could stay in registers.
[[gnu::noinline]] void f32(const servo::InF32& i, servo::StateF32& s, servo::OutF32& o) {
    servo::step_f32(i, s, o);
}
[[gnu::noinline]] void f64(const servo::InF64& i, servo::StateF64& s, servo::OutF64& o) {
    servo::step_f64(i, s, o);
}
[[gnu::noinline]] void q31(const servo::InQ31& i, servo::StateQ31& s, servo::OutQ31& o) {
    servo::step_q31(i, s, o);
}
[[gnu::noinline]] void unrolled(const servo::InF32& i, servo::StateF32& s, servo::OutF32& o) {
    servo::bench::hand_unrolled_f32(i, s, o);
}
[[gnu::noinline]] void vectorised(const servo::InF32& i, servo::StateF32& s, servo::OutF32& o) {
    servo::bench::hand_vectorised_f32(i, s, o);
}
[[gnu::noinline]] void dense(const servo::InF32& i, servo::DenseStateF32& s, servo::OutF32& o) {
    servo::dense_step_f32(i, s, o);
}

double quantile(std::vector<double> values, double q) {
    std::sort(values.begin(), values.end());
    return values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1) + 0.5)];
}

bool same(const std::vector<servo::OutF32>& a, const std::vector<servo::OutF32>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), [](const servo::OutF32& x, const servo::OutF32& y) {
        return std::bit_cast<std::uint32_t>(x.command) == std::bit_cast<std::uint32_t>(y.command);
    });
}

}  // namespace

int main(int argc, char** argv) {
    const long blocks = argc > 1 ? std::strtol(argv[1], nullptr, 10) : 500;
    if (blocks < 1 || argc > 2) {
        std::fprintf(stderr, "usage: step_bench [BLOCKS]\n");
        return 2;
    }
    // A small tracking error around a moving reference: keeps every state in its normal range, with no
    // denormal numbers.
    std::vector<servo::InF32> in32(steps_per_block);
    std::vector<servo::InF64> in64(steps_per_block);
    std::vector<servo::InQ31> in31(steps_per_block);
    for (int i = 0; i < steps_per_block; ++i) {
        const double t = i * servo::coefficients::sample_period;
        const double reference = 1.0 + 0.6 * std::sin(31.4 * t);
        const double position = reference - 1e-3 * std::cos(47.0 * t);
        const double lsb = 0x1p31 / servo::coefficients::Q31::angle_full_scale;
        const auto n = static_cast<std::size_t>(i);
        in32[n] = {static_cast<float>(reference), static_cast<float>(position)};
        in64[n] = {reference, position};
        in31[n] = {static_cast<std::int32_t>(std::lrint(reference * lsb)),
                   static_cast<std::int32_t>(std::lrint(position * lsb))};
    }
    std::vector<servo::OutF32> out32(steps_per_block);
    std::vector<servo::OutF32> out_unrolled(steps_per_block);
    std::vector<servo::OutF32> out_vectorised(steps_per_block);
    std::vector<servo::OutF32> out_dense(steps_per_block);
    std::vector<servo::OutF64> out64(steps_per_block);
    std::vector<servo::OutQ31> out31(steps_per_block);

    enum Variant {
        step_f32,
        hand_unrolled_f32,
        hand_vectorised_f32,
        step_f64,
        step_q31,
        dense_f32,
        variants
    };
    const char* const names[variants] = {"step_f32", "hand_unrolled_f32", "hand_vectorised_f32",
                                         "step_f64", "step_q31",          "dense_f32"};
    std::vector<double> ns[variants];
    std::vector<double> over_unrolled;
    std::vector<double> over_vectorised;
    bool equal = true;
    double dense_difference = 0.0;
    for (long block = -5; block < blocks; ++block) {  // the first five warm caches and clock
        servo::StateF32 s32{};
        servo::StateF32 s_unrolled{};
        servo::StateF32 s_vectorised{};
        servo::DenseStateF32 s_dense{};
        servo::StateF64 s64{};
        servo::StateQ31 s31{};
        double t[variants];
        const auto measure = [&](int variant) {
            switch (variant) {
                case step_f32:
                    t[variant] = time_block<f32>(in32, s32, out32);
                    break;
                case hand_unrolled_f32:
                    t[variant] = time_block<unrolled>(in32, s_unrolled, out_unrolled);
                    break;
                case hand_vectorised_f32:
                    t[variant] = time_block<vectorised>(in32, s_vectorised, out_vectorised);
                    break;
                case step_f64:
                    t[variant] = time_block<f64>(in64, s64, out64);
                    break;
                case step_q31:
                    t[variant] = time_block<q31>(in31, s31, out31);
                    break;
                default:
                    t[variant] = time_block<dense>(in32, s_dense, out_dense);
                    break;
            }
        };
        // Each block begins with another variant: none is always the first after the dense one.
        for (int i = 0; i < variants; ++i) measure(static_cast<int>((i + block + 5) % variants));
        equal = equal && same(out32, out_unrolled) && same(out32, out_vectorised);
        for (std::size_t i = 0; i < out32.size(); ++i) {
            dense_difference =
                std::max(dense_difference, std::abs(double{out32[i].command} - double{out_dense[i].command}));
        }
        if (block < 0) continue;
        for (int i = 0; i < variants; ++i) ns[i].push_back(t[i]);
        over_unrolled.push_back(t[step_f32] / t[hand_unrolled_f32]);
        over_vectorised.push_back(t[step_f32] / t[hand_vectorised_f32]);
    }
    std::printf(
        "{\"program\": \"step_bench\", \"provenance\": \"measured\", \"unit\": \"ns\", \"blocks\": %ld, "
        "\"steps_per_block\": %d,\n",
        blocks, steps_per_block);
    std::printf(" \"rows\": [");
    for (int i = 0; i < variants; ++i) {
        std::printf("%s\n  {\"name\": \"%s\", \"min\": %.2f, \"median\": %.2f, \"p90\": %.2f}", i ? "," : "",
                    names[i], quantile(ns[i], 0.0), quantile(ns[i], 0.5), quantile(ns[i], 0.9));
    }
    std::printf("],\n \"ratio_f32_over_hand_unrolled\": %.3f,\n \"ratio_f32_over_hand_vectorised\": %.3f,\n",
                quantile(over_unrolled, 0.5), quantile(over_vectorised, 0.5));
    std::printf(" \"outputs_equal\": %s,\n \"dense_largest_difference_nm\": %.3e}\n",
                equal ? "true" : "false", dense_difference);
    return equal ? 0 : 1;
}
