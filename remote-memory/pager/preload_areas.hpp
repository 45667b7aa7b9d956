// SPDX-License-Identifier: Apache-2.0
//
// The segments that a program has, and the blocks of its allocations in them.
#pragma once

#include <pthread.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "blocks.hpp"
#include "consort/linux/remote_segment.hpp"
#include "freed_blocks.hpp"
#include "preload.hpp"

namespace consort::remote::preloaded {

// An area is never freed: threads of the program may look at it until the process is gone.
struct Area {
    Segment* segment;  // null once it was detached
    std::uintptr_t base;
    std::size_t bytes;
    Blocks blocks;            // those that are kept in `freed`, too
    FreedBlocks freed;        // with their pages, for the next of their size
    bool has_rights = false;  // a program took the right to write from some pages
    bool closing = false;     // nothing comes to lie there any more
    // Its pages stayed when it was detached, or it is a child's copy: it is ordinary memory, for what lies
    // there already.
    std::atomic<bool> ordinary{false};
    std::byte* for_child = nullptr;  // while fork() makes one: what is to lie there

    Area(Segment* of, std::uintptr_t at, std::size_t size)
        : segment(of), base(at), bytes(size), blocks(size) {}
};

class Areas {
  public:
    // Throws std::invalid_argument where there are as many as there can be.
    std::size_t add(Area* area) {
        for (std::size_t i = 0; i < places_.size(); ++i) {
            if (places_[i].load(std::memory_order_relaxed) == nullptr) {
                places_[i].store(area, std::memory_order_release);
                used_.store(std::max(used_.load(std::memory_order_relaxed), i + 1),
                            std::memory_order_release);
                return i;
            }
        }
        throw std::invalid_argument("a program has at most 64 segments");
    }
    void remove(std::size_t place) noexcept { places_[place].store(nullptr, std::memory_order_release); }
    [[nodiscard]] Area* at(std::size_t place) const noexcept {
        return place < places_.size() ? places_[place].load(std::memory_order_acquire) : nullptr;
    }
    [[nodiscard]] std::size_t size() const noexcept { return used_.load(std::memory_order_acquire); }
    template <class Body>
    void each(Body body) const {
        for (std::size_t i = 0; i < size(); ++i) {
            if (Area* area = at(i); area != nullptr) {
                body(i, *area);
            }
        }
    }

  private:
    std::array<std::atomic<Area*>, 64> places_{};
    std::atomic<std::size_t> used_{0};
};

extern Areas areas;
extern pthread_mutex_t lock;
// Held by who attaches or detaches a segment; taken before `lock`.
extern pthread_mutex_t changing;
// A child after fork() has no segments: an area that is not ordinary is not to be touched.
extern bool is_child;

// Holds `lock`; what is called meanwhile is the C library's.
class Held {
  public:
    Held() : before_(inside) {
        ::pthread_mutex_lock(&lock);
        inside = true;
    }
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;
    ~Held() {
        inside = before_;
        ::pthread_mutex_unlock(&lock);
    }

  private:
    bool before_;
};

// The area in which this address is, or null.
Area* area_of(const void* pointer);
// The first area that has part of the range, or null.
Area* area_in(const void* pointer, std::size_t bytes);
// True if an allocation of so many bytes is to be remote.
bool wanted(std::size_t bytes);
// How a working set names a segment: by the size of its pages.
std::string heading(const Segment& segment);
// From now on allocations of `bytes` and more are remote, where there is a segment for them.
void use_threshold(std::size_t bytes);
void set_threshold();
// Nothing: in a child.
void forget_threshold();
// A new block; null with ENOMEM where no segment has room: what is to be remote does not become local unseen.
void* allocate(std::size_t bytes, std::size_t alignment);
void release(Area& area, const void* pointer, std::size_t bytes);
// For a whole block of `malloc`: it may keep its pages, and what they hold, for `allocate_again`.
void release_block(Area& area, const void* pointer, std::size_t bytes);
// As `allocate`; what the block holds is not stated.
void* allocate_again(std::size_t bytes, std::size_t alignment);
// 0 where no block begins.
std::size_t length_of(const Area& area, const void* pointer);
// True if all of this range of whole pages lies in blocks.
bool is_all_in_blocks(const Area& area, const void* pointer, std::size_t bytes);
// The blocks that lie there, but for freed ones. Call it with `lock` held.
std::vector<Segment::Block> blocks_in(const Area& area);
std::size_t used_in(const Area& area);
// Its content counts at the program's end, also once its segment is gone.
void summarize(const Area& area);

inline int fail(int error) {
    errno = error;
    return -1;
}

}  // namespace consort::remote::preloaded
