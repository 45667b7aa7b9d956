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
#include <sys/resource.h>
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
#include <memory>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "consort/linux/remote_segment.hpp"
#include "dial.hpp"
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

// True if the kernel gives this process userfaultfd, and for the faults of system calls, too.
inline bool can_page(Faults faults, std::string& why) {
    try {
        const UserFault tried(mib, faults);
        return true;
    } catch (const std::system_error& error) {
        why = error.what();
        return false;
    }
}

// The attach of a client that a test plays itself: to a new segment, or to the one that `wanted` names.
inline Outcome attach_raw(Connection& connection, const std::string& key_file, ClientAttach& wanted) {
    return client_handshake(connection, read_key(key_file), wanted);
}
inline Outcome attach_raw(Connection& connection, const std::string& key_file, std::uint64_t bytes = mib) {
    ClientAttach wanted;
    wanted.bytes = bytes;
    return attach_raw(connection, key_file, wanted);
}

// Forked before this process has threads of its own: one that is to run later waits for `go`.
struct ServerProcess {
    ServerProcess() = default;
    ServerProcess(const ServerProcess&) = delete;
    ServerProcess& operator=(const ServerProcess&) = delete;
    ~ServerProcess() { stop(); }

    // `memory`: how much more address space it may take; 0: any.
    void start(ServerOptions wanted, const std::string& key, bool waits = false, std::size_t memory = 0) {
        std::array<int, 2> ends{};
        std::array<int, 2> starts{};
        ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
        ASSERT_EQ(::pipe2(starts.data(), O_CLOEXEC), 0);
        process = ::fork();
        if (process == 0) {
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // a test program that dies leaves no server behind
            std::uint16_t number = 0;
            ::close(starts[1]);
            if (waits && ::read(starts[0], &number, sizeof number) != sizeof number) {
                ::_exit(1);
            }
            wanted.key = read_key(key);
            wanted.listen = "127.0.0.1:" + std::to_string(number);
            const auto made = made_server(wanted);
            number = made->port();
            if (memory != 0) {
                limit(memory);
            }
            [[maybe_unused]] const auto written = ::write(ends[1], &number, sizeof number);
            for (;;) {
                ::pause();
            }
        }
        ::close(ends[1]);
        ::close(starts[0]);
        said_ = ends[0];
        go_ = starts[1];
        if (!waits) {
            hear();
        }
    }
    void go(std::uint16_t number) {
        ASSERT_EQ(::write(go_, &number, sizeof number), static_cast<ssize_t>(sizeof number));
        hear();
    }
    void stop() {
        if (process > 0) {
            ::kill(process, SIGCONT);
            ::kill(process, SIGKILL);
            ::waitpid(process, nullptr, 0);
            process = -1;
        }
        for (int* each : {&said_, &go_}) {
            if (*each >= 0) {
                ::close(*each);
                *each = -1;
            }
        }
    }
    [[nodiscard]] std::string address() const { return "127.0.0.1:" + std::to_string(port); }

    std::uint16_t port = 0;
    pid_t process = -1;

  private:
    // One that was killed may still be about to leave its port. An exception must not reach the test program,
    // which this process is a copy of.
    static std::unique_ptr<Server> made_server(const ServerOptions& wanted) {
        for (int tries = 0; tries < 2000; ++tries) {
            try {
                return std::make_unique<Server>(wanted);
            } catch (const std::system_error&) {
                std::this_thread::sleep_for(std::chrono::milliseconds(5));
            }
        }
        ::_exit(1);
    }
    void hear() { ASSERT_EQ(::read(said_, &port, sizeof port), static_cast<ssize_t>(sizeof port)); }
    static void limit(std::size_t more) {
        std::ifstream sizes("/proc/self/statm");
        std::size_t pages = 0;
        sizes >> pages;
        const rlimit most{pages * page_bytes + more, pages * page_bytes + more};
        ::setrlimit(RLIMIT_AS, &most);
    }
    int said_ = -1;
    int go_ = -1;
};

