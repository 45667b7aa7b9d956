// SPDX-License-Identifier: Apache-2.0
//
// Host: the side of a link that posts transactions and takes their completions.
//
// Transactions complete in the order in which they were posted. Until a transaction is complete its pieces
// belong to the engine: the host neither writes what goes to the peer nor reads what comes from it. That
// holds after a time-out too: the transaction stays in flight until it completes.
#pragma once

#include <cstdint>

#include "consort/icc/wait.hpp"
#include "consort/link/ring.hpp"

namespace consort::link {

// `Bell` wakes an engine that sleeps; it is called after the doorbell is written.
template <std::uint32_t N, class A = access::Coherent, class Bell = NoEvent>
class Host {
  public:
    using Shared = typename Ring<N, A>::Shared;

    // Takes the ring over, also from a host that died: what that one posted is completed first, and silently.
    Host(Shared& shared, Window local, std::uint32_t remote_bytes, Bell bell = {}) noexcept
        : shared_(&shared),
          local_(local),
          remote_{nullptr, remote_bytes},
          bell_(bell),
          posted_(A::template load<SyncPoint::own>(shared.host.posted)),
          reaped_(posted_) {
        const std::uint32_t completed = A::template load<SyncPoint::link_reap>(shared.engine.completed);
        // A status word that the protocol cannot produce is a fault, which poll() answers.
        if (posted_ - completed <= N) {
            formers_ = posted_ - completed;
            reaped_ = completed;
        }
        A::template store<SyncPoint::epoch_publish>(shared.host.epoch,
                                                    A::template load<SyncPoint::own>(shared.host.epoch) + 1);
    }
    Host(const Host&) = delete;
    Host& operator=(const Host&) = delete;
    Host(Host&&) noexcept = default;
    Host& operator=(Host&&) noexcept = default;
    ~Host() = default;

    // Posts a transaction of `count` pieces; its completion carries `tag`. All pieces or none are posted.
    [[nodiscard]] Posting try_post(Direction direction, const Piece* pieces, std::uint32_t count,
                                   std::uint32_t tag, Completing completing) noexcept {
        if (count == 0 || count > N || !postable(pieces, count)) {
            return Posting::refused;
        }
        if (N - (posted_ - reaped_) < count) {
            return Posting::full;
        }
        for (std::uint32_t i = 0; i < count; ++i) {
            const Piece& piece = pieces[i];
            flights_[(posted_ + i) & (N - 1)] = {tag, piece.local, piece.bytes, 0, direction};
            if (direction == Direction::to_peer) {
                A::publish_range(local_.base + piece.local, piece.bytes);
            }
            std::uint32_t control = direction == Direction::from_peer ? Descriptor::from_peer : 0;
            if (i + 1 == count) {
                control |= Descriptor::last;
                control |= completing == Completing::by_event ? Descriptor::event : 0;
            }
            Ring<N, A>::descriptor(*shared_, posted_ + i)
                .put(Descriptor{piece.local, piece.remote, piece.bytes, control});
        }
        Flight& first = flights_[posted_ & (N - 1)];
        first.pieces = count;
        posted_ += count;
        transactions_ += 1;
        A::template store<SyncPoint::link_post>(shared_->host.posted, posted_);
        bell_(0);
        return Posting::ok;
    }

    // The oldest transaction's completion: ok, would_block (it is under way, or none is), or peer_fault: the
    // engine's words make no sense, and the ring has to be set up again.
    [[nodiscard]] Status poll(Completion& completion) noexcept {
        const std::uint32_t completed = A::template load<SyncPoint::link_reap>(shared_->engine.completed);
        // The engine's word is not trusted: it lies between what was reaped and what was posted.
        std::uint32_t done = completed - reaped_;
        if (done > posted_ - reaped_) {
            return Status::peer_fault;
        }
        const std::uint32_t skipped = done < formers_ ? done : formers_;
        formers_ -= skipped;
        reaped_ += skipped;
        done -= skipped;
        const Flight& first = flights_[reaped_ & (N - 1)];
        if (formers_ != 0 || transactions_ == 0 || done < first.pieces) {
            return Status::would_block;
        }
        return reap(first, completion);
    }

    // Busy-waits for a completion until P::now() >= deadline [ticks of P]: ok, timeout or peer_fault.
    template <Port P, class Spin = spin::Relaxed>
    [[nodiscard]] Status poll_until(Ticks deadline, Completion& completion) noexcept {
        return consort::detail::wait_until<P, Spin>(deadline, [&] { return poll(completion); });
    }

    // Transactions posted by this side and not yet reaped.
    [[nodiscard]] std::uint32_t in_flight() const noexcept { return transactions_; }
    [[nodiscard]] std::uint32_t peer_epoch() const noexcept {
        return A::template load<SyncPoint::epoch_observe>(shared_->engine.epoch);
    }

  private:
    // The host's own copy of a descriptor: the peer can change none of it.
    struct Flight {
        std::uint32_t tag;
        std::uint32_t local;
        std::uint32_t bytes;
        std::uint32_t pieces;  // of the transaction, in its first descriptor
        Direction direction;
    };

    [[nodiscard]] bool postable(const Piece* pieces, std::uint32_t count) const noexcept {
        std::uint32_t room = ~std::uint32_t{0};
        for (std::uint32_t i = 0; i < count; ++i) {
            const Piece& piece = pieces[i];
            if (!local_.holds(piece.local, piece.bytes) || !remote_.holds(piece.remote, piece.bytes) ||
                piece.bytes > room) {
                return false;
            }
            room -= piece.bytes;
        }
        return true;
    }

    [[nodiscard]] Status reap(const Flight& first, Completion& completion) noexcept {
        StatusEntry entry{};
        const std::uint32_t last = reaped_ + first.pieces - 1;
        Ring<N, A>::completion(*shared_, last).get(entry);
        std::uint32_t bytes = 0;
        for (std::uint32_t i = 0; i < first.pieces; ++i) {
            bytes += flights_[(reaped_ + i) & (N - 1)].bytes;
        }
        const bool whole = entry.outcome == static_cast<std::uint32_t>(Outcome::moved);
        if (entry.number != last || entry.outcome >= outcomes || entry.bytes > bytes ||
            (whole && entry.bytes != bytes)) {
            return Status::peer_fault;
        }
        for (std::uint32_t i = 0; i < first.pieces && first.direction == Direction::from_peer; ++i) {
            const Flight& piece = flights_[(reaped_ + i) & (N - 1)];
            A::observe_range(local_.base + piece.local, piece.bytes);
        }
        completion = {first.tag, static_cast<Outcome>(entry.outcome), entry.bytes};
        reaped_ += first.pieces;
        transactions_ -= 1;
        return Status::ok;
    }

    Shared* shared_;
    Window local_;
    Window remote_;
    Bell bell_;
    std::uint32_t posted_;
    std::uint32_t reaped_;
    // Descriptors that a host before this one posted, not yet complete.
    std::uint32_t formers_ = 0;
    std::uint32_t transactions_ = 0;
    Flight flights_[N] = {};
};

}  // namespace consort::link
