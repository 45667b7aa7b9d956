// SPDX-License-Identifier: Apache-2.0
#include "userfault.hpp"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>

#include "descriptors.hpp"

#ifndef USERFAULTFD_IOC_NEW  // headers before Linux 6.1
#define USERFAULTFD_IOC_NEW _IO(0xAA, 0x00)
#endif
#ifndef MADV_DONTNEED_LOCKED  // headers before Linux 5.18
#define MADV_DONTNEED_LOCKED 24
#endif

namespace consort::remote {

namespace {

// Faults of system calls need more rights than those of the program itself.
int open_descriptor(bool in_thread) {
    const int flags = O_CLOEXEC | O_NONBLOCK;
    int made = static_cast<int>(::syscall(SYS_userfaultfd, flags | (in_thread ? UFFD_USER_MODE_ONLY : 0)));
    if (made < 0 && errno == EPERM) {
        const int device = ::open("/dev/userfaultfd", O_RDWR | O_CLOEXEC);
        if (device >= 0) {
            made = ::ioctl(device, USERFAULTFD_IOC_NEW, flags);
            ::close(device);
        }
    }
    if (made < 0) {
        const std::string how = errno == EPERM
                                    ? "userfaultfd is not permitted (root, access to /dev/userfaultfd, or "
                                      "sysctl vm.unprivileged_userfaultfd=1)"
                                    : "userfaultfd";
        throw std::system_error(errno, std::generic_category(), how);
    }
    return out_of_the_way(made);
}

constexpr int huge_mapping = MAP_HUGETLB | (21 << MAP_HUGE_SHIFT);

// From Linux 6.6, whose headers may be missing.
struct PoisonOrder {
    uffdio_range range;
    std::uint64_t mode;
    std::int64_t updated;
};
constexpr unsigned long poison_request = _IOWR(UFFDIO, 0x08, PoisonOrder);

}  // namespace

UserFault::UserFault(std::size_t bytes, Faults faults, int memory, std::size_t page)
    : bytes_(bytes),
      page_(page),
      process_(::getpid()),
      descriptor_(open_descriptor(faults == Faults::in_thread)),
      in_thread_(faults == Faults::in_thread) {
    const auto fail = [&](const char* what) {
        const int error = errno;
        if (base_ != nullptr) {
            ::munmap(base_, bytes_);
        }
        if (zeros_ != nullptr) {
            ::munmap(zeros_, page_);
        }
        ::close(descriptor_);
        throw std::system_error(error, std::generic_category(), what);
    };
    uffdio_api api{};
    api.api = UFFD_API;
    const bool huge = page == huge_page;
    api.features = (memory < 0 ? UFFD_FEATURE_PAGEFAULT_FLAG_WP
                    : huge     ? UFFD_FEATURE_MINOR_HUGETLBFS
                               : UFFD_FEATURE_MINOR_SHMEM) |
                   (in_thread_ ? UFFD_FEATURE_SIGBUS : UFFD_FEATURE_THREAD_ID);
    if (huge && memory < 0) {
        api.features |= UFFD_FEATURE_MISSING_HUGETLBFS | UFFD_FEATURE_WP_HUGETLBFS_SHMEM;
    }
    if (::ioctl(descriptor_, UFFDIO_API, &api) != 0) {
        fail(huge          ? "userfaultfd does not serve huge pages (Linux 5.19 and later can)"
             : memory >= 0 ? "userfaultfd cannot map shared pages (Linux 5.14 and later can)"
                           : "userfaultfd lacks write protection, or SIGBUS (Linux 5.7 and later have both)");
    }
    // Without rights at first: a program that locks what it maps (mlockall) gets no page of it.
    const int kind = memory >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS | (huge ? huge_mapping : 0);
    void* mapped = ::mmap(nullptr, bytes, PROT_NONE, kind | MAP_NORESERVE, memory, 0);
    if (mapped == MAP_FAILED) {
        fail(huge ? "mmap of huge pages" : "mmap");
    }
    if (huge) {
        // Reading it takes no memory: each of its small pages is the kernel's page of zeros.
        void* zeros = ::mmap(nullptr, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (zeros == MAP_FAILED) {
            ::munmap(mapped, bytes);
            fail("mmap");
        }
        ::madvise(zeros, page, MADV_NOHUGEPAGE);
        zeros_ = static_cast<std::byte*>(zeros);
    }
    base_ = static_cast<std::byte*>(mapped);
    ::munlock(base_, bytes);
    // A child would find absent pages zero: it does not get the range.
    if (::madvise(base_, bytes, MADV_DONTFORK) != 0) {
        fail("madvise(MADV_DONTFORK)");
    }
    ::madvise(base_, bytes, MADV_NOHUGEPAGE);
    uffdio_register range{};
    range.range = {reinterpret_cast<std::uintptr_t>(base_), bytes};
    range.mode =
        memory >= 0 ? UFFDIO_REGISTER_MODE_MINOR : UFFDIO_REGISTER_MODE_MISSING | UFFDIO_REGISTER_MODE_WP;
    if (::ioctl(descriptor_, UFFDIO_REGISTER, &range) != 0) {
        fail("UFFDIO_REGISTER");
    }
    if (::syscall(SYS_mprotect, base_, bytes, PROT_READ | PROT_WRITE) != 0) {
        fail("mprotect");
    }
}

UserFault::~UserFault() {
    if (::getpid() == process_ && !left_) {
        ::munmap(base_, bytes_);
    }
    if (zeros_ != nullptr) {
        ::munmap(zeros_, page_);
    }
    ::close(descriptor_);
}

int UserFault::copy(std::size_t offset, const void* source, std::size_t length,
                    bool write_protected) const noexcept {
    std::size_t done = 0;
    while (done < length) {
        uffdio_copy order{};
        order.dst = reinterpret_cast<std::uintptr_t>(base_) + offset + done;
        order.src = reinterpret_cast<std::uintptr_t>(source) + done;
        order.len = length - done;
        order.mode =
            (write_protected ? UFFDIO_COPY_MODE_WP : 0) | (in_thread_ ? UFFDIO_COPY_MODE_DONTWAKE : 0);
        if (::ioctl(descriptor_, UFFDIO_COPY, &order) == 0) {
            return 0;
        }
        if (errno == ENOENT && order.len > page_) {
            // The range has pages with other rights, which the kernel holds apart: one by one.
            for (; done < length; done += page_) {
                if (const int error =
                        copy(offset + done, static_cast<const char*>(source) + done, page_, write_protected);
                    error != 0) {
                    return error;
                }
            }
            return 0;
        }
        if (errno != EAGAIN) {
            return errno;
        }
        if (order.copy > 0) {
            done += static_cast<std::size_t>(order.copy);
        }
    }
    return 0;
}

int UserFault::resume(std::size_t offset, std::size_t length) const noexcept {
    for (std::size_t done = 0; done < length;) {
        uffdio_continue order{};
        order.range = {reinterpret_cast<std::uintptr_t>(base_) + offset + done, length - done};
        order.mode = in_thread_ ? UFFDIO_CONTINUE_MODE_DONTWAKE : 0;
        if (::ioctl(descriptor_, UFFDIO_CONTINUE, &order) == 0) {
            return 0;
        }
        if (errno == ENOENT && order.range.len > page_) {
            // Pages with other rights, as in `copy`.
            for (; done < length; done += page_) {
                if (const int error = resume(offset + done, page_); error != 0) {
                    return error;
                }
            }
            return 0;
        }
        if (errno != EAGAIN) {
            return errno;
        }
        if (order.mapped > 0) {
            done += static_cast<std::size_t>(order.mapped);
        }
    }
    return 0;
}

int UserFault::protect(std::size_t offset, std::size_t length, bool writable) const noexcept {
    const int rights = writable ? PROT_READ | PROT_WRITE : PROT_READ;
    return ::syscall(SYS_mprotect, base_ + offset, length, rights) == 0 ? 0 : errno;
}

int UserFault::write_protect(std::size_t offset, std::size_t length, bool on) const noexcept {
    uffdio_writeprotect order{};
    order.range = {reinterpret_cast<std::uintptr_t>(base_) + offset, length};
    order.mode = on ? UFFDIO_WRITEPROTECT_MODE_WP : 0;
    while (::ioctl(descriptor_, UFFDIO_WRITEPROTECT, &order) != 0) {
        if (errno != EAGAIN) {
            return errno;
        }
    }
    return 0;
}

// The kernel's own call: a program may have another `madvise`, and the preloaded library does.
void UserFault::drop(std::size_t offset, std::size_t length) const noexcept {
    if (::syscall(SYS_madvise, base_ + offset, length, MADV_DONTNEED_LOCKED) != 0) {
        // Before Linux 5.18.
        ::syscall(SYS_munlock, base_ + offset, length);
        ::syscall(SYS_madvise, base_ + offset, length, MADV_DONTNEED);
    }
}

bool UserFault::poison(std::size_t offset) const noexcept {
    PoisonOrder order{{reinterpret_cast<std::uintptr_t>(base_) + offset, page_}, 0, 0};
    return ::ioctl(descriptor_, poison_request, &order) == 0;
}

bool UserFault::leave() noexcept {
    // A child has it, too, from now on.
    ::syscall(SYS_madvise, base_, bytes_, MADV_DOFORK);
    uffdio_range range{reinterpret_cast<std::uintptr_t>(base_), bytes_};
    left_ = ::ioctl(descriptor_, UFFDIO_UNREGISTER, &range) == 0;
    if (left_) {
        // The kernel wakes who waits for pages before it locks the mapping: a thread that faults between the
        // two would wait for ever.
        ::ioctl(descriptor_, UFFDIO_WAKE, &range);
    }
    return left_;
}

void UserFault::abandon() const noexcept {
    // Beyond the end of a file. Where there is no file left, an access ends with SIGSEGV, and without words.
    const auto empty = static_cast<int>(::syscall(SYS_memfd_create, "consort-forked", MFD_CLOEXEC));
    const int kind = empty >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    ::syscall(SYS_mmap, base_, bytes_, empty >= 0 ? PROT_READ | PROT_WRITE : PROT_NONE,
              kind | MAP_FIXED_NOREPLACE, empty, 0);
    if (empty >= 0) {
        ::close(empty);
    }
}

void UserFault::wake(std::size_t offset) const noexcept {
    if (!in_thread_) {
        uffdio_range range{reinterpret_cast<std::uintptr_t>(base_) + offset, page_};
        ::ioctl(descriptor_, UFFDIO_WAKE, &range);
    }
}

void UserFault::wake_all() const noexcept {
    if (!in_thread_) {
        uffdio_range range{reinterpret_cast<std::uintptr_t>(base_), bytes_};
        ::ioctl(descriptor_, UFFDIO_WAKE, &range);
    }
}

bool UserFault::next(Fault& fault) const noexcept {
    uffd_msg message{};
    while (::read(descriptor_, &message, sizeof message) == static_cast<ssize_t>(sizeof message)) {
        if (message.event == UFFD_EVENT_PAGEFAULT) {
            const auto flags = message.arg.pagefault.flags;
            fault = {static_cast<std::uintptr_t>(message.arg.pagefault.address),
                     (flags & (UFFD_PAGEFAULT_FLAG_WRITE | UFFD_PAGEFAULT_FLAG_WP)) != 0,
                     static_cast<int>(message.arg.pagefault.feat.ptid)};
            return true;
        }
    }
    return false;
}

}  // namespace consort::remote
