// SPDX-License-Identifier: Apache-2.0
//
// A scratchpad on a cached machine: two partitions, locked, small enough for a core's own cache, with pages
// around each that fault.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>
#include <system_error>
#include <vector>

#include "consort/spm/handover.hpp"
#include "consort/spm/task.hpp"

namespace consort::linux_port {

class Scratchpad {
  public:
    // Throws std::system_error when there is no memory; that it could not be locked is a note.
    explicit Scratchpad(std::size_t partition_bytes) {
        const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
        const std::size_t inner = (partition_bytes + page - 1) / page * page;
        bytes_ = spm::partitions * inner + (spm::partitions + 1) * page;
        void* memory = ::mmap(nullptr, bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) {
            throw std::system_error(errno, std::generic_category(),
                                    "no memory for a scratchpad of " + std::to_string(bytes_) + " bytes");
        }
        base_ = static_cast<std::byte*>(memory);
        for (std::size_t p = 0; p < spm::partitions; ++p) {
            // Ends at the guard: what is written past the end faults at once, rounding aside.
            std::byte* begin = base_ + page + p * (inner + page);
            if (::mprotect(begin, inner, PROT_READ | PROT_WRITE) != 0) {
                const int error = errno;
                ::munmap(base_, bytes_);
                throw std::system_error(error, std::generic_category(), "cannot open a scratchpad partition");
            }
            std::memset(begin, 0, inner);
            if (::mlock(begin, inner) != 0 && notes_.empty()) {
                notes_.push_back(std::string("the scratchpad is not locked: ") + std::strerror(errno) +
                                 "; raise the limit (ulimit -l) or give CAP_IPC_LOCK");
            }
            const std::size_t used =
                (partition_bytes + spm::part_alignment - 1) / spm::part_alignment * spm::part_alignment;
            partition_[p] = begin + (inner - used);
        }
    }
    Scratchpad(const Scratchpad&) = delete;
    Scratchpad& operator=(const Scratchpad&) = delete;
    ~Scratchpad() { ::munmap(base_, bytes_); }

    [[nodiscard]] std::byte* partition(std::size_t p) const noexcept { return partition_[p]; }
    [[nodiscard]] const std::vector<std::string>& notes() const noexcept { return notes_; }

  private:
    std::byte* base_ = nullptr;
    std::size_t bytes_ = 0;
    std::byte* partition_[spm::partitions] = {};
    std::vector<std::string> notes_;
};

}  // namespace consort::linux_port
