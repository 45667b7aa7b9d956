// SPDX-License-Identifier: Apache-2.0
#include "preload_areas.hpp"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>

#include "descriptors.hpp"

namespace consort::remote::preloaded {

__attribute__((tls_model("initial-exec"))) thread_local bool inside = false;
bool in_thread = false;
bool attached = false;
Areas areas;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t changing = PTHREAD_MUTEX_INITIALIZER;
bool is_child = false;

namespace {

// Allocations from this size on are remote; none while there is no segment for them.
constexpr std::size_t never = static_cast<std::size_t>(-1);
std::atomic<std::size_t> threshold{never};
std::size_t given_threshold = never;

void* first_fit(std::size_t bytes, std::size_t alignment) {
    const Held held;
    for (std::size_t i = 0; i < areas.size(); ++i) {
        Area* each = areas.at(i);
        if (each == nullptr || each->closing) {
            continue;
        }
        // Large blocks have huge pages of their own.
        const std::size_t page = bytes < each->segment->page() ? page_bytes : each->segment->page();
        const std::size_t at = each->blocks.allocate(bytes, std::max(alignment, page), each->base);
        if (at != Blocks::none) {
            return reinterpret_cast<void*>(each->base + at);  // NOLINT: an address in a mapping
        }
    }
    return nullptr;
}

// Gives all freed blocks' room back; false where there was none.
bool discard_freed() {
    bool found = false;
    for (std::size_t i = 0; i < areas.size(); ++i) {
        Area* each = areas.at(i);
        for (FreedBlocks::Block oldest{}; each != nullptr;) {
            {
                const Held held;
                if (each->closing || !each->freed.any(oldest)) {
                    break;
                }
            }
            void* const block = reinterpret_cast<void*>(each->base + oldest.offset);  // NOLINT: as above
            release(*each, block, oldest.bytes);
            found = true;
        }
    }
    return found;
}

}  // namespace

void say_once(std::atomic_flag& said, const char* words) {
    if (!said.test_and_set()) {
        [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, words, std::strlen(words));
    }
}

Area* area_of(const void* pointer) {
    for (std::size_t i = 0; i < areas.size(); ++i) {
        if (Area* area = areas.at(i);
            area != nullptr && reinterpret_cast<std::uintptr_t>(pointer) - area->base < area->bytes) {
            return area;
        }
    }
    return nullptr;
}

Area* area_in(const void* pointer, std::size_t bytes) {
    const auto from = reinterpret_cast<std::uintptr_t>(pointer);
    Area* first = area_of(pointer);
    if (first != nullptr) {
        return first;
    }
    areas.each([&](std::size_t, Area& each) {
        if (each.base - from < bytes) {
            first = &each;
            bytes = each.base - from;
        }
    });
    return first;
}

bool wanted(std::size_t bytes) {
    return bytes >= threshold.load(std::memory_order_relaxed) && !inside && !allocates_here;
}

void* allocate(std::size_t bytes, std::size_t alignment) {
    // A second time, should the first find no room, without the freed blocks that are kept.
    for (bool again = bytes <= PTRDIFF_MAX; again;) {
        if (void* made = first_fit(bytes, alignment); made != nullptr) {
            return made;
        }
        again = discard_freed();
    }
    static std::atomic_flag said;
    say_once(said,
             "consort remote: the attached segments have no room for an allocation; it fails (ENOMEM)\n");
    errno = ENOMEM;
    return nullptr;
}

void* allocate_again(std::size_t bytes, std::size_t alignment) {
    const std::size_t length = Blocks::rounded(bytes);
    if (length <= FreedBlocks::most_bytes) {
        const Held held;
        for (std::size_t i = 0; i < areas.size(); ++i) {
            Area* each = areas.at(i);
            if (each == nullptr || each->closing) {
                continue;
            }
            if (const std::size_t at = each->freed.take(length, alignment, each->base);
                at != FreedBlocks::none) {
                return reinterpret_cast<void*>(each->base + at);  // NOLINT: an address in a mapping
            }
        }
    }
    return allocate(bytes, alignment);
}

void release_block(Area& area, const void* pointer, std::size_t bytes) {
    if (is_child && !area.ordinary) {
        return;
    }
    FreedBlocks::Block surplus{reinterpret_cast<std::uintptr_t>(pointer) - area.base, bytes};
    bool over = true;
    {
        const Held held;
        if (bytes <= FreedBlocks::most_bytes && !area.has_rights && !area.closing) {
            area.freed.add(surplus);
            over = area.freed.surplus(surplus);
        }
    }
    while (over) {
        void* const block = reinterpret_cast<void*>(area.base + surplus.offset);  // NOLINT: as above
        release(area, block, surplus.bytes);
        const Held held;
        // One that closes may be gone by now: what it still keeps goes with it.
        over = !area.closing && area.freed.surplus(surplus);
    }
}

void release(Area& area, const void* pointer, std::size_t bytes) {
    if (is_child && !area.ordinary) {
        return;
    }
    const std::size_t at = reinterpret_cast<std::uintptr_t>(pointer) - area.base;
    if (area.ordinary.load(std::memory_order_acquire)) {
        ::syscall(SYS_madvise, area.base + at, bytes, MADV_DONTNEED);
        const Held held;
        area.blocks.release(at, bytes);
        return;
    }
    // Before another thread can get the block: it reads as zeros again, and can be written to.
    area.segment->discard(at, bytes);
    if (area.has_rights) {
        const std::size_t page = area.segment->page();
        const std::size_t from = at / page * page;
        const std::size_t to = (at + bytes + page - 1) / page * page;
        if (!area.segment->protect(from, to - from, Rights::read_write)) {
            return;  // nobody could write to it: nobody gets it
        }
    }
    const Held held;
    area.blocks.release(at, bytes);
}

std::size_t length_of(const Area& area, const void* pointer) {
    const Held held;
    const std::size_t at = reinterpret_cast<std::uintptr_t>(pointer) - area.base;
    return area.freed.has(at) ? 0 : area.blocks.length_of(at);
}

bool is_all_in_blocks(const Area& area, const void* pointer, std::size_t bytes) {
    const Held held;
    return area.blocks.has(reinterpret_cast<std::uintptr_t>(pointer) - area.base, bytes);
}

std::vector<Segment::Block> blocks_in(const Area& area) {
    std::vector<Segment::Block> found;
    for (const auto& [offset, length] : area.blocks.used()) {
        if (!area.freed.has(offset)) {
            found.push_back({offset, length});
        }
    }
    return found;
}

std::size_t used_in(const Area& area) {
    std::size_t bytes = 0;
    for (const Segment::Block& each : blocks_in(area)) {
        bytes += each.bytes;
    }
    return bytes;
}

void use_threshold(std::size_t bytes) {
    given_threshold = bytes;
    threshold = bytes;
}

void forget_threshold() {
    threshold = never;
}

void set_threshold() {
    bool any = false;
    areas.each([&](std::size_t, const Area& each) { any = any || !each.closing; });
    threshold = any ? given_threshold : never;
}

}  // namespace consort::remote::preloaded
