// SPDX-License-Identifier: Apache-2.0
//
// Connected sockets to servers.
#pragma once

#include <sys/socket.h>

#include <chrono>
#include <string>

namespace consort::remote {

// True if the server is named by the path of its socket.
bool on_this_machine(const std::string& server);

// A connected socket to HOST:PORT or to the socket at a path. Throws std::system_error.
int connect_to(const std::string& server);

// Where a socket is connected to, to connect there again.
struct Peer {
    sockaddr_storage address{};
    socklen_t size = 0;

    static Peer of(int socket) noexcept;
    // A new socket to it, or -1 where that fails before `deadline`. Safe in a signal handler.
    [[nodiscard]] int dial(std::chrono::steady_clock::time_point deadline) const noexcept;
};

}  // namespace consort::remote
