// SPDX-License-Identifier: Apache-2.0
//
// Layout<T>: what two sides must agree on about T, as a list of leaves and a 64-bit fingerprint.
//
// The paper leaves equal layouts to the user ("this is not checked automatically", Coppik et al., NG-RES
// 2025, section 4). Here the creator of a region stores the layout of each object's type, and each attaching
// side compares it with its own: a peer whose compiler places members otherwise is refused with the name of
// the first one that differs.
//
// Members of plain structs (aggregates of arithmetic types, enumerations, arrays and such structs) are found
// by themselves. Where that cannot work (more than 48 members or 256 array elements, a constructor, bases),
// declare them once, at namespace scope:   CONSORT_LAYOUT(my::Type, first, second, third)
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "consort/detail/members.hpp"
#include "consort/icc/wire.hpp"

namespace consort {

enum class Kind : std::uint8_t {
    unsigned_integer = 1,
    signed_integer,
    floating,
    boolean,
    character,
    enumeration
};

// One leaf of a type: `count` equal elements of `size` bytes from `offset` [bytes]. 12 bytes, the same
// everywhere.
struct Leaf {
    std::uint32_t offset;
    std::uint32_t count;
    Kind kind;
    std::uint8_t size;
    std::uint8_t is_signed;
    std::uint8_t reserved;

    friend constexpr bool operator==(const Leaf&, const Leaf&) = default;
};
static_assert(sizeof(Leaf) == 12);

// A leaf's path, for messages: "gains.kp", "axes[2].limit". Longer paths are cut.
struct LeafName {
    static constexpr std::size_t capacity = 48;
    char text[capacity] = {};
    std::uint8_t length = 0;

