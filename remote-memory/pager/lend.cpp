// SPDX-License-Identifier: Apache-2.0
//
// consort-remote-lend: attaches a segment of a server on this machine for another process, which gets two
// descriptors: the segment's memory, and the connection. The server keeps the segment until every copy of the
// connection is closed, so whoever holds it needs no process beside itself. `consort remote attach --qmp`
// starts this.
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>
#include <system_error>

#include "consort/linux/program.hpp"
#include "dial.hpp"
#include "options.hpp"
#include "shared_attach.hpp"

namespace {

using namespace consort;

constexpr const char* help =
    R"(usage: consort-remote-lend --server PATH --key FILE --bytes N --to DESCRIPTOR

Attaches a segment of N bytes and sends two descriptors over the socket DESCRIPTOR: its memory, and the
connection for which the server keeps it.

  --server PATH     the server's socket on this machine
  --key FILE        its key
  --to DESCRIPTOR   a Unix socket that this process inherits
)";

void send(int socket, std::array<int, 2> descriptors) {
    char word = 0;
    iovec data{&word, 1};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof descriptors)> control{};
    msghdr message{};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof descriptors);
    std::memcpy(CMSG_DATA(rights), descriptors.data(), sizeof descriptors);
    if (::sendmsg(socket, &message, MSG_NOSIGNAL) != 1) {
        throw std::system_error(errno, std::generic_category(), "--to");
    }
}

int run(int argc, char** argv) {
    const linux_port::Options given(argc, argv, {"--server", "--key", "--bytes", "--to"}, {"--help"});
    if (given.given("--help")) {
        std::fputs(help, stdout);
        return linux_port::good;
    }
    remote::Attachment wanted{given.text("--server"), given.text("--key"), 0};
    wanted.bytes = static_cast<std::uint64_t>(given.number("--bytes", 0, 0, 0x1p53));
    const int to = static_cast<int>(given.number("--to", -1, 0, 1e9));
    if (wanted.bytes == 0 || wanted.key_file.empty() || to < 0 || !remote::on_this_machine(wanted.server)) {
        throw std::invalid_argument("--server, --key, --bytes and --to are needed; see --help");
    }
    const remote::SharedSegment segment = remote::attach_shared(wanted);
    send(to, {segment.memory.fd(), segment.connection->hand_over()});
    return linux_port::good;
}

}  // namespace

int main(int argc, char** argv) {
    return consort::linux_port::run_program("consort-remote-lend", [&] { return run(argc, argv); });
}
