// SPDX-License-Identifier: Apache-2.0
#include "connection.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <new>

#include "consort/port.hpp"
#include "descriptors.hpp"

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
    // Others hold the socket open, too: threads with a table of their own that began meanwhile, and children.
    // The peer is to see the end; a child lets go of what is its parent's.
    if (::getpid() == process_) {
        cut();
    }
    ::close(first_);
    // In another table the number is another file's; that table ends with its thread.
    if (renewed_ >= 0 && table_ == own_table()) {
        ::close(renewed_);
    }
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

bool Connection::secure(const SessionKeys& keys, Cipher cipher, bool is_server) noexcept {
    key_ = keys.headers;
    secured_ = true;
    sealed_ = cipher != Cipher::none;
    if (sealed_) {
        if (sealer_ == nullptr) {
            sealer_.reset(new (std::nothrow) Sealer);
        }
        if (sealer_ == nullptr) {
            return false;
        }
        sealer_->begin(keys, cipher, is_server);
    }
    return true;
}

void Connection::renew(int socket) noexcept {
    // Threads with a table of their own hold the old one open: the server is to see its end.
    cut();
    if (renewed_ >= 0 && table_ == own_table()) {
        ::close(renewed_);
    }
    socket_ = socket;
    renewed_ = socket;
    table_ = own_table();
    secured_ = false;
    sealed_ = false;
    sequence = 1;
}

bool Connection::reachable() const noexcept {
    return socket_ == first_ || table_ == own_table();
}

void Connection::cut() const noexcept {
    if (reachable()) {
        ::shutdown(socket_, SHUT_RDWR);
    }
}

std::uint64_t Connection::tag_of(const Header& header) const noexcept {
    return secured_ ? header_tag(header, key_) : 0;
}

Outcome Connection::send(Header header, const void* first, std::size_t first_bytes, const void* second,
                         std::size_t second_bytes, int descriptor) noexcept {
    header.magic = protocol_magic;
    header.version = protocol_version;
    header.length = static_cast<std::uint32_t>(first_bytes + second_bytes);
    header.sequence = secured_ ? sequence : 0;
    header.reserved = 0;
    if (sealed_) {
        return send_sealed(header, first, first_bytes, second, second_bytes);
    }
    header.tag = tag_of(header);
    Parts parts;
    parts.add(&header, sizeof header);
    parts.add(first, first_bytes);
    parts.add(second, second_bytes);
    return send_parts(parts.all, parts.used, descriptor);
}

Outcome Connection::send_sealed(const Header& header, const void* first, std::size_t first_bytes,
                                const void* second, std::size_t second_bytes) noexcept {
    std::byte* out = sealer_->outgoing.data();
    sealer_->seal(&header, sizeof header, out);
    std::size_t bytes = Sealer::header_bytes;
    if (header.length != 0) {
        std::byte* plain = out + bytes;
        std::memcpy(plain, first, first_bytes);
        if (second_bytes != 0) {
            std::memcpy(plain + first_bytes, second, second_bytes);
        }
        sealer_->seal(plain, header.length, plain);
        bytes += header.length + Sealer::overhead;
    }
    Parts parts;
    parts.add(out, bytes);
    return send_parts(parts.all, parts.used, -1);
}

Outcome Connection::send_parts(std::array<iovec, 3> all, std::size_t used, int descriptor) noexcept {
    Parts parts{all, used};
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
    return sealed_ ? receive_sealed(header, payload, capacity, forever)
                   : receive_plain(header, payload, capacity, forever, descriptor);
}

Outcome Connection::receive_sealed(Header& header, void* payload, std::size_t capacity,
                                   bool forever) noexcept {
    std::byte* in = sealer_->incoming.data();
    std::size_t got = 0;
    std::size_t wanted = Sealer::header_bytes;
    bool opened = false;
    auto begun = Steady::now();
    while (got < wanted) {
        const ssize_t came = ::recv(socket_, in + got, Sealer::room_bytes - got, MSG_DONTWAIT);
        if (came > 0) {
            if (got == 0 && forever) {
                begun = Steady::now();
            }
            got += static_cast<std::size_t>(came);
        } else if (came < 0 && (errno == EAGAIN || errno == EINTR)) {
            if (const Outcome waited = wait(POLLIN, forever && got == 0, begun); waited != Outcome::good) {
                return waited;
            }
        } else {
            return got == 0 ? Outcome::closed : Outcome::short_message;
        }
        if (!opened && got >= Sealer::header_bytes) {
            if (!sealer_->open(in, sizeof header, &header) || header.magic != protocol_magic ||
                header.length > capacity) {
                return Outcome::malformed;
            }
            wanted += header.length == 0 ? 0 : header.length + Sealer::overhead;
            opened = true;
        }
    }
    // More than the message: the other side does not keep to one request at a time.
    if (got != wanted) {
        return Outcome::malformed;
    }
    const bool whole = header.length == 0 || sealer_->open(in + Sealer::header_bytes, header.length, payload);
    return whole ? Outcome::good : Outcome::malformed;
}

Outcome Connection::receive_plain(Header& header, void* payload, std::size_t capacity, bool forever,
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
    const Outcome outcome = send(request, first, first_bytes, second, second_bytes);
    return outcome == Outcome::good ? receive_answer(expected, answer, payload, capacity) : outcome;
}

Outcome Connection::receive_answer(Operation expected, Header& answer, void* payload,
                                   std::size_t capacity) noexcept {
    if (const Outcome outcome = receive(answer, payload, capacity); outcome != Outcome::good) {
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
