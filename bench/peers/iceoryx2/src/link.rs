// SPDX-License-Identifier: Apache-2.0
//! What both kinds of links have in common: messages of WORDS * 8 bytes, there and back.

use std::hint::black_box;

use crate::shared::{Ended, Shared, Watch, END};

/// One end of two directions of messages.
pub trait Link<const WORDS: usize> {
    fn send(&mut self, message: [u64; WORDS]) -> Result<(), Ended>;

    /// The next message, copied out, if one is there.
    fn poll(&mut self) -> Result<Option<[u64; WORDS]>, Ended>;

    /// Polls until a message is there.
    #[inline(always)]
    fn receive(&mut self, shared: &Shared, watch: &mut Watch) -> Result<[u64; WORDS], Ended> {
        loop {
            match self.poll()? {
                Some(message) => {
                    watch.heard();
                    return Ok(message);
                }
                None => std::hint::spin_loop(),
            }
            watch.idle(shared)?;
        }
    }

    /// One round trip, every payload byte written, carried back and the outer words compared.
    #[inline(always)]
    fn trip(&mut self, shared: &Shared, watch: &mut Watch, number: u64) -> Result<(), Ended> {
        self.send(black_box([number; WORDS]))?;
        let answer = black_box(self.receive(shared, watch)?);
        if answer[0] != number || answer[WORDS - 1] != number {
            return Err(Ended::Error(format!("iceoryx2 returned another message than number {number}")));
        }
        Ok(())
    }

    /// The answering side, until END.
    fn answer(&mut self, shared: &Shared, watch: &mut Watch) -> Result<(), Ended> {
        loop {
            let message = self.receive(shared, watch)?;
            self.send(message)?;
            if message[0] == END {
                return Ok(());
            }
        }
    }
}
