// SPDX-License-Identifier: Apache-2.0
#include "shared_attach.hpp"

#include <cerrno>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "dial.hpp"

namespace consort::remote {

SharedSegment attach_shared(const Attachment& wanted) {
    if (wanted.encrypt) {
        throw std::invalid_argument(
            wanted.server + ": a server of this machine shares its memory: there is nothing to encrypt");
    }
    const std::chrono::seconds zeroing(wanted.bytes >> 28U);
    const Key key = read_key(wanted.key_file);
    auto connection =
        std::make_unique<Connection>(connect_to(wanted.server), wanted.spin, wanted.patience + zeroing);
    ClientAttach asked;
    asked.bytes = wanted.bytes;
    int descriptor = -1;
    const Outcome outcome = client_handshake(*connection, key, asked, &descriptor);
    if (outcome == Outcome::refused) {
        throw std::invalid_argument(wanted.server + ": " + describe(connection->refusal()));
    }
    if (outcome != Outcome::good || descriptor < 0) {
        throw std::system_error(
            EPROTO, std::generic_category(),
            wanted.server + ": " + (outcome == Outcome::good ? "no memory came" : describe(outcome)));
    }
    auto memory = linux_port::SharedMemory::adopt(descriptor);
    if (memory.bytes() != wanted.bytes || !memory.size_is_sealed()) {
        throw std::system_error(EPROTO, std::generic_category(),
                                wanted.server + ": the memory has another size, or one that can change");
    }
    return {std::move(connection), std::move(memory)};
}

}  // namespace consort::remote
