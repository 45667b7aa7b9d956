// SPDX-License-Identifier: Apache-2.0
//
// A coordinator and two members that go from mode to mode together (E16, E17): what the one did last in the
// old mode is there for the other that goes on with it in the new one, and nobody reads a step that is being
// written.

#include "explore.hpp"

namespace {

using namespace consort;
using namespace consort::exploration;
using app::ModeStep;

using Steps = app::ModeSteps<RelacyAccess>;

// Each mode's task is the member's whose number the mode is.
template <std::uint32_t changes>
struct TwoCores : rl::test_suite<TwoCores<changes>, 3> {
    Placed<Steps::Shared> shared;
    Placed<Steps::Acknowledgement, 0> first;
    Placed<Steps::Acknowledgement, 1> second;
    Placed<RelacyAccess::Cell<std::uint32_t>> state;

    void before() { state.get().put(0); }

    void thread(unsigned index) {
        if (index == 0) {
            coordinate();
        } else {
            follow(index - 1);
        }
    }
    void coordinate() {
        Steps::Coordinator coordinator(shared.get());
        for (std::uint32_t mode = 1; mode <= changes; ++mode) {
            for (const auto stage : {ModeStep::withheld, ModeStep::entered}) {
                ModeStep step;
                step.mode = mode % 2;
                step.stage = stage;
                step.last = mode == changes && stage == ModeStep::entered ? 1 : 0;
                coordinator.announce(step);
                while (!coordinator.acknowledged(first.get()) || !coordinator.acknowledged(second.get())) {
                    Yield::relax();
                }
            }
        }
    }
    void follow(std::uint32_t self) {
        Steps::Member member(shared.get(), self == 0 ? first.get() : second.get());
        std::uint32_t mode = 0;  // the one that is left
        for (;;) {
            if (!member.observe()) {
                Yield::relax();
                continue;
            }
            const ModeStep step = member.step();
            if (step.stage == ModeStep::withheld && mode == self) {
                // The last job of the mode.
                std::uint32_t jobs = 0;
                state.get().get(jobs);
                state.get().put(jobs + 1);
            }
            if (step.stage == ModeStep::entered) {
                mode = step.mode;
                if (mode == self) {
                    std::uint32_t jobs = 0;
                    state.get().get(jobs);
                    check(jobs != 0, "modes: the last job of the mode before is there");
                }
            }
            member.acknowledge();
            if (step.last != 0) {
                return;
            }
        }
    }
};

}  // namespace

int main() {
    Report report;
    report.holds<TwoCores<1>>("modes: one change, two members", bounded(2));
    report.holds<TwoCores<2>>("modes: two changes, two members", bounded(1));
    report.holds<TwoCores<2>>("modes: two changes, two members", random(20'000));
    report.found<TwoCores<2>>(SyncPoint::mode_announce, rl::mo_relaxed, bounded(2));
    report.found<TwoCores<2>>(SyncPoint::mode_observe, rl::mo_relaxed, bounded(2));
    report.found<TwoCores<2>>(SyncPoint::mode_acknowledge, rl::mo_relaxed, bounded(2));
    report.found<TwoCores<2>>(SyncPoint::mode_observe_acknowledge, rl::mo_relaxed, bounded(2));
    return report.exit_code();
}
