// SPDX-License-Identifier: Apache-2.0
//
// How a core's thread waits for a release: asleep, spinning, or asleep until a margin before it and spinning
// from there. A core that spins and never sleeps is throttled by the kernel for 50 ms of each second
// (sched_rt_runtime_us); one that sleeps through one wait in some is not.
#pragma once

#include <cstdint>

#include "consort/linux/clock.hpp"
#include "consort/linux/executive/config.hpp"
#include "consort/linux/executive/thread_watch.hpp"
#include "consort/linux/release_timer.hpp"

namespace consort::linux_port {

class ReleaseWait {
  public:
    explicit ReleaseWait(const CoreConfig& core)
        : timer_(core.time_base, core.margin_ns),
          base_(core.time_base),
          margin_(Clock::from_ns(core.margin_ns)),
          one_in_(core.sleep_one_in) {}

    // Returns the tick at which it woke. `watch` sees what the machine does meanwhile to `task`.
    // `most_urgent`: nothing but the machine can keep this thread from its processor.
    Ticks until(Ticks tick, ThreadWatch& watch, std::uint16_t task, bool most_urgent) {
        Ticks now = Clock::now();
        const bool sleeps = base_ == TimeBase::sleep || (one_in_ != 0 && ++waits_ % one_in_ == 0);
        if (sleeps) {
            slept_ = true;
            const Ticks woke = timer_.wait_until(tick, TimeBase::sleep);
            if (most_urgent && now < tick) {
                watch.woke(task, tick, woke);
            }
            return woke;
        }
        if (base_ == TimeBase::hybrid && tick > now && tick - now > margin_) {
            slept_ = true;
            now = timer_.wait_until(tick - margin_, TimeBase::sleep);
            if (most_urgent) {
                watch.woke(task, tick, now);
            }
        }
        watch.spins(now, slept_);
        slept_ = false;
        while (now < tick) {
            isa::relax();
            now = Clock::now();
            watch.look(task, now);
        }
        return now;
    }

  private:
    ReleaseTimer timer_;
    TimeBase base_;
    Ticks margin_;
    std::uint32_t one_in_;
    std::uint64_t waits_ = 0;
    bool slept_ = true;
};

}  // namespace consort::linux_port
