// SPDX-License-Identifier: Apache-2.0
//
// Changes: which lines of a shared region one side has changed. One 64-bit mask for each page of 4 KiB, one
// bit for each line of 64 bytes: 8 bytes for 4,096. The masks lie where the owner of the object says, for the
// other side's in memory that it can fetch them from; in the order of bytes that travels.
#pragma once

#include <bit>
#include <cstdint>

#include "consort/icc/wire.hpp"

namespace consort::dsm {

inline constexpr std::uint32_t page_bytes = 4096;
inline constexpr std::uint32_t tracked_bytes = 64;
inline constexpr std::uint32_t lines_of_page = page_bytes / tracked_bytes;
static_assert(lines_of_page == 64);

// A run of changed bytes, as an offset in the region; no bytes: there is none.
struct Run {
    std::uint32_t offset = 0;
    std::uint32_t bytes = 0;
};

class Changes {
  public:
    Changes() = default;
    // `masks`: one for each of `pages` pages.
    Changes(std::uint64_t* masks, std::uint32_t pages) noexcept : masks_(masks), pages_(pages) {}

    [[nodiscard]] std::uint32_t pages() const noexcept { return pages_; }
    [[nodiscard]] std::uint64_t mask(std::uint32_t page) const noexcept { return travelling(masks_[page]); }
    void set(std::uint32_t page, std::uint64_t mask) noexcept { masks_[page] = travelling(mask); }
    void add(std::uint32_t page, std::uint64_t mask) noexcept { masks_[page] |= travelling(mask); }

    void clear() noexcept {
        for (std::uint32_t page = 0; page < pages_; ++page) {
            masks_[page] = 0;
        }
    }
    void add_all() noexcept {
        for (std::uint32_t page = 0; page < pages_; ++page) {
            masks_[page] = ~std::uint64_t{0};
        }
    }
    // Marks bytes of the region; what lies outside of it is left out.
    void touch(std::uint32_t offset, std::uint32_t bytes) noexcept {
        const std::uint64_t whole = std::uint64_t{pages_} * page_bytes;
        const std::uint64_t end =
            offset + std::uint64_t{bytes} < whole ? offset + std::uint64_t{bytes} : whole;
        if (offset >= end) {
            return;
        }
        std::uint32_t line = offset / tracked_bytes;
        const auto past = static_cast<std::uint32_t>((end + tracked_bytes - 1) / tracked_bytes);
        while (line < past) {
            const std::uint32_t first = line % lines_of_page;
            const std::uint32_t left = past - line;
            const std::uint32_t count = left < lines_of_page - first ? left : lines_of_page - first;
            const std::uint64_t ones =
                count == lines_of_page ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
            add(line / lines_of_page, ones << first);
            line += count;
        }
    }
    [[nodiscard]] std::uint32_t changed_pages() const noexcept {
        std::uint32_t count = 0;
        for (std::uint32_t page = 0; page < pages_; ++page) {
            count += masks_[page] != 0 ? 1 : 0;
        }
        return count;
    }

    // The first run of changed lines at or behind line `from` of the region, of at most `most` bytes (a
    // multiple of 64). Runs with at most `gap` unchanged lines between them are one run.
    [[nodiscard]] Run next(std::uint32_t from, std::uint32_t gap, std::uint32_t most) const noexcept {
        const std::uint32_t begin = next_line(from);
        if (begin == end_line()) {
            return {};
        }
        std::uint32_t end = begin;
        std::uint32_t at = begin;
        while (at != end_line() && at - end <= gap) {
            end = run_end(at);
            if ((end - begin) * std::uint64_t{tracked_bytes} >= most) {
                end = begin + most / tracked_bytes;
                break;
            }
            at = next_line(end);
        }
        return {begin * tracked_bytes, (end - begin) * tracked_bytes};
    }

  private:
    static constexpr std::uint64_t travelling(std::uint64_t mask) noexcept {
        if constexpr (std::endian::native == std::endian::big) {
            return __builtin_bswap64(mask);
        }
        return mask;
    }
    [[nodiscard]] std::uint32_t end_line() const noexcept { return pages_ * lines_of_page; }
    // The first changed line at or behind `line`.
    [[nodiscard]] std::uint32_t next_line(std::uint32_t line) const noexcept {
        for (std::uint32_t page = line / lines_of_page; page < pages_; ++page) {
            const std::uint64_t rest = mask(page) & (~std::uint64_t{0} << line % lines_of_page);
            if (rest != 0) {
                return page * lines_of_page + static_cast<std::uint32_t>(std::countr_zero(rest));
            }
            line = 0;
        }
        return end_line();
    }
    // The first unchanged line behind the changed line `line`.
    [[nodiscard]] std::uint32_t run_end(std::uint32_t line) const noexcept {
        for (std::uint32_t page = line / lines_of_page; page < pages_; ++page) {
            const std::uint64_t rest = ~mask(page) & (~std::uint64_t{0} << line % lines_of_page);
            if (rest != 0) {
                return page * lines_of_page + static_cast<std::uint32_t>(std::countr_zero(rest));
            }
            line = 0;
        }
        return end_line();
    }

    std::uint64_t* masks_ = nullptr;
    std::uint32_t pages_ = 0;
};

}  // namespace consort::dsm
