// SPDX-License-Identifier: Apache-2.0
//
// Region: a slice of shared memory that says of itself what it holds.
//
// One side makes it (RegionMaker: add objects, publish), every other side attaches (Region::attach, open by
// name). The memory may be POSIX shared memory, a memfd, a mapped file or a physical address range: the
// region knows only where it is mapped. Nothing in it is an address. A half-initialised, stale, foreign,
// truncated or corrupted region, and an object whose type differs on the two sides, is refused with a reason
// and never used.
//
//   offset 0     RegionHeader          written once, before `state` says ready
//   one line     state                 written by the maker alone
//   then         ObjectEntry[capacity], Leaf[capacity]      the table of objects and of their types' leaves
//   then         the objects, each on a line of its own
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <string_view>

#include "consort/icc/access.hpp"
#include "consort/icc/byte_order.hpp"
#include "consort/icc/form.hpp"
#include "consort/icc/layout.hpp"
#include "consort/icc/wire.hpp"

namespace consort {

enum class Reason : std::uint8_t {
    none,
    too_small,         // the memory is smaller than a header
    misaligned,        // the memory does not begin on a line
    not_a_region,      // the magic number is missing
    wrong_endianness,  // its words are big-endian, which no region's are
    wrong_version,     // made by a library with another region format
    wrong_line_size,   // made with another CONSORT_LINE_BYTES
    not_ready,         // the maker has not finished (or died while it made it)
    closed,            // the maker has declared the region dead
    stale,             // the region was made anew since this side attached
    truncated,         // the region says that it is larger than the memory given
    corrupted,         // the checksum of header and table does not match, or an entry points outside
    no_such_object,    // no object of that name
    wrong_kind,        // the object is another kind of channel, or has another capacity or number of readers
    wrong_layout,      // the two sides' types differ: see Refusal::leaf
    wrong_form,        // the object is laid out for the other kind of access policy
    region_full,       // making: no room for the object
    table_full,        // making: too many objects, or too many leaves
    name_too_long,     // making: more than 39 characters, or none
    duplicate_name,    // making: the name is taken
};

[[nodiscard]] constexpr const char* to_string(Reason reason) noexcept {
    switch (reason) {
        case Reason::none:
            return "no reason";
        case Reason::too_small:
            return "the memory is smaller than a region's header";
        case Reason::misaligned:
            return "the memory does not begin on a cache line";
        case Reason::not_a_region:
            return "the memory holds no Consort region";
        case Reason::wrong_endianness:
            return "the words of the region's header are in the other order of bytes";
        case Reason::wrong_version:
            return "the region has another format version";
        case Reason::wrong_line_size:
            return "the region was made with another line size (CONSORT_LINE_BYTES)";
        case Reason::not_ready:
            return "the region's maker has not finished it";
        case Reason::closed:
            return "the region was closed by its maker";
        case Reason::stale:
            return "the region was made anew: attach again";
        case Reason::truncated:
            return "the region is larger than the memory given";
        case Reason::corrupted:
            return "the region's header or table is corrupted";
        case Reason::no_such_object:
            return "the region holds no object of that name";
        case Reason::wrong_kind:
            return "the object is another kind of channel, or has another capacity";
        case Reason::wrong_layout:
            return "the type's layout differs between the two sides";
        case Reason::wrong_form:
            return "the object is laid out for the other kind of access policy: where one side cleans cache "
                   "lines (access::NonCoherent), the others use access::WholeLines";
        case Reason::region_full:
            return "the region has no room for the object";
        case Reason::table_full:
            return "the region's table has no room for the object";
        case Reason::name_too_long:
            return "an object's name has 1 to 39 characters";
        case Reason::duplicate_name:
            return "the region already holds an object of that name";
    }
    return "unknown reason";
}

// Why something was refused: what was expected on this side, what was found in the region (their meaning
// depends on the reason: versions, bytes, kinds, or, for wrong_layout, offset, size or count of the first
// differing leaf).
struct Refusal {
    Reason reason = Reason::none;
    std::uint32_t expected = 0;
    std::uint32_t found = 0;
    // wrong_layout: which aspect differs ("size", "offset", "element size", "element count", "kind", "member
    // count").
    const char* aspect = "";
    // wrong_layout: the first member that differs, as this side names it; empty if the whole type does.
    LeafName member{};
};

// A value, or the reason why there is none. Without exceptions, and without a heap.
template <class T>
class [[nodiscard]] Result {
  public:
    constexpr Result(T value) noexcept : value_(static_cast<T&&>(value)) {}   // NOLINT: implicit by design
    constexpr Result(const Refusal& refusal) noexcept : refusal_(refusal) {}  // NOLINT: implicit by design
    constexpr Result(Reason reason, std::uint32_t expected = 0, std::uint32_t found = 0) noexcept
        : refusal_{reason, expected, found, "", {}} {}

