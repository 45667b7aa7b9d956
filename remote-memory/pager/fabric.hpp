// SPDX-License-Identifier: Apache-2.0
//
// Pages through libfabric, one-sided: a server registers a segment's memory, and its client reads and writes
// there. Providers take locks, allocate and open files, none of which a fault may do in a signal handler of
// the program: every call of libfabric is in a thread of its own here, which the two sides below start.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "protocol.hpp"

namespace consort::remote::fabric {

// Throws std::system_error where this was built without libfabric or its library is not there, and
// std::invalid_argument, with a list of those that there are, for a provider that is none of this machine.
void expect(const std::string& provider);

FabricName name_of(const std::string& provider);
std::string text_of(const FabricName& name);

// The server's side: one segment's memory, in a domain, with an endpoint and a key of its own. A client that
// knows them reaches this memory and no other. Nobody reaches it once this is destroyed.
class Exposed {
  public:
    // `host`: the address of this machine that the client came to. Throws std::system_error.
    Exposed(const std::string& provider, const std::string& host, void* memory, std::size_t bytes);
    Exposed(const Exposed&) = delete;
    Exposed& operator=(const Exposed&) = delete;
    ~Exposed();

    [[nodiscard]] const FabricTarget& target() const noexcept { return target_; }

  private:
    struct Registered;
    std::unique_ptr<Registered> registered_;
    FabricTarget target_{};
    std::atomic<bool> ending_{false};
    std::thread thread_;
};

// So many bytes at `local` of the buffer and at `remote` of the segment.
struct Piece {
    std::size_t local;
    std::uint64_t remote;
    std::size_t bytes;
};

// The client's side: an endpoint with a buffer of `most_pages` pages. One transfer at a time.
class Access {
  public:
    struct Options {
        std::chrono::microseconds spin;
        std::chrono::milliseconds patience;
        int liveness;  // a connected socket that ends with the server
    };
    // Throws std::system_error where the target cannot be reached.
    Access(const FabricTarget& target, const Options& options);
    Access(const Access&) = delete;
    Access& operator=(const Access&) = delete;
    ~Access();

    [[nodiscard]] std::byte* buffer() const noexcept { return buffer_; }
    // Begins a transfer of `count` pieces (at most `most_pages`), which `end` waits for. Written bytes are in
    // the segment when `end` returns `good`. After any other outcome every transfer ends with that outcome: a
    // late answer may still write to the buffer. Neither function calls libfabric, allocates or throws.
    void begin(bool writes, const Piece* pieces, std::size_t count) noexcept;
    Outcome end() noexcept;

  private:
    struct Endpoint;
    void serve(const FabricTarget& target);
    Outcome transfer(Endpoint& endpoint) noexcept;

    Options options_;
    std::byte* buffer_ = nullptr;
    std::array<Piece, most_pages> pieces_{};
    std::size_t count_ = 0;
    bool writes_ = false;
    std::uint32_t asked_ = 0;
    std::atomic<std::uint32_t> posted_{0};
    std::atomic<std::uint32_t> done_{0};
    std::atomic<bool> ending_{false};
    Outcome outcome_ = Outcome::good;
    std::exception_ptr failure_;
    std::thread thread_;
};

}  // namespace consort::remote::fabric
