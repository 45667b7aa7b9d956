// SPDX-License-Identifier: Apache-2.0
#include "keys.hpp"

#include <fcntl.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace consort::remote {

static_assert(crypto_auth_KEYBYTES == std::tuple_size_v<Key>);
static_assert(crypto_auth_BYTES == std::tuple_size_v<Proof>);
static_assert(crypto_kx_PUBLICKEYBYTES == std::tuple_size_v<PublicKey>);
static_assert(crypto_kx_SECRETKEYBYTES == 32 && crypto_kx_SESSIONKEYBYTES == 32);
static_assert(crypto_shorthash_KEYBYTES == 16 && crypto_shorthash_BYTES == sizeof(std::uint64_t));
static_assert(crypto_aead_aes256gcm_KEYBYTES == 32 && crypto_aead_chacha20poly1305_ietf_KEYBYTES == 32);
static_assert(crypto_aead_aes256gcm_NPUBBYTES == 12 && crypto_aead_chacha20poly1305_ietf_NPUBBYTES == 12);
static_assert(crypto_aead_aes256gcm_ABYTES == Sealer::overhead &&
              crypto_aead_chacha20poly1305_ietf_ABYTES == Sealer::overhead);
static_assert(sizeof(crypto_aead_aes256gcm_state) == 512);

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

std::uint32_t encrypting_ciphers() noexcept {
    // The library looks at the processor when it begins.
    const bool has_aes = ::sodium_init() >= 0 && ::crypto_aead_aes256gcm_is_available() == 1;
    return only(Cipher::chacha20_poly1305) | (has_aes ? only(Cipher::aes256_gcm) : 0);
}

bool choose_cipher(std::uint32_t offered, bool must_encrypt, Cipher& chosen) noexcept {
    const std::uint32_t taken = offered & (encrypting_ciphers() | (must_encrypt ? 0 : only(Cipher::none)));
    for (const Cipher each : {Cipher::aes256_gcm, Cipher::chacha20_poly1305, Cipher::none}) {
        if ((taken & only(each)) != 0) {
            chosen = each;
            return true;
        }
    }
    return false;
}

namespace {

using Bytes = std::array<unsigned char, 1 + 32 + sizeof(Transcript)>;

Bytes labelled(char label, const std::array<std::uint8_t, 32>& agreed,
               const Transcript& transcript) noexcept {
    static_assert(sizeof(Transcript) == 4 * 32 + 8 + 16 + 4 * 4, "without padding");
    Bytes bytes{};
    bytes[0] = static_cast<unsigned char>(label);
    std::memcpy(bytes.data() + 1, agreed.data(), agreed.size());
    std::memcpy(bytes.data() + 33, &transcript, sizeof transcript);
    return bytes;
}

// A key for one purpose from what the exchange agreed on, the pre-shared key, and all that was said.
template <std::size_t Size>
void derive(std::array<std::uint8_t, Size>& made, const Key& key, char label,
            const std::array<std::uint8_t, 32>& agreed, const Transcript& transcript) noexcept {
    Bytes bytes = labelled(label, agreed, transcript);
    ::crypto_generichash(made.data(), made.size(), bytes.data(), bytes.size(), key.data(), key.size());
    ::sodium_memzero(bytes.data(), bytes.size());
}

}  // namespace

Proof prove(const Key& key, char role, const Transcript& transcript) noexcept {
    const Bytes bytes = labelled(role, {}, transcript);
    Proof proof{};
    ::crypto_auth(proof.data(), bytes.data(), bytes.size(), key.data());
    return proof;
}

bool same(const Proof& one, const Proof& other) noexcept {
    return ::sodium_memcmp(one.data(), other.data(), one.size()) == 0;
}

Key bound_key(const Key& key, const Secret& secret) noexcept {
    if (secret == Secret{}) {
        return key;
    }
    Key made{};
    ::crypto_generichash(made.data(), made.size(), secret.data(), secret.size(), key.data(), key.size());
    return made;
}

Ephemeral Ephemeral::make() noexcept {
    Ephemeral made{};
    ::crypto_kx_keypair(made.open.data(), made.hidden.data());
    return made;
}

bool session_keys(const Key& key, const Transcript& transcript, const Ephemeral& own, bool is_server,
                  SessionKeys& keys) noexcept {
    std::array<std::uint8_t, 32> in{};
    std::array<std::uint8_t, 32> out{};
    const PublicKey& other = is_server ? transcript.client_ephemeral : transcript.server_ephemeral;
    const int done = is_server ? ::crypto_kx_server_session_keys(in.data(), out.data(), own.open.data(),
                                                                 own.hidden.data(), other.data())
                               : ::crypto_kx_client_session_keys(in.data(), out.data(), own.open.data(),
                                                                 own.hidden.data(), other.data());
    if (done != 0) {
        return false;
    }
    const auto& from_client = is_server ? in : out;
    const auto& from_server = is_server ? out : in;
    derive(keys.headers, key, 'h', from_client, transcript);
    derive(keys.from_client, key, 'C', from_client, transcript);
    derive(keys.from_server, key, 'S', from_server, transcript);
    derive(keys.segment, key, 'r', from_server, transcript);
    ::sodium_memzero(in.data(), in.size());
    ::sodium_memzero(out.data(), out.size());
    return true;
}

