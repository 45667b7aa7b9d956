// SPDX-License-Identifier: Apache-2.0
#include "server.hpp"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <system_error>
#include <vector>

#include "consort/linux/runtime_folder.hpp"
#include "dial.hpp"
#include "server_segment.hpp"

namespace consort::remote {

namespace {

[[noreturn]] void fail(const std::string& what) {
    throw std::system_error(errno, std::generic_category(), what);
}

// A segment of a client whose machine is gone must not stay for ever: such a client is found within a minute.
// Data that stands still is sent at once.
void prepare(int socket) {
    const auto set = [&](int level, int name, int value) {
        ::setsockopt(socket, level, name, &value, sizeof value);
    };
    set(IPPROTO_TCP, TCP_NODELAY, 1);
    set(SOL_SOCKET, SO_KEEPALIVE, 1);
    set(IPPROTO_TCP, TCP_KEEPIDLE, 30);
    set(IPPROTO_TCP, TCP_KEEPINTVL, 10);
    set(IPPROTO_TCP, TCP_KEEPCNT, 3);
}

std::string lock_of(const std::string& path) {
    return path + ".lock";
}

bool is_same_file(int file, const std::string& path) {
    struct stat held {};
    struct stat there {};
    return ::fstat(file, &held) == 0 && ::stat(path.c_str(), &there) == 0 && held.st_dev == there.st_dev &&
           held.st_ino == there.st_ino;
}

// A lock beside the socket, for as long as the server lives: of two that find a dead one's socket, the second
// would take away that of the first.
int lock_place(const std::string& path) {
    for (;;) {
        const int made = ::open(lock_of(path).c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (made < 0) {
            fail(lock_of(path));
        }
        if (::flock(made, LOCK_EX | LOCK_NB) != 0) {
            const int error = errno;
            ::close(made);
            if (error == EWOULDBLOCK) {
                throw std::invalid_argument("a server listens at " + path + " already");
            }
            throw std::system_error(error, std::generic_category(), lock_of(path));
        }
        if (is_same_file(made, lock_of(path))) {
            return made;
        }
        ::close(made);  // the last server took it away meanwhile
    }
}

// Removes the socket that a dead server left; what is not a socket is somebody's file.
void remove_dead(const std::string& path) {
    try {
        ::close(connect_to(path));
    } catch (const std::system_error& error) {
        struct stat there {};
        if (error.code().value() != ECONNREFUSED) {
            throw;
        }
        if (::lstat(path.c_str(), &there) == 0 && !S_ISSOCK(there.st_mode)) {
            throw std::invalid_argument(path + " is there, and is not a socket");
        }
        ::unlink(path.c_str());
        return;
    }
    throw std::invalid_argument("a server listens at " + path + " already");
}

std::string source_of(const sockaddr_storage& peer) {
    if (peer.ss_family == AF_INET6) {
        const auto& address = reinterpret_cast<const sockaddr_in6&>(peer).sin6_addr;
        const bool is_mapped = IN6_IS_ADDR_V4MAPPED(&address);
        return {reinterpret_cast<const char*>(&address), is_mapped ? sizeof address : sizeof address / 2};
    }
    const auto& address = reinterpret_cast<const sockaddr_in&>(peer).sin_addr;
    return {reinterpret_cast<const char*>(&address), sizeof address};
}

}  // namespace

Server::Server(const ServerOptions& options) : options_(options) {
    for (const std::string& each : options_.fabrics) {
        if (options_.must_encrypt) {
            throw std::invalid_argument(
                "fabric " + each + ": the server demands encryption, and pages cross a fabric as they are");
        }
        fabric::expect(each);
    }
    try {
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
    } catch (...) {
        end();
        throw;
    }
}

Server::~Server() {
    end();
}

void Server::end() noexcept {
    ending_ = true;
    release_kept();
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
    if (listening_[0] >= 0) {
        ::unlink(options_.path.c_str());
    }
    if (lock_ >= 0) {
        ::unlink(lock_of(options_.path).c_str());
        ::close(lock_);
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
    lock_ = lock_place(options_.path);
    const int made = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (made < 0) {
        fail("socket");
    }
    const auto* place = reinterpret_cast<const sockaddr*>(&address);
    if (::bind(made, place, sizeof address) != 0 && errno == EADDRINUSE) {
        remove_dead(options_.path);
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
        throw std::invalid_argument("'" + text + "' is not HOST:PORT");
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
        sockaddr_storage peer{};
        socklen_t size = sizeof peer;
        const int socket = ::accept4(listening, reinterpret_cast<sockaddr*>(&peer), &size, SOCK_CLOEXEC);
        if (socket < 0) {
            // Over sooner or later, whatever it is: no descriptor or no memory is left, the caller has gone,
            // its network is down. The end of the server is said elsewhere.
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
            continue;
        }
        if (!local) {
            prepare(socket);
        }
        try {
            begin(socket, local ? Source() : source_of(peer));
        } catch (const std::exception&) {
            // No thread or no memory for it: those that are served stay.
            ::close(socket);
        }
    }
}

// Clients with the key prove it at once: those that wait longest are ended first, so that clients without it
// shut nobody out. The lock is held.
void Server::end_oldest(const Source& source) {
    Client* oldest = nullptr;
    Client* oldest_of_source = nullptr;
    std::size_t all = 0;
    std::size_t of_source = 0;
    for (Client& each : clients_) {
        if (!each.unproven || each.source.empty() != source.empty()) {
            continue;
        }
        ++all;
        oldest = oldest == nullptr ? &each : oldest;
        if (each.source == source) {
            ++of_source;
            oldest_of_source = oldest_of_source == nullptr ? &each : oldest_of_source;
        }
    }
    Client* ends = !source.empty() && of_source >= most_of_a_source ? oldest_of_source
                   : all >= most_unproven                           ? oldest
                                                                    : nullptr;
    if (ends != nullptr) {
        ends->unproven = false;
        if (ends->socket >= 0) {
            ::shutdown(ends->socket, SHUT_RDWR);
        }
    }
}

void Server::begin(int socket, const Source& source) {
    const std::lock_guard lock(mutex_);
    reap();
    end_oldest(source);
    // Not among the others before it has its thread.
    std::list<Client> made;
    Client& client = made.emplace_back();
    client.socket = socket;
    client.source = source;
    const bool local = source.empty();
    client.thread = std::thread([this, &client, local] {
        serve(client, local);
        client.ended = true;
    });
    clients_.splice(clients_.end(), made);
}

}  // namespace consort::remote
