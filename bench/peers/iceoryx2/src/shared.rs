// SPDX-License-Identifier: Apache-2.0
//! The memory both processes share beside iceoryx2: the floor's two lines and the words that steer the
//! blocks.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::clock;

/// One cache line, one word. 64 bytes as in the C++ benchmark's floor.
#[derive(Default)]
#[repr(C, align(64))]
pub struct Line {
    pub word: AtomicU64,
}

#[derive(Default)]
#[repr(C, align(4096))]
pub struct Shared {
    pub ping: Line,
    pub pong: Line,
    /// generation << 8 | what the answering side shall do; written by the measuring side.
    command: Line,
    /// 1 when the answering side has its ports.
    pub ready: Line,
    pub stop: AtomicU32,
}

pub const RUNNING: u32 = 0;
pub const INTERRUPTED: u32 = 1;
pub const FAILED: u32 = 2;

/// The last message of a block: the answering side returns it and waits for the next command.
pub const END: u64 = u64::MAX;

/// A wait this long means that the other side is gone; only a silent peer reaches it.
const PATIENCE_NS: f64 = 5e9;

/// Maps memory that a fork shares, and puts `value` there. It is never unmapped.
pub fn map<T>(value: T) -> Result<&'static T, String> {
    // SAFETY: a fresh anonymous mapping, page aligned, of the value's size.
    unsafe {
        let at = libc::mmap(
            std::ptr::null_mut(),
            size_of::<T>(),
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED | libc::MAP_ANONYMOUS | libc::MAP_POPULATE,
            -1,
            0,
        );
        if at == libc::MAP_FAILED {
            return Err(format!("no shared memory: {}", std::io::Error::last_os_error()));
        }
        let at = at.cast::<T>();
        at.write(value);
        Ok(&*at)
    }
}

impl Shared {
    /// Maps the memory; a fork after it shares it.
    pub fn map() -> Result<&'static Shared, String> {
        map(Shared::default())
    }

    pub fn give(&self, generation: u64, job: u8) {
        self.command.word.store(generation << 8 | u64::from(job), Ordering::Release);
    }

    /// The next command after `generation`.
    pub fn take(&self, generation: u64, watch: &mut Watch) -> Result<u8, Ended> {
        loop {
            let word = self.command.word.load(Ordering::Acquire);
            if word >> 8 > generation {
                watch.heard();
                return Ok(word as u8);
            }
            std::hint::spin_loop();
            watch.idle(self)?;
        }
    }

    /// Makes the other side stop too; the first reason stays.
    pub fn fail(&self) {
        let _ = self.stop.compare_exchange(RUNNING, FAILED, Ordering::Relaxed, Ordering::Relaxed);
    }
}

/// Why a wait ended without what it waited for.
#[derive(Debug)]
pub enum Ended {
    Interrupted,
    OtherFailed,
    Silent,
    Error(String),
}

impl Ended {
    pub fn text(&self) -> String {
        match self {
            Ended::Interrupted => "interrupted".into(),
            Ended::OtherFailed => "the other process failed".into(),
            Ended::Silent => "the other process does not answer".into(),
            Ended::Error(text) => text.clone(),
        }
    }
}

/// Keeps a polling loop from polling for ever, at the price of one counter in it.
pub struct Watch {
    polls: u32,
    silent_since: Option<u64>,
    patience: u64,
}

impl Watch {
    pub fn new(ticks_per_ns: f64) -> Watch {
        Watch { polls: 0, silent_since: None, patience: (PATIENCE_NS * ticks_per_ns) as u64 }
    }

    /// To be called when a message has come.
    #[inline(always)]
    pub fn heard(&mut self) {
        self.silent_since = None;
    }

    /// To be called after each poll that found nothing.
    #[inline(always)]
    pub fn idle(&mut self, shared: &Shared) -> Result<(), Ended> {
        self.polls = self.polls.wrapping_add(1);
        if self.polls & 0xffff != 0 {
            return Ok(());
        }
        self.look(shared)
    }

    #[cold]
    #[inline(never)]
    fn look(&mut self, shared: &Shared) -> Result<(), Ended> {
        match shared.stop.load(Ordering::Relaxed) {
            INTERRUPTED => return Err(Ended::Interrupted),
            FAILED => return Err(Ended::OtherFailed),
            _ => {}
        }
        let now = clock::now();
        let since = *self.silent_since.get_or_insert(now);
        if now.saturating_sub(since) > self.patience {
            return Err(Ended::Silent);
        }
        Ok(())
    }
}
