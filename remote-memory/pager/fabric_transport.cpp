// SPDX-License-Identifier: Apache-2.0
#include "fabric_transport.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>
#include <system_error>

#include "descriptors.hpp"
#include "dial.hpp"

namespace consort::remote {

namespace {

constexpr std::uint64_t place_of(std::uint32_t page) {
    return std::uint64_t{page} * page_bytes;
}

void check(const Attachment& wanted) {
    const std::string where = wanted.server + ": fabric=" + wanted.fabric + ": ";
    if (on_this_machine(wanted.server)) {
        throw std::invalid_argument(where + "a server of this machine, by its name, shares its memory");
    }
    if (wanted.encrypt) {
        throw std::invalid_argument(where + "encrypt=yes: pages cross a fabric as they are");
    }
    if (wanted.reconnect.count() != 0) {
        throw std::invalid_argument(where + "reconnect: what goes through a fabric is not connected again");
    }
    fabric::expect(wanted.fabric);
}

}  // namespace

Outcome reach_in_fabric(Connection& connection, const std::string& provider, FabricTarget& target) noexcept {
    FabricName name{};
    std::memcpy(name.data(), provider.data(), std::min(provider.size(), name.size() - 1));
    Header request{};
    request.operation = Operation::reach;
    Header answer{};
    std::array<std::byte, sizeof target + note_overhead> sealed{};
    const std::uint64_t number = connection.sequence;
    const Outcome outcome = connection.ask(request, &name, sizeof name, nullptr, 0, Operation::reachable,
                                           answer, sealed.data(), sealed.size());
    if (outcome != Outcome::good) {
        return outcome;
    }
    const bool whole = answer.length == sealed.size() &&
                       open_note(connection.header_key(), number, sealed.data(), sizeof target, &target) &&
                       target.provider == name && target.address_bytes <= target.address.size();
    return whole ? Outcome::good : Outcome::malformed;
}

FabricTransport::FabricTransport(const Attachment& wanted) : process_(::getpid()), staging_(new Staging) {
    const AllocatesHere no_segment;
    check(wanted);
    const Key key = read_key(wanted.key_file);
    const std::chrono::seconds zeroing(wanted.bytes >> 28U);
    connection_ =
        std::make_unique<Connection>(connect_to(wanted.server), wanted.spin, wanted.patience + zeroing);
    ClientAttach asked;
    asked.bytes = wanted.bytes;
    FabricTarget target{};
    Outcome outcome = client_handshake(*connection_, key, asked);
    if (outcome == Outcome::good) {
        outcome = reach_in_fabric(*connection_, wanted.fabric, target);
        // The answer of a server that does not know the request.
        if (outcome == Outcome::refused && connection_->refusal() == Refusal::malformed) {
            connection_->refuse(Refusal::no_fabric);
        }
    }
    if (outcome == Outcome::refused) {
        throw std::invalid_argument(wanted.server + ": fabric=" + wanted.fabric + ": " +
                                    describe(connection_->refusal()));
    }
    if (outcome != Outcome::good) {
        throw std::system_error(EPROTO, std::generic_category(), wanted.server + ": " + describe(outcome));
    }
    const fabric::Access::Options options{wanted.spin, wanted.patience, connection_->socket()};
    fetches_ = std::make_unique<fabric::Access>(target, options);
    stores_ = std::make_unique<fabric::Access>(target, options);
}

FabricTransport::~FabricTransport() {
    const AllocatesHere no_segment;
    if (::getpid() != process_) {
        static_cast<void>(fetches_.release());
        static_cast<void>(stores_.release());
    }
}

Outcome FabricTransport::fetch(const Run& run, std::byte* /*bounce*/, Fetched& found) noexcept {
    std::array<fabric::Piece, most_pages> pieces{};
    std::size_t used = 0;
    if (run.stride == 1) {
        pieces[used++] = {0, place_of(run.first), run.count * page_bytes};
    } else {
        for (; used < run.count; ++used) {
            pieces[used] = {used * page_bytes, place_of(run.page(static_cast<std::uint32_t>(used))),
                            page_bytes};
        }
    }
    found = {fetches_->buffer(), static_cast<std::ptrdiff_t>(page_bytes)};
    fetches_->begin(false, pieces.data(), used);
    return fetches_->end();
}

Outcome FabricTransport::store(StoredPage* pages, const std::byte* const* sources,
                               std::uint32_t count) noexcept {
    staging_->take(pages, sources, count);
    begin_store(pages, staging_->bytes(), count);
    return end_store();
}

void FabricTransport::begin_store(const StoredPage* pages, const std::byte* data,
                                  std::uint32_t count) noexcept {
    std::array<fabric::Piece, most_pages> pieces{};
    std::size_t used = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
        if (i != 0 && pages[i].page == pages[i - 1].page + 1) {
            pieces[used - 1].bytes += page_bytes;
        } else {
            pieces[used++] = {i * page_bytes, place_of(pages[i].page), page_bytes};
        }
    }
    std::memcpy(stores_->buffer(), data, count * page_bytes);
    stores_->begin(true, pieces.data(), used);
}

Outcome FabricTransport::end_store() noexcept {
    return stores_->end();
}

}  // namespace consort::remote
