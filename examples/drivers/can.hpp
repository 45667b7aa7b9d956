// SPDX-License-Identifier: Apache-2.0
//
// A driver for SocketCAN: one frame is one value, of 8 bytes at most.
#pragma once

#include <linux/can.h>
#include <linux/can/raw.h>
#include <net/if.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>
#include <type_traits>

namespace drivers {

// Takes frames with one identifier from an interface, and sends frames with another.
template <class In, class Out>
class Can {
    static_assert(std::is_trivially_copyable_v<In> && sizeof(In) <= CAN_MAX_DLEN);
    static_assert(std::is_trivially_copyable_v<Out> && sizeof(Out) <= CAN_MAX_DLEN);

  public:
    Can(const char* interface, canid_t takes, canid_t sends)
        : socket_(::socket(PF_CAN, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, CAN_RAW)), sends_(sends) {
        // The kernel hands over nothing else.
        const can_filter only{takes, CAN_SFF_MASK | CAN_EFF_FLAG | CAN_RTR_FLAG};
        sockaddr_can here{};
        here.can_family = AF_CAN;
        if (socket_ < 0 || (here.can_ifindex = static_cast<int>(::if_nametoindex(interface))) == 0 ||
            ::setsockopt(socket_, SOL_CAN_RAW, CAN_RAW_FILTER, &only, sizeof(only)) != 0 ||
            ::bind(socket_, reinterpret_cast<const sockaddr*>(&here), sizeof(here)) != 0) {
            const int error = errno;
            close();
            throw std::system_error(error, std::generic_category(),
                                    std::string("CAN interface ") + interface);
        }
    }
    ~Can() { close(); }
    Can(const Can&) = delete;
    Can& operator=(const Can&) = delete;

    // The newest value of those that came, of `burst` at most; a frame of another length is none.
    bool read(In& value) {
        bool found = false;
        for (int i = 0; i < burst; ++i) {
            can_frame frame{};
            if (::read(socket_, &frame, sizeof(frame)) != static_cast<ssize_t>(sizeof(frame))) {
                break;
            }
            if (frame.can_dlc == sizeof(In)) {
                std::memcpy(&value, frame.data, sizeof(In));
                found = true;
            }
        }
        return found;
    }

    // Dropped where the interface's queue is full, as on a bus that nobody acknowledges.
    void write(const Out& value) {
        can_frame frame{};
        frame.can_id = sends_;
        frame.can_dlc = sizeof(Out);
        std::memcpy(frame.data, &value, sizeof(Out));
        (void)!::write(socket_, &frame, sizeof(frame));
    }

  private:
    static constexpr int burst = 16;

    void close() {
        if (socket_ >= 0) {
            ::close(socket_);
        }
    }

    int socket_;
    canid_t sends_;
};

}  // namespace drivers
