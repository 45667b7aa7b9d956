// SPDX-License-Identifier: Apache-2.0
//
// The kernels one by one, for tests: `probe footprints` prints the sizes of all; `probe NAME constants`
// writes a kernel's constants; `probe NAME run` reads inputs from standard input and writes the outputs, job
// by job.
#include <cstdio>
#include <cstring>
#include <string>
#include <type_traits>

#include "kernels/all.hpp"

namespace {

template <class T>
bool read(T& value) {
    return std::fread(&value, sizeof value, 1, stdin) == 1;
}

template <class T>
bool write(const T& value) {
    return std::fwrite(&value, sizeof value, 1, stdout) == 1;
}

template <class K>
int run() {
    const auto constants = automotive::constants_of<K>();
    typename K::State state{};
    typename K::In in;
    typename K::Out out;
    while (read(in)) {
        // The partition still holds what the task before left there.
        std::memset(static_cast<void*>(&out), 0xa5, sizeof out);
        K::step(constants, in, state, out);
        if (!write(out)) {
            return 1;
        }
    }
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    const std::string name = argc > 1 ? argv[1] : "";
    const std::string what = argc > 2 ? argv[2] : "";
    int status = 2;
    automotive::for_each_kernel([&]<class K>() {
        const auto size = automotive::TaskOf<K>::footprint;
        if (name == "footprints") {
            std::printf("%s %u %u %u %u\n", K::name, size.code, size.data, size.inputs, size.outputs);
            status = 0;
        } else if (name == K::name && what == "constants") {
            status = write(automotive::constants_of<K>()) ? 0 : 1;
        } else if (name == K::name && what == "run") {
            status = run<K>();
        }
    });
    if (status == 2) {
        std::fprintf(stderr, "usage: probe footprints | probe KERNEL constants|run\n");
    }
    return status;
}
