// SPDX-License-Identifier: Apache-2.0
#include "tcp_transport.hpp"

#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <stdexcept>
#include <system_error>

namespace consort::remote {

TcpTransport::TcpTransport(const Attachment& wanted)
    : wanted_(wanted), key_(read_key(wanted.key_file)), process_(::getpid()), staging_(new Staging) {
    fetches_.attach.bytes = wanted.bytes;
    fetches_.attach.ciphers = wanted.encrypt ? encrypting_ciphers() : only(Cipher::none);
    fetches_.attach.keep_ms = static_cast<std::uint32_t>(wanted.reconnect.count());
    open(fetches_);
    stores_.attach = fetches_.attach;
    stores_.attach.role = Role::stores;
    open(stores_);
    peer_ = Peer::of(stores_.connection->socket());
}

// A server that keeps the segment for a while need not.
TcpTransport::~TcpTransport() {
    if (wanted_.reconnect.count() == 0 || ::getpid() != process_) {
        return;
    }
    stores_.connection->set_patience(std::chrono::milliseconds(200));
    if (!stores_.connection->reachable()) {
        Outcome outcome = Outcome::closed;
        given_up_ = false;
        if (!again(stores_, Steady::now() + std::chrono::milliseconds(200), outcome) ||
            outcome != Outcome::good) {
            return;
        }
    }
    Header request{};
    request.operation = Operation::detach;
    Header answer{};
    stores_.connection->ask(request, nullptr, 0, nullptr, 0, Operation::detached, answer, nullptr, 0);
}

void TcpTransport::open(Line& line) {
    // The server takes the memory from its kernel first, which zeroes it: a second for 256 MiB is ample.
    const std::chrono::seconds zeroing(wanted_.bytes >> 28U);
    line.connection =
        std::make_unique<Connection>(connect_to(wanted_.server), wanted_.spin, wanted_.patience + zeroing);
    const Outcome outcome = client_handshake(*line.connection, key_, line.attach);
    if (outcome == Outcome::refused) {
        throw std::invalid_argument(wanted_.server + ": " + describe(line.connection->refusal()));
    }
    if (outcome != Outcome::good) {
        throw std::system_error(EPROTO, std::generic_category(), wanted_.server + ": " + describe(outcome));
    }
    line.connection->set_patience(wanted_.patience);
}

// True if another connection may help.
bool TcpTransport::passes(Outcome outcome, Refusal why) noexcept {
    switch (outcome) {
        case Outcome::closed:
        case Outcome::short_message:
        case Outcome::stalled:
        case Outcome::malformed:
            return true;
        case Outcome::refused:
            return why == Refusal::corrupted || why == Refusal::replayed || why == Refusal::malformed ||
                   why == Refusal::superseded || why == Refusal::wrong_key;
        default:
            return false;
    }
}

// Connects once more to the same segment; false where that is no use.
bool TcpTransport::again(Line& line, Steady::time_point deadline, Outcome& outcome) noexcept {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Steady::now());
    if (left.count() <= 0 || given_up_.load(std::memory_order_relaxed)) {
        return false;
    }
    const int socket = peer_.dial(deadline);
    if (socket < 0) {
        outcome = Outcome::closed;
    } else {
        line.connection->renew(socket);
        line.connection->set_patience(std::clamp(left, std::chrono::milliseconds(1), wanted_.patience));
        outcome = client_handshake(*line.connection, key_, line.attach);
        if (outcome == Outcome::good) {
            line.connection->set_patience(wanted_.patience);
            reconnected_.fetch_add(1, std::memory_order_relaxed);
            return true;
        }
        if (!passes(outcome, line.connection->refusal())) {
            return false;
        }
    }
    const timespec moment{0, 10'000'000};
    ::nanosleep(&moment, nullptr);
    return true;
}

// After a first exchange with this outcome: connects and exchanges again until it succeeds, or for so long.
template <class Exchange>
Outcome TcpTransport::persist(Line& line, Outcome outcome, Exchange exchange) noexcept {
    if (wanted_.reconnect.count() != 0 && passes(outcome, line.connection->refusal())) {
        const auto deadline = Steady::now() + wanted_.reconnect;
        while (passes(outcome, line.connection->refusal()) && again(line, deadline, outcome)) {
            if (outcome == Outcome::good) {
                outcome = exchange();
            }
        }
    }
    if (outcome == Outcome::refused) {
        refusal_ = line.connection->refusal();
    }
    return outcome;
}

Outcome TcpTransport::fetch(const Run& run, std::byte* bounce, Fetched& found) noexcept {
    Header request{};
    request.operation = Operation::fetch;
    request.page = run.first;
    request.count = run.count;
    request.stride = run.stride;
    found = {bounce, static_cast<std::ptrdiff_t>(page_bytes)};
    const auto exchange = [&] {
        Header answer{};
        const Outcome outcome = fetches_.connection->ask(request, nullptr, 0, nullptr, 0, Operation::fetched,
                                                         answer, bounce, most_pages * page_bytes);
        return outcome == Outcome::good && answer.length != run.count * page_bytes ? Outcome::malformed
                                                                                   : outcome;
    };
    const Outcome outcome = exchange();
    return outcome == Outcome::good ? outcome : persist(fetches_, outcome, exchange);
}

Outcome TcpTransport::store(StoredPage* pages, const std::byte* const* sources,
                            std::uint32_t count) noexcept {
    staging_->take(pages, sources, count);
    begin_store(pages, staging_->bytes(), count);
    return end_store();
}

void TcpTransport::begin_store(const StoredPage* pages, const std::byte* data, std::uint32_t count) noexcept {
    pages_ = pages;
    data_ = data;
    count_ = count;
    begun_ = send_store();
}

Outcome TcpTransport::send_store() noexcept {
    Header request{};
    request.operation = Operation::store;
    request.count = count_;
    return stores_.connection->send(request, pages_, count_ * sizeof *pages_, data_, count_ * page_bytes);
}

// A batch that was sent twice is there once: it holds whole pages, and the server drops what comes over a
// connection that has a successor.
Outcome TcpTransport::end_store() noexcept {
    const auto receive = [&](Outcome sent) {
        Header answer{};
        return sent == Outcome::good
                   ? stores_.connection->receive_answer(Operation::stored, answer, nullptr, 0)
                   : sent;
    };
    const Outcome outcome = receive(begun_);
    return outcome == Outcome::good ? outcome
                                    : persist(stores_, outcome, [&] { return receive(send_store()); });
}

void TcpTransport::count(Counters& counters) const noexcept {
    counters.reconnected += reconnected_.load(std::memory_order_relaxed);
}

}  // namespace consort::remote
