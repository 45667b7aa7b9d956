// SPDX-License-Identifier: Apache-2.0
//
// The exchange between the I/O core and one application core: the partition to execute next, and the outcome.
//
// A queue of at most two entries, one for each partition, in the order of the loads. Each word has one
// writer and each side its own line. The counters only grow, so the I/O core knows what the other side may
// have reported and treats everything else as a fault.
#pragma once

#include <cstdint>

#include "consort/icc/access.hpp"
#include "consort/icc/status.hpp"
#include "consort/icc/wire.hpp"
#include "consort/port.hpp"
#include "consort/spm/event.hpp"

namespace consort::spm {

inline constexpr std::uint32_t partitions = 2;

struct ReadyJob {
    std::uint32_t task;
    std::uint32_t partition;
    std::uint32_t job;
};

struct Execution {
    Ticks start;
    Ticks finish;
    Outcome outcome;
};

template <class A = access::Coherent>
class Handover {
  public:
    struct Shared {
        struct alignas(line_bytes) IoLine {
            typename A::Word published;
            typename A::Word halt;
            struct {
                typename A::Word task;
                typename A::Word partition;
                typename A::Word job;
            } entry[partitions];
        } io;
        struct alignas(line_bytes) CoreLine {
            typename A::Word started;
            typename A::Word finished;
            struct {
                typename A::Word start_low;
                typename A::Word start_high;
                typename A::Word finish_low;
                typename A::Word finish_high;
                typename A::Word outcome;
            } entry[partitions];
        } core;
    };

    // The I/O core's side.
    class IoSide {
      public:
        IoSide() = default;
        explicit IoSide(Shared& shared) noexcept : shared_(&shared) {}

        void publish(const ReadyJob& ready) noexcept {
            auto& entry = shared_->io.entry[published_ % partitions];
            A::template store<SyncPoint::own>(entry.task, ready.task);
            A::template store<SyncPoint::own>(entry.partition, ready.partition);
            A::template store<SyncPoint::own>(entry.job, ready.job);
            A::template store<SyncPoint::handover_publish>(shared_->io.published, ++published_);
        }
        // Tells if the i-th job not taken yet (0: the oldest) has begun, and when. ok, would_block or
        // peer_fault.
        [[nodiscard]] Status started(std::uint32_t i, Ticks& start) const noexcept {
            const Status status = reported(shared_->core.started, i);
            if (status == Status::ok) {
                const auto& entry = shared_->core.entry[(taken_ + i) % partitions];
                start = wide(entry.start_low, entry.start_high);
            }
            return status;
        }
        // Tells if the i-th job not taken yet has finished, and when.
        [[nodiscard]] Status finished(std::uint32_t i, Ticks& finish) const noexcept {
            const Status status = reported(shared_->core.finished, i);
            if (status == Status::ok) {
                const auto& entry = shared_->core.entry[(taken_ + i) % partitions];
                finish = wide(entry.finish_low, entry.finish_high);
            }
            return status;
        }
        // Takes the oldest finished job; only after finished(0) was ok.
        [[nodiscard]] Execution take() noexcept {
            const auto& entry = shared_->core.entry[taken_ % partitions];
            const std::uint32_t outcome = A::template load<SyncPoint::own>(entry.outcome);
            ++taken_;
            return {wide(entry.start_low, entry.start_high), wide(entry.finish_low, entry.finish_high),
                    outcome <= static_cast<std::uint32_t>(Outcome::fault) ? static_cast<Outcome>(outcome)
                                                                          : Outcome::fault};
        }
        // The core ends its loop after the job that it executes.
        void halt() noexcept { A::template store<SyncPoint::diagnostic>(shared_->io.halt, 1); }

      private:
        [[nodiscard]] static Ticks wide(const typename A::Word& low, const typename A::Word& high) noexcept {
            return Ticks{A::template load<SyncPoint::own>(high)} << 32U |
                   A::template load<SyncPoint::own>(low);
        }
        [[nodiscard]] Status reported(const typename A::Word& counter, std::uint32_t i) const noexcept {
            const std::uint32_t ahead = A::template load<SyncPoint::handover_collect>(counter) - taken_;
            if (ahead > published_ - taken_) {
                return Status::peer_fault;
            }
            return ahead > i ? Status::ok : Status::would_block;
        }

        Shared* shared_ = nullptr;
        std::uint32_t published_ = 0;
        std::uint32_t taken_ = 0;
    };

    // The application core's side.
    class CoreSide {
      public:
        CoreSide() = default;
        explicit CoreSide(Shared& shared) noexcept : shared_(&shared) {}

        // ok: `ready` is the next job to execute. It stays the next one until end().
        [[nodiscard]] Status next(ReadyJob& ready) const noexcept {
            const std::uint32_t ahead =
                A::template load<SyncPoint::handover_observe>(shared_->io.published) - finished_;
            if (ahead == 0 || ahead > partitions) {
                return ahead == 0 ? Status::would_block : Status::peer_fault;
            }
            const auto& entry = shared_->io.entry[finished_ % partitions];
            ready = {A::template load<SyncPoint::own>(entry.task),
                     A::template load<SyncPoint::own>(entry.partition),
                     A::template load<SyncPoint::own>(entry.job)};
            return ready.partition < partitions ? Status::ok : Status::peer_fault;
        }
        void begin(Ticks now) noexcept {
            auto& entry = shared_->core.entry[finished_ % partitions];
            A::template store<SyncPoint::own>(entry.start_low, static_cast<std::uint32_t>(now));
            A::template store<SyncPoint::own>(entry.start_high, static_cast<std::uint32_t>(now >> 32U));
            A::template store<SyncPoint::handover_report>(shared_->core.started, finished_ + 1);
        }
        // Everything that the job wrote to its partition happens before the I/O core sees this.
        void end(Ticks now, Outcome outcome) noexcept {
            auto& entry = shared_->core.entry[finished_ % partitions];
            A::template store<SyncPoint::own>(entry.finish_low, static_cast<std::uint32_t>(now));
            A::template store<SyncPoint::own>(entry.finish_high, static_cast<std::uint32_t>(now >> 32U));
            A::template store<SyncPoint::own>(entry.outcome, static_cast<std::uint32_t>(outcome));
            A::template store<SyncPoint::handover_report>(shared_->core.finished, ++finished_);
        }
        [[nodiscard]] bool halted() const noexcept {
            return A::template load<SyncPoint::diagnostic>(shared_->io.halt) != 0;
        }

      private:
        Shared* shared_ = nullptr;
        std::uint32_t finished_ = 0;
    };
};

}  // namespace consort::spm
