// SPDX-License-Identifier: Apache-2.0
//
// A value whose every word follows from its number: a mixture of two values shows.
#pragma once

#include <cstddef>
#include <cstdint>

namespace consort::test {

template <std::size_t Words>
struct Pattern {
    std::uint32_t word[Words];

    [[nodiscard]] static Pattern of(std::uint32_t number) noexcept {
        Pattern value{};
        for (std::size_t i = 0; i < Words; ++i) {
            value.word[i] = at(number, i);
        }
        return value;
    }
    [[nodiscard]] std::uint32_t number() const noexcept { return word[0]; }
    [[nodiscard]] bool whole() const noexcept {
        for (std::size_t i = 0; i < Words; ++i) {
            if (word[i] != at(word[0], i)) {
                return false;
            }
        }
        return true;
    }

  private:
    // The first word is the number itself; an odd factor keeps all the others different for different
    // numbers.
    [[nodiscard]] static std::uint32_t at(std::uint32_t number, std::size_t i) noexcept {
        return number * (2 * static_cast<std::uint32_t>(i) + 1) + static_cast<std::uint32_t>(i);
    }
};

}  // namespace consort::test
