// SPDX-License-Identifier: Apache-2.0
//
// The server's side of one connection: the attach, then requests.
#include <fcntl.h>
#include <sodium.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <vector>

#include "consort/linux/remote_segment.hpp"
#include "consort/linux/runtime_folder.hpp"
#include "server_segment.hpp"

namespace consort::remote {

namespace {

void refuse(Connection& connection, Refusal why) noexcept {
    Header header{};
    header.operation = Operation::refused;
    header.detail = static_cast<std::uint32_t>(why);
    connection.send(header, nullptr, 0);
}

}  // namespace

std::shared_ptr<Server::Segment> Server::found_segment(const Attach& attach) {
    const std::lock_guard lock(mutex_);
    const auto found = segments_.find(attach.segment);
    return found == segments_.end() ? nullptr : found->second.lock();
}

std::shared_ptr<Server::Segment> Server::new_segment(const Attach& attach, Refusal& why) {
    if (attach.bytes == 0 || attach.bytes % page_bytes != 0 || attach.bytes / page_bytes > UINT32_MAX) {
        why = Refusal::malformed;
        return nullptr;
    }
    if (options_.huge_pages && attach.bytes % huge_page != 0) {
        why = Refusal::huge_pages;
        return nullptr;
    }
    why = Refusal::no_room;
    {
        const std::lock_guard lock(mutex_);
        if (attach.bytes > options_.bytes - used_) {
            return nullptr;
        }
        used_ += attach.bytes;
    }
    std::shared_ptr<Segment> segment;
    try {
        segment = std::make_shared<Segment>(*this, attach.bytes);
    } catch (const std::exception&) {
        const std::lock_guard lock(mutex_);
        used_ -= attach.bytes;
        return nullptr;
    }
    // The memory must be there: a server that runs out later could only die.
    if (::posix_fallocate(segment->memory.fd(), 0, static_cast<off_t>(attach.bytes)) != 0) {
        return nullptr;
    }
    ::randombytes_buf(segment->id.data(), segment->id.size());
    segment->keep = std::min(std::chrono::milliseconds(attach.keep_ms), options_.most_keep);
    why = Refusal::none;
    return segment;
}

// Only from now on can the segment be named. Returns which connection of this role it is.
std::uint64_t Server::publish(const std::shared_ptr<Segment>& segment, Client& client, Role role) {
    std::uint64_t turn = 0;
    {
        const std::lock_guard lock(segment->mutex);
        turn = ++segment->newest[static_cast<std::size_t>(role)];
    }
    segment->changed.notify_all();
    const std::lock_guard lock(mutex_);
    segments_[segment->id] = segment;
    for (const Client& each : clients_) {
        if (each.segment == segment.get() && each.role == role && each.socket >= 0) {
            ::shutdown(each.socket, SHUT_RDWR);
        }
    }
    client.segment = segment.get();
    client.role = role;
    return turn;
}

std::shared_ptr<Server::Segment> Server::handshake(Connection& connection, Client& client, bool local,
                                                   std::uint64_t& turn) {
    const Ephemeral own = Ephemeral::make();
    Hello hello{};
    ::randombytes_buf(hello.nonce.data(), hello.nonce.size());
    hello.ephemeral = own.open;
    Header header{};
    header.operation = Operation::hello;
    Attach attach{};
    if (connection.send(header, &hello, sizeof hello) != Outcome::good ||
        connection.receive(header, &attach, sizeof attach) != Outcome::good) {
        return nullptr;
    }
    const auto refused = [&](Refusal why) {
        refuse(connection, why);
        return nullptr;
    };
    if (header.version != protocol_version) {
        return refused(Refusal::wrong_version);
    }
    if (header.operation != Operation::attach || header.length != sizeof attach ||
        static_cast<std::uint32_t>(attach.role) > 1) {
        return refused(Refusal::malformed);
    }
    std::shared_ptr<Segment> segment;
    if (attach.segment != SegmentId{}) {
        segment = found_segment(attach);
        if (segment == nullptr || segment->memory.bytes() != attach.bytes) {
            return refused(Refusal::unknown_segment);
        }
    }
    Transcript transcript{hello.nonce,    attach.nonce,   hello.ephemeral, attach.ephemeral, attach.bytes,
                          attach.segment, attach.ciphers, attach.keep_ms,  attach.role,      Cipher::none};
    const Key proving = bound_key(options_.key, segment != nullptr ? segment->secret : Secret{});
    if (!same(prove(proving, 'c', transcript), attach.proof)) {
        return refused(Refusal::wrong_key);
    }
    // Data that passes through this machine's memory is not encrypted.
    if (local ? (attach.ciphers & only(Cipher::none)) == 0
              : !choose_cipher(attach.ciphers, options_.must_encrypt, transcript.cipher)) {
        return refused(Refusal::not_encrypted);
    }
    const bool is_new = segment == nullptr;
    if (is_new) {
        Refusal why = Refusal::none;
        segment = new_segment(attach, why);
        if (segment == nullptr) {
            return refused(why);
        }
    }
    transcript.segment = segment->id;
    SessionKeys keys{};
    if (!session_keys(proving, transcript, own, true, keys)) {
        return refused(Refusal::malformed);
    }
    if (is_new) {
        segment->secret = keys.segment;
    }
    turn = publish(segment, client, attach.role);
    const Attached attached{attach.bytes, segment->id, transcript.cipher, 0, prove(proving, 's', transcript)};
    header = {};
    header.operation = Operation::attached;
    if (connection.send(header, &attached, sizeof attached, nullptr, 0, local ? segment->memory.fd() : -1) !=
            Outcome::good ||
        !connection.secure(keys, transcript.cipher, true)) {
        // It may have arrived: the segment is kept as after any cut.
        connection.cut();
    }
    return segment;
}

Refusal Server::store(Segment& segment, const Client& client, std::uint64_t turn, const Header& header,
                      const std::byte* payload) noexcept {
    const auto* pages = reinterpret_cast<const StoredPage*>(payload);
    const std::byte* data = payload + header.count * sizeof(StoredPage);
    for (std::uint32_t i = 0; i < header.count; ++i) {
        if (pages[i].page >= segment.pages()) {
            return Refusal::out_of_range;
        }
        if (page_crc(data + i * page_bytes) != pages[i].crc) {
            return Refusal::corrupted;
        }
    }
    // A client that gave this connection up may have stored newer pages over the next one.
    const std::lock_guard lock(segment.mutex);
    if (segment.newest[static_cast<std::size_t>(client.role)] != turn) {
        return Refusal::superseded;
    }
    for (std::uint32_t i = 0; i < header.count; ++i) {
        std::memcpy(segment.page(pages[i].page), data + i * page_bytes, page_bytes);
    }
    return Refusal::none;
}

bool Server::serve_one(Connection& connection, Segment& segment, const Client& client, std::uint64_t turn,
                       std::byte* payload) noexcept {
    Header header{};
    const Outcome came = connection.receive(header, payload, most_payload, true);
    if (came == Outcome::malformed) {
        refuse(connection, Refusal::malformed);
    }
    if (came != Outcome::good) {
        return false;
    }
    if (header.sequence != connection.sequence) {
        refuse(connection, Refusal::replayed);
        return false;
    }
    const auto answer = [&](Operation operation, const std::byte* data, std::size_t bytes) {
        Header said{};
        said.operation = operation;
        const Outcome sent = connection.send(said, data, bytes);
        ++connection.sequence;
        return sent == Outcome::good;
    };
    const bool counted = header.count >= 1 && header.count <= most_pages;
    Refusal why = Refusal::malformed;
    if (header.operation == Operation::fetch && counted && header.length == 0) {
        const std::int64_t stride = header.stride == 0 ? 1 : header.stride;
        const std::int64_t last = header.page + (header.count - 1) * stride;
        if (header.page < segment.pages() && last >= 0 && last < segment.pages()) {
            if (stride == 1) {
                return answer(Operation::fetched, segment.page(header.page), header.count * page_bytes);
            }
            for (std::uint32_t i = 0; i < header.count; ++i) {
                const auto page = static_cast<std::uint32_t>(header.page + i * stride);
                std::memcpy(payload + i * page_bytes, segment.page(page), page_bytes);
            }
            return answer(Operation::fetched, payload, header.count * page_bytes);
        }
        why = Refusal::out_of_range;
    } else if (header.operation == Operation::store && counted &&
               header.length == header.count * (page_bytes + sizeof(StoredPage))) {
        why = store(segment, client, turn, header, payload);
        if (why == Refusal::none) {
            return answer(Operation::stored, nullptr, 0);
        }
    } else if (header.operation == Operation::reach && header.length == sizeof(FabricName)) {
        FabricName name{};
        std::memcpy(name.data(), payload, sizeof name);
        return serve_reach(connection, segment, name);
    } else if (header.operation == Operation::detach && header.length == 0) {
        {
            const std::lock_guard lock(segment.mutex);
            segment.detached = true;
        }
        segment.changed.notify_all();
        answer(Operation::detached, nullptr, 0);
        return false;
    }
    refuse(connection, why);
    return false;
}

// After its connection was cut the client may come again; another thread then has the segment.
void Server::keep(Segment& segment, const Client& client, std::uint64_t turn) noexcept {
    std::unique_lock lock(segment.mutex);
    segment.changed.wait_for(lock, segment.keep, [&] {
        return ending_ || segment.detached || segment.newest[static_cast<std::size_t>(client.role)] != turn;
    });
}

void Server::release_kept() {
    std::vector<std::shared_ptr<Segment>> all;  // outlives the lock, which their destructors take
    {
        const std::lock_guard lock(mutex_);
        for (const auto& [id, segment] : segments_) {
            if (auto held = segment.lock(); held != nullptr) {
                all.push_back(std::move(held));
            }
        }
    }
    for (const auto& each : all) {
        const std::lock_guard lock(each->mutex);
        each->changed.notify_all();
    }
}

void Server::serve(Client& client, bool local) noexcept {
    try {
        std::shared_ptr<Segment> segment;
        std::uint64_t turn = 0;
        {
            Connection connection(client.socket, options_.spin, options_.patience);
            // Before the connection closes it: the number may then be another file's.
            const auto forget = [&](int*) {
                const std::lock_guard lock(mutex_);
                client.socket = -1;
            };
            const std::unique_ptr<int, decltype(forget)> forgotten(&client.socket, forget);
            {
                // Proven, or about to end.
                const auto end = [&](Client* proven) {
                    const std::lock_guard lock(mutex_);
                    proven->unproven = false;
                };
                const std::unique_ptr<Client, decltype(end)> proving(&client, end);
                if (local) {
                    linux_port::expect_own_peer(connection.socket());
                }
                segment = handshake(connection, client, local, turn);
            }
            if (segment != nullptr) {
                std::vector<std::byte> payload(most_payload);
                while (serve_one(connection, *segment, client, turn, payload.data())) {
                }
            }
        }
        if (segment != nullptr) {
            keep(*segment, client, turn);
        }
    } catch (const std::exception&) {
        // Without memory for a client, or with a stranger at the socket: this connection ends.
    }
}

}  // namespace consort::remote
