// SPDX-License-Identifier: Apache-2.0
//
// Memory for the state of a step that is not the process's own: of a segment of remote memory, which the
// library of remote-memory/pager attaches. The executive itself knows nothing of segments.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace consort::linux_port {

// Where a run's segments are; an empty server: the state lies in the process.
struct RemoteStateConfig {
    std::string server;  // HOST:PORT, or the path of a server's socket
    std::string key_file;
    std::uint64_t cache_bytes = 0;
    std::uint32_t prefetch = 1;
};

class StateMemory {
  public:
    struct Faults {
        std::uint64_t count = 0;
        std::uint64_t ns = 0;
    };
    StateMemory() = default;
    StateMemory(const StateMemory&) = delete;
    StateMemory& operator=(const StateMemory&) = delete;
    virtual ~StateMemory() = default;
    [[nodiscard]] virtual std::byte* data() noexcept = 0;
    // Since it was asked last.
    virtual Faults faults() noexcept = 0;
};

using AttachState = std::unique_ptr<StateMemory> (*)(const RemoteStateConfig& config, std::size_t bytes);

// In the library of remote-memory/pager, which a program is linked with that has such a state. Throws as
// consort::remote::Segment does.
__attribute__((visibility("default"))) std::unique_ptr<StateMemory> attach_state(
    const RemoteStateConfig& config, std::size_t bytes);

}  // namespace consort::linux_port
