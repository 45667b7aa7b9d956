// SPDX-License-Identifier: Apache-2.0
#include "protocol.hpp"

#include <isa-l/crc.h>

namespace consort::remote {

const char* describe(Outcome outcome) noexcept {
    switch (outcome) {
        case Outcome::good:
            return "good";
        case Outcome::closed:
            return "the server closed the connection or died";
        case Outcome::short_message:
            return "the connection ended within a message";
        case Outcome::stalled:
            return "the server did not answer in time";
        case Outcome::refused:
            return "the server refused the request";
        case Outcome::corrupted:
            return "a page came back with other content than was stored (CRC)";
        case Outcome::malformed:
            return "the server's answer is not one of this protocol";
        case Outcome::out_of_memory:
            return "this machine is out of memory";
        case Outcome::forked:
            return "a child after fork() has no remote memory";
    }
    return "unknown";
}

const char* describe(Refusal refusal) noexcept {
    switch (refusal) {
        case Refusal::none:
            return "no reason was given";
        case Refusal::wrong_key:
            return "the keys differ";
        case Refusal::wrong_version:
            return "the versions of the protocol differ";
        case Refusal::no_room:
            return "the server has not that much memory left";
        case Refusal::out_of_range:
            return "the access is outside of the segment";
        case Refusal::corrupted:
            return "a page was corrupted on its way";
        case Refusal::replayed:
            return "a request was repeated or left out";
        case Refusal::malformed:
            return "the request is not one of this protocol";
        case Refusal::unknown_segment:
            return "there is no such segment: the server began anew, or gave it up";
        case Refusal::not_encrypted:
            return "the two sides have no way of encryption in common, or one demands it";
        case Refusal::superseded:
            return "a newer connection took the place of this one";
        case Refusal::no_fabric:
            return "the server offers no fabric of this provider; consort remote serve --fabric offers one";
        case Refusal::fabric_fails:
            return "the server's provider of the fabric could not register the segment";
        case Refusal::huge_pages:
            return "the server's memory is of huge pages: the size has to be a multiple of 2 MiB";
    }
    return "unknown";
}

std::uint32_t page_crc(const void* page) noexcept {
    // The library takes a pointer to bytes that it does not write.
    return crc32_iscsi(static_cast<unsigned char*>(const_cast<void*>(page)), static_cast<int>(page_bytes),
                       0xffffffffU);
}

}  // namespace consort::remote
