// SPDX-License-Identifier: Apache-2.0
//
// Runs a fuzz target without libFuzzer: on the files given, else on made-up inputs, the same each time.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

int main(int argc, char** argv) {
    if (argc == 3 && std::strcmp(argv[1], "--inputs") == 0) {
        const long inputs = std::strtol(argv[2], nullptr, 10);
        std::mt19937 random(1);
        for (long i = 0; i < inputs; ++i) {
            std::vector<std::uint8_t> data(random() % 200);
            for (auto& byte : data) {
                byte = static_cast<std::uint8_t>(random());
            }
            LLVMFuzzerTestOneInput(data.data(), data.size());
        }
        std::printf("%ld inputs\n", inputs);
        return inputs > 0 ? 0 : 2;
    }
    for (int i = 1; i < argc; ++i) {
        std::ifstream file(argv[i], std::ios::binary);
        if (!file) {
            std::fprintf(stderr, "%s cannot be read\n", argv[i]);
            return 2;
        }
        const std::string text{std::istreambuf_iterator<char>(file), {}};
        LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
    }
    return argc > 1 ? 0 : 2;
}
