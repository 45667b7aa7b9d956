// SPDX-License-Identifier: Apache-2.0
#include "connection.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "consort/port.hpp"

namespace consort::remote {

using Steady = std::chrono::steady_clock;

namespace {

// The parts of a message that are still to come or go, after `done` bytes of it.
struct Parts {
    std::array<iovec, 3> all{};
    std::size_t used = 0;

    void add(const void* data, std::size_t bytes) {
        if (bytes != 0) {
            all[used++] = {const_cast<void*>(data), bytes};
        }
    }
    void advance(std::size_t bytes) {
        std::size_t from = 0;
        while (from < used && bytes >= all[from].iov_len) {
            bytes -= all[from++].iov_len;
        }
        for (std::size_t i = from; i < used; ++i) {
            all[i - from] = all[i];
        }
        used -= from;
        if (used != 0) {
            all[0].iov_base = static_cast<char*>(all[0].iov_base) + bytes;
            all[0].iov_len -= bytes;
        }
    }
};

int take_descriptor(msghdr& message) {
    const cmsghdr* control = CMSG_FIRSTHDR(&message);
    if (control == nullptr || control->cmsg_level != SOL_SOCKET || control->cmsg_type != SCM_RIGHTS ||
        control->cmsg_len != CMSG_LEN(sizeof(int))) {
        return -1;
    }
    int descriptor = -1;
    std::memcpy(&descriptor, CMSG_DATA(control), sizeof descriptor);
    return descriptor;
}

}  // namespace

Connection::~Connection() {
    ::close(socket_);
}

Outcome Connection::wait(short events, bool forever, Steady::time_point begun) const noexcept {
    const auto passed = Steady::now() - begun;
    if (passed < spin_) {
        isa::relax();
        return Outcome::good;
    }
    if (!forever && passed >= patience_) {
        return Outcome::stalled;
    }
    pollfd waited{socket_, events, 0};
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(patience_ - passed).count();
    ::poll(&waited, 1, forever ? -1 : static_cast<int>(left));
    return Outcome::good;
}

Outcome Connection::send(Header header, const void* first, std::size_t first_bytes, const void* second,
                         std::size_t second_bytes, int descriptor) noexcept {
    header.magic = protocol_magic;
    header.version = protocol_version;
    header.length = static_cast<std::uint32_t>(first_bytes + second_bytes);
    header.sequence = secured_ ? sequence : 0;
    header.reserved = 0;
    header.tag = tag_of(header);
    Parts parts;
    parts.add(&header, sizeof header);
    parts.add(first, first_bytes);
    parts.add(second, second_bytes);
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
    const auto begun = Steady::now();
    while (parts.used != 0) {
        msghdr message{};
        message.msg_iov = parts.all.data();
        message.msg_iovlen = parts.used;
        if (descriptor >= 0) {
            message.msg_control = control.data();
            message.msg_controllen = control.size();
            cmsghdr* right = CMSG_FIRSTHDR(&message);
            right->cmsg_level = SOL_SOCKET;
            right->cmsg_type = SCM_RIGHTS;
            right->cmsg_len = CMSG_LEN(sizeof(int));
            std::memcpy(CMSG_DATA(right), &descriptor, sizeof descriptor);
        }
        const ssize_t sent = ::sendmsg(socket_, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent > 0) {
            parts.advance(static_cast<std::size_t>(sent));
            descriptor = -1;
        } else if (errno == EAGAIN || errno == EINTR) {
            if (const Outcome waited = wait(POLLOUT, false, begun); waited != Outcome::good) {
                return waited;
            }
        } else {
            return Outcome::closed;
        }
    }
    return Outcome::good;
}

Outcome Connection::receive(Header& header, void* payload, std::size_t capacity, bool forever,
                            int* descriptor) noexcept {
    std::size_t got = 0;
    std::size_t wanted = sizeof header;
    bool checked = false;
    auto begun = Steady::now();
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
    if (descriptor != nullptr) {
        *descriptor = -1;
    }
    while (got < wanted) {
        Parts parts;
        parts.add(&header, sizeof header);
        parts.add(payload, capacity);
        parts.advance(got);
        msghdr message{};
        message.msg_iov = parts.all.data();
        message.msg_iovlen = parts.used;
        if (descriptor != nullptr && *descriptor < 0) {
            message.msg_control = control.data();
            message.msg_controllen = control.size();
        }
        const ssize_t came = ::recvmsg(socket_, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
        if (came > 0) {
            if (got == 0 && forever) {
                begun = Steady::now();
            }
            got += static_cast<std::size_t>(came);
            if (descriptor != nullptr && *descriptor < 0 && message.msg_controllen != 0) {
                *descriptor = take_descriptor(message);
            }
        } else if (came < 0 && (errno == EAGAIN || errno == EINTR)) {
            if (const Outcome waited = wait(POLLIN, forever && got == 0, begun); waited != Outcome::good) {
                return waited;
            }
        } else {
            return got == 0 ? Outcome::closed : Outcome::short_message;
        }
        if (!checked && got >= sizeof header) {
            if (!plausible(header, capacity)) {
                return Outcome::malformed;
            }
            wanted += header.length;
            checked = true;
        }
    }
    // More than the message: the other side does not keep to one request at a time.
    return got == wanted ? Outcome::good : Outcome::malformed;
}

bool Connection::plausible(const Header& header, std::size_t capacity) const noexcept {
    return header.magic == protocol_magic && header.length <= capacity && header.tag == tag_of(header);
}

Outcome Connection::ask(Header request, const void* first, std::size_t first_bytes, const void* second,
                        std::size_t second_bytes, Operation expected, Header& answer, void* payload,
                        std::size_t capacity) noexcept {
    Outcome outcome = send(request, first, first_bytes, second, second_bytes);
    if (outcome == Outcome::good) {
        outcome = receive(answer, payload, capacity);
    }
    if (outcome != Outcome::good) {
        return outcome;
    }
    if (answer.sequence != (secured_ ? sequence : 0)) {
        return Outcome::malformed;
    }
    if (secured_) {
        ++sequence;
    }
    if (answer.operation == Operation::refused) {
        refusal_ = static_cast<Refusal>(answer.detail);
        return Outcome::refused;
    }
    return answer.operation == expected ? Outcome::good : Outcome::malformed;
}

}  // namespace consort::remote
