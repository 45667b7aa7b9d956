// SPDX-License-Identifier: Apache-2.0
//
// The Linux port from the installed headers: shared memory, the clock, and a wait that ends at its deadline.

#include <cstdio>

#include "consort/icc.hpp"
#include "consort/linux/port.hpp"
#include "consort/linux/shared_memory.hpp"

int main() {
    using Box = consort::Mailbox<float>;
    using consort::linux_port::LinuxPort;
    const auto memory = consort::linux_port::SharedMemory::anonymous("outside", 16384);
    auto maker = consort::RegionMaker<>::begin(memory.base(), memory.bytes(), {}).value();
    const auto box = maker.add<Box>("box");
    if (!box.ok() || !maker.publish().ok()) {
        return 1;
    }
    Box::Reader reader(*box.value());
    float got = 0;
    // The first call calibrates the clock, which takes longer than the wait.
    const consort::Ticks millisecond = LinuxPort::ticks_per_second() / 1000;
    const consort::Ticks begin = LinuxPort::now();
    const consort::Ticks deadline = begin + millisecond;
    const bool timeout = reader.read_until<LinuxPort>(got, deadline) == consort::Status::timeout;
    std::printf("waited %llu ticks\n", static_cast<unsigned long long>(LinuxPort::now() - begin));
    return timeout && LinuxPort::now() >= deadline ? 0 : 1;
}
