// SPDX-License-Identifier: Apache-2.0
//
// One connected socket that carries messages of protocol.hpp. Its functions neither allocate nor throw: they
// run in the signal handler of a faulting thread.
#pragma once

#include <sys/uio.h>

#include <chrono>
#include <cstdint>
#include <string>

#include "protocol.hpp"

namespace consort::remote {

// The pre-shared key, as it is used: the hash of what its file holds.
using Key = std::array<std::uint8_t, 32>;

// Reads a key: a regular file of at least 32 bytes that nobody but its owner may read. Throws
// std::invalid_argument.
Key read_key(const std::string& path);

class Connection {
  public:
    // Takes the socket over. `spin`: how long a wait polls before it sleeps; `patience`: how long it lasts.
    Connection(int socket, std::chrono::microseconds spin, std::chrono::milliseconds patience) noexcept
        : socket_(socket), spin_(spin), patience_(patience) {}
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;
    ~Connection();

    // From now on each header is signed under `key`, and sequence numbers are checked.
    void secure(const std::array<std::uint8_t, 16>& key) noexcept;

    // Sends one message: the operation and length are filled in. `descriptor`, where not below 0, goes along.
    Outcome send(Header header, const void* first, std::size_t first_bytes, const void* second = nullptr,
                 std::size_t second_bytes = 0, int descriptor = -1) noexcept;

    // Receives one message into `header` and `payload`. `forever`: waits without end for its first byte.
    // `descriptor`, where given, takes one that came along (-1 where none did).
    Outcome receive(Header& header, void* payload, std::size_t capacity, bool forever = false,
                    int* descriptor = nullptr) noexcept;

    // A client's request and the answer to it, which must be `expected`.
    Outcome ask(Header request, const void* first, std::size_t first_bytes, const void* second,
                std::size_t second_bytes, Operation expected, Header& answer, void* payload,
                std::size_t capacity) noexcept;

    void set_patience(std::chrono::milliseconds patience) noexcept { patience_ = patience; }

    // The sequence number that the next request carries; the server advances it when it has served one.
    std::uint64_t sequence = 1;

    // Why the last request was refused.
    void refuse(Refusal why) noexcept { refusal_ = why; }
    [[nodiscard]] Refusal refusal() const noexcept { return refusal_; }
    [[nodiscard]] int socket() const noexcept { return socket_; }

  private:
    Outcome wait(short events, bool forever, std::chrono::steady_clock::time_point begun) const noexcept;
    [[nodiscard]] std::uint64_t tag_of(const Header& header) const noexcept;
    [[nodiscard]] bool plausible(const Header& header, std::size_t capacity) const noexcept;

    int socket_;
    std::chrono::microseconds spin_;
    std::chrono::milliseconds patience_;
    bool secured_ = false;
    std::array<std::uint8_t, 16> key_{};
    Refusal refusal_ = Refusal::none;
};

// The client's half of the attach: a proof of the key each way, then a session key. `id` zero asks for a new
// segment of `bytes` and receives its identifier; else a further connection to that one is made.
Outcome client_handshake(Connection& connection, const Key& key, std::uint64_t bytes, SegmentId& id,
                         int* descriptor = nullptr) noexcept;

// Both halves use these. The transcript holds both nonces, so neither half of an old one proves anything.
struct Transcript {
    Nonce server;
    Nonce client;
    std::uint64_t bytes;
    SegmentId segment;
};
Proof prove(const Key& key, char role, const Transcript& transcript) noexcept;
std::array<std::uint8_t, 16> session_key(const Key& key, const Transcript& transcript) noexcept;

}  // namespace consort::remote
