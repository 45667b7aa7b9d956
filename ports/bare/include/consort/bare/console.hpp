// SPDX-License-Identifier: Apache-2.0
//
// Text on a core's UART, and text put together in a buffer. No library below, no heap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace consort::bare {

// A line of text of up to N - 1 characters; what does not fit is cut off.
template <std::size_t N>
class Text {
  public:
    Text& add(const char* text) noexcept {
        while (*text != '\0') {
            put(*text++);
        }
        return *this;
    }
    Text& add(const char* text, std::size_t length) noexcept {
        for (std::size_t i = 0; i < length; ++i) {
            put(text[i]);
        }
        return *this;
    }
    Text& number(std::uint32_t value) noexcept {
        char digits[10];
        int count = 0;
        do {
            digits[count++] = static_cast<char>('0' + value % 10);
            value /= 10;
        } while (value != 0);
        while (count > 0) {
            put(digits[--count]);
        }
        return *this;
    }
    Text& hex(std::uint64_t value, int digits) noexcept {
        add("0x");
        for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) {
            put("0123456789abcdef"[(value >> shift) & 15U]);
        }
        return *this;
    }
    [[nodiscard]] const char* c_str() const noexcept { return text_; }
    [[nodiscard]] std::string_view view() const noexcept { return {text_, length_}; }

  private:
    void put(char c) noexcept {
        if (length_ + 1 < N) {
            text_[length_++] = c;
            text_[length_] = '\0';
        }
    }

    char text_[N] = {};
    std::size_t length_ = 0;
};

// Writes one line through `Uart::put(char)`.
template <class Uart>
void print_line(const char* text) noexcept {
    while (*text != '\0') {
        Uart::put(*text++);
    }
    Uart::put('\r');
    Uart::put('\n');
}

}  // namespace consort::bare
