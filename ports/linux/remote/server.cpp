// SPDX-License-Identifier: Apache-2.0
#include "server.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sodium.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <system_error>
#include <vector>

#include "consort/linux/runtime_folder.hpp"
#include "transport.hpp"

namespace consort::remote {

struct Server::Segment {
    Segment(Server& owner, std::uint64_t size)
        : server(owner), memory(linux_port::SharedMemory::anonymous("consort-segment", size)) {}
    Segment(const Segment&) = delete;
    Segment& operator=(const Segment&) = delete;
    ~Segment() {
        const std::lock_guard lock(server.mutex_);
        server.used_ -= memory.bytes();
        server.segments_.erase(id);
    }
    [[nodiscard]] std::uint32_t pages() const {
        return static_cast<std::uint32_t>(memory.bytes() / page_bytes);
    }
    [[nodiscard]] std::byte* page(std::uint32_t number) const {
        return static_cast<std::byte*>(memory.base()) + number * page_bytes;
    }

    Server& server;
    SegmentId id{};
    linux_port::SharedMemory memory;
};

namespace {

void refuse(Connection& connection, Refusal why) noexcept {
    Header header{};
    header.operation = Operation::refused;
    header.detail = static_cast<std::uint32_t>(why);
    connection.send(header, nullptr, 0);
}

[[noreturn]] void fail(const std::string& what) {
    throw std::system_error(errno, std::generic_category(), what);
}

}  // namespace

Server::Server(const ServerOptions& options) : options_(options) {
    if (!options_.path.empty()) {
        listening_[0] = listen_local();
    }
    if (!options_.listen.empty()) {
        listening_[1] = listen_tcp();
    }
    for (std::size_t i = 0; i < listening_.size(); ++i) {
        if (listening_[i] >= 0) {
            accepting_[i] = std::thread([this, i] { accept_from(listening_[i], i == 0); });
        }
    }
}

Server::~Server() {
    ending_ = true;
    for (const int each : listening_) {
        if (each >= 0) {
            ::shutdown(each, SHUT_RDWR);
        }
    }
    for (std::thread& each : accepting_) {
        if (each.joinable()) {
            each.join();
        }
    }
    for (const int each : listening_) {
        if (each >= 0) {
            ::close(each);
        }
    }
    {
        const std::lock_guard lock(mutex_);
        for (const Client& each : clients_) {
            if (each.socket >= 0) {
                ::shutdown(each.socket, SHUT_RDWR);
            }
        }
    }
    for (Client& each : clients_) {
        each.thread.join();
    }
    if (!options_.path.empty()) {
        ::unlink(options_.path.c_str());
    }
}

std::uint64_t Server::used() const {
    const std::lock_guard lock(mutex_);
    return used_;
}

int Server::listen_local() {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (options_.path.size() >= sizeof address.sun_path) {
        throw std::invalid_argument(options_.path + " is too long for a socket");
    }
    std::memcpy(address.sun_path, options_.path.c_str(), options_.path.size() + 1);
    const int made = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (made < 0) {
        fail("socket");
    }
    const auto* place = reinterpret_cast<const sockaddr*>(&address);
    if (::bind(made, place, sizeof address) != 0 && errno == EADDRINUSE) {
        try {
            ::close(connect_to(options_.path));
            ::close(made);
            throw std::invalid_argument("a server listens at " + options_.path + " already");
        } catch (const std::system_error&) {
            // Nobody listens: a server that died left it.
            ::unlink(options_.path.c_str());
        }
        if (::bind(made, place, sizeof address) != 0) {
            fail(options_.path);
        }
    }
    if (::listen(made, SOMAXCONN) != 0) {
        fail(options_.path);
    }
    return made;
}

int Server::listen_tcp() {
    const std::string& text = options_.listen;
    const auto colon = text.rfind(':');
    if (colon == std::string::npos || colon == 0) {
        throw std::invalid_argument("'" + text + "' is no HOST:PORT");
    }
    std::string host = text.substr(0, colon);
    if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
        host = host.substr(1, host.size() - 2);
    }
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_PASSIVE;
    addrinfo* found = nullptr;
    if (const int error = ::getaddrinfo(host.c_str(), text.c_str() + colon + 1, &hints, &found); error != 0) {
        throw std::invalid_argument(text + ": " + ::gai_strerror(error));
    }
    const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owned(found, &::freeaddrinfo);
    const int made = ::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int yes = 1;
    if (made < 0 || ::setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0 ||
        ::bind(made, found->ai_addr, found->ai_addrlen) != 0 || ::listen(made, SOMAXCONN) != 0) {
        fail(text);
    }
    sockaddr_storage bound{};
    socklen_t size = sizeof bound;
    ::getsockname(made, reinterpret_cast<sockaddr*>(&bound), &size);
    port_ = ntohs(bound.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&bound)->sin6_port
                                              : reinterpret_cast<sockaddr_in*>(&bound)->sin_port);
    return made;
}

