// SPDX-License-Identifier: Apache-2.0
//
// How a core's thread waits for a release: asleep, spinning, or asleep until a margin before it and spinning
// from there. A core that spins and never sleeps is throttled by the kernel for 50 ms of each second
// (sched_rt_runtime_us). Where waits are shorter than the margin, it rests in one of some instead: it sleeps
// until the release. No bound counts how late it then wakes: each is an event, as throttling is.
#pragma once

#include <cstdint>
#include <type_traits>

#include "consort/linux/clock.hpp"
#include "consort/linux/executive/config.hpp"
#include "consort/linux/executive/thread_watch.hpp"
#include "consort/linux/release_timer.hpp"

namespace consort::linux_port {

// Nothing but the release ends a wait.
struct NoCall {
    static constexpr bool called() noexcept { return false; }
};

class ReleaseWait {
  public:
    explicit ReleaseWait(const CoreConfig& core)
        : timer_(core.time_base, core.margin_ns),
          base_(core.time_base),
          margin_(Clock::from_ns(core.margin_ns)),
          one_in_(core.sleep_one_in) {}

    // Returns the tick at which it woke. `watch` sees what the machine does meanwhile to `task`.
    // `most_urgent`: nothing but the machine can keep this thread from its processor.
    // `call`: where it says so, a step of a change of mode was announced, and the wait ends.
    template <class Call = NoCall>
    Ticks until(Ticks tick, ThreadWatch& watch, std::uint16_t task, bool most_urgent, const Call& call = {}) {
        Ticks now = Clock::now();
        if (base_ == TimeBase::sleep) {
            slept_ = true;
            watch.slept();
            const Ticks woke = sleep(tick, call);
            if (most_urgent && now < tick && woke >= tick) {
                watch.woke(task, tick, woke);
            }
            return woke;
        }
        if (base_ == TimeBase::hybrid && tick > now && tick - now > margin_) {
            slept_ = true;
            spun_ = 0;
            now = sleep(tick - margin_, call);
            if (most_urgent && now >= tick - margin_) {
                watch.woke(task, tick, now);
            }
        } else if (tick > now && one_in_ != 0 && ++spun_ >= one_in_) {
            slept_ = true;
            spun_ = 0;
            watch.slept();
            now = sleep(tick, call);
            watch.rested(task, tick, now);
            return now;
        }
        watch.spins(now, slept_);
        slept_ = false;
        while (now < tick && !call.called()) {
            isa::relax();
            now = Clock::now();
            watch.look(task, now);
        }
        return now;
    }

  private:
    template <class Call>
    Ticks sleep(Ticks tick, const Call& call) {
        if constexpr (std::is_same_v<Call, NoCall>) {
            return timer_.wait_until(tick, TimeBase::sleep);
        } else {
            call.sleep_until(tick);
            return Clock::now();
        }
    }

    ReleaseTimer timer_;
    TimeBase base_;
    Ticks margin_;
    std::uint32_t one_in_;
    std::uint32_t spun_ = 0;  // waits since the last one in which it slept
    bool slept_ = true;
};

}  // namespace consort::linux_port
