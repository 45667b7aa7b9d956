// SPDX-License-Identifier: Apache-2.0
//
// Which pages of a range are handed out: first fit, blocks of whole pages, neighbours joined when they are
// free.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>

#include "protocol.hpp"

namespace consort::remote {

class Blocks {
  public:
    static constexpr std::size_t none = static_cast<std::size_t>(-1);

    explicit Blocks(std::size_t bytes) { free_[0] = bytes; }

    // In whole pages: what does not fit in as many bytes as there are is the most that does, and has room
    // nowhere.
    static std::size_t rounded(std::size_t bytes) {
        constexpr std::size_t most = none / page_bytes * page_bytes;
        return bytes > most ? most : (bytes + page_bytes - 1) / page_bytes * page_bytes;
    }

    // The offset of a new block of whole pages, aligned (a power of two, at least a page) where the range
    // itself is aligned at `base`; `none` where there is no room.
    std::size_t allocate(std::size_t bytes, std::size_t alignment, std::uintptr_t base) {
        const std::size_t length = rounded(bytes);
        for (auto each = free_.begin(); length != 0 && each != free_.end(); ++each) {
            const auto [start, size] = *each;
            const std::size_t at = ((base + start + alignment - 1) & ~(alignment - 1)) - base;
            if (at - start <= size && size - (at - start) >= length) {
                free_.erase(each);
                if (at != start) {
                    free_[start] = at - start;
                }
                if (at + length != start + size) {
                    free_[at + length] = start + size - (at + length);
                }
                used_[at] = length;
                bytes_ += length;
                most_ = std::max(most_, bytes_);
                return at;
            }
        }
        return none;
    }

    // The length of the block that begins at `offset`; 0 where none does.
    [[nodiscard]] std::size_t length_of(std::size_t offset) const {
        const auto found = used_.find(offset);
        return found == used_.end() ? 0 : found->second;
    }

    // True if all of the range lies in blocks.
    [[nodiscard]] bool has(std::size_t offset, std::size_t length) const {
        auto each = used_.upper_bound(offset);
        if (each != used_.begin()) {
            --each;
        }
        std::size_t at = offset;
        for (; each != used_.end() && each->first <= at && at - offset < length; ++each) {
            at = std::max(at, each->first + each->second);
        }
        return at - offset >= length;
    }

    // Gives back what lies in the range of whole pages; a block may be cut.
    void release(std::size_t offset, std::size_t length) {
        const std::size_t end = offset + length;
        auto each = used_.upper_bound(offset);
        if (each != used_.begin()) {
            --each;
        }
        while (each != used_.end() && each->first < end) {
            const auto [start, size] = *each;
            const std::size_t from = start > offset ? start : offset;
            const std::size_t to = start + size < end ? start + size : end;
            if (from >= to) {
                ++each;
                continue;
            }
            each = used_.erase(each);
            bytes_ -= to - from;
            if (start < from) {
                used_[start] = from - start;
            }
            if (to < start + size) {
                used_[to] = start + size - to;
            }
            add_free(from, to - from);
        }
    }

    // How many bytes all blocks had together, when they had most.
    [[nodiscard]] std::size_t most() const noexcept { return most_; }
    // Offset and length of each block.
    [[nodiscard]] const std::map<std::size_t, std::size_t>& used() const { return used_; }

  private:
    void add_free(std::size_t offset, std::size_t length) {
        auto after = free_.lower_bound(offset);
        if (after != free_.end() && after->first == offset + length) {
            length += after->second;
            after = free_.erase(after);
        }
        if (after != free_.begin()) {
            const auto before = std::prev(after);
            if (before->first + before->second == offset) {
                before->second += length;
                return;
            }
        }
        free_[offset] = length;
    }

    std::map<std::size_t, std::size_t> free_;
    std::map<std::size_t, std::size_t> used_;
    std::size_t bytes_ = 0;
    std::size_t most_ = 0;
};

}  // namespace consort::remote
