// SPDX-License-Identifier: Apache-2.0
//! What is asked of Linux: a CPU for each side, a good place in its queue, and the end of the other side.

use std::io::Error;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use crate::shared::INTERRUPTED;

pub fn pin(cpu: usize) -> Result<(), String> {
    // SAFETY: cpu_set_t is plain bits; args.rs keeps cpu below CPU_SETSIZE.
    let rc = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set)
    };
    if rc != 0 {
        return Err(format!(
            "cannot run on CPU {cpu}: {}; the CPUs of this machine: nproc, lscpu",
            Error::last_os_error()
        ));
    }
    Ok(())
}

/// Best effort: without the right to it the figures have longer tails, which the notice says.
pub fn raise_niceness() {
    // SAFETY: no memory is passed.
    if unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, -20) } != 0 {
        eprintln!("iceoryx2-ping: niceness stays as it is: {}", Error::last_os_error());
    }
}

/// Where the signal handler leaves its word.
static STOP: AtomicPtr<AtomicU32> = AtomicPtr::new(std::ptr::null_mut());

extern "C" fn on_signal(_: libc::c_int) {
    let stop = STOP.load(Ordering::Relaxed);
    if !stop.is_null() {
        // SAFETY: the mapping is never unmapped while the process lives; an atomic store is
        // async-signal-safe.
        unsafe { (*stop).store(INTERRUPTED, Ordering::Relaxed) };
    }
}

/// Makes interruption an ordinary end, so that both sides drop their ports and leave no files behind.
pub fn stop_on_signals(stop: &'static AtomicU32) {
    STOP.store(std::ptr::from_ref(stop).cast_mut(), Ordering::Relaxed);
    let handler: extern "C" fn(libc::c_int) = on_signal;
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        // SAFETY: the handler only stores to an atomic.
        unsafe { libc::signal(signal, handler as libc::sighandler_t) };
    }
}

/// Asks for a SIGTERM when the parent dies, so that a killed run leaves no spinning process.
pub fn end_with_parent() {
    // SAFETY: no memory is passed.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM as libc::c_ulong) };
}
