// SPDX-License-Identifier: Apache-2.0
//
// The server's words to a client of the fabric: where its segment is, and that memory's key. They are sealed:
// a reader of the connection does not get a key that lets it write.
#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <exception>

#include "server_segment.hpp"

namespace consort::remote {

namespace {

// The address of this machine that the client connected to.
std::string own_address(int socket) {
    sockaddr_storage own{};
    socklen_t size = sizeof own;
    std::array<char, NI_MAXHOST> text{};
    if (::getsockname(socket, reinterpret_cast<sockaddr*>(&own), &size) != 0 ||
        ::getnameinfo(reinterpret_cast<const sockaddr*>(&own), size, text.data(), text.size(), nullptr, 0,
                      NI_NUMERICHOST) != 0) {
        return "";
    }
    return text.data();
}

}  // namespace

bool Server::serve_reach(Connection& connection, Segment& segment, const FabricName& name) {
    const auto refused = [&](Refusal why) {
        Header header{};
        header.operation = Operation::refused;
        header.detail = static_cast<std::uint32_t>(why);
        connection.send(header, nullptr, 0);
        return false;
    };
    const std::string provider = fabric::text_of(name);
    const auto& offered = options_.fabrics;
    if (options_.must_encrypt || std::find(offered.begin(), offered.end(), provider) == offered.end()) {
        return refused(Refusal::no_fabric);
    }
    FabricTarget target{};
    try {
        const std::lock_guard lock(segment.mutex);
        if (segment.exposed == nullptr) {
            segment.exposed = std::make_unique<fabric::Exposed>(
                provider, own_address(connection.socket()), segment.memory.base(), segment.memory.bytes());
        }
        target = segment.exposed->target();
    } catch (const std::exception&) {
        return refused(Refusal::fabric_fails);
    }
    if (target.provider != name) {
        return refused(Refusal::malformed);
    }
    std::array<std::byte, sizeof target + note_overhead> sealed{};
    seal_note(connection.header_key(), connection.sequence, &target, sizeof target, sealed.data());
    Header said{};
    said.operation = Operation::reachable;
    const Outcome sent = connection.send(said, sealed.data(), sealed.size());
    ++connection.sequence;
    return sent == Outcome::good;
}

}  // namespace consort::remote