    [[nodiscard]] constexpr bool ok() const noexcept { return refusal_.reason == Reason::none; }
    [[nodiscard]] constexpr explicit operator bool() const noexcept { return ok(); }
    // Only after ok().
    [[nodiscard]] constexpr T& value() noexcept { return value_; }
    [[nodiscard]] constexpr const T& value() const noexcept { return value_; }
    [[nodiscard]] constexpr const Refusal& refusal() const noexcept { return refusal_; }

  private:
    T value_{};
    Refusal refusal_{};
};

struct ObjectEntry {
    static constexpr std::uint32_t name_capacity = 40;
    char name[name_capacity];
    std::uint32_t offset;  // of the object from the region's begin [bytes]
    std::uint32_t bytes;   // of the object
    // Mailbox 1, DoubleBuffer 2, Snapshot 3, Queue 4, WorkerControl 5, Duplex 6, Versions 7, link::Ring 8,
    // the Linux port's LinkBell 9
    std::uint32_t kind;
    // capacity (Queue), readers (Snapshot), versions (Versions), descriptors (link::Ring), else 0
    std::uint32_t parameter;
    std::uint32_t type_bytes;  // sizeof the payload type, 0 for a signal
    std::uint32_t first_leaf;  // index into the leaf table
    std::uint32_t leaf_count;
    std::uint32_t fingerprint_low;  // of the object: its type, kind, parameter and form
    std::uint32_t fingerprint_high;
    std::uint32_t form;  // consort::Form
};
static_assert(sizeof(ObjectEntry) == 80);

struct RegionHeader {
    static constexpr std::uint32_t magic_number = 0x52534e43;  // "CNSR" in memory
    static constexpr std::uint32_t format_version = 2;

    std::uint32_t magic;
    std::uint32_t version;
    std::uint32_t line;          // CONSORT_LINE_BYTES of the maker
    std::uint32_t bytes;         // of the whole region
    std::uint32_t pointer_bits;  // of the maker; for information, nothing depends on it
    std::uint32_t creator;       // core_id or process id of the maker
    std::uint32_t generation;    // grows with each making of a region in the same memory
    std::uint32_t object_count;
    std::uint32_t object_capacity;
    std::uint32_t leaf_count;
    std::uint32_t leaf_capacity;
    std::uint32_t checksum;  // over this header (checksum as 0) and the used table entries and leaves
};
static_assert(sizeof(RegionHeader) == 48);

namespace detail {

enum class RegionState : std::uint32_t {
    raw = 0,
    making = 0x6d616b65,
    ready = 0x72656479,
    closed = 0x636c6f73
};

// CRC-32 (IEEE 802.3), bit by bit: it runs once at attach, so a table would cost more flash than it saves
// time.
constexpr std::uint32_t crc32(const unsigned char* data, std::uint32_t bytes, std::uint32_t crc) noexcept {
    crc = ~crc;
    for (std::uint32_t i = 0; i < bytes; ++i) {
        crc ^= data[i];
        for (int bit = 0; bit < 8; ++bit) {
            crc = (crc >> 1U) ^ (0xedb88320U & (0U - (crc & 1U)));
        }
    }
    return ~crc;
}

// Copies from shared memory into private memory, reading each 32-bit word exactly once. A compiler may read
// plain memory again after a check; of an atomic load it must keep the value.
template <class T>
void copy_in(T& to, const void* shared) noexcept {
    static_assert(sizeof(T) % 4 == 0);
    const auto* from = static_cast<const std::uint32_t*>(shared);
    for (std::uint32_t at = 0; at < sizeof(T); at += 4) {
        const std::uint32_t word = __atomic_load_n(from + at / 4, __ATOMIC_RELAXED);
        __builtin_memcpy(reinterpret_cast<unsigned char*>(&to) + at, &word, 4);
    }
    arrived(to);
}

// The other way, from byte `begin` on. Device memory allows aligned 32-bit accesses only, so this is not
// a memcpy.
template <class T>
void copy_out(void* shared, const T& value, std::uint32_t begin = 0) noexcept {
    static_assert(sizeof(T) % 4 == 0);
    auto* to = static_cast<std::uint32_t*>(shared);
    const Outgoing<T> from(value);
    for (std::uint32_t at = begin; at < sizeof(T); at += 4) {
        std::uint32_t word = 0;
        __builtin_memcpy(&word, from.bytes() + at, 4);
        __atomic_store_n(to + at / 4, word, __ATOMIC_RELAXED);
    }
}

// Over the bytes of a T as they lie in shared memory.
template <class T>
[[nodiscard]] std::uint32_t crc32_of(const T& value, std::uint32_t crc) noexcept {
    return crc32(Outgoing<T>(value).bytes(), sizeof(T), crc);
}

// Where the parts of a region lie. What shared memory says is never used here: capacities are the caller's
// own, or checked copies.
struct RegionMap {
    unsigned char* base = nullptr;

