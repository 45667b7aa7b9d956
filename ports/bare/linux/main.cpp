// SPDX-License-Identifier: Apache-2.0
//
// A program for boards as a Linux process:  program FILE OFFSET BYTES PLACE
// maps BYTES of FILE from OFFSET (/dev/mem: physical memory) as the shared window; PLACE is its control
// block.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#include <cstdio>
#include <cstdlib>

#include "consort/bare/program.hpp"

int main(int argc, char** argv) {
    if (argc != 5) {
        std::fprintf(stderr, "usage: %s FILE OFFSET BYTES PLACE\n", argv[0]);
        return 2;
    }
    const auto offset = static_cast<off_t>(std::strtoull(argv[2], nullptr, 0));
    const auto bytes = static_cast<std::size_t>(std::strtoull(argv[3], nullptr, 0));
    const auto place = static_cast<std::uint32_t>(std::strtoul(argv[4], nullptr, 0));
    // O_SYNC: of physical memory, a mapping without caches.
    const int file = ::open(argv[1], O_RDWR | O_SYNC | O_CLOEXEC);
    void* window =
        file < 0 ? MAP_FAILED : ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, offset);
    if (window == MAP_FAILED) {
        std::perror(argv[1]);
        return 2;
    }
    if (place >= consort::bare::control_blocks || bytes < consort::bare::control_blocks_bytes) {
        std::fprintf(stderr, "%s: no control block %u in a window of %zu bytes\n", argv[0],
                     static_cast<unsigned>(place), bytes);
        return 2;
    }
    // Physical memory: this Linux is the board's own. A file: the board is an emulator on this machine.
    struct stat kind {};
    const bool beside_emulator = ::fstat(file, &kind) == 0 && S_ISREG(kind.st_mode);
    // A sleep of 10 us, not of that and the usual 50 us of slack.
    ::prctl(PR_SET_TIMERSLACK, 1UL);
    consort::bare::mapped_window = static_cast<unsigned char*>(window);
    consort::bare::this_place = place;
    consort::bare::ThisPort::begin(beside_emulator, place);
    return consort::bare::run_program(place) ? 0 : 1;
}
