// SPDX-License-Identifier: Apache-2.0
//
// Allocation as programs call it: large blocks come from segments, small ones from the C library.
#include <malloc.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "pager.hpp"
#include "preload_areas.hpp"

extern "C" {
// The C library's own, which calls that come from here go to.
// NOLINTBEGIN(bugprone-reserved-identifier, readability-identifier-naming): its names
void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* block, std::size_t bytes);
void* __libc_memalign(std::size_t alignment, std::size_t bytes);
void __libc_free(void* block);
// NOLINTEND(bugprone-reserved-identifier, readability-identifier-naming)
}

using namespace consort::remote;
using namespace consort::remote::preloaded;

CONSORT_EXPORT void* malloc(std::size_t bytes) {
    return wanted(bytes) ? allocate_again(bytes, page_bytes) : __libc_malloc(bytes);
}

CONSORT_EXPORT void free(void* block) {
    if (Area* area = area_of(block); area != nullptr) {
        const std::size_t bytes = length_of(*area, block);
        if (bytes == 0) {
            static std::atomic_flag said;
            say_once(said, "consort remote: free() of something that is not an allocation\n");
            std::abort();
        }
        release_block(*area, block, bytes);
    } else {
        __libc_free(block);
    }
}

CONSORT_EXPORT void* calloc(std::size_t count, std::size_t bytes) {
    std::size_t all = 0;
    if (__builtin_mul_overflow(count, bytes, &all)) {
        errno = ENOMEM;
        return nullptr;
    }
    // A block is zeros: it was never used, or was discarded.
    return wanted(all) ? allocate(all, page_bytes) : __libc_calloc(count, bytes);
}

CONSORT_EXPORT void* realloc(void* block, std::size_t bytes) {
    Area* area = area_of(block);
    if (area == nullptr) {
        if (!wanted(bytes)) {
            return __libc_realloc(block, bytes);
        }
        void* made = allocate_again(bytes, page_bytes);
        if (made != nullptr && block != nullptr) {
            std::memcpy(made, block, std::min(bytes, ::malloc_usable_size(block)));
            __libc_free(block);
        }
        return made;
    }
    const std::size_t had = length_of(*area, block);
    if (bytes == 0) {
        release_block(*area, block, had);
        return nullptr;
    }
    const std::size_t keeps = Blocks::rounded(bytes);
    if (keeps <= had && wanted(bytes)) {
        if (keeps < had) {
            release(*area, static_cast<char*>(block) + keeps, had - keeps);
        }
        return block;
    }
    void* made = malloc(bytes);
    if (made != nullptr) {
        std::memcpy(made, block, std::min(bytes, had));
        release_block(*area, block, had);
    }
    return made;
}

CONSORT_EXPORT void* reallocarray(void* block, std::size_t count, std::size_t bytes) {
    std::size_t all = 0;
    if (__builtin_mul_overflow(count, bytes, &all)) {
        errno = ENOMEM;
        return nullptr;
    }
    return realloc(block, all);
}

CONSORT_EXPORT void* memalign(std::size_t alignment, std::size_t bytes) {
    const bool power = alignment != 0 && (alignment & (alignment - 1)) == 0;
    return power && wanted(bytes) ? allocate_again(bytes, std::max(alignment, page_bytes))
                                  : __libc_memalign(alignment, bytes);
}

CONSORT_EXPORT void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
    return memalign(alignment, bytes);
}

CONSORT_EXPORT void* valloc(std::size_t bytes) {
    return memalign(page_bytes, bytes);
}

CONSORT_EXPORT void* pvalloc(std::size_t bytes) {
    return memalign(page_bytes, Blocks::rounded(bytes));
}

CONSORT_EXPORT int posix_memalign(void** block, std::size_t alignment, std::size_t bytes) {
    if (alignment < sizeof(void*) || (alignment & (alignment - 1)) != 0) {
        return EINVAL;
    }
    const int error = errno;
    void* made = memalign(alignment, bytes);
    const bool failed = made == nullptr && bytes != 0;
    if (!failed) {
        *block = made;
    }
    errno = error;
    return failed ? ENOMEM : 0;
}

CONSORT_EXPORT std::size_t malloc_usable_size(void* block) {
    if (const Area* area = area_of(block); area != nullptr) {
        return length_of(*area, block);
    }
    // The C library's, whichever allocator the program has besides: it gave the block.
    static auto* const real = reinterpret_cast<std::size_t (*)(void*)>(
        ::dlsym(::dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD), "malloc_usable_size"));
    return real(block);
}