void Server::reap() {
    for (auto each = clients_.begin(); each != clients_.end();) {
        if (each->ended) {
            each->thread.join();
            each = clients_.erase(each);
        } else {
            ++each;
        }
    }
}

void Server::accept_from(int listening, bool local) {
    while (!ending_) {
        const int socket = ::accept4(listening, nullptr, nullptr, SOCK_CLOEXEC);
        if (socket < 0) {
            if (errno == EINTR || errno == ECONNABORTED || errno == EMFILE || errno == ENFILE) {
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
                continue;
            }
            return;
        }
        if (unproven_ >= most_unproven) {
            ::close(socket);
            continue;
        }
        const int yes = 1;
        ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
        begin(socket, local);
    }
}

void Server::begin(int socket, bool local) {
    const std::lock_guard lock(mutex_);
    reap();
    clients_.emplace_back();
    Client& client = clients_.back();
    client.socket = socket;
    ++unproven_;
    try {
        client.thread = std::thread([this, &client, local] {
            serve(client, local);
            client.ended = true;
        });
    } catch (const std::system_error&) {
        // No thread for it: those that are served stay.
        clients_.pop_back();
        --unproven_;
        ::close(socket);
    }
}

std::shared_ptr<Server::Segment> Server::segment_for(const Attach& attach, Refusal& why) {
    std::shared_ptr<Segment> segment;  // outlives the lock, which its destructor takes
    std::unique_lock lock(mutex_);
    if (attach.segment != SegmentId{}) {
        const auto found = segments_.find(attach.segment);
        segment = found == segments_.end() ? nullptr : found->second.lock();
        why = segment != nullptr && segment->memory.bytes() == attach.bytes ? Refusal::none
                                                                            : Refusal::unknown_segment;
        return segment;
    }
    if (attach.bytes == 0 || attach.bytes % page_bytes != 0 || attach.bytes / page_bytes > UINT32_MAX) {
        why = Refusal::malformed;
        return nullptr;
    }
    why = Refusal::no_room;
    if (attach.bytes > options_.bytes - used_) {
        return nullptr;
    }
    used_ += attach.bytes;
    lock.unlock();
    try {
        segment = std::make_shared<Segment>(*this, attach.bytes);
    } catch (const std::exception&) {
        lock.lock();
        used_ -= attach.bytes;
        return nullptr;
    }
    // The memory must be there: a server that runs out later could only die.
    if (::posix_fallocate(segment->memory.fd(), 0, static_cast<off_t>(attach.bytes)) != 0) {
        return nullptr;
    }
    ::randombytes_buf(segment->id.data(), segment->id.size());
    lock.lock();
    segments_[segment->id] = segment;
    why = Refusal::none;
    return segment;
}

