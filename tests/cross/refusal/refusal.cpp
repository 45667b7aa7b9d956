// SPDX-License-Identifier: Apache-2.0
//
// refusal make|probe FILE: `make` makes a region in a shared file, `probe` tries to open what another build
// made there. Built for any instruction set, and with layouts that the other side must refuse. Exit: 0 made
// or opened, 3 refused (and why, on stdout).

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstring>

#include "consort/icc.hpp"

// The test builds peers with one of these changed, which the other side must refuse.
#ifndef REFUSAL_REAL
#define REFUSAL_REAL double
#endif

namespace {

// No fixed underlying type: -fshort-enums makes it one byte.
enum Phase { idle, running, stopping };

// On i386 a double stands at offset 4 instead of 8. (GCC expands no macro in this pragma.)
#ifdef REFUSAL_PACK_4
#pragma pack(push, 4)
#endif
struct Question {
    std::uint32_t number;
    REFUSAL_REAL angle;
    float setpoint[3];
    std::uint64_t time;
    Phase phase;
    std::int16_t trim;
};
struct Answer {
    std::uint32_t number;
    REFUSAL_REAL torque;
    std::uint64_t time;
    Phase phase;
};
#ifdef REFUSAL_PACK_4
#pragma pack(pop)
#endif

constexpr std::size_t region_bytes = 65536;
using There = consort::Mailbox<Question>;
using Back = consort::Mailbox<Answer>;

int refused(const char* what, const consort::Refusal& refusal) {
    std::printf("%s: %s: member '%.*s' %s, expected %u, found %u\n", what, consort::to_string(refusal.reason),
                static_cast<int>(refusal.member.length), refusal.member.text, refusal.aspect,
                static_cast<unsigned>(refusal.expected), static_cast<unsigned>(refusal.found));
    return 3;
}

int make(void* memory) {
    auto maker =
        consort::RegionMaker<>::begin(memory, region_bytes, {static_cast<std::uint32_t>(getpid()), 4, 64});
    if (!maker.ok()) {
        return refused("make", maker.refusal());
    }
    const auto there = maker.value().add<There>("there");
    const auto back = maker.value().add<Back>("back");
    if (!there.ok() || !back.ok()) {
        return refused("add", there.ok() ? back.refusal() : there.refusal());
    }
    const auto region = maker.value().publish();
    return region.ok() ? 0 : refused("publish", region.refusal());
}

int probe(void* memory) {
    const auto region = consort::Region<>::attach(memory, region_bytes);
    if (!region.ok()) {
        return refused("attach", region.refusal());
    }
    const auto there = region.value().open<There>("there");
    if (!there.ok()) {
        return refused("open there", there.refusal());
    }
    const auto back = region.value().open<Back>("back");
    return back.ok() ? 0 : refused("open back", back.refusal());
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) {
        std::fprintf(stderr, "usage: refusal make|probe FILE\n");
        return 2;
    }
    const int file = open(argv[2], O_RDWR);
    void* memory =
        file < 0 ? MAP_FAILED : mmap(nullptr, region_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (memory == MAP_FAILED) {
        std::perror(argv[2]);
        return 2;
    }
    return std::strcmp(argv[1], "make") == 0 ? make(memory) : probe(memory);
}