namespace {

struct NoteKey {
    std::array<std::uint8_t, crypto_secretbox_KEYBYTES> key{};
    std::array<std::uint8_t, crypto_secretbox_NONCEBYTES> nonce{};

    NoteKey(const std::array<std::uint8_t, 16>& of, std::uint64_t number) noexcept {
        static constexpr std::array<std::uint8_t, 4> purpose{'n', 'o', 't', 'e'};
        ::crypto_generichash(key.data(), key.size(), purpose.data(), purpose.size(), of.data(), of.size());
        std::memcpy(nonce.data(), &number, sizeof number);
    }
    NoteKey(const NoteKey&) = delete;
    NoteKey& operator=(const NoteKey&) = delete;
    ~NoteKey() { ::sodium_memzero(key.data(), key.size()); }
};

}  // namespace

static_assert(crypto_secretbox_MACBYTES == note_overhead && crypto_generichash_KEYBYTES_MIN <= 16);

void seal_note(const std::array<std::uint8_t, 16>& key, std::uint64_t number, const void* from,
               std::size_t bytes, std::byte* to) noexcept {
    const NoteKey with(key, number);
    ::crypto_secretbox_easy(reinterpret_cast<unsigned char*>(to), static_cast<const unsigned char*>(from),
                            bytes, with.nonce.data(), with.key.data());
}

bool open_note(const std::array<std::uint8_t, 16>& key, std::uint64_t number, const std::byte* from,
               std::size_t bytes, void* to) noexcept {
    const NoteKey with(key, number);
    return ::crypto_secretbox_open_easy(static_cast<unsigned char*>(to),
                                        reinterpret_cast<const unsigned char*>(from), bytes + note_overhead,
                                        with.nonce.data(), with.key.data()) == 0;
}

std::uint64_t header_tag(const Header& header, const std::array<std::uint8_t, 16>& key) noexcept {
    std::uint64_t tag = 0;
    ::crypto_shorthash(reinterpret_cast<unsigned char*>(&tag),
                       reinterpret_cast<const unsigned char*>(&header), offsetof(Header, tag), key.data());
    return tag;
}

void Sealer::begin(const SessionKeys& keys, Cipher cipher, bool is_server) noexcept {
    cipher_ = cipher;
    out_.key = is_server ? keys.from_server : keys.from_client;
    in_.key = is_server ? keys.from_client : keys.from_server;
    for (Direction* each : {&out_, &in_}) {
        each->number = 0;
        if (cipher == Cipher::aes256_gcm) {
            ::crypto_aead_aes256gcm_beforenm(
                reinterpret_cast<crypto_aead_aes256gcm_state*>(each->prepared.data()), each->key.data());
        }
    }
}

std::array<std::uint8_t, 12> Sealer::next(Direction& direction) noexcept {
    std::array<std::uint8_t, 12> nonce{};
    std::memcpy(nonce.data(), &direction.number, sizeof direction.number);
    ++direction.number;
    return nonce;
}

void Sealer::seal(const void* from, std::size_t bytes, std::byte* to) noexcept {
    const auto nonce = next(out_);
    auto* sealed = reinterpret_cast<unsigned char*>(to);
    const auto* plain = static_cast<const unsigned char*>(from);
    if (cipher_ == Cipher::aes256_gcm) {
        ::crypto_aead_aes256gcm_encrypt_afternm(
            sealed, nullptr, plain, bytes, nullptr, 0, nullptr, nonce.data(),
            reinterpret_cast<const crypto_aead_aes256gcm_state*>(out_.prepared.data()));
    } else {
        ::crypto_aead_chacha20poly1305_ietf_encrypt(sealed, nullptr, plain, bytes, nullptr, 0, nullptr,
                                                    nonce.data(), out_.key.data());
    }
}

bool Sealer::open(const std::byte* from, std::size_t bytes, void* to) noexcept {
    const auto nonce = next(in_);
    auto* plain = static_cast<unsigned char*>(to);
    const auto* sealed = reinterpret_cast<const unsigned char*>(from);
    if (cipher_ == Cipher::aes256_gcm) {
        return ::crypto_aead_aes256gcm_decrypt_afternm(
                   plain, nullptr, nullptr, sealed, bytes + overhead, nullptr, 0, nonce.data(),
                   reinterpret_cast<const crypto_aead_aes256gcm_state*>(in_.prepared.data())) == 0;
    }
    return ::crypto_aead_chacha20poly1305_ietf_decrypt(plain, nullptr, nullptr, sealed, bytes + overhead,
                                                       nullptr, 0, nonce.data(), in_.key.data()) == 0;
}

}  // namespace consort::remote
