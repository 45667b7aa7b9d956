// SPDX-License-Identifier: Apache-2.0
#include "transport.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <system_error>

#include "connection.hpp"
#include "consort/linux/runtime_folder.hpp"
#include "consort/linux/shared_memory.hpp"
#include "descriptors.hpp"

namespace consort::remote {

namespace {

// The segment's memory itself, mapped: the server made it for this client alone and gave it over the socket.
class SharedTransport final : public Transport {
  public:
    SharedTransport(std::unique_ptr<Connection> connection, linux_port::SharedMemory memory)
        : connection_(std::move(connection)), memory_(std::move(memory)) {}

    Outcome fetch(std::uint32_t first, std::uint32_t, std::byte*, const std::byte*& data) noexcept override {
        data = home() + first * page_bytes;
        return Outcome::good;
    }
    Outcome store(StoredPage* pages, const std::byte* const* sources, std::uint32_t count) noexcept override {
        for (std::uint32_t i = 0; i < count; ++i) {
            std::byte* to = home() + pages[i].page * page_bytes;
            std::memcpy(to, sources[i], page_bytes);
            pages[i].crc = page_crc(to);
        }
        return Outcome::good;
    }
    [[nodiscard]] bool serial() const noexcept override { return false; }
    [[nodiscard]] Refusal refusal() const noexcept override { return Refusal::none; }
    [[nodiscard]] int descriptor() const noexcept override { return memory_.fd(); }
    [[nodiscard]] std::byte* home() const noexcept override {
        return static_cast<std::byte*>(memory_.base());
    }

  private:
    // Open for as long as the segment is attached.
    std::unique_ptr<Connection> connection_;
    linux_port::SharedMemory memory_;
};

// Two connections to one segment: a fault does not wait behind a batch that is written back.
class TcpTransport final : public Transport {
  public:
    TcpTransport(std::unique_ptr<Connection> fetches, std::unique_ptr<Connection> stores)
        : fetches_(std::move(fetches)), stores_(std::move(stores)), staging_(new Staging) {}

    Outcome fetch(std::uint32_t first, std::uint32_t count, std::byte* bounce,
                  const std::byte*& data) noexcept override {
        Header request{};
        request.operation = Operation::fetch;
        request.page = first;
        request.count = count;
        Header answer{};
        const Outcome outcome = fetches_->ask(request, nullptr, 0, nullptr, 0, Operation::fetched, answer,
                                              bounce, most_pages * page_bytes);
        if (outcome == Outcome::good && answer.length != count * page_bytes) {
            return Outcome::malformed;
        }
        data = bounce;
        return note(outcome, *fetches_);
    }

    Outcome store(StoredPage* pages, const std::byte* const* sources, std::uint32_t count) noexcept override {
        for (std::uint32_t i = 0; i < count; ++i) {
            // A copy first: the program may write to the page meanwhile, and the CRC must be that of what is
            // sent.
            std::memcpy((*staging_)[i].data(), sources[i], page_bytes);
            pages[i].crc = page_crc((*staging_)[i].data());
        }
        Header request{};
        request.operation = Operation::store;
        request.count = count;
        Header answer{};
        return note(stores_->ask(request, pages, count * sizeof *pages, staging_->data(), count * page_bytes,
                                 Operation::stored, answer, nullptr, 0),
                    *stores_);
    }
    [[nodiscard]] bool serial() const noexcept override { return true; }
    [[nodiscard]] Refusal refusal() const noexcept override { return refusal_; }

  private:
    using Staging = std::array<std::array<std::byte, page_bytes>, most_pages>;

