// SPDX-License-Identifier: Apache-2.0
//
// Everything that rests on libsodium: the pre-shared key, the proof and the agreement of an attach, and
// sealed messages. The attach is an exchange of X25519 keys made for it (crypto_kx), signed by both sides
// with the pre-shared key (crypto_auth) over all that was said. So an old attach proves nothing, and somebody
// who gets to know the pre-shared key later cannot read what was recorded.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "protocol.hpp"

namespace consort::remote {

// The pre-shared key, as it is used: the hash of what its file holds.
using Key = std::array<std::uint8_t, 32>;
// A client needs this, besides the key, to connect to its segment again.
using Secret = std::array<std::uint8_t, 32>;

// Reads a key: a regular file of at least 32 bytes that nobody but its owner may read. Throws
// std::invalid_argument.
Key read_key(const std::string& path);

// The ciphers of this processor that encrypt.
std::uint32_t encrypting_ciphers() noexcept;
// Which of the client's ciphers a server takes: the fastest. False where there is none.
bool choose_cipher(std::uint32_t offered, bool must_encrypt, Cipher& chosen) noexcept;

// All that was said in an attach.
struct Transcript {
    Nonce server;
    Nonce client;
    PublicKey server_ephemeral;
    PublicKey client_ephemeral;
    std::uint64_t bytes;
    SegmentId segment;
    std::uint32_t ciphers;
    std::uint32_t keep_ms;
    Role role;
    Cipher cipher;  // `none` before the server has chosen
};
// `role` is 'c' or 's'.
Proof prove(const Key& key, char role, const Transcript& transcript) noexcept;
bool same(const Proof& one, const Proof& other) noexcept;
// The key that proves a further connection to a segment with this secret; `key` for zeros.
Key bound_key(const Key& key, const Secret& secret) noexcept;

// A pair of keys for one attach.
struct Ephemeral {
    PublicKey open;
    std::array<std::uint8_t, 32> hidden;
    static Ephemeral make() noexcept;
};

struct SessionKeys {
    std::array<std::uint8_t, 16> headers;
    std::array<std::uint8_t, 32> from_client;
    std::array<std::uint8_t, 32> from_server;
    Secret segment;
};
// False where the other side's public key is none.
bool session_keys(const Key& key, const Transcript& transcript, const Ephemeral& own, bool is_server,
                  SessionKeys& keys) noexcept;

// A short note under the key of a connection's headers: encrypted and signed, with a number that is used for
// one note only.
inline constexpr std::size_t note_overhead = 16;
void seal_note(const std::array<std::uint8_t, 16>& key, std::uint64_t number, const void* from,
               std::size_t bytes, std::byte* to) noexcept;
bool open_note(const std::array<std::uint8_t, 16>& key, std::uint64_t number, const std::byte* from,
               std::size_t bytes, void* to) noexcept;

std::uint64_t header_tag(const Header& header, const std::array<std::uint8_t, 16>& key) noexcept;

// Encrypts and signs what one side sends, and opens what comes. Each box has the next number of its
// direction: one that is repeated, left out, or of the other direction does not open.
class Sealer {
  public:
    static constexpr std::size_t overhead = 16;
    static constexpr std::size_t header_bytes = sizeof(Header) + overhead;
    static constexpr std::size_t room_bytes = header_bytes + most_payload + overhead;

    void begin(const SessionKeys& keys, Cipher cipher, bool is_server) noexcept;
    void seal(const void* from, std::size_t bytes, std::byte* to) noexcept;
    bool open(const std::byte* from, std::size_t bytes, void* to) noexcept;

    // Whole messages on their way.
    std::array<std::byte, room_bytes> outgoing;
    std::array<std::byte, room_bytes> incoming;

  private:
    struct Direction {
        alignas(16) std::array<std::byte, 512> prepared;  // crypto_aead_aes256gcm_state
        std::array<std::uint8_t, 32> key;
        std::uint64_t number;
    };
    static std::array<std::uint8_t, 12> next(Direction& direction) noexcept;

    Cipher cipher_ = Cipher::none;
    Direction out_{};
    Direction in_{};
};

}  // namespace consort::remote
