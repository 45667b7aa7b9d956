// SPDX-License-Identifier: Apache-2.0
//
// A segment over TCP: two connections, so that a fault does not wait behind a batch that is written back. One
// that is cut is made again, to the same segment of the same server: a server that began anew does not know
// it, and is refused.
#pragma once

#include "connection.hpp"
#include "dial.hpp"
#include "transport.hpp"

namespace consort::remote {

class TcpTransport final : public Home {
  public:
    // Attaches a new segment; throws as `attach`.
    explicit TcpTransport(const Attachment& wanted);
    TcpTransport(const TcpTransport&) = delete;
    TcpTransport& operator=(const TcpTransport&) = delete;
    ~TcpTransport() override;

    Outcome fetch(const Run& run, std::byte* bounce, Fetched& found) noexcept override;
    Outcome store(StoredPage* pages, const std::byte* const* sources, std::uint32_t count) noexcept override;
    void begin_store(const StoredPage* pages, const std::byte* data, std::uint32_t count) noexcept override;
    Outcome end_store() noexcept override;
    [[nodiscard]] bool serial() const noexcept override { return true; }
    [[nodiscard]] Refusal refusal() const noexcept override {
        return refusal_.load(std::memory_order_relaxed);
    }
    void count(Counters& counters) const noexcept override;
    void give_up() noexcept override { given_up_.store(true, std::memory_order_relaxed); }

  private:
    using Steady = std::chrono::steady_clock;
    // One of the two, and how it is attached.
    struct Line {
        std::unique_ptr<Connection> connection;
        ClientAttach attach;
    };

    void open(Line& line);
    bool again(Line& line, Steady::time_point deadline, Outcome& outcome) noexcept;
    template <class Exchange>
    Outcome persist(Line& line, Outcome outcome, Exchange exchange) noexcept;
    [[nodiscard]] static bool passes(Outcome outcome, Refusal why) noexcept;
    Outcome send_store() noexcept;

    Attachment wanted_;
    Key key_;
    Peer peer_;
    int process_;  // that attached it: a child after fork() does not detach it
    Line fetches_;
    Line stores_;
    std::unique_ptr<Staging> staging_;
    // The store under way.
    const StoredPage* pages_ = nullptr;
    const std::byte* data_ = nullptr;
    std::uint32_t count_ = 0;
    Outcome begun_ = Outcome::good;
    std::atomic<Refusal> refusal_{Refusal::none};
    std::atomic<bool> given_up_{false};
    std::atomic<std::uint64_t> reconnected_{0};
};

}  // namespace consort::remote