    Outcome note(Outcome outcome, const Connection& connection) noexcept {
        if (outcome == Outcome::refused) {
            refusal_ = connection.refusal();
        }
        return outcome;
    }
    std::unique_ptr<Connection> fetches_;
    std::unique_ptr<Connection> stores_;
    std::unique_ptr<Staging> staging_;
    Refusal refusal_ = Refusal::none;
};

bool on_this_machine(const std::string& server) {
    return server.find('/') != std::string::npos;
}

int connect_local(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path) {
        throw std::invalid_argument(path + " is too long for a socket");
    }
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    const int made = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (made < 0 || ::connect(made, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
        const int error = errno;
        if (made >= 0) {
            ::close(made);
        }
        throw std::system_error(error, std::generic_category(), "no server at " + path);
    }
    try {
        linux_port::expect_own_peer(made);
    } catch (...) {
        ::close(made);
        throw;
    }
    return made;
}

int connect_tcp(const std::string& server) {
    const auto colon = server.rfind(':');
    std::string host = server.substr(0, colon);
    if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
        host = host.substr(1, host.size() - 2);
    }
    if (colon == std::string::npos || host.empty()) {
        throw std::invalid_argument("'" + server + "' is no HOST:PORT");
    }
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    if (const int error = ::getaddrinfo(host.c_str(), server.c_str() + colon + 1, &hints, &found);
        error != 0) {
        throw std::system_error(EHOSTUNREACH, std::generic_category(), server + ": " + ::gai_strerror(error));
    }
    int last = ECONNREFUSED;
    int made = -1;
    for (const addrinfo* each = found; each != nullptr && made < 0; each = each->ai_next) {
        made = ::socket(each->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (made >= 0 && ::connect(made, each->ai_addr, each->ai_addrlen) != 0) {
            last = errno;
            ::close(made);
            made = -1;
        }
    }
    ::freeaddrinfo(found);
    if (made < 0) {
        throw std::system_error(last, std::generic_category(), "no server at " + server);
    }
    const int yes = 1;
    ::setsockopt(made, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    return made;
}

[[noreturn]] void explain(const Attachment& wanted, Outcome outcome, const Connection& connection) {
    if (outcome == Outcome::refused) {
        throw std::invalid_argument(wanted.server + ": " + describe(connection.refusal()));
    }
    throw std::system_error(EPROTO, std::generic_category(), wanted.server + ": " + describe(outcome));
}

std::unique_ptr<Connection> opened(const Attachment& wanted, const Key& key, SegmentId& id,
                                   int* descriptor = nullptr) {
    // The server takes the memory from its kernel first, which zeroes it: a second for 256 MiB is ample.
    const std::chrono::seconds zeroing(wanted.bytes >> 28U);
    auto connection =
        std::make_unique<Connection>(connect_to(wanted.server), wanted.spin, wanted.patience + zeroing);
    const Outcome outcome = client_handshake(*connection, key, wanted.bytes, id, descriptor);
    if (outcome != Outcome::good) {
        explain(wanted, outcome, *connection);
    }
    connection->set_patience(wanted.patience);
    return connection;
}

}  // namespace

int connect_to(const std::string& server) {
    return out_of_the_way(on_this_machine(server) ? connect_local(server) : connect_tcp(server));
}

std::unique_ptr<Transport> attach(const Attachment& wanted) {
    const Key key = read_key(wanted.key_file);
    SegmentId id{};
    if (!on_this_machine(wanted.server)) {
        auto fetches = opened(wanted, key, id);
        auto stores = opened(wanted, key, id);
        return std::make_unique<TcpTransport>(std::move(fetches), std::move(stores));
    }
    int descriptor = -1;
    auto connection = opened(wanted, key, id, &descriptor);
    if (descriptor < 0) {
        throw std::system_error(EPROTO, std::generic_category(), wanted.server + ": no memory came");
    }
    auto memory = linux_port::SharedMemory::adopt(descriptor);
    if (memory.bytes() != wanted.bytes || !memory.size_is_sealed()) {
        throw std::system_error(EPROTO, std::generic_category(),
                                wanted.server + ": the memory has another size, or one that can change");
    }
    return std::make_unique<SharedTransport>(std::move(connection), std::move(memory));
}

}  // namespace consort::remote
