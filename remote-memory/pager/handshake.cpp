// SPDX-License-Identifier: Apache-2.0
//
// The client's half of the attach; the server's is in server.cpp.
#include <sodium.h>

#include "connection.hpp"

namespace consort::remote {

Outcome client_handshake(Connection& connection, const Key& key, ClientAttach& wanted,
                         int* descriptor) noexcept {
    Header header{};
    Hello hello{};
    Outcome outcome = connection.receive(header, &hello, sizeof hello);
    if (outcome != Outcome::good) {
        return outcome;
    }
    const auto refuse = [&](Refusal why) {
        connection.refuse(why);
        return Outcome::refused;
    };
    if (header.operation == Operation::hello && header.version != protocol_version) {
        return refuse(Refusal::wrong_version);
    }
    if (header.operation != Operation::hello || header.length != sizeof hello) {
        return Outcome::malformed;
    }
    const Ephemeral own = Ephemeral::make();
    Attach attach{};
    ::randombytes_buf(attach.nonce.data(), attach.nonce.size());
    attach.ephemeral = own.open;
    attach.bytes = wanted.bytes;
    attach.segment = wanted.id;
    attach.ciphers = wanted.ciphers;
    attach.keep_ms = wanted.keep_ms;
    attach.role = wanted.role;
    Transcript transcript{hello.nonce,    attach.nonce,   hello.ephemeral, own.open,    attach.bytes,
                          attach.segment, attach.ciphers, attach.keep_ms,  attach.role, Cipher::none};
    const Key proving = bound_key(key, wanted.secret);
    attach.proof = prove(proving, 'c', transcript);
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
        return refuse(static_cast<Refusal>(header.detail));
    }
    if (header.operation != Operation::attached || header.length != sizeof attached ||
        attached.bytes != wanted.bytes) {
        return Outcome::malformed;
    }
    transcript.segment = attached.segment;
    transcript.cipher = attached.cipher;
    if (!same(prove(proving, 's', transcript), attached.proof)) {
        return refuse(Refusal::wrong_key);
    }
    const bool known = wanted.id != SegmentId{};
    if ((known && attached.segment != wanted.id) ||
        (static_cast<std::uint32_t>(attached.cipher) > 2 || (wanted.ciphers & only(attached.cipher)) == 0)) {
        return Outcome::malformed;
    }
    SessionKeys keys{};
    if (!session_keys(proving, transcript, own, false, keys)) {
        return Outcome::malformed;
    }
    wanted.id = attached.segment;
    if (!known) {
        wanted.secret = keys.segment;
    }
    return connection.secure(keys, attached.cipher, false) ? Outcome::good : Outcome::out_of_memory;
}

}  // namespace consort::remote
