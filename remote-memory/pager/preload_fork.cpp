// SPDX-License-Identifier: Apache-2.0
//
// A child after fork() finds what its parent had remote at the same addresses, as memory of its own on this
// machine: a copy of all blocks as they are at one instant. The pages themselves cannot be shared, as the
// parent takes its own home, and changes what is there. So fork() takes as long as to read all of them, and
// is refused where the machine has no room. Calls that only execute another program (posix_spawn, vfork,
// system, popen) copy nothing.
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "pager.hpp"
#include "preload_areas.hpp"

namespace consort::remote::preloaded {

namespace {

bool copies_blocks = false;
// The mask of the forking thread, which holds `lock`.
sigset_t mask_before;

bool has_remote_blocks(const Area& area) {
    return area.segment != nullptr && !area.ordinary.load(std::memory_order_acquire) &&
           !area.blocks.used().empty();
}

template <class Body>
bool each_block(const Area& area, Body body) {
    // Without an allocation: the program's own allocator may be locked for the fork.
    for (const auto& [offset, bytes] : area.blocks.used()) {
        if (!area.freed.has(offset) && !body(Segment::Block{offset, bytes})) {
            return false;
        }
    }
    return true;
}

std::size_t held_in(const Area& area) {
    std::size_t bytes = 0;
    each_block(area, [&](Segment::Block block) {
        bytes += area.segment->held(block);
        return true;
    });
    return bytes;
}

// The memory of this machine that can still be had [bytes]; all where that is not known. Without a stream: a
// signal handler may fork.
std::size_t available() {
    const long file = ::syscall(SYS_openat, AT_FDCWD, "/proc/meminfo", O_RDONLY | O_CLOEXEC);
    std::array<char, 4096> text{};
    const long length = file < 0 ? 0 : ::syscall(SYS_read, file, text.data(), text.size() - 1);
    if (file >= 0) {
        ::syscall(SYS_close, file);
    }
    const char* const memory = length <= 0 ? nullptr : std::strstr(text.data(), "MemAvailable:");
    if (memory == nullptr) {
        return SIZE_MAX;
    }
    const char* const swap = std::strstr(text.data(), "SwapFree:");
    const auto kib = [](const char* of) {
        return of == nullptr ? 0 : std::strtoull(std::strchr(of, ':') + 1, nullptr, 10);
    };
    return (kib(memory) + kib(swap)) * 1024;
}

// The addresses of a copy. Without rights at first: a program that locks what it maps gets no page of it.
bool reserve(Area& area) {
    if (area.for_child != nullptr) {
        return true;
    }
    constexpr int kind = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    const long made = ::syscall(SYS_mmap, nullptr, area.bytes, PROT_NONE, kind, -1, 0);
    if (made == -1) {
        return false;
    }
    ::syscall(SYS_munlock, made, area.bytes);
    ::syscall(SYS_mprotect, made, area.bytes, PROT_READ | PROT_WRITE);
    area.for_child = reinterpret_cast<std::byte*>(made);  // NOLINT: a system call gives a number
    return true;
}

void give_up(Area& area) {
    if (area.for_child != nullptr) {
        ::syscall(SYS_munmap, area.for_child, area.bytes);
        area.for_child = nullptr;
    }
}

int refuse(int error, const char* why) {
    say({"consort remote: fork() is refused (", error == EIO ? "EIO" : "ENOMEM",
         "): what lies in remote memory is copied to the child, and ", why,
         "; for children that only execute a program: --fork nothing\n"});
    areas.each([](std::size_t, Area& each) { give_up(each); });
    return error;
}

// An errno where a child cannot have its copies; else 0.
int why_not() {
    const Held held;
    std::size_t bytes = 0;
    bool lost = false;
    bool room = true;
    areas.each([&](std::size_t, Area& each) {
        if (has_remote_blocks(each)) {
            const std::size_t here = held_in(each);
            bytes += here;
            lost = lost || (here != 0 && each.segment->lost());
            room = room && reserve(each);
        }
    });
    if (lost) {
        return refuse(EIO, "its server is lost");
    }
    const std::size_t free_bytes = available();
    if (!room || bytes > free_bytes) {
        constexpr double mib = 1024.0 * 1024.0;
        std::array<char, 128> words{};
        std::snprintf(words.data(), words.size(),
                      room ? "it has %.0f MiB, where %.0f MiB are available"
                           : "there are no addresses for its %.0f MiB",
                      static_cast<double>(bytes) / mib, static_cast<double>(free_bytes) / mib);
        return refuse(ENOMEM, words.data());
    }
    return 0;
}

// All segments stand still before the first page is copied.
void copy_all() {
    areas.each([](std::size_t, Area& each) {
        if (has_remote_blocks(each) && (!reserve(each) || !each.segment->freeze())) {
            give_up(each);
        }
    });
    areas.each([](std::size_t, Area& each) {
        if (has_remote_blocks(each) && each.for_child != nullptr &&
            !each_block(each,
                        [&](Segment::Block block) { return each.segment->copy(block, each.for_child); })) {
            say({"consort remote: not all pages can be had: the child after fork() gets no copy of them\n"});
            each.segment->thaw();
            give_up(each);
        }
    });
}

void before_fork() {
    // A handler that wrote to remote memory here would wait for this thread.
    sigset_t all;
    ::sigfillset(&all);
    for (const int open : {SIGBUS, SIGSEGV, SIGILL, SIGFPE, SIGTRAP}) {
        ::sigdelset(&all, open);
    }
    sigset_t mask;
    ::pthread_sigmask(SIG_BLOCK, &all, &mask);
    if (copies_blocks) {
        ::pthread_mutex_lock(&changing);
    }
    ::pthread_mutex_lock(&lock);
    mask_before = mask;
    if (copies_blocks) {
        inside = true;
        copy_all();
        inside = false;
    }
}

void go_on() {
    const sigset_t mask = mask_before;
    ::pthread_mutex_unlock(&lock);
    if (copies_blocks) {
        ::pthread_mutex_unlock(&changing);
    }
    ::pthread_sigmask(SIG_SETMASK, &mask, nullptr);
}

void in_parent() {
    areas.each([](std::size_t, Area& each) {
        if (each.for_child != nullptr) {
            each.segment->thaw();
            give_up(each);
        }
    });
    go_on();
}

// It has no segments: what it allocates is its own.
void in_child() {
    is_child = true;
    attached = false;
    forget_threshold();
    copies_blocks = false;
    areas.each([](std::size_t, Area& each) {
        each.closing = true;
        if (each.for_child != nullptr && ::syscall(SYS_mremap, each.for_child, each.bytes, each.bytes,
                                                   MREMAP_MAYMOVE | MREMAP_FIXED, each.base) != -1) {
            each.ordinary.store(true, std::memory_order_release);
        }
        each.for_child = nullptr;
    });
    lock = PTHREAD_MUTEX_INITIALIZER;
    changing = PTHREAD_MUTEX_INITIALIZER;
    inside = false;
    const sigset_t mask = mask_before;
    ::pthread_sigmask(SIG_SETMASK, &mask, nullptr);
}

}  // namespace

void see_forks(bool copies) {
    copies_blocks = copies;
    ::pthread_atfork(before_fork, in_parent, in_child);
}

}  // namespace consort::remote::preloaded

using namespace consort::remote::preloaded;

// A segment that is lost, or a machine without room, is known before anything is locked for the fork.
CONSORT_EXPORT pid_t fork() noexcept {
    static auto* const real = original<pid_t()>("fork");
    if (copies_blocks) {
        if (const int error = why_not(); error != 0) {
            return fail(error);
        }
    }
    return real();
}
