// SPDX-License-Identifier: Apache-2.0
//
// What a client and a server of remote memory say to each other: request and response, little-endian, one
// header before each payload. docs/how-to/remote-pager.md describes the whole exchange.
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
inline constexpr std::uint16_t protocol_version = 1;

enum class Operation : std::uint16_t { hello = 1, attach, attached, fetch, fetched, store, stored, refused };

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
    unknown_segment
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
    std::uint64_t reserved;
    std::uint64_t tag;  // SipHash-2-4 of all before it, under the session's key; 0 before there is one
};
static_assert(sizeof(Header) == 48);

using Nonce = std::array<std::uint8_t, 32>;
using Proof = std::array<std::uint8_t, 32>;
using SegmentId = std::array<std::uint8_t, 16>;

struct Hello {
    Nonce nonce;
};

struct Attach {
    Nonce nonce;
    std::uint64_t bytes;
    SegmentId segment;  // zeros for a new one; else a further connection to that one
    Proof proof;
};

struct Attached {
    std::uint64_t bytes;
    SegmentId segment;
    Proof proof;
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
    malformed,      // what came is no message of this protocol, or one that was not asked for
    out_of_memory,  // of this machine
    forked          // the access is of a child after fork()
};

const char* describe(Outcome outcome) noexcept;
const char* describe(Refusal refusal) noexcept;

// CRC-32C of one page.
std::uint32_t page_crc(const void* page) noexcept;

}  // namespace consort::remote
