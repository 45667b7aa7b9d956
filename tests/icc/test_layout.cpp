// SPDX-License-Identifier: Apache-2.0
//
// Layouts found without macros, against offsetof; and the declaration where they cannot be found.

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "consort/icc/layout.hpp"

namespace of_layout {

using consort::Kind;
using consort::Layout;

enum class Mode : std::uint8_t { off, on };
enum class Wide : std::int32_t { a };

struct Inner {
    double x;
    bool valid;
};
// Its padding is what the fingerprint must see.
// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding)
struct Everything {
    bool first;
    int number;
    float triple[3];
    alignas(16) float aligned;
    Inner inner;
    Mode mode;
    Wide wide;
    std::uint16_t grid[2][3];
    char text[5];
    Inner pair[2];
    std::array<std::int64_t, 4> array;
    std::uint8_t last;
};

template <class T>
std::string leaf_names() {
    std::string all;
    for (std::size_t i = 0; i < Layout<T>::count; ++i) {
        all += std::string(Layout<T>::name(i).view()) + " ";
    }
    return all;
}

TEST(Layout, FindsMembersWithTheCompilersOffsets) {
    EXPECT_EQ(leaf_names<Everything>(),
              "first number triple aligned inner.x inner.valid mode wide grid[0] grid[1] text pair[0].x "
              "pair[0].valid pair[1].x pair[1].valid array last ");
    const auto& leaves = Layout<Everything>::leaves;
    EXPECT_EQ(leaves[0].offset, offsetof(Everything, first));
    EXPECT_EQ(leaves[1].offset, offsetof(Everything, number));
    EXPECT_EQ(leaves[2].offset, offsetof(Everything, triple));
    EXPECT_EQ(leaves[2].count, 3U);
    EXPECT_EQ(leaves[3].offset, offsetof(Everything, aligned));
    EXPECT_EQ(leaves[4].offset, offsetof(Everything, inner) + offsetof(Inner, x));
    EXPECT_EQ(leaves[5].offset, offsetof(Everything, inner) + offsetof(Inner, valid));
    EXPECT_EQ(leaves[5].kind, Kind::boolean);
    EXPECT_EQ(leaves[6].kind, Kind::enumeration);
    EXPECT_EQ(leaves[6].is_signed, 0);
    EXPECT_EQ(leaves[7].is_signed, 1);
    EXPECT_EQ(leaves[9].offset, offsetof(Everything, grid) + 6);
    EXPECT_EQ(leaves[10].kind, Kind::character);
    EXPECT_EQ(leaves[13].offset, offsetof(Everything, pair) + sizeof(Inner));
    EXPECT_EQ(leaves[15].offset, offsetof(Everything, array));
    EXPECT_EQ(leaves[15].size, 8);
    EXPECT_EQ(leaves[16].offset, offsetof(Everything, last));
}

struct Small {
    int a;
};
struct SmallUnsigned {
    unsigned a;
};
struct SmallTwo {
    short a;
    short b;
};

TEST(Layout, FingerprintsTellLayoutsApart) {
    EXPECT_NE(Layout<Small>::fingerprint, Layout<SmallUnsigned>::fingerprint);
    EXPECT_NE(Layout<Small>::fingerprint, Layout<SmallTwo>::fingerprint);
    EXPECT_NE(Layout<Small>::fingerprint, Layout<float>::fingerprint);
    EXPECT_EQ(Layout<Small>::fingerprint, Layout<int>::fingerprint) << "the same bytes mean the same";
}

// Pinned: a region made by one release must be readable by the next. Little-endian, LP64 or ILP32 alike.
TEST(Layout, FingerprintsStayTheSame) {
    EXPECT_EQ(Layout<float>::fingerprint, 0x2fbf8ba91ffa0676U);
    struct Empty {};
    EXPECT_EQ(Layout<Empty>::fingerprint, 0x4d25767f9dce13f5U);
    EXPECT_EQ(Layout<Empty>::size, 0U);
}

struct Nothing {};
struct AroundNothing {
    std::uint32_t before;
    Nothing state;
    std::uint32_t after;
};
struct NothingLast {
    std::uint32_t sequence;
    Nothing state;
};

// A task without a state of its own is offloaded with one: it is a member of what its checkpoint holds.
TEST(Layout, AMemberWithoutMembersHasNoLeaf) {
    EXPECT_EQ(leaf_names<AroundNothing>(), "before after ");
    EXPECT_EQ(Layout<AroundNothing>::leaves[1].offset, offsetof(AroundNothing, after));
    EXPECT_EQ(leaf_names<NothingLast>(), "sequence ");
}

class Guarded {
  public:
    Guarded() = default;
    explicit Guarded(int value) : value(value), more{} {}
    int value = 0;
    float more[1000] = {};
};

}  // namespace of_layout

CONSORT_LAYOUT(of_layout::Guarded, value, more);

namespace of_layout {

TEST(Layout, UsesADeclarationWhereMembersCannotBeFound) {
    EXPECT_EQ(leaf_names<Guarded>(), "value more ");
    EXPECT_EQ(Layout<Guarded>::leaves[1].count, 1000U);
}

}  // namespace of_layout
