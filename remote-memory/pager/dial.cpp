// SPDX-License-Identifier: Apache-2.0
#include "dial.hpp"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <system_error>

#include "consort/linux/runtime_folder.hpp"
#include "descriptors.hpp"

namespace consort::remote {

namespace {

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
        throw std::invalid_argument("'" + server + "' is not HOST:PORT");
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

}  // namespace

bool on_this_machine(const std::string& server) {
    return server.find('/') != std::string::npos;
}

int connect_to(const std::string& server) {
    return out_of_the_way(on_this_machine(server) ? connect_local(server) : connect_tcp(server));
}

Peer Peer::of(int socket) noexcept {
    Peer peer;
    peer.size = sizeof peer.address;
    if (::getpeername(socket, reinterpret_cast<sockaddr*>(&peer.address), &peer.size) != 0) {
        peer.size = 0;
    }
    return peer;
}

int Peer::dial(std::chrono::steady_clock::time_point deadline) const noexcept {
    const int low = ::socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (low < 0) {
        return -1;
    }
    const int made = ::fcntl(low, F_DUPFD_CLOEXEC, first_descriptor());
    ::close(low);
    if (made < 0) {
        return -1;
    }
    bool connected = ::connect(made, reinterpret_cast<const sockaddr*>(&address), size) == 0;
    while (!connected && (errno == EINPROGRESS || errno == EINTR)) {
        const auto left =
            std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
        pollfd waited{made, POLLOUT, 0};
        const int ready =
            ::poll(&waited, 1, static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 60'000)));
        if (ready < 0 && errno == EINTR) {
            continue;
        }
        int error = 0;
        socklen_t bytes = sizeof error;
        connected = ready > 0 && ::getsockopt(made, SOL_SOCKET, SO_ERROR, &error, &bytes) == 0 && error == 0;
        break;
    }
    if (!connected) {
        ::close(made);
        return -1;
    }
    const int yes = 1;
    ::setsockopt(made, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    return made;
}

}  // namespace consort::remote
