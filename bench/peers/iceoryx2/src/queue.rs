// SPDX-License-Identifier: Apache-2.0
//! iceoryx2's own queue for one producer and one consumer (`iceoryx2_bb_lock_free::spsc::queue`), one for each
//! direction, in memory that both processes map: what its services are made of, without them.

use iceoryx2_bb_lock_free::spsc::queue::{Consumer, Producer, Queue};

use crate::link::Link;
use crate::shared::{map, Ended};

/// As many messages as Consort's and Boost's queue have in the C++ benchmark.
const CAPACITY: usize = 64;

#[repr(C, align(64))]
struct Line<const WORDS: usize>(Queue<[u64; WORDS], CAPACITY>);

/// Both directions. Mapped before the fork.
#[repr(C)]
struct Pair<const WORDS: usize> {
    ping: Line<WORDS>,
    pong: Line<WORDS>,
}

pub struct End<const WORDS: usize> {
    out: Producer<'static, [u64; WORDS], CAPACITY>,
    back: Consumer<'static, [u64; WORDS], CAPACITY>,
}

impl<const WORDS: usize> Pair<WORDS> {
    fn new() -> Pair<WORDS> {
        Pair { ping: Line(Queue::new()), pong: Line(Queue::new()) }
    }

    /// This side's end; each side can be taken once. The measuring side sends on `ping`.
    fn end(&'static self, measuring: bool) -> Result<End<WORDS>, String> {
        let (out, back) = if measuring { (&self.ping, &self.pong) } else { (&self.pong, &self.ping) };
        Ok(End {
            out: out.0.acquire_producer().ok_or("an iceoryx2 queue has a producer already")?,
            back: back.0.acquire_consumer().ok_or("an iceoryx2 queue has a consumer already")?,
        })
    }
}

impl<const WORDS: usize> Link<WORDS> for End<WORDS> {
    #[inline(always)]
    fn send(&mut self, message: [u64; WORDS]) -> Result<(), Ended> {
        // One message is under way at a time: the queue is never full.
        match self.out.push(&message) {
            true => Ok(()),
            false => Err(Ended::Error("an iceoryx2 queue was full with one message in it".into())),
        }
    }

    #[inline(always)]
    fn poll(&mut self) -> Result<Option<[u64; WORDS]>, Ended> {
        Ok(self.back.pop())
    }
}

/// The queues of all sizes.
pub struct Queues {
    b8: Pair<1>,
    b48: Pair<6>,
    b128: Pair<16>,
    b512: Pair<64>,
    b1024: Pair<128>,
}

impl Queues {
    /// Maps them; a fork after it shares them.
    pub fn map() -> Result<&'static Queues, String> {
        map(Queues {
            b8: Pair::new(),
            b48: Pair::new(),
            b128: Pair::new(),
            b512: Pair::new(),
            b1024: Pair::new(),
        })
    }
}

/// All ends of one process.
pub struct Ends {
    pub b8: End<1>,
    pub b48: End<6>,
    pub b128: End<16>,
    pub b512: End<64>,
    pub b1024: End<128>,
}

impl Ends {
    pub fn new(queues: &'static Queues, measuring: bool) -> Result<Ends, String> {
        Ok(Ends {
            b8: queues.b8.end(measuring)?,
            b48: queues.b48.end(measuring)?,
            b128: queues.b128.end(measuring)?,
            b512: queues.b512.end(measuring)?,
            b1024: queues.b1024.end(measuring)?,
        })
    }
}
