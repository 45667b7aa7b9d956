// SPDX-License-Identifier: Apache-2.0
//
// Linked with the program of a run whose tasks have their states in remote memory.
#include <algorithm>

#include "consort/linux/executive/state_memory.hpp"
#include "consort/linux/remote_segment.hpp"
#include "protocol.hpp"

namespace consort::linux_port {

namespace {

class RemoteState final : public StateMemory {
  public:
    explicit RemoteState(const remote::SegmentOptions& options) : segment_(options) {}

    [[nodiscard]] std::byte* data() noexcept override { return static_cast<std::byte*>(segment_.data()); }
    Faults faults() noexcept override {
        const remote::Counters now = segment_.counters();
        const Faults all{now.faults + now.write_faults + now.rescued, now.fault_ns};
        const Faults since{all.count - before_.count, all.ns - before_.ns};
        before_ = all;
        return since;
    }

  private:
    remote::Segment segment_;
    Faults before_;
};

}  // namespace

std::unique_ptr<StateMemory> attach_state(const RemoteStateConfig& config, std::size_t bytes) {
    remote::SegmentOptions options;
    options.server = config.server;
    options.key_file = config.key_file;
    options.bytes =
        (std::max<std::size_t>(bytes, 1) + remote::page_bytes - 1) / remote::page_bytes * remote::page_bytes;
    options.cache_bytes = config.cache_bytes;
    options.prefetch = config.prefetch;
    options.faults = remote::Faults::in_thread;
    options.timed = true;
    return std::make_unique<RemoteState>(options);
}

}  // namespace consort::linux_port
