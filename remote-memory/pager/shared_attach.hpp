// SPDX-License-Identifier: Apache-2.0
//
// A segment of a server on this machine: its memory itself, not copies of its pages.
#pragma once

#include <memory>

#include "connection.hpp"
#include "consort/linux/shared_memory.hpp"
#include "transport.hpp"

namespace consort::remote {

struct SharedSegment {
    // The server keeps the segment for as long as this is open.
    std::unique_ptr<Connection> connection;
    linux_port::SharedMemory memory;
};

// Attaches a new segment. Throws std::invalid_argument where key, version or size do not fit,
// std::system_error where there is no server.
SharedSegment attach_shared(const Attachment& wanted);

}  // namespace consort::remote
