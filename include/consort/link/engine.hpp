// SPDX-License-Identifier: Apache-2.0
//
// Engine: the side of a link that moves the bytes. It serves up to `Queues` rings, one transaction of each in
// turn, with a DMA behind the interface of the scratchpad kernel's (spm/dma.hpp): one of the processor's own,
// or a core that copies.
//
// The host is not trusted. A doorbell that the host cannot reach, an offset outside of a window, an unmarked
// end and an unknown flag move nothing; each descriptor is read once, into private memory, before it is
// checked. An engine that is restarted repeats what was not complete: the same bytes to the same place.
#pragma once

#include <cstdint>

#include "consort/link/ring.hpp"

namespace consort::link {

// `Event` is called with the queue's number when a transaction is complete that asked for an event.
template <Dma D, std::uint32_t Queues, std::uint32_t N, class A = access::Coherent, class Event = NoEvent>
class Engine {
    static_assert(Queues >= 1 && Queues <= 64, "an engine serves 1 to 64 queues");

  public:
    using Shared = typename Ring<N, A>::Shared;

    // No limit on how long one transaction may take.
    static constexpr Ticks unlimited = ~Ticks{0};

    // `limit`: ticks after which a DMA that is still busy with one transaction is stopped.
    explicit Engine(D& dma, Ticks limit = unlimited, Event event = {}) noexcept
        : dma_(&dma), limit_(limit), event_(event) {}
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;
    Engine(Engine&&) = delete;
    Engine& operator=(Engine&&) = delete;
    ~Engine() = default;

    // Serves a ring from now on, at its first descriptor that is not complete. False: the number is too high,
    // or a transaction of that queue is under way.
    [[nodiscard]] bool attach(std::uint32_t queue, Shared& shared, Window host, Window peer) noexcept {
        if (queue >= Queues || (moving_ && queue == queue_)) {
            return false;
        }
        Side& side = sides_[queue];
        side = {&shared, host, peer, A::template load<SyncPoint::own>(shared.engine.completed),
                A::template load<SyncPoint::own>(shared.engine.faults)};
        A::template store<SyncPoint::epoch_publish>(
            shared.engine.epoch, A::template load<SyncPoint::own>(shared.engine.epoch) + 1);
        return true;
    }

    // One bounded step: fetches a transaction, moves the next part, or completes. False: there was nothing to
    // do.
    bool step(Ticks now) noexcept {
        if (moving_) {
            move(now);
            return true;
        }
        for (std::uint32_t i = 0; i < Queues; ++i) {
            const std::uint32_t queue = turn_;
            turn_ = turn_ + 1 == Queues ? 0 : turn_ + 1;
            if (sides_[queue].shared != nullptr && fetch(queue, now)) {
                return true;
            }
        }
        return false;
    }

    // How often the doorbell of a queue held a number that the host cannot reach. Such a queue is not served.
    [[nodiscard]] std::uint32_t faults(std::uint32_t queue) const noexcept {
        return queue < Queues ? sides_[queue].faults : 0;
    }

    // True if a transaction is under way; and the outcome of the last one that ended.
    [[nodiscard]] bool moving() const noexcept { return moving_; }
    [[nodiscard]] Outcome last_outcome() const noexcept { return outcome_; }

  private:
    struct Side {
        Shared* shared = nullptr;
        Window host;
        Window peer;
        std::uint32_t next = 0;  // the first descriptor that is not complete
        std::uint32_t faults = 0;
        bool faulty = false;  // the last look at the doorbell found a fault
    };

