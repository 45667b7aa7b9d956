// SPDX-License-Identifier: Apache-2.0
//
// Memory for an instance of a step that migrates: behind its last byte lies all that an index of 32 bits and
// an offset of 32 bits can reach, without access. So no access of the step needs to be checked.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <stdexcept>

namespace consort::linux_port {

class Guarded {
  public:
    // `guarded`: false where the step checks its accesses itself.
    Guarded(std::size_t bytes, bool guarded) : room_((bytes + page() - 1) / page() * page()) {
        whole_ = room_ + (guarded ? reach + page() : 0);
        void* at = mmap(nullptr, whole_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (at == MAP_FAILED || mprotect(at, room_, PROT_READ | PROT_WRITE) != 0) {
            throw std::runtime_error("no address space for the memory of a step that migrates (ulimit -v)");
        }
        start_ = static_cast<unsigned char*>(at);
        instance_ = start_ + (room_ - bytes);
    }
    ~Guarded() { munmap(start_, whole_); }
    Guarded(const Guarded&) = delete;
    Guarded& operator=(const Guarded&) = delete;

    [[nodiscard]] void* instance() const noexcept { return instance_; }

  private:
    static constexpr std::size_t reach =
        sizeof(std::size_t) > 4 ? std::size_t{1} << (sizeof(std::size_t) > 4 ? 33U : 0U) : 0;
    static std::size_t page() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

    std::size_t room_;
    std::size_t whole_;
    unsigned char* start_;
    unsigned char* instance_;
};

}  // namespace consort::linux_port
