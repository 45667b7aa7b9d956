// SPDX-License-Identifier: Apache-2.0
//
// Direct I/O is refused, as by a file system that has none (EINVAL): a device would write to the page itself,
// which may have been evicted meanwhile, and what it read would be lost.
#include <fcntl.h>

#include <cerrno>
#include <cstdarg>

#include "preload.hpp"

namespace {

using namespace consort::remote::preloaded;

bool refused(int flags) {
    if (!attached || inside || (flags & O_DIRECT) == 0) {
        return false;
    }
    static std::atomic_flag said;
    say_once(
        said,
        "consort remote: direct I/O (O_DIRECT) is refused (EINVAL): it does not work with remote memory\n");
    errno = EINVAL;
    return true;
}

}  // namespace

// `open`, `openat` and their variants take a mode where they may create a file.
#define CONSORT_OPEN(NAME, DECLARED, TYPES, GIVEN)                                     \
    CONSORT_EXPORT int NAME(DECLARED, int flags, ...) {                                \
        va_list more;                                                                  \
        va_start(more, flags);                                                         \
        const bool makes = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE; \
        const auto mode = makes ? va_arg(more, mode_t) : 0;                            \
        va_end(more);                                                                  \
        static auto* const real = original<int(TYPES, int, ...)>(#NAME);               \
        return refused(flags) ? -1 : real(GIVEN, flags, mode);                         \
    }
#define CONSORT_COMMA ,
CONSORT_OPEN(open, const char* path, const char*, path)
CONSORT_OPEN(open64, const char* path, const char*, path)
CONSORT_OPEN(openat, int folder CONSORT_COMMA const char* path, int CONSORT_COMMA const char*,
             folder CONSORT_COMMA path)
CONSORT_OPEN(openat64, int folder CONSORT_COMMA const char* path, int CONSORT_COMMA const char*,
             folder CONSORT_COMMA path)

// The names of calls in programs that are built with _FORTIFY_SOURCE.
// NOLINTBEGIN(bugprone-reserved-identifier, readability-identifier-naming): the C library's names
CONSORT_EXPORT int __open_2(const char* path, int flags) {
    return ::open(path, flags & ~O_CREAT);
}
CONSORT_EXPORT int __open64_2(const char* path, int flags) {
    return ::open64(path, flags & ~O_CREAT);
}
CONSORT_EXPORT int __openat_2(int folder, const char* path, int flags) {
    return ::openat(folder, path, flags & ~O_CREAT);
}
CONSORT_EXPORT int __openat64_2(int folder, const char* path, int flags) {
    return ::openat64(folder, path, flags & ~O_CREAT);
}
// NOLINTEND(bugprone-reserved-identifier, readability-identifier-naming)

// The third argument of every command is an integer or a pointer.
CONSORT_EXPORT int fcntl(int file, int command, ...) {
    va_list more;
    va_start(more, command);
    void* value = va_arg(more, void*);
    va_end(more);
    static auto* const real = original<int(int, int, ...)>("fcntl");
    if (command == F_SETFL && refused(static_cast<int>(reinterpret_cast<std::intptr_t>(value)))) {
        return -1;
    }
    return real(file, command, value);
}
CONSORT_EXPORT int fcntl64(int file, int command, ...) {
    va_list more;
    va_start(more, command);
    void* value = va_arg(more, void*);
    va_end(more);
    return ::fcntl(file, command, value);
}
