// SPDX-License-Identifier: Apache-2.0
//
// A working set as a text: a line for each run of pages, `first` or `first+count`, in the order in which they
// came.
#include <charconv>
#include <sstream>
#include <stdexcept>

#include "consort/linux/remote_segment.hpp"

namespace consort::remote {

std::string write_pages(const std::vector<std::uint32_t>& pages) {
    std::string text;
    for (std::size_t i = 0; i < pages.size();) {
        std::size_t end = i + 1;
        while (end < pages.size() && pages[end] == pages[end - 1] + 1) {
            ++end;
        }
        text += std::to_string(pages[i]);
        if (end - i > 1) {
            text += "+" + std::to_string(end - i);
        }
        text += "\n";
        i = end;
    }
    return text;
}

std::vector<std::uint32_t> read_pages(const std::string& text, std::uint32_t limit) {
    std::vector<std::uint32_t> pages;
    std::istringstream lines(text);
    std::string line;
    for (std::size_t number = 1; std::getline(lines, line); ++number) {
        std::uint32_t first = 0;
        std::uint32_t count = 1;
        const char* end = line.data() + line.size();
        auto [at, error] = std::from_chars(line.data(), end, first);
        if (error == std::errc{} && at != end && *at == '+') {
            const auto more = std::from_chars(at + 1, end, count);
            at = more.ptr;
            error = more.ec;
        }
        if (error != std::errc{} || at != end || count == 0 || first >= limit || count > limit - first) {
            throw std::invalid_argument("working set, line " + std::to_string(number) + ": '" + line +
                                        "' is not a page, or FIRST+COUNT, below " + std::to_string(limit));
        }
        for (std::uint32_t i = 0; i < count; ++i) {
            pages.push_back(first + i);
        }
        if (pages.size() > limit) {
            throw std::invalid_argument("working set, line " + std::to_string(number) +
                                        ": more pages than the segment has");
        }
    }
    return pages;
}

}  // namespace consort::remote