    constexpr void append(char c) noexcept {
        if (length + 1U < capacity) {
            text[length++] = c;
        }
    }
    constexpr void append(std::string_view part) noexcept {
        for (const char c : part) {
            append(c);
        }
    }
    constexpr void append_index(std::size_t index) noexcept {
        char digits[20] = {};
        std::size_t n = 0;
        do {
            digits[n++] = static_cast<char>('0' + index % 10);
            index /= 10;
        } while (index != 0);
        append('[');
        while (n != 0) {
            append(digits[--n]);
        }
        append(']');
    }
    [[nodiscard]] constexpr LeafName member(std::string_view name) const noexcept {
        LeafName path = *this;
        if (path.length != 0) {
            path.append('.');
        }
        path.append(name);
        return path;
    }
    [[nodiscard]] constexpr std::string_view view() const noexcept { return {text, length}; }
};

// Specialised by CONSORT_LAYOUT. `visit` calls f(name, offset, std::type_identity<member type>) in order.
template <class T>
struct DeclaredMembers {
    static constexpr bool declared = false;
};

namespace detail {

template <class T>
concept Scalar = std::is_arithmetic_v<T> || std::is_enum_v<T>;

template <class T>
constexpr Leaf scalar_leaf(std::uint32_t offset, std::uint32_t count) noexcept {
    if constexpr (std::is_enum_v<T>) {
        using U = std::underlying_type_t<T>;
        return {offset, count, Kind::enumeration, sizeof(T), std::is_signed_v<U>, 0};
    } else if constexpr (std::is_same_v<T, bool>) {
        return {offset, count, Kind::boolean, sizeof(T), 0, 0};
    } else if constexpr (std::is_floating_point_v<T>) {
        return {offset, count, Kind::floating, sizeof(T), 1, 0};
    } else if constexpr (std::is_same_v<T, char>) {
        // Signed on x86, unsigned on Arm: the same bytes all the same.
        return {offset, count, Kind::character, sizeof(T), 0, 0};
    } else {
        return {offset,
                count,
                std::is_signed_v<T> ? Kind::signed_integer : Kind::unsigned_integer,
                sizeof(T),
                std::is_signed_v<T>,
                0};
    }
}

template <class T>
struct IsStdArray : std::false_type {};
template <class E, std::size_t N>
struct IsStdArray<std::array<E, N>> : std::true_type {
    using Element = E;
    static constexpr std::size_t count = N;
};

// Why T has no layout, looked for wherever in T it stands and before anything else is asked of it, so that
// its user reads one sentence and not what every later step makes of such a type.
enum class Obstacle : std::uint8_t {
    none,
    not_copied_by_bytes,
    pointer_or_union,
    long_double,
    members_not_found,
    too_many_members
};

template <class T>
constexpr Obstacle obstacle() noexcept;

template <class... M>
struct Types {};

struct TypesOf {
    template <class... M>
    constexpr Types<M...> operator()(const M&...) const noexcept {
        return {};
    }
};

// The types of T's members, in order.
template <class T>
using MemberTypes = decltype(with_members(std::declval<const T&>(), TypesOf{}));

template <class... M>
constexpr Obstacle obstacle_in(Types<M...>) noexcept {
    Obstacle found = Obstacle::none;
    static_cast<void>(((found = obstacle<std::remove_cv_t<M>>(), found == Obstacle::none) && ...));
    return found;
}

template <class T>
constexpr Obstacle obstacle() noexcept {
    if constexpr (std::is_pointer_v<T> || std::is_member_pointer_v<T> || std::is_union_v<T>) {
        return Obstacle::pointer_or_union;
    } else if constexpr (std::is_same_v<T, long double>) {
        return Obstacle::long_double;
    } else if constexpr (!copied_by_bytes<T>) {
        return Obstacle::not_copied_by_bytes;
    } else if constexpr (std::is_array_v<T>) {
        return obstacle<std::remove_cv_t<std::remove_all_extents_t<T>>>();
    } else if constexpr (IsStdArray<T>::value) {
        return obstacle<typename IsStdArray<T>::Element>();
    } else if constexpr (Scalar<T> || std::is_empty_v<T>) {
        return Obstacle::none;
    } else if constexpr (DeclaredMembers<T>::declared) {
        Obstacle found = Obstacle::none;
        DeclaredMembers<T>::visit([&]<class M>(std::string_view, std::size_t, std::type_identity<M>) {
            found = found == Obstacle::none ? obstacle<M>() : found;
        });
        return found;
    } else if constexpr (!std::is_aggregate_v<T>) {
        return Obstacle::members_not_found;
    } else if constexpr (member_count<T> > max_members) {
        return Obstacle::too_many_members;
    } else {
        return obstacle_in(MemberTypes<T>{});
    }
}

// A class for the same reason as SayWhyNotCopied.
template <class T>
struct SayWhyNoLayout {
    static constexpr Obstacle found = obstacle<T>();
    static_assert(found != Obstacle::pointer_or_union,
                  "pointers and unions have no layout that two processors can agree on");
    static_assert(found != Obstacle::long_double,
                  "long double has a different format on each instruction set");
    static_assert(
        found != Obstacle::members_not_found,
        "the members of this type cannot be found: declare them with CONSORT_LAYOUT(Type, members...)");
    static_assert(found != Obstacle::too_many_members,
                  "too many members to be found without help: declare them with CONSORT_LAYOUT");
};

// In the place of a path where nobody asks for names: finding them is most of a layout's cost to a compiler.
struct NoPath {};

template <class T, std::size_t I, class Path>
constexpr Path path_of_member(const Path& path) noexcept {
    if constexpr (std::is_same_v<Path, NoPath>) {
        return path;
    } else {
        return path.member(member_name<T, I>());
    }
}

template <class T, class Path, class F>
constexpr void visit_leaves(std::uint32_t offset, const Path& path, F&& f);

template <class T, class Path, class F, class... M, std::size_t... I>
constexpr void visit_found_members(std::uint32_t offset, const Path& path, F&& f, Types<M...>,
                                   std::index_sequence<I...>) {
    (visit_leaves<std::remove_cv_t<M>>(offset + member_offsets<T>[I], path_of_member<T, I>(path), f), ...);
}

template <class E, class Path, class F>
constexpr void visit_elements(std::uint32_t offset, std::size_t count, const Path& path, F&& f) {
    if constexpr (Scalar<E>) {
        f(scalar_leaf<E>(offset, static_cast<std::uint32_t>(count)), path);
    } else {
        for (std::size_t i = 0; i < count; ++i) {
            Path element = path;
            if constexpr (!std::is_same_v<Path, NoPath>) {
                element.append_index(i);
            }
            visit_leaves<E>(offset + static_cast<std::uint32_t>(i * sizeof(E)), element, f);
        }
    }
}

template <class T, class Path, class F>
constexpr void visit_leaves(std::uint32_t offset, const Path& path, F&& f) {
    if constexpr (Scalar<T>) {
        f(scalar_leaf<T>(offset, 1), path);
    } else if constexpr (std::is_array_v<T>) {
        visit_elements<std::remove_cv_t<std::remove_extent_t<T>>>(offset, std::extent_v<T>, path, f);
    } else if constexpr (IsStdArray<T>::value) {
        visit_elements<typename IsStdArray<T>::Element>(offset, IsStdArray<T>::count, path, f);
    } else if constexpr (DeclaredMembers<T>::declared) {
        DeclaredMembers<T>::visit([&]<class M>(std::string_view name, std::size_t at, std::type_identity<M>) {
            const std::uint32_t there = offset + static_cast<std::uint32_t>(at);
            if constexpr (std::is_same_v<Path, NoPath>) {
                visit_leaves<M>(there, path, f);
            } else {
                visit_leaves<M>(there, path.member(name), f);
            }
        });
    } else if constexpr (std::is_empty_v<T>) {
        // No members, no data: a signal.
    } else {
        visit_found_members<T>(offset, path, f, MemberTypes<T>{},
                               std::make_index_sequence<member_count<T>>{});
    }
}

// Calls f(leaf, path) for each leaf of T; for none of a type that has no layout: Layout<T> says so.
template <class T, class Path, class F>
constexpr void visit_layout(F&& f) {
    if constexpr (obstacle<T>() == Obstacle::none) {
        visit_leaves<T>(0, Path{}, f);
    }
}

// FNV-1a, 64 bits, over one number as four little-endian bytes.
constexpr std::uint64_t fnv1a(std::uint64_t hash, std::uint32_t value) noexcept {
    for (int i = 0; i < 4; ++i) {
        hash = (hash ^ ((value >> (8 * i)) & 0xffU)) * 0x100000001b3U;
    }
    return hash;
}

template <class T>
constexpr std::size_t leaf_count() {
    std::size_t n = 0;
    visit_layout<T, NoPath>([&](const Leaf&, NoPath) { ++n; });
    return n;
}

}  // namespace detail

// The layout of T on this side: `leaves`, their `names`, `size`, `alignment` [bytes], `fingerprint`.
template <class T>
struct Layout {
    // Where T has no layout, the one message that says why; all the rest is then empty.
    static_assert(sizeof(std::conditional_t<detail::obstacle<T>() == detail::Obstacle::not_copied_by_bytes,
                                            detail::SayWhyNotCopied<typename detail::Carried<T>::Type>,
                                            detail::SayWhyNoLayout<typename detail::Carried<T>::Type>>) != 0);

