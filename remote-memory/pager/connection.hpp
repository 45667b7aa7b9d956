// SPDX-License-Identifier: Apache-2.0
//
// One connected socket that carries messages of protocol.hpp. Its functions neither allocate nor throw after
// the first attach: they run in the signal handler of a faulting thread.
#pragma once

#include <sys/uio.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <memory>

#include "keys.hpp"
#include "protocol.hpp"

namespace consort::remote {

class Connection {
  public:
    // Takes the socket over. `spin`: how long a wait polls before it sleeps; `patience`: how long it lasts.
    Connection(int socket, std::chrono::microseconds spin, std::chrono::milliseconds patience) noexcept
        : socket_(socket), first_(socket), spin_(spin), patience_(patience) {}
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;
    ~Connection();

    // From now on sequence numbers are checked, and each header is signed or, with a cipher, each message
    // encrypted. False where there is no memory for that.
    [[nodiscard]] bool secure(const SessionKeys& keys, Cipher cipher, bool is_server) noexcept;

    // Goes on over another socket, to which nothing was sent yet; the one before is shut down.
    void renew(int socket) noexcept;
    // True if the calling thread can use its socket: tables of descriptors are not all the same.
    [[nodiscard]] bool reachable() const noexcept;
    // Nothing goes over it any more.
    void cut() const noexcept;
    // The socket, of which another process gets a copy: the end of this object is not the connection's.
    [[nodiscard]] int hand_over() noexcept {
        process_ = 0;
        return socket_;
    }

    // Sends one message: the length and whatever signs it are filled in. `descriptor`, where not below 0,
    // goes along; not with a cipher.
    Outcome send(Header header, const void* first, std::size_t first_bytes, const void* second = nullptr,
                 std::size_t second_bytes = 0, int descriptor = -1) noexcept;

    // Receives one message into `header` and `payload`. `forever`: waits without end for its first byte.
    // `descriptor`, where given, takes one that came along (-1 where none did).
    Outcome receive(Header& header, void* payload, std::size_t capacity, bool forever = false,
                    int* descriptor = nullptr) noexcept;

    // The answer to the request that was sent last; it must be `expected`.
    Outcome receive_answer(Operation expected, Header& answer, void* payload, std::size_t capacity) noexcept;
    // Sends a request, and receives what answers it.
    Outcome ask(Header request, const void* first, std::size_t first_bytes, const void* second,
                std::size_t second_bytes, Operation expected, Header& answer, void* payload,
                std::size_t capacity) noexcept;

    void set_patience(std::chrono::milliseconds patience) noexcept { patience_ = patience; }

    // The sequence number that the next request carries; the server advances it when it has served one.
    std::uint64_t sequence = 1;

    // Why the last request was refused.
    void refuse(Refusal why) noexcept { refusal_ = why; }
    [[nodiscard]] Refusal refusal() const noexcept { return refusal_; }
    // The key that its headers are signed with, after `secure`.
    [[nodiscard]] const std::array<std::uint8_t, 16>& header_key() const noexcept { return key_; }
    [[nodiscard]] int socket() const noexcept { return socket_; }

  private:
    Outcome wait(short events, bool forever, std::chrono::steady_clock::time_point begun) const noexcept;
    Outcome send_parts(std::array<iovec, 3> all, std::size_t used, int descriptor) noexcept;
    Outcome receive_plain(Header& header, void* payload, std::size_t capacity, bool forever,
                          int* descriptor) noexcept;
    // One message in the encrypted form: header and payload are each sealed, under numbers of one sequence.
    Outcome send_sealed(const Header& header, const void* first, std::size_t first_bytes, const void* second,
                        std::size_t second_bytes) noexcept;
    Outcome receive_sealed(Header& header, void* payload, std::size_t capacity, bool forever) noexcept;
    [[nodiscard]] std::uint64_t tag_of(const Header& header) const noexcept;
    [[nodiscard]] bool plausible(const Header& header, std::size_t capacity) const noexcept;

    int socket_;
    int process_ = ::getpid();  // whose it is; 0: handed over
    int first_;                 // that it was made with
    int renewed_ = -1;          // that `renew` gave it, and in which table of descriptors that is
    int table_ = 0;
    std::chrono::microseconds spin_;
    std::chrono::milliseconds patience_;
    bool secured_ = false;
    std::array<std::uint8_t, 16> key_{};
    std::unique_ptr<Sealer> sealer_;  // where messages are encrypted; kept over `renew` for its memory
    bool sealed_ = false;
    Refusal refusal_ = Refusal::none;
};

// A client's attach: a proof of the key each way, then keys of this connection alone.
struct ClientAttach {
    std::uint64_t bytes = 0;
    SegmentId id{};   // zeros ask for a new segment and receive its identifier
    Secret secret{};  // of the segment: received with it, needed for each further connection to it
    std::uint32_t ciphers = only(Cipher::none);
    std::uint32_t keep_ms = 0;
    Role role = Role::fetches;
};
Outcome client_handshake(Connection& connection, const Key& key, ClientAttach& wanted,
                         int* descriptor = nullptr) noexcept;

}  // namespace consort::remote
