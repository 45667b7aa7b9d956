// SPDX-License-Identifier: Apache-2.0
//! The clock of the samples: the time-stamp counter where there is one, else the monotonic clock.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

static ORIGIN: OnceLock<Instant> = OnceLock::new();

/// Ticks of the clock. Unserialised on purpose: each round trip ends with a load whose value is compared
/// before the stamp, and the samples are differences of successive stamps, so an early stamp shortens one
/// sample and lengthens the next.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub fn now() -> u64 {
    // SAFETY: every x86_64 has rdtsc, and Linux leaves it enabled for user programs.
    unsafe { core::arch::x86_64::_rdtsc() }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
pub fn now() -> u64 {
    ORIGIN.get_or_init(Instant::now).elapsed().as_nanos() as u64
}

/// Ticks per nanosecond, measured against the monotonic clock.
pub fn ticks_per_ns() -> f64 {
    ORIGIN.get_or_init(Instant::now);
    let (tick_0, time_0) = pair();
    std::thread::sleep(Duration::from_millis(50));
    let (tick_1, time_1) = pair();
    (tick_1 - tick_0) as f64 / (time_1 - time_0).as_nanos() as f64
}

/// A tick and an instant read together: of several tries the tightest, so that a preemption does not tear
/// them.
fn pair() -> (u64, Instant) {
    let mut best = (u64::MAX, 0, Instant::now());
    for _ in 0..32 {
        let before = now();
        let time = Instant::now();
        let after = now();
        let width = after.saturating_sub(before);
        if width < best.0 {
            best = (width, before + width / 2, time);
        }
    }
    (best.1, best.2)
}