    static constexpr std::size_t count = detail::leaf_count<T>();
    static constexpr std::uint32_t size = std::is_empty_v<T> ? 0 : sizeof(T);
    static constexpr std::uint32_t alignment = alignof(T);

    // One more than needed: an empty type has no leaf, and zero-length arrays are not C++.
    static constexpr std::array<Leaf, count + 1> leaves = [] {
        std::array<Leaf, count + 1> list{};
        std::size_t n = 0;
        detail::visit_layout<T, detail::NoPath>([&](const Leaf& leaf, detail::NoPath) { list[n++] = leaf; });
        return list;
    }();

    // FNV-1a, 64 bits, over size and leaves, each number as four little-endian bytes. Alignment is left out:
    // it differs between instruction sets (double on i386) without moving a byte, and where it does move one,
    // an offset tells.
    static constexpr std::uint64_t fingerprint = [] {
        std::uint64_t hash = 0xcbf29ce484222325U;
        const auto mix = [&](std::uint32_t value) { hash = detail::fnv1a(hash, value); };
        mix(size);
        for (std::size_t i = 0; i < count; ++i) {
            mix(leaves[i].offset);
            mix(leaves[i].count);
            mix(static_cast<std::uint32_t>(leaves[i].kind) | std::uint32_t{leaves[i].size} << 8U |
                std::uint32_t{leaves[i].is_signed} << 16U);
        }
        return hash;
    }();

    // A leaf's path; empty for an index out of range. For messages: costs flash only where it is called.
    [[nodiscard]] static constexpr LeafName name(std::size_t index) noexcept {
        LeafName found;
        std::size_t n = 0;
        detail::visit_layout<T, LeafName>([&](const Leaf&, const LeafName& path) {
            if (n++ == index) {
                found = path;
            }
        });
        return found;
    }
};

}  // namespace consort

// CONSORT_LAYOUT(Type, members...): declares up to 64 members of a standard-layout type, in order, at
// namespace scope outside of any namespace. A member left out is not compared.
#define CONSORT_LAYOUT(Type, ...)              \
    template <>                                \
    struct consort::DeclaredMembers<Type> {    \
        static constexpr bool declared = true; \
        template <class F>                     \
        static constexpr void visit(F&& f) {   \
            using Self = Type;                 \
            CONSORT_DETAIL_EACH(__VA_ARGS__)   \
        }                                      \
    };                                         \
    static_assert(true, "a semicolon follows")

#define CONSORT_DETAIL_MEMBER(m)                               \
    f(std::string_view(#m, sizeof(#m) - 1), offsetof(Self, m), \
      std::type_identity<std::remove_cv_t<decltype(Self::m)>>{});
#define CONSORT_DETAIL_PARENS ()
#define CONSORT_DETAIL_EXPAND(...) \
    CONSORT_DETAIL_EXPAND3(CONSORT_DETAIL_EXPAND3(CONSORT_DETAIL_EXPAND3(__VA_ARGS__)))
#define CONSORT_DETAIL_EXPAND3(...) \
    CONSORT_DETAIL_EXPAND2(CONSORT_DETAIL_EXPAND2(CONSORT_DETAIL_EXPAND2(__VA_ARGS__)))
#define CONSORT_DETAIL_EXPAND2(...) \
    CONSORT_DETAIL_EXPAND1(CONSORT_DETAIL_EXPAND1(CONSORT_DETAIL_EXPAND1(__VA_ARGS__)))
#define CONSORT_DETAIL_EXPAND1(...) __VA_ARGS__
#define CONSORT_DETAIL_EACH(...) __VA_OPT__(CONSORT_DETAIL_EXPAND(CONSORT_DETAIL_STEP(__VA_ARGS__)))
#define CONSORT_DETAIL_STEP(m, ...) \
    CONSORT_DETAIL_MEMBER(m) __VA_OPT__(CONSORT_DETAIL_AGAIN CONSORT_DETAIL_PARENS(__VA_ARGS__))
#define CONSORT_DETAIL_AGAIN() CONSORT_DETAIL_STEP
