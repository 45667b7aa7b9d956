// SPDX-License-Identifier: Apache-2.0
//
// Blocks that a program freed, and that keep their pages for its next allocation of that size: many programs
// free and allocate a buffer for each request, and each of its pages would be a fault every time.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "consort/linux/remote_segment.hpp"
#include "protocol.hpp"

namespace consort::remote {

class FreedBlocks {
  public:
    using Block = Segment::Block;
    static constexpr std::size_t most_blocks = 16;
    static constexpr std::size_t most_bytes = 64 * page_bytes;
    static constexpr std::size_t none = static_cast<std::size_t>(-1);

    // Keeps the block, which has at most `most_bytes`, as the newest. Call `surplus` afterwards until it is
    // false: there is room for one more than are kept.
    void add(Block block) noexcept {
        blocks_[count_++] = block;
        bytes_ += block.bytes;
    }

    // Takes the oldest block while there are too many of them, or of their bytes.
    bool surplus(Block& oldest) noexcept {
        return (count_ > most_blocks || bytes_ > most_bytes) && any(oldest);
    }

    // Takes the oldest block, if there is one.
    bool any(Block& oldest) noexcept {
        if (count_ == 0) {
            return false;
        }
        oldest = blocks_[0];
        remove(0);
        return true;
    }

    // Takes the newest block of this length that is aligned (a power of two) where the range is at `base`:
    // its offset, or `none`. It holds what was last written to it.
    std::size_t take(std::size_t length, std::size_t alignment, std::uintptr_t base) noexcept {
        for (std::size_t i = count_; i-- > 0;) {
            const Block found = blocks_[i];
            if (found.bytes == length && ((base + found.offset) & (alignment - 1)) == 0) {
                remove(i);
                return found.offset;
            }
        }
        return none;
    }

    [[nodiscard]] bool has(std::size_t offset) const noexcept {
        return std::any_of(blocks_.begin(), blocks_.begin() + static_cast<std::ptrdiff_t>(count_),
                           [&](const Block& each) { return each.offset == offset; });
    }
    [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
    [[nodiscard]] std::size_t count() const noexcept { return count_; }

  private:
    void remove(std::size_t place) noexcept {
        bytes_ -= blocks_[place].bytes;
        const auto first = blocks_.begin() + static_cast<std::ptrdiff_t>(place);
        std::move(first + 1, blocks_.begin() + static_cast<std::ptrdiff_t>(count_), first);
        --count_;
    }

    std::array<Block, most_blocks + 1> blocks_{};
    std::size_t count_ = 0;
    std::size_t bytes_ = 0;
};

}  // namespace consort::remote
