// SPDX-License-Identifier: Apache-2.0
//
// Linux's userfaultfd over one mapping, of small pages or of huge ones. Errors are the kernel's numbers: the
// functions run in signal handlers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "consort/linux/remote_segment.hpp"

namespace consort::remote {

struct Fault {
    std::uintptr_t address;
    bool write;
    int thread;
};

class UserFault {
  public:
    // A reserved range of `bytes`, all pages absent. Throws std::system_error where the kernel lacks
    // userfaultfd or what this needs of it, or does not permit it.
    // `memory`: a file of that size, whose pages are mapped by `resume`; -1: pages of its own, filled by
    // `copy`.
    // `page`: `small_page` or `huge_page`, of which offsets and lengths are multiples; huge ones come from
    // those that the machine has reserved.
    UserFault(std::size_t bytes, Faults faults, int memory = -1, std::size_t page = small_page);
    UserFault(const UserFault&) = delete;
    UserFault& operator=(const UserFault&) = delete;
    ~UserFault();

    [[nodiscard]] std::byte* base() const noexcept { return base_; }
    [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
    [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
    // A huge page of zeros; null where pages are small.
    [[nodiscard]] const std::byte* huge_zeros() const noexcept { return zeros_; }

    // Each answers 0 or an errno. `copy` fills absent pages, write-protected where asked.
    [[nodiscard]] int copy(std::size_t offset, const void* source, std::size_t length,
                           bool write_protected) const noexcept;
    // Maps pages of the file, to which the program may write.
    [[nodiscard]] int resume(std::size_t offset, std::size_t length) const noexcept;
    [[nodiscard]] int write_protect(std::size_t offset, std::size_t length, bool on) const noexcept;
    // The program's own right to write; reading stays.
    [[nodiscard]] int protect(std::size_t offset, std::size_t length, bool writable) const noexcept;
    // Makes pages absent, locked ones, too.
    void drop(std::size_t offset, std::size_t length) const noexcept;
    // Each access to this absent page ends with SIGBUS until it is dropped; false before Linux 6.6.
    [[nodiscard]] bool poison(std::size_t offset) const noexcept;
    // The range becomes ordinary memory of this process, with what is in it; it is not unmapped any more.
    [[nodiscard]] bool leave() noexcept;
    // In a child after fork(), which has no such range: an access there ends with SIGBUS.
    void abandon() const noexcept;
    // Lets a thread that waits for this page try again; and those that wait for any.
    void wake(std::size_t offset) const noexcept;
    void wake_all() const noexcept;

    // The next fault, where a handler thread serves them; false where there is none.
    [[nodiscard]] bool next(Fault& fault) const noexcept;

  private:
    std::byte* base_ = nullptr;
    std::size_t bytes_;
    std::size_t page_;
    std::byte* zeros_ = nullptr;
    int process_;  // that made it: a child after fork() has no such range
    int descriptor_ = -1;
    bool in_thread_;
    bool left_ = false;
};

}  // namespace consort::remote
