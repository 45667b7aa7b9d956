// SPDX-License-Identifier: Apache-2.0
//
// A network interface as the scratchpad kernel's I/O device: UDP, polled, never waiting. The flow of a
// datagram is its first four bytes, little-endian, as the paper's test has it in the payload.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <system_error>
#include <utility>
#include <vector>

#include "consort/spm/message_box.hpp"

namespace consort::linux_port {

// Closed with its owner. Throws std::system_error.
class UdpSocket {
  public:
    // On the loopback interface, at a port of the kernel's choice.
    explicit UdpSocket(int buffer_bytes = 1 << 20)
        : handle_(::socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)) {
        if (handle_ < 0) {
            throw std::system_error(errno, std::generic_category(), "no UDP socket");
        }
        sockaddr_in here = loopback(0);
        socklen_t bytes = sizeof here;
        // A smaller buffer than asked for loses more, and what is lost is counted by who sent it.
        (void)::setsockopt(handle_, SOL_SOCKET, SO_RCVBUF, &buffer_bytes, sizeof buffer_bytes);
        if (::bind(handle_, reinterpret_cast<const sockaddr*>(&here), sizeof here) != 0 ||
            ::getsockname(handle_, reinterpret_cast<sockaddr*>(&here), &bytes) != 0) {
            const int error = errno;
            ::close(handle_);
            throw std::system_error(error, std::generic_category(), "no UDP port on the loopback interface");
        }
        port_ = ntohs(here.sin_port);
    }
    UdpSocket(const UdpSocket&) = delete;
    UdpSocket& operator=(const UdpSocket&) = delete;
    ~UdpSocket() { ::close(handle_); }

    [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
    // False: not now.
    [[nodiscard]] bool send(std::uint16_t to, const std::byte* data, std::size_t bytes) const noexcept {
        const sockaddr_in there = loopback(to);
        return ::sendto(handle_, data, bytes, 0, reinterpret_cast<const sockaddr*>(&there), sizeof there) ==
               static_cast<ssize_t>(bytes);
    }
    // The bytes of the next datagram, also where it is longer than `room`; negative: there is none.
    [[nodiscard]] ssize_t receive(std::byte* data, std::size_t room) const noexcept {
        return ::recv(handle_, data, room, MSG_TRUNC);
    }

  private:
    static sockaddr_in loopback(std::uint16_t port) noexcept {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(port);
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        return address;
    }

    int handle_;
    std::uint16_t port_ = 0;
};

// spm::IoDevice.
class UdpDevice {
  public:
    // `peer`: the port that what is sent goes to.
    UdpDevice(std::uint16_t peer, std::size_t longest) : peer_(peer), buffer_(longest) {}

    [[nodiscard]] bool receive(spm::Message& in) noexcept {
        while (held_ == 0) {
            const ssize_t bytes = socket_.receive(buffer_.data(), buffer_.size());
            if (bytes < 0) {
                return false;
            }
            if (bytes < 4 || static_cast<std::size_t>(bytes) > buffer_.size()) {
                ++refused_;
            } else {
                held_ = static_cast<std::uint32_t>(bytes);
            }
        }
        in = {0, held_, buffer_.data()};
        std::memcpy(&in.flow, buffer_.data(), 4);
        return true;
    }
    void release() noexcept { held_ = 0; }
    [[nodiscard]] bool send(const spm::Message& out) noexcept {
        return socket_.send(peer_, out.payload, out.bytes);
    }

    [[nodiscard]] std::uint16_t port() const noexcept { return socket_.port(); }
    // Datagrams without a flow, or longer than the device's buffer.
    [[nodiscard]] std::uint32_t refused() const noexcept { return refused_; }

  private:
    UdpSocket socket_;
    std::uint16_t peer_;
    std::vector<std::byte> buffer_;
    std::uint32_t held_ = 0;
    std::uint32_t refused_ = 0;
};

}  // namespace consort::linux_port
