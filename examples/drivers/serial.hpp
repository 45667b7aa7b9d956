// SPDX-License-Identifier: Apache-2.0
//
// A driver for a serial line (a UART, or a pseudo-terminal): values in frames with a checksum.
#pragma once

#include <fcntl.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <system_error>
#include <type_traits>

namespace drivers {

// CRC-16/CCITT-FALSE.
inline std::uint16_t crc16(const unsigned char* bytes, std::size_t count) {
    std::uint32_t crc = 0xFFFF;
    for (std::size_t i = 0; i < count; ++i) {
        crc ^= static_cast<std::uint32_t>(bytes[i]) << 8U;
        for (int bit = 0; bit < 8; ++bit) {
            crc = (crc & 0x8000U) != 0 ? (crc << 1U) ^ 0x1021U : crc << 1U;
        }
    }
    return static_cast<std::uint16_t>(crc);
}

// A frame: two bytes that mark its beginning, the value, its checksum, the high byte first.
template <class T>
struct Frame {
    static_assert(std::is_trivially_copyable_v<T>);
    static constexpr unsigned char mark[2] = {0xA5, 0x5A};
    static constexpr std::size_t size = 2 + sizeof(T) + 2;

    static void put(const T& value, unsigned char* to) {
        std::memcpy(to, mark, 2);
        std::memcpy(to + 2, &value, sizeof(T));
        const std::uint16_t crc = crc16(to + 2, sizeof(T));
        to[2 + sizeof(T)] = static_cast<unsigned char>(crc >> 8U);
        to[3 + sizeof(T)] = static_cast<unsigned char>(crc & 0xFFU);
    }
    static bool get(const unsigned char* from, T& value) {
        const auto crc = static_cast<std::uint16_t>((from[2 + sizeof(T)] << 8U) | from[3 + sizeof(T)]);
        if (std::memcmp(from, mark, 2) != 0 || crc16(from + 2, sizeof(T)) != crc) {
            return false;
        }
        std::memcpy(&value, from + 2, sizeof(T));
        return true;
    }
};

template <class In, class Out>
class Serial {
  public:
    explicit Serial(const char* path, speed_t speed = B115200)
        : line_(::open(path, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC)) {
        termios raw{};
        bool good = line_ >= 0 && ::tcgetattr(line_, &raw) == 0;
        if (good) {
            ::cfmakeraw(&raw);
            good = ::cfsetspeed(&raw, speed) == 0 && ::tcsetattr(line_, TCSANOW, &raw) == 0;
        }
        if (!good) {
            const int error = errno;
            close();
            throw std::system_error(error, std::generic_category(), std::string("serial line ") + path);
        }
    }
    ~Serial() { close(); }
    Serial(const Serial&) = delete;
    Serial& operator=(const Serial&) = delete;

    // The newest whole frame. What is damaged is passed over, byte by byte, to the next mark.
    bool read(In& value) {
        const ssize_t got = ::read(line_, buffer_ + filled_, sizeof(buffer_) - filled_);
        filled_ += got > 0 ? static_cast<std::size_t>(got) : 0;
        bool found = false;
        std::size_t at = 0;
        while (filled_ - at >= Frame<In>::size) {
            if (Frame<In>::get(buffer_ + at, value)) {
                at += Frame<In>::size;
                found = true;
            } else {
                ++at;
            }
        }
        filled_ -= at;
        std::memmove(buffer_, buffer_ + at, filled_);
        return found;
    }

    // A value is dropped while the one before is not yet wholly in the line's buffer.
    void write(const Out& value) {
        send();
        if (sent_ == sizeof(frame_)) {
            Frame<Out>::put(value, frame_);
            sent_ = 0;
            send();
        }
    }

  private:
    void send() {
        const ssize_t put = ::write(line_, frame_ + sent_, sizeof(frame_) - sent_);
        sent_ += put > 0 ? static_cast<std::size_t>(put) : 0;
    }
    void close() {
        if (line_ >= 0) {
            ::close(line_);
        }
    }

    int line_;
    unsigned char buffer_[8 * Frame<In>::size] = {};
    std::size_t filled_ = 0;
    unsigned char frame_[Frame<Out>::size] = {};
    std::size_t sent_ = sizeof(frame_);
};

}  // namespace drivers
