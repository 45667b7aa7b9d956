// SPDX-License-Identifier: Apache-2.0
//
// Orders to a running program: `consort remote attach`, `detach` and `list` with --program. A connection is
// one order: `attach` and a line as in CONSORT_REMOTE_SEGMENTS, `detach` or `home` and a number, or `list`;
// answered by `ok` or `error` and the exit status, and words.
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>
#include <system_error>

#include "consort/linux/program.hpp"
#include "descriptors.hpp"
#include "preload.hpp"
#include "waiting.hpp"

namespace consort::remote::preloaded {

namespace {

int listening = -1;
std::string* socket_file = nullptr;

bool of_this_user(int connection) {
    ucred peer{};
    socklen_t length = sizeof peer;
    return ::getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 && peer.uid == ::getuid();
}

std::string obey(const std::string& order) {
    const auto tab = order.find('\t');
    const std::string what = order.substr(0, tab);
    const std::string with = tab == std::string::npos ? "" : order.substr(tab + 1);
    if (what == "attach") {
        return std::to_string(attach(with));
    }
    if (what == "detach" || what == "home") {
        return detach(std::stoul(with), what == "home");
    }
    if (what == "list") {
        return listing();
    }
    throw std::invalid_argument("there is no order '" + what + "'");
}

std::string answer_to(const std::string& order) {
    const auto error = [](int status, const char* words) {
        return "error\t" + std::to_string(status) + "\t" + words;
    };
    try {
        return "ok\t" + obey(order);
    } catch (const std::logic_error& wrong) {  // std::invalid_argument, and what std::stoul throws
        return error(linux_port::bad_input, wrong.what());
    } catch (const std::exception& failed) {
        return error(linux_port::environment_lacks, failed.what());
    }
}

void serve() {
    // The program's table of descriptors stays this thread's: a segment that it attaches is the program's.
    inside = true;
    for (;;) {
        const int connection = ::accept4(listening, nullptr, nullptr, SOCK_CLOEXEC);
        if (connection < 0) {
            if (errno == EBADF || errno == ENOTSOCK || errno == EINVAL) {
                return;  // the program closed it, or shut it down
            }
            // All others are over sooner or later: no descriptor or no memory is left, or the caller has
            // gone.
            if (errno != EINTR && errno != ECONNABORTED) {
                ::poll(nullptr, 0, 10);
            }
            continue;
        }
        std::array<char, 8192> order{};
        const ssize_t got = of_this_user(connection) ? ::recv(connection, order.data(), order.size(), 0) : 0;
        if (got > 0) {
            const std::string answer = answer_to({order.data(), static_cast<std::size_t>(got)});
            [[maybe_unused]] const ssize_t sent =
                ::send(connection, answer.data(), answer.size(), MSG_NOSIGNAL);
        }
        ::close(connection);
    }
}

}  // namespace

void listen_at(const char* path) {
    const auto failed = [] {
        return std::system_error(errno, std::generic_category(), "CONSORT_REMOTE_CONTROL");
    };
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (std::strlen(path) >= sizeof address.sun_path) {
        throw std::invalid_argument("CONSORT_REMOTE_CONTROL: the path is too long for a socket");
    }
    std::strncpy(address.sun_path, path, sizeof address.sun_path - 1);
    const int made = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (made < 0) {
        throw failed();
    }
    listening = out_of_the_way(made);
    ::unlink(path);
    if (::bind(listening, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
        ::listen(listening, 4) != 0) {
        throw failed();
    }
    socket_file = new std::string(path);
    quiet_thread(serve).detach();
}

void stop_listening() noexcept {
    if (socket_file != nullptr) {
        ::unlink(socket_file->c_str());
    }
}

}  // namespace consort::remote::preloaded
