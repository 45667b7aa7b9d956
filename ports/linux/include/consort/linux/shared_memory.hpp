// SPDX-License-Identifier: Apache-2.0
//
// Memory that two processes share: anonymous (memfd), named (POSIX shared memory), a file, or a physical
// range.
//
// An anonymous memory has no name, so nothing is left behind however its processes end; it reaches a child by
// fork and any other process through /proc/PID/fd/N. Its size is sealed: no peer can shorten it, which would
// end every process that reads behind its new end with SIGBUS. Named memory and files cannot be sealed:
// whoever may write them may shorten them (docs/explanation/trust.md).
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>
#include <system_error>
#include <utility>

namespace consort::linux_port {

class SharedMemory {
  public:
    // New anonymous memory of `bytes`, zero-filled, its size sealed. `label` is shown in /proc/PID/maps.
    // `huge`: of pages of 2 MiB, of which `bytes` is a multiple, reserved until the memory goes.
    static SharedMemory anonymous(const std::string& label, std::size_t bytes, bool huge = false) {
        constexpr unsigned huge_pages = MFD_HUGETLB | (21U << MAP_HUGE_SHIFT);  // as mmap has it
        const int fd =
            sized(::memfd_create(label.c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING | (huge ? huge_pages : 0)),
                  bytes, "memfd_create");
        // And no further seals: a peer could forbid writing to whoever attaches later.
        if (::fcntl(fd, F_ADD_SEALS, size_seals | F_SEAL_SEAL) != 0) {
            const int error = errno;
            ::close(fd);
            throw std::system_error(error, std::generic_category(), "sealing the memory's size");
        }
        return SharedMemory(fd, bytes, 0, true);
    }
    // New POSIX shared memory, removed by the destructor of the object made here. A name that a maker left
    // which is gone, killed for instance, is taken over: whoever still has the old memory keeps that. Throws
    // std::system_error (EEXIST) where the maker lives, or where the memory was not made here.
    static SharedMemory create_named(const std::string& name, std::size_t bytes) {
        for (;;) {
            const int fd = ::shm_open(name.c_str(), O_CREAT | O_EXCL | O_RDWR, kept_mode);
            const bool taken = fd < 0 && errno == EEXIST;
            if (taken && remove_orphan(name)) {
                continue;
            }
            if (taken) {
                errno = EEXIST;  // and not why it is no orphan
            }
            checked(fd, "shm_open " + name);
            // Before this lock it might have been taken for an orphan, and its name be another's.
            if (!lock(fd) || !is_named(fd, name)) {
                ::close(fd);
                continue;
            }
            SharedMemory memory(sized(fd, bytes, "shm_open"), bytes, 0, true);
            memory.unlink_ = name;
            return memory;
        }
    }
    static SharedMemory open_named(const std::string& name, bool writable = true) {
        const int fd = checked(::shm_open(name.c_str(), writable ? O_RDWR : O_RDONLY, 0), "shm_open " + name);
        return SharedMemory(fd, size_of(fd), 0, writable);
    }
    // An existing file, mapped whole.
    static SharedMemory open_file(const std::string& path, bool writable = true) {
        const int fd =
            checked(::open(path.c_str(), (writable ? O_RDWR : O_RDONLY) | O_CLOEXEC), "open " + path);
        return SharedMemory(fd, size_of(fd), 0, writable);
    }
    // Memory whose descriptor came from another process; takes it over.
    static SharedMemory adopt(int fd) { return SharedMemory(fd, size_of(fd), 0, true); }
    // A physical range through a device such as /dev/mem; mapped uncached where the device says so.
    static SharedMemory physical(const std::string& device, std::uint64_t address, std::size_t bytes) {
        const int fd = checked(::open(device.c_str(), O_RDWR | O_SYNC | O_CLOEXEC), "open " + device);
        return SharedMemory(fd, bytes, address, true);
    }

    SharedMemory(const SharedMemory&) = delete;
    SharedMemory& operator=(const SharedMemory&) = delete;
    SharedMemory(SharedMemory&& other) noexcept
        : fd_(std::exchange(other.fd_, -1)),
          base_(std::exchange(other.base_, nullptr)),
          bytes_(other.bytes_),
          unlink_(std::exchange(other.unlink_, {})) {}
    SharedMemory& operator=(SharedMemory&&) = delete;
    ~SharedMemory() {
        if (base_ != nullptr) {
            ::munmap(base_, bytes_);
        }
        // While the lock is held: afterwards the name may be another's.
        if (!unlink_.empty()) {
            ::shm_unlink(unlink_.c_str());
        }
        if (fd_ >= 0) {
            ::close(fd_);
        }
    }

