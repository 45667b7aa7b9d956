// SPDX-License-Identifier: Apache-2.0
//
// How pages reach their home and come back. Both functions run where nothing may be allocated or thrown:
// `fetch` in a signal handler, `store` in the evicting thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "protocol.hpp"

namespace consort::remote {

class Transport {
  public:
    virtual ~Transport() = default;

    // Pages `first` to `first + count - 1`, of at most `most_pages`: `data` points to them, in `bounce`
    // (`most_pages` pages) or elsewhere, until the next fetch. One call at a time where `serial()`.
    virtual Outcome fetch(std::uint32_t first, std::uint32_t count, std::byte* bounce,
                          const std::byte*& data) noexcept = 0;

    // Copies `count` pages (at most `most_pages`), `pages[i]` from `sources[i]`, to their home; they are
    // there when this returns `good`. Writes the CRC of what was stored to `pages[i].crc`. One call at a
    // time.
    virtual Outcome store(StoredPage* pages, const std::byte* const* sources,
                          std::uint32_t count) noexcept = 0;

    // Whether fetches share one connection.
    [[nodiscard]] virtual bool serial() const noexcept = 0;

    // The segment's memory where this machine has it (a descriptor, and its bytes as they are at home); else
    // -1 and null.
    [[nodiscard]] virtual int descriptor() const noexcept { return -1; }
    [[nodiscard]] virtual std::byte* home() const noexcept { return nullptr; }

    // What the server said when a request was refused.
    [[nodiscard]] virtual Refusal refusal() const noexcept = 0;
};

struct Attachment {
    std::string server;    // HOST:PORT, or the path of a socket on this machine
    std::string key_file;  // what both sides know: see read_key
    std::uint64_t bytes;
    std::chrono::milliseconds patience{5000};
    std::chrono::microseconds spin{100};
};

// Attaches a new segment: over TCP for HOST:PORT, through shared memory for a path. Throws
// std::invalid_argument where key, version or size do not fit, std::system_error where there is no server.
std::unique_ptr<Transport> attach(const Attachment& wanted);

// A connected socket to HOST:PORT or to the socket at a path. Throws std::system_error.
int connect_to(const std::string& server);

}  // namespace consort::remote