    static constexpr std::uint32_t state_offset = round_up(sizeof(RegionHeader), line_bytes);
    static constexpr std::uint32_t table_offset = state_offset + line_bytes;

    // A shared word of its own: it is stored after the fields that say how to read the rest.
    [[nodiscard]] void* magic() const noexcept { return base; }
    [[nodiscard]] void* state() const noexcept { return base + state_offset; }
    [[nodiscard]] void* generation() const noexcept { return base + offsetof(RegionHeader, generation); }
    [[nodiscard]] void* entry(std::uint32_t index) const noexcept {
        return base + table_offset + static_cast<std::size_t>(index * std::uint32_t{sizeof(ObjectEntry)});
    }
    [[nodiscard]] void* leaf(std::uint32_t object_capacity, std::uint32_t index) const noexcept {
        return base + leaves_offset(object_capacity) +
               static_cast<std::size_t>(index * std::uint32_t{sizeof(Leaf)});
    }
    static constexpr std::uint32_t leaves_offset(std::uint32_t object_capacity) noexcept {
        return table_offset + object_capacity * std::uint32_t{sizeof(ObjectEntry)};
    }
    static constexpr std::uint32_t objects_offset(std::uint32_t object_capacity,
                                                  std::uint32_t leaf_capacity) noexcept {
        return round_up(leaves_offset(object_capacity) + leaf_capacity * std::uint32_t{sizeof(Leaf)},
                        line_bytes);
    }
};

// A region's header in private memory, and what it bounds.
struct PrivateHeader : RegionHeader {
    // Above it the sizes of the tables could wrap in 32 bits.
    static constexpr std::uint32_t max_capacity = 1U << 20U;

