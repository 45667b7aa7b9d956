// SPDX-License-Identifier: Apache-2.0
//
// A server in a process of its own, which a test may kill or stop, and a link that a test can spoil.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "consort/linux/remote_segment.hpp"
#include "server.hpp"
#include "transport.hpp"
#include "userfault.hpp"

// A sanitizer would take the SIGBUS that ends a program, and end it in its own way.
extern "C" inline __attribute__((used, visibility("default"))) const char* __asan_default_options() {
    return "handle_sigbus=0:handle_segv=0";
}
extern "C" inline __attribute__((used, visibility("default"))) const char* __tsan_default_options() {
    return "handle_sigbus=0:handle_segv=0";
}

namespace remote_test {

using namespace consort::remote;

constexpr std::size_t mib = 1U << 20U;

// Whether the kernel gives this process userfaultfd, and for the faults of system calls, too.
inline bool can_page(Faults faults, std::string& why) {
    try {
        const UserFault tried(mib, faults);
        return true;
    } catch (const std::system_error& error) {
        why = error.what();
        return false;
    }
}

class Remote : public testing::Test {
  protected:
    void SetUp() override {
        std::string pattern = (std::filesystem::temp_directory_path() / "consort-remote-XXXXXX").string();
        ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
        folder = pattern;
        key = write_key("key", 'k');
        path = folder + "/socket";
    }
    void TearDown() override {
        stop();
        std::filesystem::remove_all(folder);
    }

    std::string write_key(const std::string& name, char filled) const {
        const std::string file = folder + "/" + name;
        std::ofstream(file) << std::string(40, filled);
        ::chmod(file.c_str(), 0600);
        return file;
    }

    // Forked before this process has threads of its own.
    void start(std::size_t bytes = 64 * mib) {
        std::array<int, 2> ends{};
        ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
        server = ::fork();
        if (server == 0) {
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // a test program that dies leaves no server behind
            ServerOptions options;
            options.bytes = bytes;
            options.key = read_key(key);
            options.path = path;
            options.listen = "127.0.0.1:0";
            const Server made(options);
            const std::uint16_t number = made.port();
            [[maybe_unused]] const auto written = ::write(ends[1], &number, sizeof number);
            for (;;) {
                ::pause();
            }
        }
        ::close(ends[1]);
        ASSERT_EQ(::read(ends[0], &port, sizeof port), static_cast<ssize_t>(sizeof port));
        ::close(ends[0]);
    }
    void stop() {
        if (server > 0) {
            ::kill(server, SIGCONT);
            ::kill(server, SIGKILL);
            ::waitpid(server, nullptr, 0);
            server = -1;
        }
    }

    [[nodiscard]] std::string tcp() const { return "127.0.0.1:" + std::to_string(port); }
    [[nodiscard]] SegmentOptions options(const std::string& where, std::size_t bytes = 8 * mib,
                                         std::size_t cache = mib) const {
        SegmentOptions made;
        made.server = where;
        made.key_file = key;
        made.bytes = bytes;
        made.cache_bytes = cache;
        return made;
    }

    std::string folder;
    std::string key;
    std::string path;
    std::uint16_t port = 0;
    pid_t server = -1;
};

// A TCP link to a server in the middle of which a test sits. `spoil` sees each piece of bytes from the
// server, after so many before it; it may change them; false cuts the link there.
class Link {
  public:
    using Spoil = std::function<bool(std::uint64_t before, char* bytes, std::size_t& length)>;

    Link(const std::string& server, Spoil spoil) : server_(server), spoil_(std::move(spoil)) {
        listening_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof address;
        ::bind(listening_, reinterpret_cast<sockaddr*>(&address), size);
        ::listen(listening_, 8);
        ::getsockname(listening_, reinterpret_cast<sockaddr*>(&address), &size);
        port_ = ntohs(address.sin_port);
        thread_ = std::thread([this] { carry(); });
    }
    Link(const Link&) = delete;
    Link& operator=(const Link&) = delete;
    ~Link() {
        ending_ = true;
        thread_.join();
        ::close(listening_);
    }
    [[nodiscard]] std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

  private:
    struct Pair {
        int client;
        int server;
        std::uint64_t from_server = 0;
    };
    void carry() {
        std::vector<Pair> pairs;
        std::vector<char> bytes(1U << 20U);
        while (!ending_) {
            std::vector<pollfd> waited{{listening_, POLLIN, 0}};
            for (const Pair& each : pairs) {
                waited.push_back({each.client, POLLIN, 0});
                waited.push_back({each.server, POLLIN, 0});
            }
            ::poll(waited.data(), waited.size(), 20);
            for (std::size_t i = 0; i < pairs.size(); ++i) {
                if (waited[1 + 2 * i].revents != 0) {
                    const ssize_t came = ::read(pairs[i].client, bytes.data(), bytes.size());
                    forward(pairs[i].server, bytes.data(), came);
                }
                if (waited[2 + 2 * i].revents != 0) {
                    const ssize_t came = ::read(pairs[i].server, bytes.data(), bytes.size());
                    auto length = static_cast<std::size_t>(std::max<ssize_t>(came, 0));
                    const bool goes_on = spoil_(pairs[i].from_server, bytes.data(), length);
                    pairs[i].from_server += static_cast<std::uint64_t>(std::max<ssize_t>(came, 0));
                    if (length != 0) {
                        forward(pairs[i].client, bytes.data(), static_cast<ssize_t>(length));
                    }
                    if (!goes_on || came <= 0) {
                        ::shutdown(pairs[i].client, SHUT_RDWR);
                        ::shutdown(pairs[i].server, SHUT_RDWR);
                    }
                }
            }
            if (waited[0].revents != 0) {
                pairs.push_back({::accept4(listening_, nullptr, nullptr, SOCK_CLOEXEC), connect_to(server_)});
            }
        }
        for (const Pair& each : pairs) {
            ::close(each.client);
            ::close(each.server);
        }
    }
    static void forward(int to, const char* bytes, ssize_t length) {
        if (length <= 0) {
            ::shutdown(to, SHUT_RDWR);
            return;
        }
        while (length > 0) {
            const ssize_t sent = ::send(to, bytes, static_cast<std::size_t>(length), MSG_NOSIGNAL);
            if (sent <= 0) {
                return;
            }
            bytes += sent;
            length -= sent;
        }
    }

    std::string server_;
    Spoil spoil_;
    int listening_;
    std::uint16_t port_ = 0;
    std::atomic<bool> ending_{false};
    std::thread thread_;
};

}  // namespace remote_test
