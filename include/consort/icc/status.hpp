// SPDX-License-Identifier: Apache-2.0
//
// The answers of a channel's operations.
#pragma once

#include <cstdint>

namespace consort {

enum class Status : std::uint8_t {
    ok,
    // Nothing to read, or no room to write. The call had no effect.
    would_block,
    // The deadline passed before the operation was possible. The call had no effect.
    timeout,
    // A word that the peer owns holds a value that the protocol cannot produce: the peer is defective, or the
    // memory was overwritten. The call had no effect; the channel must be set up again.
    peer_fault,
    // The wanted version was overwritten before or while it was copied: the reader came later than the
    // channel's number of versions allows. The call had no effect.
    overtaken,
};

[[nodiscard]] constexpr const char* to_string(Status status) noexcept {
    switch (status) {
        case Status::ok:
            return "ok";
        case Status::would_block:
            return "would block";
        case Status::timeout:
            return "timeout";
        case Status::peer_fault:
            return "peer fault";
        case Status::overtaken:
            return "overtaken";
    }
    return "unknown status";
}

}  // namespace consort
