// SPDX-License-Identifier: Apache-2.0
//
// What rests on libsodium: the key's file, the proofs of an attach, and the tags of headers.
#include <fcntl.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "connection.hpp"

namespace consort::remote {

static_assert(crypto_auth_KEYBYTES == std::tuple_size_v<Key>);
static_assert(crypto_auth_BYTES == std::tuple_size_v<Proof>);
static_assert(crypto_shorthash_KEYBYTES == 16 && crypto_shorthash_BYTES == sizeof(std::uint64_t));

Key read_key(const std::string& path) {
    if (::sodium_init() < 0) {
        throw std::runtime_error("libsodium cannot be started");
    }
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (file < 0) {
        throw std::invalid_argument("the key " + path + " cannot be read: " + std::strerror(errno));
    }
    struct stat found {};
    std::array<unsigned char, 4096> text{};
    const bool regular = ::fstat(file, &found) == 0 && S_ISREG(found.st_mode);
    const ssize_t bytes = regular ? ::read(file, text.data(), text.size()) : -1;
    ::close(file);
    if (!regular || (found.st_mode & 077U) != 0 || (found.st_uid != ::getuid() && found.st_uid != 0)) {
        throw std::invalid_argument("the key " + path + " must be a file of yours alone; chmod 600 " + path);
    }
    if (bytes < 32) {
        throw std::invalid_argument("the key " + path + " is shorter than 32 bytes");
    }
    Key key{};
    ::crypto_generichash(key.data(), key.size(), text.data(), static_cast<std::size_t>(bytes), nullptr, 0);
    ::sodium_memzero(text.data(), text.size());
    return key;
}

namespace {

using Bytes = std::array<unsigned char, 1 + sizeof(Transcript)>;

Bytes labelled(char role, const Transcript& transcript) noexcept {
    static_assert(sizeof(Transcript) == 32 + 32 + 8 + 16, "without padding");
    Bytes bytes{};
    bytes[0] = static_cast<unsigned char>(role);
    std::memcpy(bytes.data() + 1, &transcript, sizeof transcript);
    return bytes;
}

}  // namespace

Proof prove(const Key& key, char role, const Transcript& transcript) noexcept {
    const Bytes bytes = labelled(role, transcript);
    Proof proof{};
    ::crypto_auth(proof.data(), bytes.data(), bytes.size(), key.data());
    return proof;
}

std::array<std::uint8_t, 16> session_key(const Key& key, const Transcript& transcript) noexcept {
    const Bytes bytes = labelled('k', transcript);
    std::array<std::uint8_t, 16> session{};
    ::crypto_generichash(session.data(), session.size(), bytes.data(), bytes.size(), key.data(), key.size());
    return session;
}

void Connection::secure(const std::array<std::uint8_t, 16>& key) noexcept {
    key_ = key;
    secured_ = true;
}

std::uint64_t Connection::tag_of(const Header& header) const noexcept {
    if (!secured_) {
        return 0;
    }
    std::uint64_t tag = 0;
    ::crypto_shorthash(reinterpret_cast<unsigned char*>(&tag),
                       reinterpret_cast<const unsigned char*>(&header), offsetof(Header, tag), key_.data());
    return tag;
}

Outcome client_handshake(Connection& connection, const Key& key, std::uint64_t bytes, SegmentId& id,
                         int* descriptor) noexcept {
    Header header{};
    Hello hello{};
    Outcome outcome = connection.receive(header, &hello, sizeof hello);
    if (outcome != Outcome::good) {
        return outcome;
    }
    if (header.operation != Operation::hello || header.length != sizeof hello) {
        return Outcome::malformed;
    }
    if (header.version != protocol_version) {
        connection.refuse(Refusal::wrong_version);
        return Outcome::refused;
    }
    Attach attach{};
    ::randombytes_buf(attach.nonce.data(), attach.nonce.size());
    attach.bytes = bytes;
    attach.segment = id;
    Transcript transcript{hello.nonce, attach.nonce, bytes, id};
    attach.proof = prove(key, 'c', transcript);
    Header request{};
    request.operation = Operation::attach;
    outcome = connection.send(request, &attach, sizeof attach);
    Attached attached{};
    if (outcome == Outcome::good) {
        outcome = connection.receive(header, &attached, sizeof attached, false, descriptor);
    }
    if (outcome != Outcome::good) {
        return outcome;
    }
    if (header.operation == Operation::refused) {
        connection.refuse(static_cast<Refusal>(header.detail));
        return Outcome::refused;
    }
    if (header.operation != Operation::attached || header.length != sizeof attached ||
        attached.bytes != bytes) {
        return Outcome::malformed;
    }
    transcript.segment = attached.segment;
    const Proof expected = prove(key, 's', transcript);
    if (::sodium_memcmp(expected.data(), attached.proof.data(), expected.size()) != 0) {
        connection.refuse(Refusal::wrong_key);
        return Outcome::refused;
    }
    id = attached.segment;
    connection.secure(session_key(key, transcript));
    return Outcome::good;
}

}  // namespace consort::remote