    // The first byte after the tables.
    [[nodiscard]] std::uint32_t begin() const noexcept {
        return RegionMap::objects_offset(object_capacity, leaf_capacity);
    }
    // The tables lie inside of the region, and what is used of them inside of the tables.
    [[nodiscard]] bool sound() const noexcept {
        return object_capacity <= max_capacity && leaf_capacity <= max_capacity &&
               object_count <= object_capacity && leaf_count <= leaf_capacity && begin() <= bytes;
    }
    // The object lies behind the tables and inside of the region, on lines of its own, and its leaves in the
    // used part of their table.
    [[nodiscard]] bool holds(const ObjectEntry& entry) const noexcept {
        return entry.offset >= begin() && entry.offset % line_bytes == 0 && entry.offset <= bytes &&
               entry.bytes <= bytes - entry.offset && entry.first_leaf <= leaf_count &&
               entry.leaf_count <= leaf_count - entry.first_leaf;
    }
    [[nodiscard]] std::uint32_t crc() const noexcept {
        RegionHeader copy = *this;
        copy.checksum = 0;
        return crc32_of(copy, 0);
    }
    // Over the header and the used parts of both tables, each entry copied once; `use` looks at the same copy
    // of an object's entry and answers whether it is sound.
    template <class Use>
    [[nodiscard]] bool checksum_of(const RegionMap& map, std::uint32_t& sum, Use use) const noexcept {
        sum = crc();
        for (std::uint32_t i = 0; i < object_count; ++i) {
            ObjectEntry entry;
            copy_in(entry, map.entry(i));
            sum = crc32_of(entry, sum);
            if (!use(entry)) {
                return false;
            }
        }
        for (std::uint32_t i = 0; i < leaf_count; ++i) {
            Leaf leaf;
            copy_in(leaf, map.leaf(object_capacity, i));
            sum = crc32_of(leaf, sum);
        }
        return true;
    }
};

[[nodiscard]] constexpr std::string_view entry_name(const ObjectEntry& entry) noexcept {
    std::uint32_t length = 0;
    while (length < ObjectEntry::name_capacity && entry.name[length] != '\0') {
        ++length;
    }
    return {entry.name, length};
}

// FNV-1a goes on from the payload type's layout over what else decides where an object's words lie.
template <class C>
inline constexpr std::uint64_t object_fingerprint = [] {
    std::uint64_t hash = Layout<typename C::Value>::fingerprint;
    for (const std::uint32_t value : {C::kind, C::parameter, static_cast<std::uint32_t>(C::form)}) {
        hash = fnv1a(hash, value);
    }
    return hash;
}();

// Compares the stored layout of an object's type with this side's: the first leaf that differs, and how.
// `entry` is a checked copy; each leaf is copied once.
template <class T>
[[nodiscard]] Refusal compare_layout(const ObjectEntry& entry, const RegionMap& map,
                                     std::uint32_t object_capacity) noexcept {
    const auto differs = [](const char* aspect, std::uint32_t expected, std::uint32_t found,
                            std::size_t leaf) {
        return Refusal{Reason::wrong_layout, expected, found, aspect, Layout<T>::name(leaf)};
    };
    for (std::uint32_t i = 0; i < Layout<T>::count && i < entry.leaf_count; ++i) {
        const Leaf& mine = Layout<T>::leaves[i];
        Leaf theirs;
        copy_in(theirs, map.leaf(object_capacity, entry.first_leaf + i));
        if (mine.offset != theirs.offset) {
            return differs("offset", mine.offset, theirs.offset, i);
        }
        if (mine.kind != theirs.kind || mine.is_signed != theirs.is_signed) {
            return differs("kind", static_cast<std::uint32_t>(mine.kind),
                           static_cast<std::uint32_t>(theirs.kind), i);
        }
        if (mine.size != theirs.size) {
            return differs("element size", mine.size, theirs.size, i);
        }
        if (mine.count != theirs.count) {
            return differs("element count", mine.count, theirs.count, i);
        }
    }
    if (entry.leaf_count != Layout<T>::count) {
        const std::uint32_t common = entry.leaf_count < Layout<T>::count
                                         ? entry.leaf_count
                                         : static_cast<std::uint32_t>(Layout<T>::count);
        return differs("member count", static_cast<std::uint32_t>(Layout<T>::count), entry.leaf_count,
                       common);
    }
    if (entry.type_bytes != Layout<T>::size) {
        return Refusal{Reason::wrong_layout, Layout<T>::size, entry.type_bytes, "size", {}};
    }
    return {};
}

}  // namespace detail

// The access policy `A` is this side's path to the memory; the other sides may use another.
template <class A = access::Coherent>
class Region {
  public:
    Region() = default;

