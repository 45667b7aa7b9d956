// SPDX-License-Identifier: Apache-2.0
//
// Moves the blocks of one channel over a link: the link's engine with a DMA that copies, on the queue of that
// channel (link/block_queue.hpp).
#pragma once

#include <time.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "consort/app/channel_ends.hpp"
#include "consort/link.hpp"
#include "consort/linux/clock.hpp"
#include "consort/linux/executive/channels.hpp"
#include "consort/linux/executive/doorbell.hpp"
#include "consort/linux/spm_copy_engine.hpp"

namespace consort::linux_port {

// Memory that an engine shares with those that post and with the supervisor.
struct alignas(64) LinkLine {
    // How often something was posted, and whether the engine sleeps.
    std::atomic<std::uint32_t> posted{0};
    std::atomic<std::uint32_t> sleeping{0};
    std::atomic<std::uint32_t> ready{0};  // counts the starts of its process
    std::atomic<std::uint32_t> alive{0};
    std::atomic<std::uint64_t> pulse{0};  // its last sign of life [ticks]
    std::atomic<std::uint32_t> deaths{0};
    std::atomic<std::uint32_t> silent{0};  // it was ended because it gave no sign of life
    // Faults that the user asked for: so many of the next transactions fail, or hang.
    std::atomic<std::uint32_t> fail{0};
    std::atomic<std::uint32_t> hang{0};
};

// The copying DMA, and the faults of it that a user may ask for.
class LinkDma {
  public:
    explicit LinkDma(LinkLine* line) noexcept : line_(line) {}
    void start(const spm::Transfer& transfer) noexcept {
        failed_ = taken(&LinkLine::fail);
        hangs_ = taken(&LinkLine::hang);
        copy_.start(transfer);
    }
    [[nodiscard]] spm::DmaState state() const noexcept {
        return failed_ ? spm::DmaState::error : hangs_ ? spm::DmaState::busy : copy_.state();
    }
    void abort() noexcept {
        hangs_ = false;
        copy_.abort();
    }
    [[nodiscard]] bool hangs() const noexcept { return hangs_; }
    bool advance() noexcept { return !failed_ && !hangs_ && copy_.advance(); }

  private:
    [[nodiscard]] bool taken(std::atomic<std::uint32_t> LinkLine::*count) const noexcept {
        if (line_ == nullptr || (line_->*count).load(std::memory_order_relaxed) == 0) {
            return false;
        }
        (line_->*count).fetch_sub(1, std::memory_order_relaxed);
        return true;
    }
    // The size of a copy without a look at the limit.
    static constexpr std::uint32_t piece = 256 * 1024;

    LinkLine* line_;
    CopyEngine copy_{piece};
    bool failed_ = false;
    bool hangs_ = false;
};

struct Carrier {
    struct Served {
        bool any = false;  // a transaction was there, and is over
        link::Outcome outcome = link::Outcome::moved;
        std::uint64_t sequence = 0;  // of the block that has arrived; 0: none, as of a word that comes back
    };
    Carrier() = default;
    Carrier(const Carrier&) = delete;
    Carrier& operator=(const Carrier&) = delete;
    virtual ~Carrier() = default;
    // One whole transaction, if one is posted.
    virtual Served serve() noexcept = 0;
    // Blocks that were written so far; and whether what is posted next is not a block.
    [[nodiscard]] virtual std::uint32_t written() const noexcept = 0;
    [[nodiscard]] virtual bool word_is_next() const noexcept = 0;
};

template <class Q>
class CarrierOf final : public Carrier {
  public:
    // `line` may be null: no faults.
    CarrierOf(typename Q::Shared& shared, LinkLine* line, Ticks limit)
        : shared_(&shared), dma_(line), engine_(dma_, limit), arrived_(shared.far.engine.arrived.load()) {
        if (!engine_.attach(0, shared.ring, Q::near_window(shared), Q::far_window(shared))) {
            throw std::invalid_argument("a queue over a link cannot be served");
        }
    }
    Served serve() noexcept override {
        if (!engine_.step(Clock::now())) {
            return {};
        }
        while (engine_.moving()) {
            engine_.step(Clock::now());
            if (dma_.hangs()) {
                // Until the engine's limit, and no processor is needed for it.
                timespec time{0, 200'000};
                ::clock_nanosleep(CLOCK_MONOTONIC, 0, &time, nullptr);
            }
        }
        Served served{true, engine_.last_outcome(), 0};
        const std::uint32_t arrived = wire(shared_->far.engine.arrived.load(std::memory_order_relaxed));
        if (arrived != arrived_) {
            arrived_ = arrived;
            // The writer leaves a block where it is until it has arrived and was taken. Its number is first.
            const auto& block = shared_->near.blocks[(arrived - 1) & (Q::places - 1)];
            std::memcpy(&served.sequence, &block, sizeof served.sequence);
        }
        return served;
    }
    [[nodiscard]] std::uint32_t written() const noexcept override {
        return wire(shared_->near.writer.head.load(std::memory_order_relaxed));
    }
    [[nodiscard]] bool word_is_next() const noexcept override {
        auto& ring = shared_->ring;
        const std::uint32_t done = wire(ring.engine.completed.load(std::memory_order_relaxed));
        if (wire(ring.host.posted.load(std::memory_order_acquire)) == done) {
            return false;
        }
        link::Descriptor next{};
        Q::QueueRing::descriptor(ring, done).get(next);
        return (next.control & link::Descriptor::from_peer) != 0;
    }

  private:
    typename Q::Shared* shared_;
    LinkDma dma_;
    link::Engine<LinkDma, 1, Q::descriptors> engine_;
    std::uint32_t arrived_;
};

template <class C>
inline constexpr bool is_over_link = false;
template <class T, std::uint32_t N, class A>
inline constexpr bool is_over_link<app::OverLinkOf<T, N, A>> = true;

template <class C>
std::unique_ptr<Carrier> open_carrier(const Region<>& region, const std::string& channel, LinkLine* line,
                                      Ticks limit) {
    return std::make_unique<CarrierOf<typename C::Channel>>(
        *open_or_refuse<typename C::Channel>(region, object_name(channel)), line, limit);
}

// A channel's end whose blocks a link carries: wakes the engine.
class PostingTarget final : public WriteTarget {
  public:
    PostingTarget(std::shared_ptr<WriteTarget> target, LinkLine& line)
        : target_(std::move(target)), line_(&line) {}
    Transferred write(const std::byte* from, Ticks visible) noexcept override {
        const Transferred moved = target_->write(from, visible);
        // Without room, too: the writer asks the engine how much the reader has taken.
        ring_doorbell(line_->posted, line_->sleeping);
        return moved;
    }
    std::span<std::byte> kept() noexcept override { return target_->kept(); }
    void take_over() noexcept override { target_->take_over(); }
    void passed() noexcept override { target_->passed(); }

  private:
    std::shared_ptr<WriteTarget> target_;
    LinkLine* line_;
};

inline std::shared_ptr<WriteTarget> posting(std::shared_ptr<WriteTarget> target, LinkLine* line) {
    return line == nullptr ? std::move(target) : std::make_shared<PostingTarget>(std::move(target), *line);
}

}  // namespace consort::linux_port
