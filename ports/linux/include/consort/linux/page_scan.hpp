// SPDX-License-Identifier: Apache-2.0
//
// Which pages of a mapping were written: the kernel's own record of it, without a signal or a thread
// (asynchronous write protection and PAGEMAP_SCAN, Linux 6.7; Documentation/admin-guide/mm/pagemap.rst).
#pragma once

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <system_error>

namespace consort::linux_port {

// As in linux/fs.h and linux/userfaultfd.h of Linux 6.7, which a machine's headers may lack.
namespace page_scan_abi {

struct Scan {
    std::uint64_t size;
    std::uint64_t flags;
    std::uint64_t start;
    std::uint64_t end;
    std::uint64_t walk_end;
    std::uint64_t vec;
    std::uint64_t vec_len;
    std::uint64_t max_pages;
    std::uint64_t category_inverted;
    std::uint64_t category_mask;
    std::uint64_t category_anyof_mask;
    std::uint64_t return_mask;
};
struct Region {
    std::uint64_t start;
    std::uint64_t end;
    std::uint64_t categories;
};
inline constexpr unsigned long request = _IOWR('f', 16, Scan);
inline constexpr std::uint64_t written = 1U << 1U;
inline constexpr std::uint64_t protect_again = 1U << 0U;
inline constexpr std::uint64_t check_async = 1U << 1U;
inline constexpr std::uint64_t wp_shmem = 1U << 12U;
inline constexpr std::uint64_t wp_unpopulated = 1U << 13U;
inline constexpr std::uint64_t wp_async = 1U << 15U;

}  // namespace page_scan_abi

class PageScan {
  public:
    // Records writes to `bytes` at `base`, both multiples of a page. Throws std::system_error where the
    // kernel cannot (ENOSYS, EINVAL: older than 6.7) or does not permit it.
    PageScan(std::byte* base, std::size_t bytes)
        : base_(reinterpret_cast<std::uintptr_t>(base)), bytes_(bytes) {
        descriptor_ = static_cast<int>(::syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | user_only));
        pages_ = ::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
        uffdio_api api{};
        api.api = UFFD_API;
        api.features = page_scan_abi::wp_async | page_scan_abi::wp_unpopulated | page_scan_abi::wp_shmem;
        uffdio_register range{};
        range.range = {base_, bytes_};
        range.mode = UFFDIO_REGISTER_MODE_WP;
        if (descriptor_ < 0 || pages_ < 0 || ::ioctl(descriptor_, UFFDIO_API, &api) != 0 ||
            ::ioctl(descriptor_, UFFDIO_REGISTER, &range) != 0) {
            const int error = errno;
            close();
            throw std::system_error(error, std::generic_category(),
                                    "asynchronous write protection (Linux 6.7 and later have it)");
        }
    }
    PageScan(const PageScan&) = delete;
    PageScan& operator=(const PageScan&) = delete;
    ~PageScan() { close(); }

    // Calls visit(first byte's offset, bytes) for each stretch of pages written since they were protected
    // last; with `again` they are protected anew. False: the kernel refused.
    template <class Visit>
    bool written(bool again, Visit&& visit) const noexcept {
        std::array<page_scan_abi::Region, 64> found;
        for (std::uint64_t from = base_; from < base_ + bytes_;) {
            page_scan_abi::Scan scan{};
            scan.size = sizeof scan;
            scan.flags = page_scan_abi::check_async | (again ? page_scan_abi::protect_again : 0);
            scan.start = from;
            scan.end = base_ + bytes_;
            scan.vec = reinterpret_cast<std::uintptr_t>(found.data());
            scan.vec_len = found.size();
            scan.category_mask = page_scan_abi::written;
            scan.return_mask = page_scan_abi::written;
            const int count = ::ioctl(pages_, page_scan_abi::request, &scan);
            if (count < 0) {
                if (errno == EINTR) {
                    continue;
                }
                return false;
            }
            for (int i = 0; i < count; ++i) {
                const page_scan_abi::Region& region = found.at(static_cast<std::size_t>(i));
                visit(static_cast<std::size_t>(region.start - base_),
                      static_cast<std::size_t>(region.end - region.start));
            }
            from = scan.walk_end;
        }
        return true;
    }

  private:
    static constexpr int user_only = 1;  // UFFD_USER_MODE_ONLY

    void close() const noexcept {
        for (const int each : {descriptor_, pages_}) {
            if (each >= 0) {
                ::close(each);
            }
        }
    }

    std::uintptr_t base_;
    std::size_t bytes_;
    int descriptor_ = -1;
    int pages_ = -1;
};

}  // namespace consort::linux_port
