// SPDX-License-Identifier: Apache-2.0
//
// Mappings as programs ask for them: large anonymous ones come from segments, and calls about part of one act
// there.
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstring>

#include "pager.hpp"
#include "preload_areas.hpp"

using namespace consort::remote;
using namespace consort::remote::preloaded;

#ifndef MADV_COLD  // headers before Linux 5.4
#define MADV_COLD 20
#define MADV_PAGEOUT 21
#endif
#ifndef MADV_DONTNEED_LOCKED  // headers before Linux 5.18
#define MADV_DONTNEED_LOCKED 24
#endif

namespace {

// True if the kernel would take it for a range of whole pages.
bool is_range(const void* address, std::size_t bytes) {
    const auto from = reinterpret_cast<std::uintptr_t>(address);
    return from % page_bytes == 0 && bytes <= PTRDIFF_MAX && from <= PTRDIFF_MAX - Blocks::rounded(bytes);
}

// Calls `outside(address, bytes)` for each piece of a range that is of no area, in turn while it answers 0,
// and then `in(area, address, bytes)` for those that are: a call that the kernel refuses changes no area.
template <class In, class Outside>
int for_pieces(void* address, std::size_t bytes, In in, Outside outside) {
    for (const bool within : {false, true}) {
        char* at = static_cast<char*>(address);
        for (std::size_t left = bytes; left != 0;) {
            Area* area = area_in(at, left);
            const auto here = reinterpret_cast<std::uintptr_t>(at);
            std::size_t part = left;
            if (area != nullptr && area->base > here) {
                part = area->base - here;
                area = nullptr;
            } else if (area != nullptr) {
                part = std::min(left, area->base + area->bytes - here);
            }
            if (const int failed =
                    area == nullptr ? (within ? 0 : outside(at, part)) : (within ? in(*area, at, part) : 0);
                failed != 0) {
                return failed;
            }
            at += part;
            left -= part;
        }
    }
    return 0;
}

// Advice on how memory is used may be left undone. The pager finds out by itself.
bool is_hint(int advice) {
    switch (advice) {
        case MADV_NORMAL:
        case MADV_RANDOM:
        case MADV_SEQUENTIAL:
        case MADV_WILLNEED:
        case MADV_FREE:
        case MADV_DONTFORK:
        case MADV_KEEPONFORK:
        case MADV_MERGEABLE:
        case MADV_UNMERGEABLE:
        case MADV_HUGEPAGE:
        case MADV_NOHUGEPAGE:
        case MADV_DONTDUMP:
        case MADV_DODUMP:
        case MADV_COLD:
        case MADV_PAGEOUT:
            return true;
        default:
            return false;
    }
}

int advise(Area& area, void* address, std::size_t bytes, int advice) {
    const bool drops = advice == MADV_DONTNEED || advice == MADV_DONTNEED_LOCKED;
    if (is_child || (area.ordinary.load(std::memory_order_acquire) && !drops)) {
        return static_cast<int>(::syscall(SYS_madvise, address, bytes, advice));
    }
    if (drops) {
        area.segment->discard(reinterpret_cast<std::uintptr_t>(address) - area.base, bytes);
        return 0;
    }
    // Unknown advice, and advice that would make pages zero, or shared with a child, behind the pager's back:
    // as a kernel answers that has no such advice.
    return is_hint(advice) ? 0 : fail(EINVAL);
}

void* refused(int error) {
    errno = error;
    return MAP_FAILED;
}

}  // namespace

CONSORT_EXPORT void* mmap(void* address, std::size_t bytes, int protection, int flags, int file,
                          off_t offset) {
    constexpr int kind = MAP_ANONYMOUS | MAP_PRIVATE | MAP_NORESERVE | MAP_POPULATE;
    if (address == nullptr && wanted(bytes) && protection == (PROT_READ | PROT_WRITE) &&
        (flags & (MAP_ANONYMOUS | MAP_PRIVATE)) == (MAP_ANONYMOUS | MAP_PRIVATE) && (flags & ~kind) == 0) {
        void* made = allocate(bytes, page_bytes);
        return made == nullptr ? MAP_FAILED : made;
    }
    if ((flags & (MAP_FIXED | MAP_FIXED_NOREPLACE)) == MAP_FIXED && area_in(address, bytes) != nullptr) {
        static std::atomic_flag said;
        say_once(said, "consort remote: a mapping over part of a remote block is refused (EINVAL)\n");
        return refused(EINVAL);
    }
    // NOLINTNEXTLINE(performance-no-int-to-ptr): a system call gives a number
    return reinterpret_cast<void*>(::syscall(SYS_mmap, address, bytes, protection, flags, file, offset));
}

