// SPDX-License-Identifier: Apache-2.0
//! The floor: a bare ping-pong over two cache lines, one per direction. What any message costs at least.

use std::sync::atomic::Ordering;

use crate::shared::{Ended, Shared, Watch, END};

/// Before a block: both lines at 0, while the other side waits for its command.
pub fn reset(shared: &Shared) {
    shared.ping.word.store(0, Ordering::Relaxed);
    shared.pong.word.store(0, Ordering::Relaxed);
}

/// One round trip. HINT: a spin hint in the waiting loop; without it the loop is the load alone.
#[inline(always)]
pub fn trip<const HINT: bool>(shared: &Shared, watch: &mut Watch, number: u64) -> Result<(), Ended> {
    shared.ping.word.store(number, Ordering::Release);
    while shared.pong.word.load(Ordering::Acquire) != number {
        if HINT {
            std::hint::spin_loop();
        }
        watch.idle(shared)?;
    }
    watch.heard();
    Ok(())
}

/// The answering side, until END.
pub fn answer<const HINT: bool>(shared: &Shared, watch: &mut Watch) -> Result<(), Ended> {
    let mut last = 0;
    while last != END {
        let number = shared.ping.word.load(Ordering::Acquire);
        if number == last {
            if HINT {
                std::hint::spin_loop();
            }
            watch.idle(shared)?;
            continue;
        }
        shared.pong.word.store(number, Ordering::Release);
        watch.heard();
        last = number;
    }
    Ok(())
}
