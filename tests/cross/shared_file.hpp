// SPDX-License-Identifier: Apache-2.0
//
// A file that two processes of unlike processors map.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "consort/spm/dma.hpp"

namespace cross {

[[noreturn]] inline void fail(const char* what, std::uint32_t number = 0) {
    std::fprintf(stderr, "%s %u\n", what, number);
    std::exit(1);
}

template <class File>
File& map(const char* path, bool make) {
    const int fd = ::open(path, O_RDWR | (make ? O_CREAT : 0), 0600);
    if (fd < 0 || (make && ::ftruncate(fd, sizeof(File)) != 0)) {
        fail("cannot open the file");
    }
    void* base = ::mmap(nullptr, sizeof(File), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (base == MAP_FAILED) {
        fail("cannot map the file");
    }
    return *static_cast<File*>(base);
}

// A DMA that has moved everything at the first look.
struct Copy {
    consort::spm::Transfer transfer{};
    void start(const consort::spm::Transfer& wanted) noexcept { transfer = wanted; }
    consort::spm::DmaState state() noexcept {
        for (std::uint32_t i = 0; i < transfer.count; ++i) {
            std::memcpy(transfer.segment[i].to, transfer.segment[i].from, transfer.segment[i].bytes);
        }
        return consort::spm::DmaState::idle;
    }
    void abort() noexcept {}
};

}  // namespace cross
