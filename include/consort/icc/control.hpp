// SPDX-License-Identifier: Apache-2.0
//
// WorkerControl: what a master and one worker tell each other beside their jobs: a command, and a pulse.
//
// Two words on two lines, each with one writer, both plain counters or states: nothing is ordered by them.
#pragma once

#include <cstdint>

#include "consort/icc/access.hpp"
#include "consort/icc/form.hpp"
#include "consort/icc/wire.hpp"

namespace consort {

enum class Command : std::uint32_t { run = 0, stop = 1 };

template <class A = access::Coherent>
class WorkerControl {
  public:
    struct Nothing {};
    using Value = Nothing;
    using Access = A;
    static constexpr std::uint32_t kind = 5;
    static constexpr std::uint32_t parameter = 0;
    static constexpr Form form = Form::whole_lines;

    struct Shared {
        struct alignas(line_bytes) MasterLine {
            typename A::Word command;
        } master;
        struct alignas(line_bytes) WorkerLine {
            // Grows while the worker waits for jobs: a worker that is there, and not in a job, moves it.
            typename A::Word pulse;
            // 1 + the kind of the job being computed; 0 while waiting.
            typename A::Word busy;
            typename A::Word epoch;
        } worker;
    };

    class Master {
      public:
        explicit Master(Shared& shared) noexcept : shared_(&shared) { order(Command::run); }
        void order(Command command) noexcept {
            A::template store<SyncPoint::diagnostic>(shared_->master.command,
                                                     static_cast<std::uint32_t>(command));
        }
        [[nodiscard]] std::uint32_t pulse() const noexcept {
            return A::template load<SyncPoint::diagnostic>(shared_->worker.pulse);
        }
        [[nodiscard]] bool busy() const noexcept {
            return A::template load<SyncPoint::diagnostic>(shared_->worker.busy) != 0;
        }
        // How often the worker has started; 0 = never.
        [[nodiscard]] std::uint32_t epoch() const noexcept {
            return A::template load<SyncPoint::epoch_observe>(shared_->worker.epoch);
        }

      private:
        Shared* shared_;
    };

    class Worker {
      public:
        // Attached last of all the worker's channels: the epoch tells the master that it is ready.
        explicit Worker(Shared& shared) noexcept
            : shared_(&shared), pulse_(A::template load<SyncPoint::own>(shared.worker.pulse)) {
            busy(0);
            A::template store<SyncPoint::epoch_publish>(shared.worker.epoch, epoch() + 1);
        }
        [[nodiscard]] std::uint32_t epoch() const noexcept {
            return A::template load<SyncPoint::own>(shared_->worker.epoch);
        }
        void beat() noexcept { A::template store<SyncPoint::diagnostic>(shared_->worker.pulse, ++pulse_); }
        void busy(std::uint32_t job) noexcept {
            A::template store<SyncPoint::diagnostic>(shared_->worker.busy, job);
        }
        [[nodiscard]] Command command() const noexcept {
            return static_cast<Command>(A::template load<SyncPoint::diagnostic>(shared_->master.command));
        }

      private:
        Shared* shared_;
        std::uint32_t pulse_;
    };
};

}  // namespace consort
