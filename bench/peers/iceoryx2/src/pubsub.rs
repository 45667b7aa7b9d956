// SPDX-License-Identifier: Apache-2.0
//! One end of a pair of iceoryx2 publish-subscribe services, one per direction, with payloads of WORDS * 8
//! bytes.

use std::fmt::Display;

use iceoryx2::port::{publisher::Publisher, subscriber::Subscriber};
use iceoryx2::prelude::*;

use crate::link::Link;
use crate::shared::Ended;

pub struct End<const WORDS: usize> {
    publisher: Publisher<ipc::Service, [u64; WORDS], ()>,
    subscriber: Subscriber<ipc::Service, [u64; WORDS], ()>,
}

fn because(what: &str) -> impl Fn(&dyn Display) -> String + '_ {
    move |why| format!("iceoryx2 {what}: {why}")
}

impl<const WORDS: usize> End<WORDS> {
    /// Creates or opens both services and this side's ports. The measuring side sends on "ping".
    pub fn new(node: &Node<ipc::Service>, measuring: bool) -> Result<Self, String> {
        let service = |direction: &str| {
            let name = ServiceName::new(&format!("consort/bench/{direction}/{}", WORDS * 8))
                .map_err(|e| because("service name")(&e))?;
            // The smallest service that carries a ping-pong: one message under way, never overwritten.
            node.service_builder(&name)
                .publish_subscribe::<[u64; WORDS]>()
                .max_publishers(1)
                .max_subscribers(1)
                .max_nodes(2)
                .history_size(0)
                .subscriber_max_buffer_size(1)
                .subscriber_max_borrowed_samples(1)
                .enable_safe_overflow(false)
                .open_or_create()
                .map_err(|e| because("service")(&e))
        };
        let (out, back) = if measuring { ("ping", "pong") } else { ("pong", "ping") };
        Ok(End {
            publisher: service(out)?
                .publisher_builder()
                .max_loaned_samples(1)
                .create()
                .map_err(|e| because("publisher")(&e))?,
            subscriber: service(back)?
                .subscriber_builder()
                .buffer_size(1)
                .create()
                .map_err(|e| because("subscriber")(&e))?,
        })
    }
}

impl<const WORDS: usize> Link<WORDS> for End<WORDS> {
    #[inline(always)]
    fn send(&mut self, message: [u64; WORDS]) -> Result<(), Ended> {
        match self.publisher.send_copy(message) {
            Ok(1) => Ok(()),
            Ok(n) => Err(Ended::Error(format!("iceoryx2 delivered a message to {n} subscribers, not to 1"))),
            Err(e) => Err(Ended::Error(because("send")(&e))),
        }
    }

    #[inline(always)]
    fn poll(&mut self) -> Result<Option<[u64; WORDS]>, Ended> {
        match self.subscriber.receive() {
            Ok(sample) => Ok(sample.map(|sample| *sample)),
            Err(e) => Err(Ended::Error(because("receive")(&e))),
        }
    }
}

/// All ends of one process. Dropped before the node they come from.
pub struct Ends {
    pub b8: End<1>,
    pub b48: End<6>,
    pub b128: End<16>,
    pub b512: End<64>,
    pub b1024: End<128>,
}

impl Ends {
    pub fn new(node: &Node<ipc::Service>, measuring: bool) -> Result<Ends, String> {
        Ok(Ends {
            b8: End::new(node, measuring)?,
            b48: End::new(node, measuring)?,
            b128: End::new(node, measuring)?,
            b512: End::new(node, measuring)?,
            b1024: End::new(node, measuring)?,
        })
    }
}