    // Looks at `bytes` of memory at `base` (at least 4-byte readable) and attaches if a whole, ready region
    // of this format is there. Changes nothing in it. Never blocks: ask again on not_ready.
    [[nodiscard]] static Result<Region> attach(void* base, std::size_t bytes) noexcept {
        using detail::RegionMap;
        if (bytes < RegionMap::table_offset) {
            return {Reason::too_small, RegionMap::table_offset, static_cast<std::uint32_t>(bytes)};
        }
        if (reinterpret_cast<std::uintptr_t>(base) % line_bytes != 0) {
            return Reason::misaligned;
        }
        const RegionMap map{static_cast<unsigned char*>(base)};
        const auto& state = *static_cast<const typename A::Word*>(map.state());
        const auto now = static_cast<detail::RegionState>(A::template load<SyncPoint::region_observe>(state));
        const auto& magic_word = *static_cast<const typename A::Word*>(map.magic());
        const std::uint32_t magic = A::template load<SyncPoint::region_observe>(magic_word);
        A::observe_range(base, sizeof(RegionHeader));
        // From here on only this copy counts: a peer may change the memory between a check and a use.
        detail::PrivateHeader header;
        detail::copy_in<RegionHeader>(header, base);
        header.magic = magic;
        if (magic == __builtin_bswap32(RegionHeader::magic_number)) {
            return Reason::wrong_endianness;
        }
        if (magic != RegionHeader::magic_number) {
            if (now == detail::RegionState::making) {
                return Reason::not_ready;
            }
            return {Reason::not_a_region, RegionHeader::magic_number, magic};
        }
        if (header.version != RegionHeader::format_version) {
            return {Reason::wrong_version, RegionHeader::format_version, header.version};
        }
        if (header.line != line_bytes) {
            return {Reason::wrong_line_size, line_bytes, header.line};
        }
        if (now == detail::RegionState::closed) {
            return Reason::closed;
        }
        if (now == detail::RegionState::making || now == detail::RegionState::raw) {
            return Reason::not_ready;
        }
        if (now != detail::RegionState::ready) {
            return Reason::corrupted;
        }
        if (header.bytes > bytes) {
            return {Reason::truncated, header.bytes, static_cast<std::uint32_t>(bytes)};
        }
        if (!header.sound()) {
            return Reason::corrupted;
        }
        A::observe_range(base, header.begin());
        std::uint32_t checksum = 0;
        const bool inside =
            header.checksum_of(map, checksum, [&](const ObjectEntry& entry) { return header.holds(entry); });
        if (!inside || checksum != header.checksum) {
            return Reason::corrupted;
        }
        return Region(map, header);
    }

    // The object `name`, if it is a channel C of the same payload layout. C: Mailbox<T, A>, Snapshot<T, R,
    // A>, …
    template <class C>
    [[nodiscard]] Result<typename C::Shared*> open(std::string_view name) const noexcept {
        if (const Reason reason = condition(); reason != Reason::none) {
            return reason;
        }
        for (std::uint32_t i = 0; i < header_.object_count; ++i) {
            ObjectEntry entry;
            detail::copy_in(entry, map_.entry(i));
            if (detail::entry_name(entry) != name) {
                continue;
            }
            // Sound when it was attached to; the memory may have changed since.
            if (!header_.holds(entry)) {
                return Reason::corrupted;
            }
            if (entry.kind != C::kind) {
                return {Reason::wrong_kind, C::kind, entry.kind};
            }
            if (entry.parameter != C::parameter) {
                return {Reason::wrong_kind, C::parameter, entry.parameter};
            }
            const Refusal layout =
                detail::compare_layout<typename C::Value>(entry, map_, header_.object_capacity);
            if (layout.reason != Reason::none) {
                return layout;
            }
            if (entry.form != static_cast<std::uint32_t>(C::form)) {
                return {Reason::wrong_form, static_cast<std::uint32_t>(C::form), entry.form};
            }
            // Equal leaves give equal fingerprints and equal payloads equal objects: anything else is
            // corruption.
            const std::uint64_t fingerprint =
                std::uint64_t{entry.fingerprint_high} << 32U | std::uint64_t{entry.fingerprint_low};
            if (fingerprint != detail::object_fingerprint<C> || entry.bytes != sizeof(typename C::Shared)) {
                return Reason::corrupted;
            }
            return std::launder(reinterpret_cast<typename C::Shared*>(map_.base + entry.offset));
        }
        return Reason::no_such_object;
    }

    // none while the region is the one attached to; else closed, not_ready or stale. One word load.
    [[nodiscard]] Reason condition() const noexcept {
        const auto& state = *static_cast<const typename A::Word*>(map_.state());
        switch (static_cast<detail::RegionState>(A::template load<SyncPoint::region_observe>(state))) {
            case detail::RegionState::ready:
                A::observe_range(map_.base, sizeof(RegionHeader));
                return generation() == header_.generation ? Reason::none : Reason::stale;
            case detail::RegionState::closed:
                return Reason::closed;
            case detail::RegionState::making:
                return Reason::stale;
            case detail::RegionState::raw:
                break;
        }
        return Reason::corrupted;
    }