class Remote : public testing::Test {
  protected:
    // Nobody is given up because this machine is busy.
    static constexpr std::chrono::minutes endless{10};

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

    void start(std::size_t bytes = 64 * mib, std::chrono::milliseconds patience = ServerOptions().patience) {
        ServerOptions wanted;
        wanted.bytes = bytes;
        wanted.patience = patience;
        wanted.path = path;
        only_server.start(wanted, key);
        port = only_server.port;
        server = only_server.process;
    }
    void stop() {
        only_server.stop();
        server = -1;
    }

    [[nodiscard]] std::string tcp() const { return "127.0.0.1:" + std::to_string(port); }
    [[nodiscard]] SegmentOptions options(const std::string& where, std::size_t bytes = 8 * mib,
                                         std::size_t cache = mib) const {
        SegmentOptions made;
        made.server = where;
        made.key_file = key;
        made.bytes = bytes;
        made.cache_bytes = cache;
        made.patience = endless;
        return made;
    }

    std::string folder;
    std::string key;
    std::string path;
    std::uint16_t port = 0;
    pid_t server = -1;
    ServerProcess only_server;
};

// A TCP link to a server in the middle of which a test sits. `spoil` sees each piece of bytes from the
// server, after so many before it; it may change them; false cuts the link there. `spoil_up`, where given,
// the same of what the client sends.
class Link {
  public:
    using Spoil = std::function<bool(std::uint64_t before, char* bytes, std::size_t& length)>;

    Link(const std::string& server, Spoil spoil, Spoil spoil_up = nullptr)
        : server_(server), spoil_(std::move(spoil)), spoil_up_(std::move(spoil_up)) {
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
        std::uint64_t from_client = 0;
        bool over = false;
    };
    void carry() {
        std::vector<Pair> pairs;
        std::vector<char> bytes(1U << 20U);
        while (!ending_) {
            std::vector<pollfd> waited{{listening_, POLLIN, 0}};
            for (const Pair& each : pairs) {
                // Below 0: poll passes over it.
                waited.push_back({each.over ? -1 : each.client, POLLIN, 0});
                waited.push_back({each.over ? -1 : each.server, POLLIN, 0});
            }
            ::poll(waited.data(), waited.size(), 20);
            for (std::size_t i = 0; i < pairs.size(); ++i) {
                Pair& pair = pairs[i];
                if (waited[1 + 2 * i].revents != 0) {
                    pass(pair, pair.client, pair.server, pair.from_client, spoil_up_, bytes);
                }
                if (waited[2 + 2 * i].revents != 0) {
                    pass(pair, pair.server, pair.client, pair.from_server, spoil_, bytes);
                }
            }
            if (waited[0].revents != 0) {
                const int client = ::accept4(listening_, nullptr, nullptr, SOCK_CLOEXEC);
                try {
                    pairs.push_back({client, connect_to(server_)});
                } catch (const std::system_error&) {
                    ::close(client);
                }
            }
        }
        for (const Pair& each : pairs) {
            ::close(each.client);
            ::close(each.server);
        }
    }
    static void pass(Pair& pair, int from, int to, std::uint64_t& before, const Spoil& spoil,
                     std::vector<char>& bytes) {
        const ssize_t came = ::read(from, bytes.data(), bytes.size());
        auto length = static_cast<std::size_t>(std::max<ssize_t>(came, 0));
        const bool goes_on = spoil == nullptr || spoil(before, bytes.data(), length);
        before += static_cast<std::uint64_t>(std::max<ssize_t>(came, 0));
        if (length != 0) {
            forward(to, bytes.data(), static_cast<ssize_t>(length));
        }
        if (!goes_on || came <= 0) {
            pair.over = true;
            ::shutdown(pair.client, SHUT_RDWR);
            ::shutdown(pair.server, SHUT_RDWR);
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
    Spoil spoil_up_;
    int listening_;
    std::uint16_t port_ = 0;
    std::atomic<bool> ending_{false};
    std::thread thread_;
};

}  // namespace remote_test
