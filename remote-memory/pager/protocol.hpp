// SPDX-License-Identifier: Apache-2.0
//
// The messages between a client and a server of remote memory: request and response, little-endian, one
// header before each payload. docs/remote-pager.md describes the whole exchange.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace consort::remote {

static_assert(std::endian::native == std::endian::little, "the messages are little-endian");

inline constexpr std::size_t page_bytes = 4096;
// Pages in one message, and the longest prefetch.
inline constexpr std::uint32_t most_pages = 64;
inline constexpr std::uint32_t protocol_magic = 0x504d5243;  // "CRMP"
inline constexpr std::uint16_t protocol_version = 2;

enum class Operation : std::uint16_t {
    hello = 1,
    attach,
    attached,
    fetch,
    fetched,
    store,
    stored,
    refused,
    detach,
    detached,
    reach,     // where the segment's memory is in a fabric; its payload is a FabricName
    reachable  // a FabricTarget, sealed
};

// Why a server refuses; in Header::detail of a `refused`.
enum class Refusal : std::uint32_t {
    none,
    wrong_key,
    wrong_version,
    no_room,
    out_of_range,
    corrupted,
    replayed,
    malformed,
    unknown_segment,
    not_encrypted,
    superseded,
    no_fabric,
    fabric_fails,
    huge_pages
};

struct Header {
    std::uint32_t magic;
    std::uint16_t version;
    Operation operation;
    std::uint32_t length;    // bytes of the payload
    std::uint32_t detail;    // a Refusal
    std::uint64_t sequence;  // of the request: 1, 2, ... after the attach; its response repeats it
    std::uint32_t page;      // the first page of a fetch
    std::uint32_t count;     // pages of a fetch or a store
    std::int32_t stride;     // of a fetch: pages are page, page + stride, page + 2 * stride, ...; 0 is 1
    std::uint32_t reserved;
    std::uint64_t tag;  // SipHash-2-4 of all before it, under the session's key; 0 before there is one
};
static_assert(sizeof(Header) == 48);

using Nonce = std::array<std::uint8_t, 32>;
using Proof = std::array<std::uint8_t, 32>;
using PublicKey = std::array<std::uint8_t, 32>;  // X25519, made for one connection
using SegmentId = std::array<std::uint8_t, 16>;

// How messages travel after the attach; sets of them have the bit `1 << cipher`.
enum class Cipher : std::uint32_t { none, chacha20_poly1305, aes256_gcm };
constexpr std::uint32_t only(Cipher cipher) {
    return 1U << static_cast<std::uint32_t>(cipher);
}

// A connection's purpose. A new one of a role takes the place of the one before: later data over that one is
// dropped.
enum class Role : std::uint32_t { fetches, stores };

struct Hello {
    Nonce nonce;
    PublicKey ephemeral;
};

struct Attach {
    Nonce nonce;
    PublicKey ephemeral;
    std::uint64_t bytes;
    SegmentId segment;      // zeros for a new one; else a further connection to that one
    std::uint32_t ciphers;  // which of them the client takes
    std::uint32_t keep_ms;  // how long the server keeps the segment when its connections are cut
    Role role;
    std::uint32_t reserved;
    Proof proof;
};

struct Attached {
    std::uint64_t bytes;
    SegmentId segment;
    Cipher cipher;
    std::uint32_t reserved;
    Proof proof;
};

// The name of a provider of libfabric, filled up with zeros.
using FabricName = std::array<char, 32>;

// How a client reaches its segment in a fabric: what to connect to, and the key of that memory alone.
struct FabricTarget {
    FabricName provider;
    std::uint32_t format;  // of the address, as libfabric numbers them
    std::uint32_t address_bytes;
    std::array<std::byte, 128> address;
    std::uint64_t key;
    std::uint64_t base;  // what the segment's first byte is called there
};

// Before the pages of a store: which page each is, and its CRC-32C.
struct StoredPage {
    std::uint32_t page;
    std::uint32_t crc;
};

inline constexpr std::size_t most_payload = most_pages * (page_bytes + sizeof(StoredPage));

// How an exchange ended.
enum class Outcome : std::uint8_t {
    good,
    closed,         // the other side closed the connection, or died
    short_message,  // it did so within a message
    stalled,        // nothing came within the patience
    refused,        // the server refused, see Refusal
    corrupted,      // a page's CRC is not the one it was stored with
    malformed,      // what came is not a message of this protocol, or one that was not asked for
    out_of_memory,  // of this machine
    forked          // the access is of a child after fork()
};

const char* describe(Outcome outcome) noexcept;
const char* describe(Refusal refusal) noexcept;

// CRC-32C of one page.
std::uint32_t page_crc(const void* page) noexcept;

}  // namespace consort::remote
