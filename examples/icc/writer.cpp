// SPDX-License-Identifier: Apache-2.0
//
// writer NAME: makes the shared memory NAME ("/something") with both channels, writes samples, and follows
// the set-points that come back. Exit status 0 when every sample was read, 2 for a bad command line, 3 where
// the system refuses, 1 otherwise.

#include <cstdio>
#include <exception>

#include "consort/linux/port.hpp"
#include "consort/linux/shared_memory.hpp"
#include "message.hpp"

namespace {

using consort::Status;
using consort::linux_port::LinuxPort;

int write_samples(void* memory, std::size_t bytes) {
    auto made = consort::RegionMaker<>::begin(memory, bytes, {});
    if (!made.ok()) {
        std::fprintf(stderr, "writer: no region: %s\n", to_string(made.refusal().reason));
        return 1;
    }
    auto maker = made.value();
    const auto samples = maker.add<Samples>("samples");
    const auto setpoints = maker.add<Setpoints>("set-points");
    // Until it is published nobody can attach to a region that is half made.
    if (!samples.ok() || !setpoints.ok() || !maker.publish().ok()) {
        std::fprintf(stderr, "writer: the region has no room for its channels\n");
        return 1;
    }

    Samples::Writer writer(*samples.value());
    Setpoints::Reader reader(*setpoints.value(), 0);
    Setpoint setpoint{};
    Sample sample{};
    // Until the reader is there and has read the last sample, then one period at most for each.
    const consort::Ticks patience = patience_seconds * LinuxPort::ticks_per_second();
    for (std::uint32_t number = 1; number <= sample_count; ++number) {
        sample.number = number;
        if (reader.read(setpoint) == Status::peer_fault) {
            std::fprintf(stderr, "writer: the set-points are damaged\n");
            return 1;
        }
        sample.velocity = setpoint.position - static_cast<float>(sample.position);
        sample.position += 0.01F * sample.velocity;
        const Status status = writer.write_until<LinuxPort>(sample, LinuxPort::now() + patience);
        if (status != Status::ok) {
            std::fprintf(stderr, "writer: sample %u: %s\n", number, to_string(status));
            return 1;
        }
    }
    const consort::Ticks end = LinuxPort::now() + patience;
    while (!writer.empty() && LinuxPort::now() < end) {
        LinuxPort::relax();
    }
    std::printf("writer: %u samples written, the last set-point came after sample %u\n", writer.sequence(),
                setpoint.after_sample);
    return writer.empty() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        std::fprintf(stderr, "usage: writer NAME   (\"/something\")\n");
        return 2;
    }
    try {
        // Removed again when this program ends.
        const auto memory = consort::linux_port::SharedMemory::create_named(argv[1], region_bytes);
        return write_samples(memory.base(), memory.bytes());
    } catch (const std::exception& error) {
        std::fprintf(stderr, "writer: %s\n", error.what());
        return 3;
    }
}
