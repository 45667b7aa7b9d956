// SPDX-License-Identifier: Apache-2.0
// Runs the step over a file of inputs:  replay ARITHMETIC INPUTS OUTPUTS [HAND-OVER]
// Inputs and outputs are plain arrays of In and Out. With HAND-OVER the state moves to another block of
// memory, byte by byte, after every so many jobs, as a task does that changes its core at a job boundary.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "step.hpp"

namespace {

template <class In, class State, class Out>
int replay(void (*step)(const In&, State&, Out&), char** files, long hand_over) {
    std::ifstream source(files[0], std::ios::binary);
    const std::vector<char> bytes{std::istreambuf_iterator<char>(source), {}};
    if (!source || bytes.size() % sizeof(In) != 0) {
        std::fprintf(stderr, "replay: %s: cannot be read as an array of inputs\n", files[0]);
        return 2;
    }
    std::vector<In> inputs(bytes.size() / sizeof(In));
    std::memcpy(inputs.data(), bytes.data(), bytes.size());
    std::vector<Out> outputs(inputs.size());
    State states[2] = {};
    int here = 0;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        if (hand_over > 0 && i % static_cast<std::size_t>(hand_over) == 0) {
            std::memcpy(&states[1 - here], &states[here], sizeof(State));
            std::memset(&states[here], 0xA5, sizeof(State));
            here = 1 - here;
        }
        step(inputs[i], states[here], outputs[i]);
    }
    std::ofstream sink(files[1], std::ios::binary);
    sink.write(reinterpret_cast<const char*>(outputs.data()),
               static_cast<std::streamsize>(outputs.size() * sizeof(Out)));
    sink.close();
    if (!sink) {
        std::fprintf(stderr, "replay: %s: cannot be written\n", files[1]);
        return 2;
    }
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 4 && argc != 5) {
        std::fprintf(stderr, "usage: replay f32|f64|q31 INPUTS OUTPUTS [HAND-OVER]\n");
        return 2;
    }
    const std::string arithmetic = argv[1];
    const long hand_over = argc == 5 ? std::strtol(argv[4], nullptr, 10) : 0;
    if (arithmetic == "f32") return replay(&servo::step_f32, argv + 2, hand_over);
    if (arithmetic == "f64") return replay(&servo::step_f64, argv + 2, hand_over);
    if (arithmetic == "q31") return replay(&servo::step_q31, argv + 2, hand_over);
    std::fprintf(stderr, "replay: %s: not an arithmetic\n", arithmetic.c_str());
    return 2;
}