    // Reads the chain that begins at the next descriptor, and starts it. False: nothing is posted.
    bool fetch(std::uint32_t queue, Ticks now) noexcept {
        Side& side = sides_[queue];
        const std::uint32_t posted = A::template load<SyncPoint::link_fetch>(side.shared->host.posted);
        const std::uint32_t waiting = posted - side.next;
        if (waiting > N) {
            if (!side.faulty) {
                side.faulty = true;
                side.faults += 1;
                A::template store<SyncPoint::diagnostic>(side.shared->engine.faults, side.faults);
            }
            return false;
        }
        side.faulty = false;
        if (waiting == 0) {
            return false;
        }
        queue_ = queue;
        count_ = 0;
        at_ = 0;
        moved_ = 0;
        under_way_ = 0;
        begun_ = now;
        Outcome outcome = Outcome::moved;
        std::uint32_t room = ~std::uint32_t{0};
        bool ended = false;
        while (count_ < waiting && !ended) {
            Descriptor& d = chain_[count_];
            Ring<N, A>::descriptor(*side.shared, side.next + count_).get(d);
            count_ += 1;
            ended = (d.control & Descriptor::last) != 0;
            const bool mixed = ((d.control ^ chain_[0].control) & Descriptor::from_peer) != 0;
            if ((d.control & ~Descriptor::known) != 0 || mixed || d.bytes > room) {
                outcome = Outcome::malformed;
            } else if (outcome == Outcome::moved &&
                       (!side.host.holds(d.local, d.bytes) || !side.peer.holds(d.remote, d.bytes))) {
                outcome = Outcome::out_of_window;
            }
            room -= d.bytes <= room ? d.bytes : 0;
        }
        if (!ended) {
            outcome = Outcome::malformed;
        }
        if (outcome != Outcome::moved) {
            complete(outcome);
            return true;
        }
        moving_ = true;
        start_next();
        return true;
    }

    // Hands the DMA as many of the remaining pieces as one of its transfers takes.
    void start_next() noexcept {
        const Side& side = sides_[queue_];
        const bool from_peer = (chain_[0].control & Descriptor::from_peer) != 0;
        transfer_ = spm::Transfer{};
        while (at_ < count_ && transfer_.count < spm::largest_transfer) {
            const Descriptor& d = chain_[at_++];
            std::byte* local = side.host.base + d.local;
            std::byte* remote = side.peer.base + d.remote;
            const std::byte* from = from_peer ? remote : local;
            A::observe_range(from, d.bytes);
            transfer_.add(from, from_peer ? local : remote, d.bytes);
        }
        under_way_ = transfer_.bytes();
        dma_->start(transfer_);
    }

    void move(Ticks now) noexcept {
        if constexpr (requires { dma_->advance(); }) {
            static_cast<void>(dma_->advance());
        }
        switch (dma_->state()) {
            case spm::DmaState::idle:
                for (std::uint32_t i = 0; i < transfer_.count; ++i) {
                    A::publish_range(transfer_.segment[i].to, transfer_.segment[i].bytes);
                }
                moved_ += under_way_;
                if (at_ < count_) {
                    start_next();
                } else {
                    complete(Outcome::moved);
                }
                break;
            case spm::DmaState::error:
                complete(Outcome::dma_error);
                break;
            case spm::DmaState::busy:
                if (limit_ != unlimited && now - begun_ >= limit_) {
                    dma_->abort();
                    complete(Outcome::timed_out);
                }
                break;
        }
    }

    void complete(Outcome outcome) noexcept {
        Side& side = sides_[queue_];
        side.next += count_;
        Ring<N, A>::completion(*side.shared, side.next - 1)
            .put(StatusEntry{side.next - 1, moved_, static_cast<std::uint32_t>(outcome), 0});
        moving_ = false;
        outcome_ = outcome;
        A::template store<SyncPoint::link_complete>(side.shared->engine.completed, side.next);
        if ((chain_[count_ - 1].control & Descriptor::event) != 0) {
            event_(queue_);
        }
    }

    D* dma_;
    Ticks limit_;
    Event event_;
    Side sides_[Queues] = {};
    std::uint32_t turn_ = 0;

    // The transaction under way.
    bool moving_ = false;
    Outcome outcome_ = Outcome::moved;
    std::uint32_t queue_ = 0;
    std::uint32_t count_ = 0;
    std::uint32_t at_ = 0;
    std::uint32_t moved_ = 0;
    std::uint32_t under_way_ = 0;
    Ticks begun_ = 0;
    spm::Transfer transfer_{};
    Descriptor chain_[N] = {};
};

}  // namespace consort::link