    [[nodiscard]] void* base() const noexcept { return base_; }
    [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
    [[nodiscard]] int fd() const noexcept { return fd_; }
    // For named memory: true if the process that made it, or a child of it that has the descriptor, is there.
    // The contents of a memory whose maker is gone stay as they were. Always true in the maker itself.
    [[nodiscard]] bool maker_lives() const noexcept {
        struct flock asked = whole(F_RDLCK);
        return !unlink_.empty() || (::fcntl(fd_, F_OFD_GETLK, &asked) == 0 && asked.l_type != F_UNLCK);
    }
    // True if nobody can change the memory's size any more, so that no access to it ends with SIGBUS.
    [[nodiscard]] bool size_is_sealed() const noexcept {
        const int seals = ::fcntl(fd_, F_GET_SEALS);
        return seals >= 0 && (seals & size_seals) == size_seals;
    }

  private:
    static constexpr int size_seals = F_SEAL_SHRINK | F_SEAL_GROW;

    SharedMemory(int fd, std::size_t bytes, std::uint64_t offset, bool writable) : fd_(fd), bytes_(bytes) {
        base_ = bytes == 0 ? MAP_FAILED
                           : ::mmap(nullptr, bytes, writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED,
                                    fd, static_cast<off_t>(offset));
        if (base_ == MAP_FAILED) {
            const int error = bytes == 0 ? EINVAL : errno;
            base_ = nullptr;
            ::close(fd);
            throw std::system_error(error, std::generic_category(),
                                    "mmap of " + std::to_string(bytes) + " bytes");
        }
    }
    // The maker of named memory holds a lock on it, which the kernel releases however the process ends. The
    // sticky bit, which means nothing on a file, says from the first moment that the maker is one that locks.
    static constexpr mode_t kept_mode = S_ISVTX | S_IRUSR | S_IWUSR;
    static struct flock whole(int type) noexcept {
        struct flock range {};
        range.l_type = static_cast<short>(type);
        range.l_whence = SEEK_SET;
        return range;
    }
    static bool lock(int fd) noexcept {
        struct flock range = whole(F_WRLCK);
        return ::fcntl(fd, F_OFD_SETLK, &range) == 0;
    }
    static bool is_named(int fd, const std::string& name) noexcept {
        const int now = ::shm_open(name.c_str(), O_RDONLY, 0);
        struct stat mine {};
        struct stat named {};
        const bool same = now >= 0 && ::fstat(fd, &mine) == 0 && ::fstat(now, &named) == 0 &&
                          mine.st_dev == named.st_dev && mine.st_ino == named.st_ino;
        if (now >= 0) {
            ::close(now);
        }
        return same;
    }
    // False where the name is somebody's.
    static bool remove_orphan(const std::string& name) noexcept {
        const int fd = ::shm_open(name.c_str(), O_RDWR, 0);
        if (fd < 0) {
            return errno == ENOENT;  // it went meanwhile
        }
        struct stat info {};
        bool gone = ::fstat(fd, &info) == 0 && (info.st_mode & S_ISVTX) != 0 && info.st_uid == ::geteuid() &&
                    lock(fd);
        if (gone && is_named(fd, name)) {
            gone = ::shm_unlink(name.c_str()) == 0;
        }
        ::close(fd);
        return gone;
    }
    static int checked(int fd, const std::string& what) {
        if (fd < 0) {
            throw std::system_error(errno, std::generic_category(), what);
        }
        return fd;
    }
    static int sized(int fd, std::size_t bytes, const char* what) {
        checked(fd, what);
        if (::ftruncate(fd, static_cast<off_t>(bytes)) != 0) {
            const int error = errno;
            ::close(fd);
            throw std::system_error(error, std::generic_category(), "ftruncate");
        }
        return fd;
    }
    static std::size_t size_of(int fd) {
        struct stat info {};
        if (::fstat(fd, &info) != 0) {
            const int error = errno;
            ::close(fd);
            throw std::system_error(error, std::generic_category(), "fstat");
        }
        return static_cast<std::size_t>(info.st_size);
    }

    int fd_;
    void* base_ = nullptr;
    std::size_t bytes_;
    std::string unlink_;
};

}  // namespace consort::linux_port
