// SPDX-License-Identifier: Apache-2.0
//
// Masks of changed lines, held against a plain list of lines.

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "consort/dsm/changes.hpp"

namespace {

using consort::dsm::Changes;
using consort::dsm::tracked_bytes;

constexpr std::uint32_t pages = 5;
constexpr std::uint32_t lines = pages * consort::dsm::lines_of_page;

struct Marked {
    std::vector<std::uint64_t> masks = std::vector<std::uint64_t>(pages);
    Changes changes{masks.data(), pages};
    std::vector<bool> plain = std::vector<bool>(lines);

    void touch(std::uint32_t offset, std::uint32_t bytes) {
        changes.touch(offset, bytes);
        for (std::uint64_t at = offset; at < std::uint64_t{offset} + bytes && at / tracked_bytes < lines;
             ++at) {
            plain[at / tracked_bytes] = true;
        }
    }
};

TEST(Changes, AreTheLinesThatWereTouched) {
    std::mt19937 random(1);
    for (int round = 0; round < 300; ++round) {
        Marked marked;
        for (std::uint32_t i = random() % 12; i > 0; --i) {
            marked.touch(random() % (lines * tracked_bytes + 100), random() % 9000);
        }
        const std::uint32_t gap = random() % 70;
        const std::uint32_t most = (1 + random() % 100) * tracked_bytes;
        std::vector<bool> sent(lines);
        std::uint32_t line = 0;
        for (consort::dsm::Run run = marked.changes.next(0, gap, most); run.bytes != 0;
             run = marked.changes.next(line, gap, most)) {
            ASSERT_GE(run.offset / tracked_bytes, line) << "runs are in order";
            ASSERT_LE(run.bytes, most);
            ASSERT_LE(run.offset + run.bytes, lines * tracked_bytes);
            line = (run.offset + run.bytes) / tracked_bytes;
            ASSERT_TRUE(marked.plain[run.offset / tracked_bytes]) << "a run begins with a change";
            std::uint32_t unchanged = 0;
            for (std::uint32_t at = run.offset / tracked_bytes; at < line; ++at) {
                sent[at] = true;
                unchanged = marked.plain[at] ? 0 : unchanged + 1;
                ASSERT_LE(unchanged, gap);
            }
        }
        for (std::uint32_t at = 0; at < lines; ++at) {
            ASSERT_TRUE(sent[at] || !marked.plain[at]) << at;
            ASSERT_EQ((marked.changes.mask(at / 64) >> at % 64 & 1) != 0, marked.plain[at]) << at;
        }
    }
}

TEST(Changes, TouchNothingOutsideOfTheRegion) {
    Marked marked;
    marked.changes.touch(lines * tracked_bytes, 64);
    marked.changes.touch(0xffffffffU, 0xffffffffU);
    EXPECT_EQ(marked.changes.changed_pages(), 0U);
    EXPECT_EQ(marked.changes.next(0, 3, 4096).bytes, 0U);
    marked.changes.touch(lines * tracked_bytes - 1, 0xffffffffU);
    EXPECT_EQ(marked.changes.changed_pages(), 1U);
    marked.changes.add_all();
    EXPECT_EQ(marked.changes.next(0, 0, lines * tracked_bytes).bytes, lines * tracked_bytes);
}

}  // namespace