    // This side's own copy of the header, checked by attach. Only after a successful attach.
    [[nodiscard]] const RegionHeader& header() const noexcept { return header_; }
    // A copy of an object's entry, for diagnostics: no_such_object where `index` is none of header()'s
    // object_count, corrupted where the entry has changed since attach and points outside of the region.
    [[nodiscard]] Result<ObjectEntry> object(std::uint32_t index) const noexcept {
        if (index >= header_.object_count) {
            return {Reason::no_such_object, header_.object_count, index};
        }
        ObjectEntry entry;
        detail::copy_in(entry, map_.entry(index));
        if (!header_.holds(entry)) {
            return Reason::corrupted;
        }
        return entry;
    }
    // A copy of a leaf, for diagnostics: no_such_object where `index` is none of header()'s leaf_count.
    [[nodiscard]] Result<Leaf> leaf(std::uint32_t index) const noexcept {
        if (index >= header_.leaf_count) {
            return {Reason::no_such_object, header_.leaf_count, index};
        }
        Leaf found;
        detail::copy_in(found, map_.leaf(header_.object_capacity, index));
        return found;
    }

  private:
    Region(detail::RegionMap map, const detail::PrivateHeader& header) noexcept
        : map_(map), header_(header) {}

    [[nodiscard]] std::uint32_t generation() const noexcept {
        std::uint32_t found = 0;
        detail::copy_in(found, map_.generation());
        return found;
    }

    detail::RegionMap map_;
    detail::PrivateHeader header_{};
};

// Makes a region in `bytes` of memory (up to 4 GiB). Until publish() succeeds every attach is refused with
// not_ready, so a maker that dies half-way leaves nothing that could be used. Not thread-safe.
template <class A = access::Coherent>
class RegionMaker {
  public:
    struct Options {
        std::uint32_t creator = 0;
        std::uint32_t object_capacity = 16;
        std::uint32_t leaf_capacity = 256;
    };

    [[nodiscard]] static Result<RegionMaker> begin(void* base, std::size_t bytes, Options options) noexcept {
        using detail::RegionMap;
        if (reinterpret_cast<std::uintptr_t>(base) % line_bytes != 0) {
            return Reason::misaligned;
        }
        if (options.object_capacity > detail::PrivateHeader::max_capacity ||
            options.leaf_capacity > detail::PrivateHeader::max_capacity) {
            return {Reason::table_full, detail::PrivateHeader::max_capacity,
                    options.object_capacity > options.leaf_capacity ? options.object_capacity
                                                                    : options.leaf_capacity};
        }
        const std::uint32_t size = bytes > 0xffffffc0U ? 0xffffffc0U : static_cast<std::uint32_t>(bytes);
        const std::uint32_t first = RegionMap::objects_offset(options.object_capacity, options.leaf_capacity);
        if (size < first) {
            return {Reason::too_small, first, size};
        }
        RegionMaker maker;
        maker.map_ = RegionMap{static_cast<unsigned char*>(base)};
        maker.next_ = first;
        auto& magic = *static_cast<typename A::Word*>(maker.map_.magic());
        const bool again = A::template load<SyncPoint::own>(magic) == RegionHeader::magic_number;
        std::uint32_t before = 0;
        detail::copy_in(before, maker.map_.generation());
        maker.store_state(detail::RegionState::making);
        A::template store<SyncPoint::region_publish>(magic, 0);
        RegionHeader& header = maker.header_;
        header.magic = RegionHeader::magic_number;
        header.version = RegionHeader::format_version;
        header.line = line_bytes;
        header.bytes = size;
        header.pointer_bits = sizeof(void*) * 8;
        header.creator = options.creator;
        header.generation = (again ? before : 0U) + 1U;
        header.object_capacity = options.object_capacity;
        header.leaf_capacity = options.leaf_capacity;
        maker.store_header();
        // Last, so that who sees it sees a line size and a version too: with none they would be refused for
        // good, where they should ask again.
        A::template store<SyncPoint::region_publish>(magic, RegionHeader::magic_number);
        return maker;
    }

