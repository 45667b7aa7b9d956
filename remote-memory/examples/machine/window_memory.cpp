// SPDX-License-Identifier: Apache-2.0
//
// Preloaded into QEMU: one file of memory that QEMU maps is a remote window instead, so that each access of
// the guest there travels through the simulated blocks. For emulated processors (-accel tcg): QEMU's own
// translation makes loads and stores of the guest's, which is what a remote window carries out.
//
//   CONSORT_WINDOW=NAME:FILE LD_PRELOAD=.../window_memory.so qemu-system-x86_64 ...
//       -object memory-backend-file,id=far,mem-path=FILE,size=SIZE,share=on
//
// NAME is a window that `consort remote attach NAME --size SIZE` made; FILE is any path, and stays empty.
#include <sys/stat.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <mutex>
#include <string>

#include "consort/linux/remote_window.hpp"

namespace {

using consort::linux_port::RemoteWindow;

std::mutex guard;
std::unique_ptr<RemoteWindow> window;

void* kernel_mmap(void* at, std::size_t size, int rights, int flags, int file, off_t offset) {
    return reinterpret_cast<void*>(syscall(SYS_mmap, at, size, rights, flags, file, offset));
}

// The window's name where this is its file.
std::string name_of(int file) {
    const char* both = std::getenv("CONSORT_WINDOW");
    if (both == nullptr || file < 0) return {};
    const std::string words = both;
    const auto colon = words.find(':');
    struct stat wanted {};
    struct stat given {};
    if (colon == std::string::npos || stat(words.c_str() + colon + 1, &wanted) != 0 ||
        fstat(file, &given) != 0 || wanted.st_dev != given.st_dev || wanted.st_ino != given.st_ino)
        return {};
    return words.substr(0, colon);
}

void* map(void* at, std::size_t size, int rights, int flags, int file, off_t offset) {
    const std::string name = name_of(file);
    if (name.empty()) return kernel_mmap(at, size, rights, flags, file, offset);
    const std::lock_guard lock(guard);
    try {
        if (window != nullptr) throw std::runtime_error("a machine has one window");
        auto made = std::make_unique<RemoteWindow>(name, (flags & MAP_FIXED) != 0 ? at : nullptr);
        if (made->size() != size)
            throw std::runtime_error("the window has " + std::to_string(made->size()) +
                                     " bytes, the file's " + std::to_string(size));
        window = std::move(made);
        return window->data();
    } catch (const std::exception& error) {
        std::fprintf(stderr, "window %s: %s\n", name.c_str(), error.what());
        errno = EINVAL;
        return MAP_FAILED;
    }
}

}  // namespace

extern "C" {

void* mmap(void* at, std::size_t size, int rights, int flags, int file, off_t offset) noexcept {
    return map(at, size, rights, flags, file, offset);
}
void* mmap64(void* at, std::size_t size, int rights, int flags, int file, off64_t offset) noexcept {
    return map(at, size, rights, flags, file, offset);
}
int munmap(void* at, std::size_t size) noexcept {
    std::unique_ptr<RemoteWindow> gone;
    {
        const std::lock_guard lock(guard);
        if (window != nullptr && window->data() >= at &&
            static_cast<char*>(window->data()) < static_cast<char*>(at) + size)
            gone = std::move(window);
    }
    gone.reset();  // which unmaps it: without the lock
    return static_cast<int>(syscall(SYS_munmap, at, size));
}
}
