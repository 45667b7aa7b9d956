// SPDX-License-Identifier: Apache-2.0
//
// A driver for a UDP socket: one datagram is one value.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <optional>
#include <string>
#include <system_error>
#include <type_traits>

namespace drivers {

// Receives on 127.0.0.1:`port`, and sends to whoever sent last. In and Out are plain data in this machine's
// byte order: another machine would need a form of its own.
template <class In, class Out>
class Udp {
    static_assert(std::is_trivially_copyable_v<In> && std::is_trivially_copyable_v<Out>);

  public:
    explicit Udp(std::uint16_t port)
        : socket_(::socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)) {
        sockaddr_in here{};
        here.sin_family = AF_INET;
        here.sin_port = htons(port);
        here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        if (socket_ < 0 || ::bind(socket_, reinterpret_cast<const sockaddr*>(&here), sizeof(here)) != 0) {
            const int error = errno;
            close();
            throw std::system_error(error, std::generic_category(), "UDP port " + std::to_string(port));
        }
    }
    ~Udp() { close(); }
    Udp(const Udp&) = delete;
    Udp& operator=(const Udp&) = delete;

    // The newest value; a datagram of another size is none. At most `burst` datagrams are taken, so that a
    // sender that never stops cannot keep the task here.
    bool read(In& value) {
        bool found = false;
        for (int i = 0; i < burst; ++i) {
            In taken;
            sockaddr_in from{};
            socklen_t length = sizeof(from);
            const ssize_t got = ::recvfrom(socket_, &taken, sizeof(taken), MSG_TRUNC,
                                           reinterpret_cast<sockaddr*>(&from), &length);
            if (got < 0) {
                break;
            }
            if (got == static_cast<ssize_t>(sizeof(taken))) {
                value = taken;
                peer_ = from;
                found = true;
            }
        }
        return found;
    }

    // Lost, as any datagram may be, where nobody has sent yet or the socket's buffer is full.
    void write(const Out& value) {
        if (peer_) {
            (void)::sendto(socket_, &value, sizeof(value), MSG_DONTWAIT | MSG_NOSIGNAL,
                           reinterpret_cast<const sockaddr*>(&*peer_), sizeof(*peer_));
        }
    }

  private:
    static constexpr int burst = 16;

    void close() {
        if (socket_ >= 0) {
            ::close(socket_);
        }
    }

    int socket_;
    std::optional<sockaddr_in> peer_;
};

}  // namespace drivers
