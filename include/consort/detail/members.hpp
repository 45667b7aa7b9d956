// SPDX-License-Identifier: Apache-2.0
//
// Finds the members of a plain aggregate without macros: how many, of which types, at which offsets, with
// which names.
//
// Offsets are found at compile time, without assuming an ABI: bytes that each hold one bit of their own
// position are bit-cast to the type, and each member's first byte then tells one bit of its offset.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

namespace consort::detail {

// How many initialisers and members are looked for before a declaration (CONSORT_LAYOUT) is asked for.
inline constexpr std::size_t max_initialisers = 256;
inline constexpr std::size_t max_members = 48;

struct AnyValue {
    template <class T>
    constexpr operator T() const noexcept;  // NOLINT: declared only, for the requires-expressions below
};

template <std::size_t>
using Any = AnyValue;

template <class T, std::size_t... I>
constexpr bool takes(std::index_sequence<I...>) {
    return requires {
        T{Any<I>{}...};
    };
}

template <class T, std::size_t... B, std::size_t... N, std::size_t... A>
constexpr bool takes_nested(std::index_sequence<B...>, std::index_sequence<N...>, std::index_sequence<A...>) {
    return requires {
        T{Any<B>{}..., {Any<N>{}...}, Any<A>{}...};
    };
}

// The number of initialisers counts each element of a C array by itself (brace elision).
template <class T, std::size_t Low = 0,
          std::size_t High = (sizeof(T) < max_initialisers ? sizeof(T) : max_initialisers)>
constexpr std::size_t initialiser_count() {
    if constexpr (Low == High) {
        return Low;
    } else {
        constexpr std::size_t middle = (Low + High + 1) / 2;
        if constexpr (takes<T>(std::make_index_sequence<middle>{})) {
            return initialiser_count<T, middle, High>();
        } else {
            return initialiser_count<T, Low, middle - 1>();
        }
    }
}

// How many initialisers the member that starts at initialiser `At` takes: 1, or an array's element count. It
// takes N if {N values} fits there and leaves exactly the room for the rest.
template <class T, std::size_t Total, std::size_t At, std::size_t N>
constexpr std::size_t initialisers_of_member() {
    if constexpr (N <= 1) {
        return 1;
    } else if constexpr (takes_nested<T>(std::make_index_sequence<At>{}, std::make_index_sequence<N>{},
                                         std::make_index_sequence<Total - At - N>{}) &&
                         !takes_nested<T>(std::make_index_sequence<At>{}, std::make_index_sequence<N>{},
                                          std::make_index_sequence<Total - At - N + 1>{})) {
        return N;
    } else {
        return initialisers_of_member<T, Total, At, N - 1>();
    }
}

// Most members are scalars: none of them takes {two values}, and one question per member is enough. A search
// for each would cost a compiler the square of their number.
template <class T, std::size_t At>
constexpr bool takes_a_pair() {
    return takes_nested<T>(std::make_index_sequence<At>{}, std::make_index_sequence<2>{},
                           std::index_sequence<>{});
}

template <class T, std::size_t Total, std::size_t At = 0>
constexpr std::size_t count_members() {
    if constexpr (At >= Total) {
        return 0;
    } else if constexpr (!takes_a_pair<T, At>()) {
        return 1 + count_members<T, Total, At + 1>();
    } else {
        return 1 + count_members<T, Total, At + initialisers_of_member<T, Total, At, Total - At>()>();
    }
}

template <class T>
inline constexpr std::size_t member_count = count_members<T, initialiser_count<T>()>();

// Calls f with the members of an object, in order.
// clang-format off
template <class T, class F>
constexpr auto with_members([[maybe_unused]] const T& o, F&& f) noexcept {
    constexpr std::size_t n = member_count<T>;
    // NOLINTNEXTLINE(bugprone-branch-clone): who has more members than max_members is refused before (icc/layout.hpp).
    if constexpr (n == 0) { return f(); }
    else if constexpr (n == 1) { const auto& [a] = o; return f(a); }
    else if constexpr (n == 2) { const auto& [a,b] = o; return f(a,b); }
    else if constexpr (n == 3) { const auto& [a,b,c] = o; return f(a,b,c); }
    else if constexpr (n == 4) { const auto& [a,b,c,d] = o; return f(a,b,c,d); }
    else if constexpr (n == 5) { const auto& [m0,m1,m2,m3,m4] = o; return f(m0,m1,m2,m3,m4); }
    else if constexpr (n == 6) { const auto& [m0,m1,m2,m3,m4,m5] = o; return f(m0,m1,m2,m3,m4,m5); }
    else if constexpr (n == 7) { const auto& [m0,m1,m2,m3,m4,m5,m6] = o; return f(m0,m1,m2,m3,m4,m5,m6); }
    else if constexpr (n == 8) { const auto& [m0,m1,m2,m3,m4,m5,m6,m7] = o; return f(m0,m1,m2,m3,m4,m5,m6,m7); }
    else if constexpr (n == 9) { const auto& [m0,m1,m2,m3,m4,m5,m6,m7,m8] = o; return f(m0,m1,m2,m3,m4,m5,m6,m7,m8); }
    else if constexpr (n == 10) { const auto& [m0,m1,m2,m3,m4,m5,m6,m7,m8,m9] = o; return f(m0,m1,m2,m3,m4,m5,m6,m7,m8,m9); }
    else if constexpr (n == 11) { const auto& [m0,m1,m2,m3,m4,m5,m6,m7,m8,m9,m10] = o; return f(m0,m1,m2,m3,m4,m5,m6,m7,m8,m9,m10); }
    else if constexpr (n == 12) { const auto& [m0,m1,m2,m3,m4,m5,m6,m7,m8,m9,m10,m11] = o; return f(m0,m1,m2,m3,m4,m5,m6,m7,m8,m9,m10,m11); }
    else if constexpr (n == 13) { const auto& [m0,m1,m2,m3,m4,m5,m6,m7,m8,m9,m10,m11,m12] = o; return f(m0,m1,m2,m3,m4,m5,m6,m7,m8,m9,m10,m11,m12); }
    else if constexpr (n == 14) { const auto& [m0,m1,m2,m3,m4,m5,m6,m7,m8,m9,m10,m11,m12,m13] = o; return f(m0,m1,m2,m3,m4,m5,m6,m7,m8,m9,m10,m11,m12,m13); }
    else if constexpr (n == 15) { const auto& [m0,m1,m2,m3,m4,m5,m6,m7,m8,m9,m10,m11,m12,m13,m14] = o; return f(m0,m1,m2,m3,m4,m5,m6,m7,m8,m9,m10,m11,m12,m13,m14); }
    else if constexpr (n == 16) { const auto& [m0,m1,m2,m3,m4,m5,m6,m7,m8,m9,m10,m11,m12,m13,m14,m15] = o; return f(m0,m1,m2,m3,m4,m5,m6,m7,m8,m9,m10,m11,m12,m13,m14,m15); }
    else if constexpr (n == 17) { const auto& [m0,m1,m2,m3,m4,m5,m6,m7,m8,m9,m10,m11,m12,m13,m14,m15,m16] = o; return f(m0,m1,m2,m3,m4,m5,m6,m7,m8,m9,m10,m11,m12,m13,m14,m15,m16); }
    else if constexpr (n == 18) { const auto& [m0,m1,m2,m3,m4,m5,m6,m7,m8,m9,m10,m11,m12,m13,m14,m15,m16,m17] = o; return f(m0,m1,m2,m3,m4,m5,m6,m7,m8,m9,m10,m11,m12,m13,m14,m15,m16,m17); }
    else if constexpr (n == 19) { const auto& [m0,m1,m2,m3,m4,m5,m6,m7,m8,m9,m10,m11,m12,m13,m14,m15,m16,m17,m18] = o; return f(m0,m1,m2,m3,m4,m5,m6,m7,m8,m9,m10,m11,m12,m13,m14,m15,m16,m17,m18); }
    else if constexpr (n == 20) { const auto& [m0,m1,m2,m3,m4,m5,m6,m7,m8,m9,m10,m11,m12,m13,m14,m15,m16,m17,m18,m19] = o; return f(m0,m1,m2,m3,m4,m5,m6,m7,m8,m9,m10,m11,m12,m13,m14,m15,m16,m17,m18,m19); }
    else if constexpr (n == 21) { const auto& [m0,m1,m2,m3,m4,m5,m6,m7,m8,m9,m10,m11,m12,m13,m14,m15,m16,m17,m18,m19,m20] = o; return f(m0,m1,m2,m3,m4,m5,m6,m7,m8,m9,m10,m11,m12,m13,m14,m15,m16,m17,m18,m19,m20); }
    else if constexpr (n == 22) { const auto& [m0,m1,m2,m3,m4,m5,m6,m7,m8,m9,m10,m11,m12,m13,m14,m15,m16,m17,m18,m19,m20,m21] = o; return f(m0,m1,m2,m3,m4,m5,m6,m7,m8,m9,m10,m11,m12,m13,m14,m15,m16,m17,m18,m19,m20,m21); }
    else if constexpr (n == 23) { const auto& [m0,m1,m2,m3,m4,m5,m6,m7,m8,m9,m10,m11,m12,m13,m14,m15,m16,m17,m18,m19,m20,m21,m22] = o; return f(m0,m1,m2,m3,m4,m5,m6,m7,m8,m9,m10,m11,m12,m13,m14,m15,m16,m17,m18,m19,m20,m21,m22); }
    else if constexpr (n == 24) { const auto& [m0,m1,m2,m3,m4,m5,m6,m7,m8,m9,m10,m11,m12,m13,m14,m15,m16,m17,m18,m19,m20,m21,m22,m23] = o; return f(m0,m1,m2,m3,m4,m5,m6,m7,m8,m9,m10,m11,m12,m13,m14,m15,m16,m17,m18,m19,m20,m21,m22,m23); }
    else if constexpr (n == 25) { const auto& [m0,m1,m2,m3,m4,m5,m6,m7,m8,m9,m10,m11,m12,m13,m14,m15,m16,m17,m18,m19,m20,m21,m22,m23,m24] = o; return f(m0,m1,m2,m3,m4,m5,m6,m7,m8,m9,m10,m11,m12,m13,m14,m15,m16,m17,m18,m19,m20,m21,m22,m23,m24); }
    else if constexpr (n == 26) { const auto& [m0,m1,m2,m3,m4,m5,m6,m7,m8,m9,m10,m11,m12,m13,m14,m15,m16,m17,m18,m19,m20,m21,m22,m23,m24,m25] = o; return f(m0,m1,m2,m3,m4,m5,m6,m7,m8,m9,m10,m11,m12,m13,m14,m15,m16,m17,m18,m19,m20,m21,m22,m23,m24,m25); }
    else if constexpr (n == 27) { const auto& [m0,m1,m2,m3,m4,m5,m6,m7,m8,m9,m10,m11,m12,m13,m14,m15,m16,m17,m18,m19,m20,m21,m22,m23,m24,m25,m26] = o; return f(m0,m1,m2,m3,m4,m5,m6,m7,m8,m9,m10,m11,m12,m13,m14,m15,m16,m17,m18,m19,m20,m21,m22,m23,m24,m25,m26); }
    else if constexpr (n == 28) { const auto& [m0,m1,m2,m3,m4,m5,m6,m7,m8,m9,m10,m11,m12,m13,m14,m15,m16,m17,m18,m19,m20,m21,m22,m23,m24,m25,m26,m27] = o; return f(m0,m1,m2,m3,m4,m5,m6,m7,m8,m9,m10,m11,m12,m13,m14,m15,m16,m17,m18,m19,m20,m21,m22,m23,m24,m25,m26,m27); }
    else if constexpr (n == 29) { const auto& [m0,m1,m2,m3,m4,m5,m6,m7,m8,m9,m10,m11,m12,m13,m14,m15,m16,m17,m18,m19,m20,m21,m22,m23,m24,m25,m26,m27,m28] = o; return f(m0,m1,m2,m3,m4,m5,m6,m7,m8,m9,m10,m11,m12,m13,m14,m15,m16,m17,m18,m19,m20,m21,m22,m23,m24,m25,m26,m27,m28); }
    else if constexpr (n == 30) { const auto& [m0,m1,m2,m3,m4,m5,m6,m7,m8,m9,m10,m11,m12,m13,m14,m15,m16,m17,m18,m19,m20,m21,m22,m23,m24,m25,m26,m27,m28,m29] = o; return f(m0,m1,m2,m3,m4,m5,m6,m7,m8,m9,m10,m11,m12,m13,m14,m15,m16,m17,m18,m19,m20,m21,m22,m23,m24,m25,m26,m27,m28,m29); }
    else if constexpr (n == 31) { const auto& [m0,m1,m2,m3,m4,m5,m6,m7,m8,m9,m10,m11,m12,m13,m14,m15,m16,m17,m18,m19,m20,m21,m22,m23,m24,m25,m26,m27,m28,m29,m30] = o; return f(m0,m1,m2,m3,m4,m5,m6,m7,m8,m9,m10,m11,m12,m13,m14,m15,m16,m17,m18,m19,m20,m21,m22,m23,m24,m25,m26,m27,m28,m29,m30); }
    else if constexpr (n == 32) { const auto& [m0,m1,m2,m3,m4,m5,m6,m7,m8,m9,m10,m11,m12,m13,m14,m15,m16,m17,m18,m19,m20,m21,m22,m23,m24,m25,m26,m27,m28,m29,m30,m31] = o; return f(m0,m1,m2,m3,m4,m5,m6,m7,m8,m9,m10,m11,m12,m13,m14,m15,m16,m17,m18,m19,m20,m21,m22,m23,m24,m25,m26,m27,m28,m29,m30,m31); }
    else if constexpr (n == 33) { const auto& [m0,m1,m2,m3,m4,m5,m6,m7,m8,m9,m10,m11,m12,m13,m14,m15,m16,m17,m18,m19,m20,m21,m22,m23,m24,m25,m26,m27,m28,m29,m30,m31,m32] = o; return f(m0,m1,m2,m3,m4,m5,m6,m7,m8,m9,m10,m11,m12,m13,m14,m15,m16,m17,m18,m19,m20,m21,m22,m23,m24,m25,m26,m27,m28,m29,m30,m31,m32); }
    else if constexpr (n == 34) { const auto& [m0,m1,m2,m3,m4,m5,m6,m7,m8,m9,m10,m11,m12,m13,m14,m15,m16,m17,m18,m19,m20,m21,m22,m23,m24,m25,m26,m27,m28,m29,m30,m31,m32,m33] = o; return f(m0,m1,m2,m3,m4,m5,m6,m7,m8,m9,m10,m11,m12,m13,m14,m15,m16,m17,m18,m19,m20,m21,m22,m23,m24,m25,m26,m27,m28,m29,m30,m31,m32,m33); }
    else if constexpr (n == 35) { const auto& [m0,m1,m2,m3,m4,m5,m6,m7,m8,m9,m10,m11,m12,m13,m14,m15,m16,m17,m18,m19,m20,m21,m22,m23,m24,m25,m26,m27,m28,m29,m30,m31,m32,m33,m34] = o; return f(m0,m1,m2,m3,m4,m5,m6,m7,m8,m9,m10,m11,m12,m13,m14,m15,m16,m17,m18,m19,m20,m21,m22,m23,m24,m25,m26,m27,m28,m29,m30,m31,m32,m33,m34); }
    else if constexpr (n == 36) { const auto& [m0,m1,m2,m3,m4,m5,m6,m7,m8,m9,m10,m11,m12,m13,m14,m15,m16,m17,m18,m19,m20,m21,m22,m23,m24,m25,m26,m27,m28,m29,m30,m31,m32,m33,m34,m35] = o; return f(m0,m1,m2,m3,m4,m5,m6,m7,m8,m9,m10,m11,m12,m13,m14,m15,m16,m17,m18,m19,m20,m21,m22,m23,m24,m25,m26,m27,m28,m29,m30,m31,m32,m33,m34,m35); }
    else if constexpr (n == 37) { const auto& [m0,m1,m2,m3,m4,m5,m6,m7,m8,m9,m10,m11,m12,m13,m14,m15,m16,m17,m18,m19,m20,m21,m22,m23,m24,m25,m26,m27,m28,m29,m30,m31,m32,m33,m34,m35,m36] = o; return f(m0,m1,m2,m3,m4,m5,m6,m7,m8,m9,m10,m11,m12,m13,m14,m15,m16,m17,m18,m19,m20,m21,m22,m23,m24,m25,m26,m27,m28,m29,m30,m31,m32,m33,m34,m35,m36); }
    else if constexpr (n == 38) { const auto& [m0,m1,m2,m3,m4,m5,m6,m7,m8,m9,m10,m11,m12,m13,m14,m15,m16,m17,m18,m19,m20,m21,m22,m23,m24,m25,m26,m27,m28,m29,m30,m31,m32,m33,m34,m35,m36,m37] = o; return f(m0,m1,m2,m3,m4,m5,m6,m7,m8,m9,m10,m11,m12,m13,m14,m15,m16,m17,m18,m19,m20,m21,m22,m23,m24,m25,m26,m27,m28,m29,m30,m31,m32,m33,m34,m35,m36,m37); }
    else if constexpr (n == 39) { const auto& [m0,m1,m2,m3,m4,m5,m6,m7,m8,m9,m10,m11,m12,m13,m14,m15,m16,m17,m18,m19,m20,m21,m22,m23,m24,m25,m26,m27,m28,m29,m30,m31,m32,m33,m34,m35,m36,m37,m38] = o; return f(m0,m1,m2,m3,m4,m5,m6,m7,m8,m9,m10,m11,m12,m13,m14,m15,m16,m17,m18,m19,m20,m21,m22,m23,m24,m25,m26,m27,m28,m29,m30,m31,m32,m33,m34,m35,m36,m37,m38); }
    else if constexpr (n == 40) { const auto& [m0,m1,m2,m3,m4,m5,m6,m7,m8,m9,m10,m11,m12,m13,m14,m15,m16,m17,m18,m19,m20,m21,m22,m23,m24,m25,m26,m27,m28,m29,m30,m31,m32,m33,m34,m35,m36,m37,m38,m39] = o; return f(m0,m1,m2,m3,m4,m5,m6,m7,m8,m9,m10,m11,m12,m13,m14,m15,m16,m17,m18,m19,m20,m21,m22,m23,m24,m25,m26,m27,m28,m29,m30,m31,m32,m33,m34,m35,m36,m37,m38,m39); }
    else if constexpr (n == 41) { const auto& [m0,m1,m2,m3,m4,m5,m6,m7,m8,m9,m10,m11,m12,m13,m14,m15,m16,m17,m18,m19,m20,m21,m22,m23,m24,m25,m26,m27,m28,m29,m30,m31,m32,m33,m34,m35,m36,m37,m38,m39,m40] = o; return f(m0,m1,m2,m3,m4,m5,m6,m7,m8,m9,m10,m11,m12,m13,m14,m15,m16,m17,m18,m19,m20,m21,m22,m23,m24,m25,m26,m27,m28,m29,m30,m31,m32,m33,m34,m35,m36,m37,m38,m39,m40); }
    else if constexpr (n == 42) { const auto& [m0,m1,m2,m3,m4,m5,m6,m7,m8,m9,m10,m11,m12,m13,m14,m15,m16,m17,m18,m19,m20,m21,m22,m23,m24,m25,m26,m27,m28,m29,m30,m31,m32,m33,m34,m35,m36,m37,m38,m39,m40,m41] = o; return f(m0,m1,m2,m3,m4,m5,m6,m7,m8,m9,m10,m11,m12,m13,m14,m15,m16,m17,m18,m19,m20,m21,m22,m23,m24,m25,m26,m27,m28,m29,m30,m31,m32,m33,m34,m35,m36,m37,m38,m39,m40,m41); }
    else if constexpr (n == 43) { const auto& [m0,m1,m2,m3,m4,m5,m6,m7,m8,m9,m10,m11,m12,m13,m14,m15,m16,m17,m18,m19,m20,m21,m22,m23,m24,m25,m26,m27,m28,m29,m30,m31,m32,m33,m34,m35,m36,m37,m38,m39,m40,m41,m42] = o; return f(m0,m1,m2,m3,m4,m5,m6,m7,m8,m9,m10,m11,m12,m13,m14,m15,m16,m17,m18,m19,m20,m21,m22,m23,m24,m25,m26,m27,m28,m29,m30,m31,m32,m33,m34,m35,m36,m37,m38,m39,m40,m41,m42); }
    else if constexpr (n == 44) { const auto& [m0,m1,m2,m3,m4,m5,m6,m7,m8,m9,m10,m11,m12,m13,m14,m15,m16,m17,m18,m19,m20,m21,m22,m23,m24,m25,m26,m27,m28,m29,m30,m31,m32,m33,m34,m35,m36,m37,m38,m39,m40,m41,m42,m43] = o; return f(m0,m1,m2,m3,m4,m5,m6,m7,m8,m9,m10,m11,m12,m13,m14,m15,m16,m17,m18,m19,m20,m21,m22,m23,m24,m25,m26,m27,m28,m29,m30,m31,m32,m33,m34,m35,m36,m37,m38,m39,m40,m41,m42,m43); }
    else if constexpr (n == 45) { const auto& [m0,m1,m2,m3,m4,m5,m6,m7,m8,m9,m10,m11,m12,m13,m14,m15,m16,m17,m18,m19,m20,m21,m22,m23,m24,m25,m26,m27,m28,m29,m30,m31,m32,m33,m34,m35,m36,m37,m38,m39,m40,m41,m42,m43,m44] = o; return f(m0,m1,m2,m3,m4,m5,m6,m7,m8,m9,m10,m11,m12,m13,m14,m15,m16,m17,m18,m19,m20,m21,m22,m23,m24,m25,m26,m27,m28,m29,m30,m31,m32,m33,m34,m35,m36,m37,m38,m39,m40,m41,m42,m43,m44); }
    else if constexpr (n == 46) { const auto& [m0,m1,m2,m3,m4,m5,m6,m7,m8,m9,m10,m11,m12,m13,m14,m15,m16,m17,m18,m19,m20,m21,m22,m23,m24,m25,m26,m27,m28,m29,m30,m31,m32,m33,m34,m35,m36,m37,m38,m39,m40,m41,m42,m43,m44,m45] = o; return f(m0,m1,m2,m3,m4,m5,m6,m7,m8,m9,m10,m11,m12,m13,m14,m15,m16,m17,m18,m19,m20,m21,m22,m23,m24,m25,m26,m27,m28,m29,m30,m31,m32,m33,m34,m35,m36,m37,m38,m39,m40,m41,m42,m43,m44,m45); }
    else if constexpr (n == 47) { const auto& [m0,m1,m2,m3,m4,m5,m6,m7,m8,m9,m10,m11,m12,m13,m14,m15,m16,m17,m18,m19,m20,m21,m22,m23,m24,m25,m26,m27,m28,m29,m30,m31,m32,m33,m34,m35,m36,m37,m38,m39,m40,m41,m42,m43,m44,m45,m46] = o; return f(m0,m1,m2,m3,m4,m5,m6,m7,m8,m9,m10,m11,m12,m13,m14,m15,m16,m17,m18,m19,m20,m21,m22,m23,m24,m25,m26,m27,m28,m29,m30,m31,m32,m33,m34,m35,m36,m37,m38,m39,m40,m41,m42,m43,m44,m45,m46); }
    else if constexpr (n == 48) { const auto& [m0,m1,m2,m3,m4,m5,m6,m7,m8,m9,m10,m11,m12,m13,m14,m15,m16,m17,m18,m19,m20,m21,m22,m23,m24,m25,m26,m27,m28,m29,m30,m31,m32,m33,m34,m35,m36,m37,m38,m39,m40,m41,m42,m43,m44,m45,m46,m47] = o; return f(m0,m1,m2,m3,m4,m5,m6,m7,m8,m9,m10,m11,m12,m13,m14,m15,m16,m17,m18,m19,m20,m21,m22,m23,m24,m25,m26,m27,m28,m29,m30,m31,m32,m33,m34,m35,m36,m37,m38,m39,m40,m41,m42,m43,m44,m45,m46,m47); }
    else { return f(); }
}
// clang-format on

template <std::size_t I, class First, class... Rest>
constexpr auto nth_address([[maybe_unused]] const First& first,
                           [[maybe_unused]] const Rest&... rest) noexcept {
    if constexpr (I == 0) {
        return __builtin_addressof(first);
    } else {
        return nth_address<I - 1>(rest...);
    }
}

template <std::size_t I, class T>
constexpr auto address_of(const T& o) noexcept {
    return with_members(o, [](const auto&... member) { return nth_address<I>(member...); });
}

template <class T>
struct Fake {
    T value;
};
#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wundefined-internal"
#endif
// Only ever named, never read, so it needs no definition.
template <class T>
extern const Fake<T> fake;
#if defined(__clang__)
#pragma clang diagnostic pop
#endif

template <class P>
struct Pointer {
    P address;
};
template <class P>
Pointer(P) -> Pointer<P>;

// The compiler spells a pointer to a member's subobject with the member's name at its end:
// "[with auto P = (& fake<S>.Fake<S>::value.S::NAME); …]" (GCC) or "[P = {&fake.value.NAME}]" (Clang).
template <auto P>
constexpr std::string_view spelled() noexcept {
    return __PRETTY_FUNCTION__;
}

constexpr bool is_name_character(char c) noexcept {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

constexpr std::string_view name_in(std::string_view text) noexcept {
#if defined(__clang__)
    constexpr std::string_view close = "}]";
#else
    constexpr std::string_view close = ");";
#endif
    const std::size_t end = text.find(close, text.find("value."));
    if (end == std::string_view::npos) {
        return {};
    }
    std::size_t begin = end;
    while (begin > 0 && is_name_character(text[begin - 1])) {
        --begin;
    }
    return text.substr(begin, end - begin);
}

#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wundefined-var-template"
#endif
// consteval: without optimisation a constexpr function would be emitted, with a reference to `fake`.
template <class T, std::size_t I>
consteval std::string_view member_name() noexcept {
    constexpr auto address = address_of<I>(fake<T>.value);
#if defined(__clang__)
    return name_in(spelled<Pointer{address}>());
#else
    return name_in(spelled<address>());
#endif
}
#if defined(__clang__)
#pragma clang diagnostic pop
#endif

template <class M>
constexpr std::uint32_t first_byte([[maybe_unused]] const M& member) noexcept {
    if constexpr (std::is_empty_v<M>) {
        return 0;  // no value to read, no leaf to place
    } else if constexpr (std::is_array_v<M>) {
        return first_byte(member[0]);
    } else {
        return std::bit_cast<std::array<unsigned char, sizeof(M)>>(member)[0];
    }
}

template <std::size_t Size>
struct RawBytes {
    unsigned char at[Size];
};

// Constants of their own, not locals of one evaluation: compilers bound the steps of each.
template <std::size_t Size, std::uint32_t Bit>
inline constexpr RawBytes<Size> position_bits = [] {
    RawBytes<Size> bytes{};
    for (std::size_t at = 0; at < Size; ++at) {
        bytes.at[at] = static_cast<unsigned char>((at >> Bit) & 1U);
    }
    return bytes;
}();

template <class T, std::uint32_t Bit>
inline constexpr T object_of_position_bits = std::bit_cast<T>(position_bits<sizeof(T), Bit>);

// One bit of each member's offset: every byte of the object holds that bit of its own position, so each holds
// 0 or 1 and is a valid value of every member type, bool included.
template <class T, std::uint32_t Bit>
constexpr void add_offset_bit(std::uint32_t* offsets) noexcept {
    with_members(object_of_position_bits<T, Bit>, [&](const auto&... member) {
        ((*offsets++ |= std::uint32_t{first_byte(member)} << Bit), ...);
    });
}

// The offset of each member [bytes], in order.
template <class T>
inline constexpr std::array<std::uint32_t, member_count<T> + 1> member_offsets = [
]<std::uint32_t... Bit>(std::integer_sequence<std::uint32_t, Bit...>) {
    std::array<std::uint32_t, member_count<T> + 1> offsets{};
    (add_offset_bit<T, Bit>(offsets.data()), ...);
    return offsets;
}
(std::make_integer_sequence<std::uint32_t, static_cast<std::uint32_t>(std::bit_width(sizeof(T)))>{});

}  // namespace consort::detail
