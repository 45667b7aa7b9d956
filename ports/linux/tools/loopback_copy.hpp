// SPDX-License-Identifier: Apache-2.0
//
// Interference through the kernel: a file copied again and again over a TCP connection of the loopback
// device.
#pragma once

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace consort::linux_port {

class Fd {
  public:
    explicit Fd(int fd, const char* what) : fd_(fd) {
        if (fd < 0) {
            throw std::system_error(errno, std::generic_category(), what);
        }
    }
    Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    Fd(const Fd&) = delete;
    Fd& operator=(const Fd&) = delete;
    ~Fd() {
        if (fd_ >= 0) {
            ::close(fd_);
        }
    }
    [[nodiscard]] int get() const { return fd_; }

  private:
    int fd_;
};

// A file without a name: it is gone when the program ends, however it ends.
inline Fd nameless_file(const std::string& folder) {
    std::string path = folder + "/consort-interference-XXXXXX";
    Fd file(::mkstemp(path.data()), ("cannot make a temporary file in " + folder).c_str());
    ::unlink(path.c_str());
    return file;
}

class LoopbackCopy {
  public:
    LoopbackCopy(const std::string& folder, std::size_t bytes)
        : bytes_(bytes), source_(nameless_file(folder)), target_(nameless_file(folder)), ends_(connected()) {
        const std::vector<char> block(block_bytes, 'c');
        for (std::size_t done = 0; done < bytes_;) {
            const std::size_t n = bytes_ - done < block.size() ? bytes_ - done : block.size();
            write_all(source_.get(), block.data(), n, "write the temporary file");
            done += n;
        }
    }

    // Sender and receiver each run in a thread of their own until the stop; `interrupt` wakes both.
    void send(const std::atomic<bool>& stop) {
        while (!stop.load(std::memory_order_relaxed)) {
            off_t at = 0;
            while (!stop.load(std::memory_order_relaxed) && static_cast<std::size_t>(at) < bytes_) {
                const ssize_t n = ::sendfile(ends_.first.get(), source_.get(), &at, block_bytes);
                if (n < 0 && errno != EINTR) {
                    fail_unless(stop, "sendfile");
                    return;
                }
            }
        }
    }

    void receive(const std::atomic<bool>& stop, std::atomic<std::uint64_t>& moved) {
        std::vector<char> block(block_bytes);
        std::size_t held = 0;
        while (!stop.load(std::memory_order_relaxed)) {
            const ssize_t n = ::recv(ends_.second.get(), block.data(), block.size(), 0);
            if (n <= 0) {
                if (n < 0 && errno == EINTR) {
                    continue;
                }
                fail_unless(stop, "recv");
                return;
            }
            write_all(target_.get(), block.data(), static_cast<std::size_t>(n), "write the copy");
            moved.fetch_add(static_cast<std::uint64_t>(n), std::memory_order_relaxed);
            held += static_cast<std::size_t>(n);
            if (held >= bytes_) {
                if (::ftruncate(target_.get(), 0) != 0 || ::lseek(target_.get(), 0, SEEK_SET) < 0) {
                    fail_unless(stop, "truncate the copy");
                    return;
                }
                held = 0;
            }
        }
    }

    void interrupt() const {
        ::shutdown(ends_.first.get(), SHUT_RDWR);
        ::shutdown(ends_.second.get(), SHUT_RDWR);
    }

  private:
    static constexpr std::size_t block_bytes = std::size_t{256} << 10U;

    static void fail_unless(const std::atomic<bool>& stop, const char* what) {
        const int error = errno;
        if (!stop.load()) {
            throw std::system_error(error, std::generic_category(), what);
        }
    }

    static void write_all(int fd, const char* from, std::size_t bytes, const char* what) {
        while (bytes > 0) {
            const ssize_t n = ::write(fd, from, bytes);
            if (n < 0 && errno == EINTR) {
                continue;
            }
            if (n <= 0) {
                throw std::system_error(errno, std::generic_category(), what);
            }
            from += n;
            bytes -= static_cast<std::size_t>(n);
        }
    }

    static std::pair<Fd, Fd> connected() {
        const Fd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        auto* generic = reinterpret_cast<sockaddr*>(&address);
        socklen_t length = sizeof address;
        if (::bind(listener.get(), generic, length) != 0 || ::listen(listener.get(), 1) != 0 ||
            ::getsockname(listener.get(), generic, &length) != 0) {
            throw std::system_error(errno, std::generic_category(), "listen on the loopback device");
        }
        Fd out(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");
        if (::connect(out.get(), generic, length) != 0) {
            throw std::system_error(errno, std::generic_category(), "connect over the loopback device");
        }
        Fd in(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC), "accept");
        return {std::move(out), std::move(in)};
    }

    std::size_t bytes_;
    Fd source_;
    Fd target_;
    std::pair<Fd, Fd> ends_;
};

}  // namespace consort::linux_port
