// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "freed_blocks.hpp"

namespace {

using consort::remote::FreedBlocks;
using consort::remote::page_bytes;

TEST(FreedBlocks, TheNewestOfItsLengthAndAlignmentComesFirst) {
    FreedBlocks freed;
    FreedBlocks::Block oldest{};
    freed.add({0, page_bytes});
    freed.add({4 * page_bytes, 2 * page_bytes});
    freed.add({9 * page_bytes, page_bytes});
    EXPECT_FALSE(freed.surplus(oldest));
    EXPECT_EQ(freed.take(3 * page_bytes, page_bytes, 0), FreedBlocks::none);
    EXPECT_EQ(freed.take(page_bytes, 4 * page_bytes, 0), 0U);
    EXPECT_EQ(freed.take(page_bytes, page_bytes, 0), 9 * page_bytes);
    EXPECT_TRUE(freed.has(4 * page_bytes));
    EXPECT_EQ(freed.bytes(), 2 * page_bytes);
    ASSERT_TRUE(freed.any(oldest));
    EXPECT_EQ(oldest.offset, 4 * page_bytes);
    EXPECT_FALSE(freed.any(oldest));
}

TEST(FreedBlocks, AlignmentIsThatOfTheAddress) {
    FreedBlocks freed;
    freed.add({page_bytes, page_bytes});
    EXPECT_EQ(freed.take(page_bytes, 2 * page_bytes, 0), FreedBlocks::none);
    EXPECT_EQ(freed.take(page_bytes, 2 * page_bytes, page_bytes), page_bytes);
}

TEST(FreedBlocks, TheOldestLeaveWhereThereAreTooMany) {
    FreedBlocks freed;
    FreedBlocks::Block oldest{};
    for (std::size_t i = 0; i < FreedBlocks::most_blocks; ++i) {
        freed.add({i * page_bytes, page_bytes});
        ASSERT_FALSE(freed.surplus(oldest));
    }
    freed.add({100 * page_bytes, page_bytes});
    ASSERT_TRUE(freed.surplus(oldest));
    EXPECT_EQ(oldest.offset, 0U);
    EXPECT_FALSE(freed.surplus(oldest));
    // Bytes: each that is as large as all may be puts out the others.
    freed.add({200 * page_bytes, FreedBlocks::most_bytes});
    std::size_t left = 0;
    while (freed.surplus(oldest)) {
        ++left;
    }
    EXPECT_EQ(left, FreedBlocks::most_blocks);
    EXPECT_EQ(freed.bytes(), FreedBlocks::most_bytes);
}

}  // namespace
