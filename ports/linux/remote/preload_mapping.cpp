// SPDX-License-Identifier: Apache-2.0
//
// Mappings as programs ask for them: large anonymous ones come from segments, and calls about part of one act
// there.
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstring>

#include "pager.hpp"
#include "preload_areas.hpp"

using namespace consort::remote;
using namespace consort::remote::preloaded;

CONSORT_EXPORT void* mmap(void* address, std::size_t bytes, int protection, int flags, int file,
                          off_t offset) {
    constexpr int kind = MAP_ANONYMOUS | MAP_PRIVATE | MAP_NORESERVE | MAP_POPULATE;
    if (address == nullptr && wanted(bytes) && protection == (PROT_READ | PROT_WRITE) &&
        (flags & (MAP_ANONYMOUS | MAP_PRIVATE)) == (MAP_ANONYMOUS | MAP_PRIVATE) && (flags & ~kind) == 0) {
        void* made = allocate(bytes, page_bytes);
        return made == nullptr ? MAP_FAILED : made;
    }
    if ((flags & MAP_FIXED) != 0 && area_of(address) != nullptr) {
        static std::atomic_flag said;
        say_once(said, "consort remote: a mapping over part of a remote block is refused (EINVAL)\n");
        errno = EINVAL;
        return MAP_FAILED;
    }
    // NOLINTNEXTLINE(performance-no-int-to-ptr): a system call gives a number
    return reinterpret_cast<void*>(::syscall(SYS_mmap, address, bytes, protection, flags, file, offset));
}

CONSORT_EXPORT void* mmap64(void* address, std::size_t bytes, int protection, int flags, int file,
                            off_t offset) {
    return mmap(address, bytes, protection, flags, file, offset);
}

CONSORT_EXPORT int munmap(void* address, std::size_t bytes) {
    if (Area* area = area_of(address); area != nullptr) {
        if (reinterpret_cast<std::uintptr_t>(address) % page_bytes != 0 || bytes == 0) {
            return fail(EINVAL);
        }
        release(*area, address, Blocks::rounded(bytes));
        return 0;
    }
    return static_cast<int>(::syscall(SYS_munmap, address, bytes));
}

CONSORT_EXPORT void* mremap(void* old, std::size_t had, std::size_t bytes, int flags, ...) {
    va_list more;
    va_start(more, flags);
    void* place = (flags & MREMAP_FIXED) != 0 ? va_arg(more, void*) : nullptr;
    va_end(more);
    Area* area = area_of(old);
    if (area == nullptr) {
        // NOLINTNEXTLINE(performance-no-int-to-ptr): a system call gives a number
        return reinterpret_cast<void*>(::syscall(SYS_mremap, old, had, bytes, flags, place));
    }
    if ((flags & ~MREMAP_MAYMOVE) != 0 || bytes == 0) {
        errno = EINVAL;
        return MAP_FAILED;
    }
    had = Blocks::rounded(had);
    if (Blocks::rounded(bytes) <= had) {
        if (Blocks::rounded(bytes) < had) {
            release(*area, static_cast<char*>(old) + Blocks::rounded(bytes), had - Blocks::rounded(bytes));
        }
        return old;
    }
    void* made = (flags & MREMAP_MAYMOVE) != 0 ? allocate(bytes, page_bytes) : nullptr;
    if (made == nullptr) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    std::memcpy(made, old, had);
    release(*area, old, had);
    return made;
}

CONSORT_EXPORT int madvise(void* address, std::size_t bytes, int advice) noexcept {
    Area* area = area_of(address);
    if (area == nullptr || area->ordinary.load(std::memory_order_acquire)) {
        return static_cast<int>(::syscall(SYS_madvise, address, bytes, advice));
    }
    if (advice == MADV_DONTNEED) {
        const std::size_t at = reinterpret_cast<std::uintptr_t>(address) - area->base;
        if (at % page_bytes != 0 || bytes > area->bytes - at) {
            return fail(EINVAL);
        }
        area->segment->discard(at, Blocks::rounded(bytes));
    } else if (advice == MADV_DOFORK || advice == MADV_REMOVE || advice == MADV_WIPEONFORK) {
        // What would make pages zero, or shared with a child, behind the pager's back.
        return fail(EINVAL);
    }
    // All else is advice on how memory is used: the pager finds out by itself.
    return 0;
}

CONSORT_EXPORT int mprotect(void* address, std::size_t bytes, int protection) noexcept {
    Area* area = area_of(address);
    if (area == nullptr || is_child || area->ordinary.load(std::memory_order_acquire)) {
        return static_cast<int>(::syscall(SYS_mprotect, address, bytes, protection));
    }
    const std::size_t at = reinterpret_cast<std::uintptr_t>(address) - area->base;
    if (at % page_bytes != 0 || bytes > area->bytes - at) {
        return fail(EINVAL);
    }
    if (protection != PROT_READ && protection != (PROT_READ | PROT_WRITE)) {
        static std::atomic_flag said;
        say_once(said,
                 "consort remote: rights to part of a remote block but reading, or reading and writing, are "
                 "refused (EACCES)\n");
        return fail(EACCES);
    }
    if (const std::size_t page = area->segment->page();
        at % page != 0 || Blocks::rounded(bytes) % page != 0) {
        static std::atomic_flag said;
        say_once(said, "consort remote: rights to part of a page of 2 MiB are refused (EINVAL)\n");
        return fail(EINVAL);
    }
    const Held held;
    area->has_rights = true;
    return area->segment->protect(at, Blocks::rounded(bytes),
                                  protection == PROT_READ ? Rights::read : Rights::read_write)
               ? 0
               : fail(ENOMEM);
}
