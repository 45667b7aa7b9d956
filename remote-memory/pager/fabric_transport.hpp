// SPDX-License-Identifier: Apache-2.0
//
// A segment over a fabric: attached over TCP like any other, which also says when the server ends; its pages
// are read and written through libfabric, by one endpoint for faults and one for what is written back.
#pragma once

#include "connection.hpp"
#include "fabric.hpp"
#include "transport.hpp"

namespace consort::remote {

class FabricTransport final : public Home {
  public:
    // Attaches a new segment; throws as `attach`.
    explicit FabricTransport(const Attachment& wanted);
    FabricTransport(const FabricTransport&) = delete;
    FabricTransport& operator=(const FabricTransport&) = delete;
    ~FabricTransport() override;

    Outcome fetch(const Run& run, std::byte* bounce, Fetched& found) noexcept override;
    Outcome store(StoredPage* pages, const std::byte* const* sources, std::uint32_t count) noexcept override;
    void begin_store(const StoredPage* pages, const std::byte* data, std::uint32_t count) noexcept override;
    Outcome end_store() noexcept override;
    [[nodiscard]] bool serial() const noexcept override { return true; }
    [[nodiscard]] Refusal refusal() const noexcept override { return Refusal::none; }

  private:
    int process_;  // that attached it: a child after fork() has neither threads nor connections of it
    std::unique_ptr<Connection> connection_;
    std::unique_ptr<fabric::Access> fetches_;
    std::unique_ptr<fabric::Access> stores_;
    std::unique_ptr<Staging> staging_;
};

// Asks the server where the attached segment is in the fabric.
Outcome reach_in_fabric(Connection& connection, const std::string& provider, FabricTarget& target) noexcept;

}  // namespace consort::remote
