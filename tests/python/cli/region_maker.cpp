// SPDX-License-Identifier: Apache-2.0
//
// Makes a region in a file: region_maker FILE.
#include <cstdint>
#include <cstdio>

#include "consort/icc.hpp"
#include "consort/link.hpp"
#include "consort/linux/link_engine.hpp"
#include "consort/linux/shared_memory.hpp"

struct Axis {
    float position;
    std::int16_t torque[3];
};
struct Drive {
    std::uint32_t sequence;
    Axis axes[2];
};

int main(int argc, char** argv) {
    if (argc != 2) {
        return 2;
    }
    const auto memory = consort::linux_port::SharedMemory::open_file(argv[1]);
    auto maker = consort::RegionMaker<>::begin(memory.base(), memory.bytes(), {});
    if (!maker) {
        std::fprintf(stderr, "%s\n", consort::to_string(maker.refusal().reason));
        return 1;
    }
    const bool made = maker.value().add<consort::Mailbox<Drive>>("drive.in") &&
                      maker.value().add<consort::Snapshot<double, 3>>("drive.state") &&
                      maker.value().add<consort::Queue<std::uint8_t, 16>>("drive.trace") &&
                      maker.value().add<consort::link::Ring<8>>("drive.link") &&
                      maker.value().add<consort::linux_port::LinkBell>("drive.bell") &&
                      maker.value().publish();
    return made ? 0 : 1;
}
