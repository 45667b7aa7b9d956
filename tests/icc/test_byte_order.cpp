// SPDX-License-Identifier: Apache-2.0
//
// A big-endian side does this to each value; tests/cross tests such a side.

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstring>

#include "consort/icc/byte_order.hpp"

namespace {

using consort::detail::arrived;
using consort::detail::Outgoing;

struct Inner {
    std::uint16_t low;
    std::uint8_t byte;
};
struct Row {
    std::uint32_t word;
    char text[3];
    bool flag;
    std::uint64_t wide;
    std::int16_t grid[2][2];
    Inner inner[2];
};
struct Partly {
    std::uint32_t known;
    std::uint32_t left_out;
};
struct Nothing {};

constexpr Row row{0x01020304,
                  {'a', 'b', 'c'},
                  true,
                  0x1112131415161718,
                  {{0x2122, 0x2324}, {0x2526, 0x2728}},
                  {{0x3132, 0x33}, {0x3435, 0x36}}};

}  // namespace

CONSORT_LAYOUT(Partly, known);

namespace {

template <class T>
std::array<unsigned char, sizeof(T)> bytes_at(const void* where) {
    std::array<unsigned char, sizeof(T)> found{};
    std::memcpy(found.data(), where, sizeof(T));
    return found;
}
// With the padding, which is copied as well.
template <class T>
std::array<unsigned char, sizeof(T)> bytes_of(const T& value) {
    return bytes_at<T>(&value);
}
// A value as a big-endian side has it in memory, made here: each leaf's bytes the other way round.
template <class T>
std::array<unsigned char, sizeof(T)> reversed(const T& value) {
    return bytes_at<T>(Outgoing<T, true>(value).bytes());
}

TEST(ByteOrder, EachLeafIsReversedWhereItLies) {
    Row other;
    std::memcpy(&other, &row, sizeof(row));
    other.word = 0x04030201;
    other.wide = 0x1817161514131211;
    other.grid[0][0] = 0x2221;
    other.grid[0][1] = 0x2423;
    other.grid[1][0] = 0x2625;
    other.grid[1][1] = 0x2827;
    other.inner[0].low = 0x3231;
    other.inner[1].low = 0x3534;
    const auto bytes = reversed(row);
    EXPECT_EQ(bytes, bytes_of(other));
}

TEST(ByteOrder, WhatArrivesIsWhatWasSent) {
    Row back{};
    std::memcpy(&back, Outgoing<Row, true>(row).bytes(), sizeof(row));
    arrived<Row, true>(back);
    EXPECT_EQ(bytes_of(back), bytes_of(row));
    std::memcpy(&back, Outgoing<Row, false>(row).bytes(), sizeof(row));
    arrived<Row, false>(back);
    EXPECT_EQ(bytes_of(back), bytes_of(row));
}

TEST(ByteOrder, NoBitOfAnyFloatIsLost) {
    for (const std::uint32_t bits : {0x7fa00001U, 0xffbfffffU, 0x00000001U, 0x80000000U, 0x3f800000U}) {
        float value = 0;
        std::memcpy(&value, &bits, sizeof(value));
        std::uint32_t on_wire = 0;
        std::memcpy(&on_wire, reversed(value).data(), sizeof(on_wire));
        EXPECT_EQ(on_wire, __builtin_bswap32(bits));
    }
}

TEST(ByteOrder, MembersThatAreNotDeclaredTravelAsTheyAre) {
    const auto bytes = reversed(Partly{0x01020304, 0x05060708});
    Partly found{};
    std::memcpy(&found, bytes.data(), sizeof(found));
    EXPECT_EQ(found.known, 0x04030201U);
    EXPECT_EQ(found.left_out, 0x05060708U);
    static_cast<void>(reversed(Nothing{}));
}

}  // namespace
