// SPDX-License-Identifier: Apache-2.0
//
// An outside project's first program: a region, a channel, a message, with every public header.

#include <cstdint>
#include <cstdio>

#include "consort/icc.hpp"
#include "consort/offload.hpp"

struct Sample {
    float position;
    std::uint32_t number;
};

int main() {
    using Box = consort::Mailbox<Sample>;
    alignas(consort::line_bytes) static unsigned char memory[16384];
    auto maker = consort::RegionMaker<>::begin(memory, sizeof(memory), {}).value();
    if (!maker.add<Box>("samples").ok() || !maker.publish().ok()) {
        return 1;
    }
    const auto region = consort::Region<>::attach(memory, sizeof(memory));
    if (!region.ok()) {
        return 1;
    }
    Box::Shared& shared = *region.value().open<Box>("samples").value();
    Box::Writer writer(shared);
    Box::Reader reader(shared);
    Sample got{};
    if (writer.try_write({0.5F, 7}) != consort::Status::ok || reader.try_read(got) != consort::Status::ok) {
        return 1;
    }
    std::printf("sample %u\n", static_cast<unsigned>(got.number));
    return got.number == 7 ? 0 : 1;
}