CONSORT_EXPORT void* mmap64(void* address, std::size_t bytes, int protection, int flags, int file,
                            off_t offset) {
    return mmap(address, bytes, protection, flags, file, offset);
}

CONSORT_EXPORT int munmap(void* address, std::size_t bytes) {
    const auto unmap = [](void* at, std::size_t part) {
        return static_cast<int>(::syscall(SYS_munmap, at, part));
    };
    if (bytes == 0 || area_in(address, bytes) == nullptr) {
        return unmap(address, bytes);
    }
    if (!is_range(address, bytes)) {
        return fail(EINVAL);
    }
    return for_pieces(
        address, Blocks::rounded(bytes),
        [](Area& area, void* at, std::size_t part) {
            release(area, at, part);
            return 0;
        },
        unmap);
}

CONSORT_EXPORT void* mremap(void* old, std::size_t had, std::size_t bytes, int flags, ...) {
    va_list more;
    va_start(more, flags);
    void* place = (flags & MREMAP_FIXED) != 0 ? va_arg(more, void*) : nullptr;
    va_end(more);
    Area* area = area_of(old);
    if (area == nullptr) {
        // The kernel would map over an area, or unmap part of one.
        if (place != nullptr && area_in(place, bytes) != nullptr) {
            return refused(EINVAL);
        }
        if (area_in(old, had) != nullptr) {
            return refused(EFAULT);
        }
        // NOLINTNEXTLINE(performance-no-int-to-ptr): a system call gives a number
        return reinterpret_cast<void*>(::syscall(SYS_mremap, old, had, bytes, flags, place));
    }
    if ((flags & ~MREMAP_MAYMOVE) != 0 || had == 0 || bytes == 0 ||
        reinterpret_cast<std::uintptr_t>(old) % page_bytes != 0) {
        return refused(EINVAL);
    }
    had = Blocks::rounded(had);
    if (!is_all_in_blocks(*area, old, had)) {
        return refused(EFAULT);
    }
    if (Blocks::rounded(bytes) <= had) {
        if (Blocks::rounded(bytes) < had) {
            release(*area, static_cast<char*>(old) + Blocks::rounded(bytes), had - Blocks::rounded(bytes));
        }
        return old;
    }
    void* made = nullptr;
    if ((flags & MREMAP_MAYMOVE) != 0 && area->ordinary.load(std::memory_order_acquire)) {
        made = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        made = made == MAP_FAILED ? nullptr : made;
    } else if ((flags & MREMAP_MAYMOVE) != 0) {
        made = allocate(bytes, page_bytes);
    }
    if (made == nullptr) {
        return refused(ENOMEM);
    }
    std::memcpy(made, old, had);
    release(*area, old, had);
    return made;
}

CONSORT_EXPORT int madvise(void* address, std::size_t bytes, int advice) noexcept {
    const auto tell = [advice](void* at, std::size_t part) {
        return static_cast<int>(::syscall(SYS_madvise, at, part, advice));
    };
    if (bytes == 0 || area_in(address, bytes) == nullptr) {
        return tell(address, bytes);
    }
    if (!is_range(address, bytes)) {
        return fail(EINVAL);
    }
    bool hole = false;
    const int failed = for_pieces(
        address, Blocks::rounded(bytes),
        [advice, &hole](Area& area, void* at, std::size_t part) {
            hole = hole || !is_all_in_blocks(area, at, part);
            return advise(area, at, part, advice);
        },
        tell);
    // As the kernel does: what is there heeds the advice, and the caller hears of the hole.
    return failed == 0 && hole ? fail(ENOMEM) : failed;
}

CONSORT_EXPORT int mprotect(void* address, std::size_t bytes, int protection) noexcept {
    Area* area = area_of(address);
    if (bytes == 0 || area == nullptr || is_child || area->ordinary.load(std::memory_order_acquire)) {
        return static_cast<int>(::syscall(SYS_mprotect, address, bytes, protection));
    }
    const std::size_t at = reinterpret_cast<std::uintptr_t>(address) - area->base;
    if (at % page_bytes != 0 || bytes > area->bytes - at) {
        return fail(EINVAL);
    }
    if (!is_all_in_blocks(*area, address, Blocks::rounded(bytes))) {
        return fail(ENOMEM);
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
