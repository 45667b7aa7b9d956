// SPDX-License-Identifier: Apache-2.0
//
// How cores that share memory go from mode to mode together: one coordinator announces each step of the
// protocol (consort/app/mode_change.hpp), and every member acknowledges it once it has done its part. The
// next step is announced when all have.
//
// - withheld: no job that is due at `until` or later is released; acknowledged when the jobs before have
// ended.
//
// - drained: nobody sends anything any more; acknowledged by workers once they have found nothing to do.
//
// - entered: the jobs of `mode` are released, counted from `release`; acknowledged when the member has given
//   away and taken up what changes its core.
//
// So what a member did before it acknowledged happens before whatever any member does in the next step, and
// what the coordinator announces is not written while a member may read it. docs/explanation/mode-changes.md.
#pragma once

#include <cstdint>

#include "consort/icc/access.hpp"
#include "consort/port.hpp"

namespace consort::app {

struct ModeStep {
    enum Stage : std::uint32_t { entered, withheld, drained };
    Ticks until = ~Ticks{0};
    Ticks release = 0;
    std::uint32_t mode = 0;
    std::uint32_t stage = entered;
    std::uint32_t last = 0;  // not 0: no other step follows
    std::uint32_t reserved = 0;
};

template <class A = access::Coherent>
struct ModeSteps {
    // Written by the coordinator. `number` is 0 until the first step is announced.
    struct alignas(line_bytes) Shared {
        typename A::Word number;
        typename A::template Cell<ModeStep> step;
    };
    // Written by one member: the number of the step that it acknowledged last.
    struct alignas(line_bytes) Acknowledgement {
        typename A::Word number;
    };

    class Coordinator {
      public:
        explicit Coordinator(Shared& shared) noexcept : shared_(&shared) {}
        // Not before all have acknowledged the step before.
        void announce(const ModeStep& step) noexcept {
            shared_->step.put(step);
            A::template store<SyncPoint::mode_announce>(shared_->number, ++number_);
        }
        [[nodiscard]] bool acknowledged(const Acknowledgement& by) const noexcept {
            return A::template load<SyncPoint::mode_observe_acknowledge>(by.number) == number_;
        }

      private:
        Shared* shared_;
        std::uint32_t number_ = 0;
    };

    class Member {
      public:
        Member(const Shared& shared, Acknowledgement& mine) noexcept : shared_(&shared), mine_(&mine) {}
        // The newest step; true: it is another one than before.
        bool observe() noexcept {
            const std::uint32_t number = A::template load<SyncPoint::mode_observe>(shared_->number);
            if (number == number_) {
                return false;
            }
            number_ = number;
            shared_->step.get(step_);
            return true;
        }
        [[nodiscard]] const ModeStep& step() const noexcept { return step_; }
        [[nodiscard]] std::uint32_t number() const noexcept { return number_; }
        [[nodiscard]] bool acknowledged() const noexcept { return acknowledged_ == number_; }
        // Once a step.
        void acknowledge() noexcept {
            acknowledged_ = number_;
            A::template store<SyncPoint::mode_acknowledge>(mine_->number, number_);
        }

      private:
        const Shared* shared_;
        Acknowledgement* mine_;
        std::uint32_t number_ = 0;
        std::uint32_t acknowledged_ = 0;
        ModeStep step_{};
    };
};

}  // namespace consort::app
