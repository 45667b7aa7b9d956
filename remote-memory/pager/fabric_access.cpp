// SPDX-License-Identifier: Apache-2.0
#include "fabric.hpp"

#if defined(CONSORT_LIBFABRIC)

#include <linux/futex.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <system_error>

#include "consort/port.hpp"
#include "descriptors.hpp"
#include "fabric_objects.hpp"
#include "waiting.hpp"

namespace consort::remote::fabric {

namespace {

using Steady = std::chrono::steady_clock;
constexpr std::size_t buffer_bytes = most_pages * page_bytes;

static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));

// Until the word is no longer `value`: polls for a while, then sleeps. Safe in a signal handler.
void await(const std::atomic<std::uint32_t>& word, std::uint32_t value,
           std::chrono::microseconds spin) noexcept {
    const auto sleeps = Steady::now() + spin;
    while (word.load(std::memory_order_acquire) == value) {
        if (Steady::now() < sleeps) {
            isa::relax();
        } else {
            ::syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
        }
    }
}

void advance(std::atomic<std::uint32_t>& word) noexcept {
    word.fetch_add(1, std::memory_order_acq_rel);
    ::syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

// True if the server's end of this socket is closed.
bool ended(int socket) noexcept {
    char byte = 0;
    const ssize_t came = ::recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return came == 0 || (came < 0 && errno != EAGAIN && errno != EINTR);
}

}  // namespace

struct Access::Endpoint {
    Objects objects;
    Owned<fid_mr> buffer;
    void* described = nullptr;
    fi_addr_t home = FI_ADDR_UNSPEC;
    std::uint64_t base = 0;
    std::uint64_t key = 0;
    std::array<fi_context2, most_pages> contexts{};
};

Access::Access(const FabricTarget& target, const Options& options) : options_(options) {
    void* made = ::mmap(nullptr, buffer_bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (made == MAP_FAILED) {
        throw std::bad_alloc();
    }
    buffer_ = static_cast<std::byte*>(made);
    thread_ = quiet_thread([this, target] {
        const AllocatesHere quiet;
        keep_own_descriptors();
        try {
            serve(target);
        } catch (...) {
            failure_ = std::current_exception();
        }
        outcome_ = outcome_ == Outcome::good ? Outcome::closed : outcome_;
        advance(done_);
    });
    // The connection is made now: a server that cannot be reached is found here.
    const Piece first{0, 0, page_bytes};
    begin(false, &first, 1);
    const Outcome outcome = end();
    if (outcome == Outcome::good) {
        return;
    }
    ending_ = true;
    advance(posted_);
    thread_.join();
    ::munmap(buffer_, buffer_bytes);
    if (failure_ != nullptr) {
        std::rethrow_exception(failure_);
    }
    throw std::system_error(EPROTO, std::generic_category(),
                            "fabric=" + text_of(target.provider) + ": " + describe(outcome));
}

Access::~Access() {
    ending_ = true;
    advance(posted_);
    thread_.join();
    ::munmap(buffer_, buffer_bytes);
}

void Access::serve(const FabricTarget& target) {
    Endpoint endpoint;
    const std::string provider = text_of(target.provider);
    endpoint.objects.open(provider, FI_RMA | FI_READ | FI_WRITE, "", &target);
    Objects& objects = endpoint.objects;
    if (objects.needs(FI_MR_LOCAL)) {
        endpoint.buffer = objects.enrol(buffer_, buffer_bytes, FI_READ | FI_WRITE);
        endpoint.described = ::fi_mr_desc(endpoint.buffer.get());
    }
    if (::fi_av_insert(objects.addresses.get(), target.address.data(), 1, &endpoint.home, 0, nullptr) != 1) {
        throw std::system_error(EHOSTUNREACH, std::generic_category(),
                                "fabric=" + provider + ": the server's address is not usable here");
    }
    endpoint.base = target.base;
    endpoint.key = target.key;
    for (std::uint32_t served = 0;; ++served) {
        await(posted_, served, options_.spin);
        if (ending_) {
            return;
        }
        if (outcome_ == Outcome::good) {
            outcome_ = transfer(endpoint);
        }
        advance(done_);
    }
}

Outcome Access::transfer(Endpoint& endpoint) noexcept {
    const auto deadline = Steady::now() + options_.patience;
    auto looks = Steady::now() + std::chrono::milliseconds(5);
    std::size_t begun = 0;
    std::size_t finished = 0;
    unsigned turns = 0;
    while (finished < count_) {
        long result = 0;
        while (begun < count_ && result == 0) {
            const Piece& piece = pieces_[begun];
            iovec here{buffer_ + piece.local, piece.bytes};
            fi_rma_iov there{endpoint.base + piece.remote, piece.bytes, endpoint.key};
            const fi_msg_rma message{&here, &endpoint.described,       1, endpoint.home, &there,
                                     1,     &endpoint.contexts[begun], 0};
            fid_ep* through = endpoint.objects.endpoint.get();
            result = writes_ ? ::fi_writemsg(through, &message, FI_DELIVERY_COMPLETE | FI_COMPLETION)
                             : ::fi_readmsg(through, &message, FI_COMPLETION);
            begun += result == 0 ? 1 : 0;
        }
        if (result < 0 && result != -FI_EAGAIN) {
            return Outcome::closed;
        }
        std::array<fi_cq_entry, 16> entries{};
        const long got = ::fi_cq_read(endpoint.objects.completions.get(), entries.data(), entries.size());
        if (got > 0) {
            finished += static_cast<std::size_t>(got);
            continue;
        }
        if (got != -FI_EAGAIN) {
            fi_cq_err_entry error{};
            ::fi_cq_readerr(endpoint.objects.completions.get(), &error, 0);
            return Outcome::closed;
        }
        const auto now = Steady::now();
        if (now >= looks) {
            looks = now + std::chrono::milliseconds(5);
            if (ended(options_.liveness)) {
                return Outcome::closed;
            }
        }
        if (now >= deadline) {
            return Outcome::stalled;
        }
        // The server, where it is on this machine, may need this processor.
        if (++turns % 16 == 0) {
            ::sched_yield();
        }
    }
    return Outcome::good;
}

void Access::begin(bool writes, const Piece* pieces, std::size_t count) noexcept {
    std::copy_n(pieces, count, pieces_.begin());
    count_ = count;
    writes_ = writes;
    ++asked_;
    advance(posted_);
}

Outcome Access::end() noexcept {
    await(done_, asked_ - 1, options_.spin);
    return outcome_;
}

}  // namespace consort::remote::fabric

#endif
