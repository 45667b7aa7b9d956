// SPDX-License-Identifier: Apache-2.0
//
// File descriptors that a program cannot take away by accident. Daemons close every number that they find,
// shells put files of their own at numbers that they choose. A userfaultfd that is closed would leave zeros
// where pages are absent. So ours have high numbers, and the pager's threads have a table of their own, which
// holds them whatever the program does to its table.
#pragma once

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace consort::remote {

// The least number of a descriptor of this library. Above what shells use for theirs, and what programs that
// close a few numbers reach.
inline int first_descriptor() noexcept {
    static const int first = [] {
        rlimit limit{};
        const bool known = ::getrlimit(RLIMIT_NOFILE, &limit) == 0;
        return static_cast<int>(std::min<rlim_t>(known ? limit.rlim_cur : 256, 4096) / 2);
    }();
    return first;
}

// The same file at a high number; `made` is closed. Throws std::system_error where there is no number left.
inline int out_of_the_way(int made) {
    const int moved = ::fcntl(made, F_DUPFD_CLOEXEC, first_descriptor());
    const int error = errno;
    ::close(made);
    if (moved < 0) {
        throw std::system_error(error, std::generic_category(), "too many open files");
    }
    return moved;
}

// Which table of descriptors the calling thread has: 0 is the program's, else the first thread that had it.
// Read in signal handlers, of a preloaded library, too.
__attribute__((tls_model("initial-exec"))) inline thread_local int table_of_thread = 0;
inline int own_table() noexcept {
    return table_of_thread;
}

// True if the calling thread's allocations are this machine's memory, however large: memory of a thread that
// pages wait for cannot lie in a segment.
__attribute__((tls_model("initial-exec"))) inline thread_local bool allocates_here = false;
class AllocatesHere {
  public:
    AllocatesHere() noexcept : before_(allocates_here) { allocates_here = true; }
    AllocatesHere(const AllocatesHere&) = delete;
    AllocatesHere& operator=(const AllocatesHere&) = delete;
    ~AllocatesHere() { allocates_here = before_; }

  private:
    bool before_;
};

// Gives the calling thread a table of its own that holds standard error and the high numbers: the program's
// other files close when the program closes them. Kernels before 5.9 cannot: the table stays the program's.
inline void keep_own_descriptors() noexcept {
#if defined(SYS_close_range)
    constexpr unsigned unshare = 1U << 1U;  // CLOSE_RANGE_UNSHARE
    if (::syscall(SYS_close_range, STDIN_FILENO, STDOUT_FILENO, unshare) == 0) {
        ::syscall(SYS_close_range, STDERR_FILENO + 1, first_descriptor() - 1, 0);
        table_of_thread = static_cast<int>(::syscall(SYS_gettid));
    }
#endif
}

}  // namespace consort::remote
