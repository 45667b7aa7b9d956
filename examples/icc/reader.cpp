// SPDX-License-Identifier: Apache-2.0
//
// reader NAME: attaches to what the writer made, reads every sample, and publishes set-points. May be started
// first. Exit status 0 when all samples came, in order and whole, 2 for a bad command line, 1 otherwise.

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <optional>
#include <string>
#include <system_error>
#include <thread>

#include "consort/linux/port.hpp"
#include "consort/linux/shared_memory.hpp"
#include "message.hpp"

namespace {

using consort::Reason;
using consort::Status;
using consort::linux_port::LinuxPort;
using consort::linux_port::SharedMemory;

// The memory once it has its name, its size and a writer that lives, or nothing when the time is up.
std::optional<SharedMemory> open_memory(const char* name, consort::Ticks end) {
    for (;;) {
        try {
            auto memory = SharedMemory::open_named(name);
            if (memory.maker_lives()) {
                return memory;
            }
            throw std::system_error(ESRCH, std::generic_category(), "the writer of " + std::string(name));
        } catch (const std::system_error& error) {
            if (LinuxPort::now() >= end) {
                std::fprintf(stderr, "reader: %s\n", error.what());
                return std::nullopt;
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
    }
}

// Why a channel cannot be used: for another layout, with the first member that differs.
int refuse(const consort::Refusal& refusal) {
    const auto member = refusal.member.view();
    std::fprintf(stderr, "reader: %s", to_string(refusal.reason));
    if (refusal.reason == Reason::wrong_layout) {
        std::fprintf(stderr, ": %.*s: %s is %u here, %u there", static_cast<int>(member.size()),
                     member.data(), refusal.aspect, refusal.expected, refusal.found);
    }
    std::fprintf(stderr, "\n");
    return 1;
}

int read_samples(const SharedMemory& memory, consort::Ticks end) {
    auto region = consort::Region<>::attach(memory.base(), memory.bytes());
    // The writer may still be making it. Attaching changes nothing, so it may be tried again.
    while (
        !region.ok() && LinuxPort::now() < end &&
        (region.refusal().reason == Reason::not_ready || region.refusal().reason == Reason::not_a_region)) {
        region = consort::Region<>::attach(memory.base(), memory.bytes());
    }
    if (!region.ok()) {
        return refuse(region.refusal());
    }
    const auto samples = region.value().open<Samples>("samples");
    if (!samples.ok()) {
        return refuse(samples.refusal());
    }
    const auto setpoints = region.value().open<Setpoints>("set-points");
    if (!setpoints.ok()) {
        return refuse(setpoints.refusal());
    }

    Samples::Reader reader(*samples.value());
    Setpoints::Writer writer(*setpoints.value());
    const consort::Ticks patience = patience_seconds * LinuxPort::ticks_per_second();
    Sample sample{};
    for (std::uint32_t number = 1; number <= sample_count; ++number) {
        const Status status = reader.read_until<LinuxPort>(sample, LinuxPort::now() + patience);
        if (status != Status::ok || sample.number != number) {
            std::fprintf(stderr, "reader: sample %u: %s, number %u\n", number, to_string(status),
                         sample.number);
            return 1;
        }
        writer.update({number % 2000 < 1000 ? 1.0F : -1.0F, number});
    }
    std::printf("reader: %u samples read, in order; position %.3f\n", sample_count,
                static_cast<double>(sample.position));
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        std::fprintf(stderr, "usage: reader NAME   (as the writer's)\n");
        return 2;
    }
    const consort::Ticks end = LinuxPort::now() + patience_seconds * LinuxPort::ticks_per_second();
    const auto memory = open_memory(argv[1], end);
    return memory ? read_samples(*memory, end) : 1;
}
