// SPDX-License-Identifier: Apache-2.0
//
// Memory that a real-time thread may write without ever faulting: mapped, touched and locked beforehand.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace consort::linux_port {

enum class Pages : std::uint8_t { plain, transparent_huge, huge };

class LockedBuffer {
  public:
    LockedBuffer() = default;

    // Throws std::system_error when the memory is not there; that it could not be locked or has no huge pages
    // is a note, because the run works without.
    explicit LockedBuffer(std::size_t bytes, bool want_huge = true) : bytes_(bytes) {
        if (bytes == 0) {
            return;
        }
        refuse_more_than_available(bytes);
        if (!want_huge || !map_huge()) {
            map_plain(want_huge);
        }
        // A fork would write-protect every private page, and the parent's next write to each would fault:
        // children do not get this mapping at all.
        ::madvise(data_, mapped_, MADV_DONTFORK);
        touch();
        locked_ = ::mlock(data_, mapped_) == 0;
        if (!locked_) {
            notes_.push_back(std::string("memory is touched but not locked: ") + std::strerror(errno) +
                             "; raise the limit (ulimit -l) or give CAP_IPC_LOCK");
        }
        if (pages_ == Pages::transparent_huge && !kernel_gave_huge_pages()) {
            pages_ = Pages::plain;
            notes_.emplace_back("transparent huge pages were asked for and not given: plain pages");
        }
    }

    LockedBuffer(LockedBuffer&& other) noexcept { swap(other); }
    LockedBuffer& operator=(LockedBuffer&& other) noexcept {
        LockedBuffer gone(std::move(other));
        swap(gone);
        return *this;
    }
    LockedBuffer(const LockedBuffer&) = delete;
    LockedBuffer& operator=(const LockedBuffer&) = delete;
    ~LockedBuffer() {
        if (data_ != nullptr) {
            ::munmap(data_, mapped_);
        }
    }

    [[nodiscard]] std::byte* data() noexcept { return data_; }
    [[nodiscard]] const std::byte* data() const noexcept { return data_; }
    [[nodiscard]] std::size_t size() const noexcept { return bytes_; }
    [[nodiscard]] bool locked() const noexcept { return locked_; }
    [[nodiscard]] Pages pages() const noexcept { return pages_; }
    [[nodiscard]] const std::vector<std::string>& notes() const noexcept { return notes_; }

  private:
    static constexpr std::size_t huge_bytes = std::size_t{2} << 20U;

    static std::size_t rounded(std::size_t bytes, std::size_t unit) {
        return (bytes + unit - 1) / unit * unit;
    }

    // Linux lends more than it has and kills when the loan is called in: better one clear error before the
    // run.
    static void refuse_more_than_available(std::size_t bytes) {
        std::ifstream file("/proc/meminfo");
        for (std::string line; std::getline(file, line);) {
            std::istringstream text(line);
            std::string name;
            std::uint64_t kib = 0;
            if (text >> name >> kib && name == "MemAvailable:") {
                if (bytes / 1024 >= kib) {
                    throw std::system_error(ENOMEM, std::generic_category(),
                                            std::to_string(bytes >> 20U) +
                                                " MiB are needed for the record, " +
                                                std::to_string(kib >> 10U) + " MiB are available");
                }
                return;
            }
        }
    }

    bool map_huge() {
        const std::size_t bytes = rounded(bytes_, huge_bytes);
        void* memory =
            ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
        if (memory == MAP_FAILED) {
            notes_.emplace_back("no huge pages are reserved (vm.nr_hugepages)");
            return false;
        }
        data_ = static_cast<std::byte*>(memory);
        mapped_ = bytes;
        pages_ = Pages::huge;
        return true;
    }

    void map_plain(bool want_huge) {
        const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
        const std::size_t bytes = rounded(bytes_, want_huge && bytes_ >= huge_bytes ? huge_bytes : page);
        // Transparent huge pages need an aligned range: map one unit more and give the ends back.
        const std::size_t spare = bytes_ >= huge_bytes ? huge_bytes : 0;
        void* memory =
            ::mmap(nullptr, bytes + spare, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) {
            throw std::system_error(errno, std::generic_category(),
                                    "cannot map " + std::to_string(bytes >> 20U) + " MiB for the record");
        }
        auto* start = static_cast<std::byte*>(memory);
        if (spare != 0) {
            const auto address = reinterpret_cast<std::uintptr_t>(start);
            const std::size_t before = rounded(address, huge_bytes) - address;
            if (before != 0) {
                ::munmap(start, before);
            }
            if (spare != before) {
                ::munmap(start + before + bytes, spare - before);
            }
            start += before;
        }
        data_ = start;
        mapped_ = bytes;
        if (want_huge && spare != 0 && ::madvise(data_, mapped_, MADV_HUGEPAGE) == 0) {
            pages_ = Pages::transparent_huge;
        }
    }

    void touch() {
        const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
        for (std::size_t i = 0; i < mapped_; i += page) {
            const_cast<volatile std::byte&>(data_[i]) = std::byte{0};
        }
    }

    // /proc/self/smaps tells, for the mapping that begins at our address or holds it, how much is huge.
    [[nodiscard]] bool kernel_gave_huge_pages() const {
        std::ifstream file("/proc/self/smaps");
        const auto address = reinterpret_cast<std::uintptr_t>(data_);
        bool ours = false;
        for (std::string line; std::getline(file, line);) {
            unsigned long long begin = 0;
            unsigned long long end = 0;
            unsigned long long kib = 0;
            if (std::sscanf(line.c_str(), "%llx-%llx ", &begin, &end) == 2) {
                ours = begin <= address && address < end;
            } else if (ours && std::sscanf(line.c_str(), "AnonHugePages: %llu kB", &kib) == 1) {
                return kib > 0;
            }
        }
        return false;
    }

    void swap(LockedBuffer& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(bytes_, other.bytes_);
        std::swap(mapped_, other.mapped_);
        std::swap(pages_, other.pages_);
        std::swap(locked_, other.locked_);
        std::swap(notes_, other.notes_);
    }

    std::byte* data_ = nullptr;
    std::size_t bytes_ = 0;
    std::size_t mapped_ = 0;
    Pages pages_ = Pages::plain;
    bool locked_ = false;
    std::vector<std::string> notes_;
};

}  // namespace consort::linux_port