    // Adds a channel C under `name` (1 to 39 characters) and sets it to its initial state.
    template <class C>
    [[nodiscard]] Result<typename C::Shared*> add(std::string_view name) noexcept {
        using T = typename C::Value;
        using Shared = typename C::Shared;
        require_plain_data<T>();
        static_assert(alignof(Shared) == line_bytes, "each object lies on lines of its own");
        RegionHeader& header = header_;
        if (name.empty() || name.size() >= ObjectEntry::name_capacity) {
            return {Reason::name_too_long, ObjectEntry::name_capacity - 1,
                    static_cast<std::uint32_t>(name.size())};
        }
        for (std::uint32_t i = 0; i < header.object_count; ++i) {
            ObjectEntry other;
            detail::copy_in(other, map_.entry(i));
            if (detail::entry_name(other) == name) {
                return Reason::duplicate_name;
            }
        }
        if (header.object_count == header.object_capacity ||
            header.leaf_capacity - header.leaf_count < Layout<T>::count) {
            return Reason::table_full;
        }
        if (header.bytes - next_ < sizeof(Shared)) {
            return {Reason::region_full, sizeof(Shared), header.bytes - next_};
        }
        ObjectEntry entry{};
        for (std::size_t i = 0; i < name.size(); ++i) {
            entry.name[i] = name[i];
        }
        entry.offset = next_;
        entry.bytes = sizeof(Shared);
        entry.kind = C::kind;
        entry.parameter = C::parameter;
        entry.type_bytes = Layout<T>::size;
        entry.first_leaf = header.leaf_count;
        entry.leaf_count = static_cast<std::uint32_t>(Layout<T>::count);
        entry.fingerprint_low = static_cast<std::uint32_t>(detail::object_fingerprint<C>);
        entry.fingerprint_high = static_cast<std::uint32_t>(detail::object_fingerprint<C> >> 32U);
        entry.form = static_cast<std::uint32_t>(C::form);
        for (std::uint32_t i = 0; i < entry.leaf_count; ++i) {
            detail::copy_out(map_.leaf(header.object_capacity, header.leaf_count + i), Layout<T>::leaves[i]);
        }
        detail::copy_out(map_.entry(header.object_count), entry);
        // Device memory allows aligned 32-bit accesses only, so no memset; all words and cells begin as
        // zeros.
        auto* words = reinterpret_cast<volatile std::uint32_t*>(map_.base + next_);
        for (std::uint32_t i = 0; i < sizeof(Shared) / 4; ++i) {
            words[i] = 0;
        }
        auto* shared = ::new (static_cast<void*>(map_.base + next_)) Shared;
        header.object_count += 1;
        header.leaf_count += entry.leaf_count;
        next_ += round_up(sizeof(Shared), line_bytes);
        return shared;
    }

    // Lets others attach. The maker itself attaches like any other side.
    [[nodiscard]] Result<Region<A>> publish() noexcept {
        std::uint32_t checksum = 0;
        // A peer that has the memory mapped may change the tables meanwhile; attach then refuses them.
        static_cast<void>(header_.checksum_of(map_, checksum, [](const ObjectEntry&) { return true; }));
        header_.checksum = checksum;
        store_header();
        A::publish_range(map_.base, next_);
        store_state(detail::RegionState::ready);
        return Region<A>::attach(map_.base, header_.bytes);
    }

    // Declares the region dead: every later attach or open is refused with `closed`.
    void close() noexcept { store_state(detail::RegionState::closed); }

    // Bytes used so far.
    [[nodiscard]] std::uint32_t used() const noexcept { return next_; }

    RegionMaker() = default;

  private:
    void store_state(detail::RegionState state) noexcept {
        A::template store<SyncPoint::region_publish>(*static_cast<typename A::Word*>(map_.state()),
                                                     static_cast<std::uint32_t>(state));
    }

    // All but the magic number, which is a shared word of its own.
    void store_header() noexcept { detail::copy_out<RegionHeader>(map_.base, header_, 4); }

    detail::RegionMap map_;
    // Private: what a peer writes into the region's header moves nothing that the maker writes.
    detail::PrivateHeader header_{};
    std::uint32_t next_ = 0;
};

}  // namespace consort