std::shared_ptr<Server::Segment> Server::handshake(Connection& connection, bool local) {
    Transcript transcript{};
    Hello hello{};
    ::randombytes_buf(hello.nonce.data(), hello.nonce.size());
    Header header{};
    header.operation = Operation::hello;
    Attach attach{};
    if (connection.send(header, &hello, sizeof hello) != Outcome::good ||
        connection.receive(header, &attach, sizeof attach) != Outcome::good) {
        return nullptr;
    }
    if (header.version != protocol_version) {
        refuse(connection, Refusal::wrong_version);
        return nullptr;
    }
    if (header.operation != Operation::attach || header.length != sizeof attach) {
        refuse(connection, Refusal::malformed);
        return nullptr;
    }
    transcript = {hello.nonce, attach.nonce, attach.bytes, attach.segment};
    const Proof expected = prove(options_.key, 'c', transcript);
    if (::sodium_memcmp(expected.data(), attach.proof.data(), expected.size()) != 0) {
        refuse(connection, Refusal::wrong_key);
        return nullptr;
    }
    Refusal why = Refusal::none;
    auto segment = segment_for(attach, why);
    if (why != Refusal::none) {
        refuse(connection, why);
        return nullptr;
    }
    transcript.segment = segment->id;
    Attached attached{attach.bytes, segment->id, prove(options_.key, 's', transcript)};
    header = {};
    header.operation = Operation::attached;
    if (connection.send(header, &attached, sizeof attached, nullptr, 0, local ? segment->memory.fd() : -1) !=
        Outcome::good) {
        return nullptr;
    }
    connection.secure(session_key(options_.key, transcript));
    return segment;
}

bool Server::serve_one(Connection& connection, Segment& segment, std::byte* payload) noexcept {
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
    Refusal why = Refusal::none;
    Header answer{};
    const bool counted = header.count >= 1 && header.count <= most_pages;
    if (header.operation == Operation::fetch && counted && header.length == 0) {
        if (std::uint64_t{header.page} + header.count <= segment.pages()) {
            answer.operation = Operation::fetched;
            const Outcome sent =
                connection.send(answer, segment.page(header.page), header.count * page_bytes);
            ++connection.sequence;
            return sent == Outcome::good;
        }
        why = Refusal::out_of_range;
    } else if (header.operation == Operation::store && counted &&
               header.length == header.count * (page_bytes + sizeof(StoredPage))) {
        const auto* pages = reinterpret_cast<const StoredPage*>(payload);
        const std::byte* data = payload + header.count * sizeof(StoredPage);
        for (std::uint32_t i = 0; i < header.count && why == Refusal::none; ++i) {
            if (pages[i].page >= segment.pages()) {
                why = Refusal::out_of_range;
            } else if (page_crc(data + i * page_bytes) != pages[i].crc) {
                why = Refusal::corrupted;
            }
        }
        if (why == Refusal::none) {
            for (std::uint32_t i = 0; i < header.count; ++i) {
                std::memcpy(segment.page(pages[i].page), data + i * page_bytes, page_bytes);
            }
            answer.operation = Operation::stored;
            const Outcome sent = connection.send(answer, nullptr, 0);
            ++connection.sequence;
            return sent == Outcome::good;
        }
    } else {
        why = Refusal::malformed;
    }
    refuse(connection, why);
    return false;
}

void Server::serve(Client& client, bool local) noexcept {
    try {
        Connection connection(client.socket, options_.spin, options_.patience);
        // Before the connection closes it: the number may then be another file's.
        const auto forget = [&](int*) {
            const std::lock_guard lock(mutex_);
            client.socket = -1;
        };
        const std::unique_ptr<int, decltype(forget)> forgotten(&client.socket, forget);
        std::shared_ptr<Segment> segment;
        {
            const auto end = [](std::atomic<int>* count) { --*count; };
            const std::unique_ptr<std::atomic<int>, decltype(end)> proving(&unproven_, end);
            if (local) {
                linux_port::expect_own_peer(connection.socket());
            }
            segment = handshake(connection, local);
        }
        if (segment != nullptr) {
            std::vector<std::byte> payload(most_payload);
            while (serve_one(connection, *segment, payload.data())) {
            }
        }
    } catch (const std::exception&) {
        // Without memory for a client, or with a stranger at the socket: this connection ends.
    }
}

}  // namespace consort::remote
