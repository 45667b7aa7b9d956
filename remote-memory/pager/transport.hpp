// SPDX-License-Identifier: Apache-2.0
//
// How pages reach their home and come back. `fetch`, `fetch_elsewhere` and `store` run where nothing may be
// allocated or thrown: fetches in a signal handler, `store` in the evicting thread.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "consort/linux/remote_segment.hpp"
#include "protocol.hpp"

namespace consort::remote {

// Pages `first`, `first + stride`, ...: at most `most_pages`.
struct Run {
    std::uint32_t first;
    std::uint32_t count;
    std::int32_t stride = 1;

    [[nodiscard]] std::uint32_t page(std::uint32_t i) const noexcept {
        return first + i * static_cast<std::uint32_t>(stride);
    }
};

// Where fetched pages are, until the next fetch: page i of a run at `data + i * step`.
struct Fetched {
    const std::byte* data;
    std::ptrdiff_t step;
};

class Transport {
  public:
    virtual ~Transport() = default;

    // A fetch of this page follows at once: what makes it quicker may begin. Nothing is claimed yet.
    virtual void expect(std::uint32_t /*page*/) const noexcept {}

    // Into `bounce` (`most_pages` pages), or found elsewhere. One call at a time where `serial()`.
    virtual Outcome fetch(const Run& run, std::byte* bounce, Fetched& found) noexcept = 0;

    // After a page came back with other content than was stored: from another of its homes, number `attempt`
    // of them (1, 2, ...). `corrupted` where there is no further one.
    virtual Outcome fetch_elsewhere(std::uint32_t /*page*/, std::uint32_t /*attempt*/, std::byte* /*bounce*/,
                                    Fetched& /*found*/) noexcept {
        return Outcome::corrupted;
    }

    // Copies `count` pages (at most `most_pages`), `pages[i]` from `sources[i]`, to their home; they are
    // there, in each home that is not given up, when this returns `good`. Writes the CRC of what was stored
    // to `pages[i].crc`. One call at a time.
    virtual Outcome store(StoredPage* pages, const std::byte* const* sources,
                          std::uint32_t count) noexcept = 0;

    // True if fetches share one connection.
    [[nodiscard]] virtual bool serial() const noexcept = 0;

    // The segment's memory where this machine has it (a descriptor, and its bytes as they are at home); else
    // -1 and null.
    [[nodiscard]] virtual int descriptor() const noexcept { return -1; }
    [[nodiscard]] virtual std::byte* home() const noexcept { return nullptr; }

    // The server's reason for refusing a request.
    [[nodiscard]] virtual Refusal refusal() const noexcept = 0;

    // Adds what it counted.
    virtual void count(Counters& /*counters*/) const noexcept {}

    // Nothing is tried again from now on: the segment ends.
    virtual void give_up() noexcept {}
};

// A transport that takes stores in two halves, so that several of them can be under way at once. What is
// stored does not change meanwhile, and its CRCs are known.
class Home : public Transport {
  public:
    virtual void begin_store(const StoredPage* pages, const std::byte* data,
                             std::uint32_t count) noexcept = 0;
    virtual Outcome end_store() noexcept = 0;
};

// Copies of pages on their way: the program may write to a page meanwhile, and the CRC must be that of what
// is sent.
struct Staging {
    std::array<std::array<std::byte, page_bytes>, most_pages> data;

    void take(StoredPage* pages, const std::byte* const* sources, std::uint32_t count) noexcept;
    [[nodiscard]] const std::byte* bytes() const noexcept { return data.front().data(); }
};

struct Attachment {
    std::string server;    // HOST:PORT, or the path of a socket on this machine
    std::string key_file;  // what both sides know: see read_key
    std::uint64_t bytes;
    std::chrono::milliseconds patience{5000};
    std::chrono::microseconds spin{100};
    // How long a connection that was cut is tried again, and the server keeps the segment; 0: not at all.
    std::chrono::milliseconds reconnect{0};
    bool encrypt = false;
    std::string fabric{};  // the provider of libfabric that pages go through; empty: none
};

// Attaches a new segment: over TCP for HOST:PORT, through shared memory for a path. Throws
// std::invalid_argument where key, version or size do not fit, std::system_error where there is no server.
std::unique_ptr<Home> attach(const Attachment& wanted);

// The same on several servers: each group of `replicas` of them, in this order, holds the same pages; where
// there are several groups, pieces of `stripe_pages` pages go to them in turn.
inline constexpr std::uint32_t stripe_pages = 512;
std::unique_ptr<Transport> attach(const Attachment& wanted, const std::vector<std::string>& servers,
                                  std::uint32_t replicas);

std::unique_ptr<Transport> replicated(std::vector<std::unique_ptr<Home>> homes,
                                      std::vector<std::string> names);
std::unique_ptr<Transport> striped(std::vector<std::unique_ptr<Transport>> parts);

// Writes one line to standard error; safe in a signal handler.
void say(std::initializer_list<const char*> parts) noexcept;

}  // namespace consort::remote
