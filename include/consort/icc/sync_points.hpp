// SPDX-License-Identifier: Apache-2.0
//
// Every memory ordering of the channels, in one table.
//
// Each access to a shared word names its synchronization point. The happens-before edge that it makes, and
// the reason that it is no weaker and no stronger, stand here; the exploration in tests/relacy weakens each
// one to relaxed and shows the check that then fails.
#pragma once

#include <cstdint>

namespace consort {

enum class Order : std::uint8_t { relaxed, acquire, release, seq_cst };

enum class SyncPoint : std::uint8_t {
    // A side reads back a word that only it writes, or reads a diagnostic word. Orders nothing.
    own,
    diagnostic,

    // E1  mailbox_publish -> mailbox_observe: the writer's copy into the payload happens before the reader's
    //     copy out of it.
    mailbox_publish,
    mailbox_observe,
    // E2  mailbox_acknowledge -> mailbox_observe_acknowledge: the reader's copy out of the payload happens
    //     before the writer's next copy into it.
    mailbox_acknowledge,
    mailbox_observe_acknowledge,

    // E3  queue_publish -> queue_observe: as E1, for the one slot whose number is published; the numbers of a
    //     batch's other messages, stored before that of its first, are seen with it.
    queue_publish,
    queue_observe,
    // E4  queue_release -> queue_observe_release: as E2, for all slots up to the released number.
    queue_release,
    queue_observe_release,

    // E5  buffer_publish -> buffer_observe: the writer's copy into the now active buffer happens before a
    //     reader's copy out of it. Nothing orders a reader's copy before the second update after it: the
    //     stated limit of the double buffer.
    buffer_publish,
    buffer_observe,

    // E6  snapshot_publish -> snapshot_observe: the pair's content and its slot word happen before the reader
    //     uses the pair (so that a pair seen for the first time is initialised).
    snapshot_publish,
    snapshot_observe,
    // E7  snapshot_announce -> snapshot_slot_read against snapshot_slot_write -> snapshot_scan:
    //     store-then-load on both sides (Dekker), so all four are sequentially consistent. Either the
    //     reader's slot read sees the slot that the writer has just completed, or the writer's next scan sees
    //     the announcement; else the writer could fill the slot being read. snapshot_slot_write ->
    //     snapshot_slot_read is also the
    //     release -> acquire edge of the slot's content, and snapshot_announce -> snapshot_scan that from the
    //     reader's copy of its former pair to the writer's reuse of it.
    snapshot_announce,
    snapshot_slot_read,
    snapshot_slot_write,
    snapshot_scan,

    // E8  region_publish -> region_observe: header, table and initial content of all objects happen before
    //     any attach; and a region's line size and version before its magic number is seen.
    region_publish,
    region_observe,

    // E9  epoch_publish -> epoch_observe: what an attaching side took over happens before its peer sees it
    //     restarted.
    epoch_publish,
    epoch_observe,

    // E12 versions_publish -> versions_observe: the writer's copy into a version's slot happens before a
    // reader's copy out of it.
    versions_publish,
    versions_observe,
    // E13 versions_overwrite -> versions_check, two fences. The writer stores `begun`, passes the release
    //     fence, then fills the slot; the reader copies the slot, passes the acquire fence, then loads
    //     `begun`. If any word that the reader copied comes from a newer version, the two fences
    //     synchronise through it, so the load of `begun` sees that version announced. `begun` itself is
    //     relaxed (versions_begun): the fences alone order it. A release store of `begun` would not do,
    //     because it lets the slot's later stores pass it; nor would an acquire load, which lets the slot's
    //     earlier loads pass it.
    versions_overwrite,
    versions_check,
    versions_begun,
    // E10 copy_publish -> copy_observe: all words of a small snapshot's copy beside its number happen before
    //     a reader that sees `done` loads them.
    copy_publish,
    copy_observe,
    // E11 copy_write -> copy_read: a reader that loads a word of a later update sees that update's `begun`,
    //     which was stored before it, when it looks again. So the words are stored with release and loaded
    //     with acquire, and `begun` itself (copy_begin, copy_recheck) needs no order.
    copy_begin,
    copy_write,
    copy_read,
    copy_recheck,

    // E14 link_post -> link_fetch: the host's descriptors, its data, and its last look at the completions of
    //     the slots that it uses again happen before the engine reads the one and writes the others.
    link_post,
    link_fetch,
    // E15 link_complete -> link_reap: the engine's reads of a transaction's descriptors and source, its
    //     writes to the target, and the status entry happen before the host uses any of them again.
    link_complete,
    link_reap,

    // E16 mode_announce -> mode_observe: what the coordinator says of a step of a change of mode, and all
    //     that it saw acknowledged before, happens before a member acts on it.
    mode_announce,
    mode_observe,
    // E17 mode_acknowledge -> mode_observe_acknowledge: what a member did in a step (its last jobs, their
    //     states) happens before the coordinator announces the next one, and so before whoever goes on there.
    mode_acknowledge,
    mode_observe_acknowledge,

    // E18 clock_ask -> clock_hear: the asker's reading of its clock, and all that it did before, happens
    // before
    //     the reference reads its own for the answer.
    clock_ask,
    clock_hear,
    // E19 clock_answer -> clock_take: both words of the reference's time, and its reading, happen before the
    //     asker uses them and reads its clock again.
    clock_answer,
    clock_take,

    // E20 handover_publish -> handover_observe: what the I/O core moved into a partition, and which task's it
    //     is, happens before the application core executes it.
    handover_publish,
    handover_observe,
    // E21 handover_report -> handover_collect: what the application core wrote to the partition, and when it
    //     began and ended, happens before the I/O core moves it out and moves the next task's in.
    handover_report,
    handover_collect,

    // E22 link_word_write -> link_word_observe: a word that the engine moves behind a block; the engine's
    // writes
    //     of the block, and of its number, happen before the reader that sees the word reads them. Of the
    //     reader's word, moved back: see E23.
    link_word_write,
    link_word_observe,
    // E23 link_word_publish -> link_word_read: the reader's copy out of a place happens before the engine
    // moves
    //     the word that gives it back, and so, through E22, before the writer fills the place again.
    link_word_publish,
    link_word_read,

    // E24 vring_post -> vring_fetch: a driver's descriptors and the contents of its buffers happen before the
    //     device reads the one and uses the others. Between two processors the driver is another program's
    //     (Linux): it has the barriers that VIRTIO 1.2, 2.7.13 asks for.
    vring_post,
    vring_fetch,
    // E25 vring_complete -> vring_reap: the device's reads and writes of a buffer, and the entry that gives
    //     it back, happen before the driver uses either again.
    vring_complete,
    vring_reap,

    count,
};

[[nodiscard]] constexpr Order order_of(SyncPoint point) noexcept {
    switch (point) {
        case SyncPoint::own:
        case SyncPoint::diagnostic:
        case SyncPoint::versions_begun:
        case SyncPoint::copy_begin:
        case SyncPoint::copy_recheck:
            return Order::relaxed;
        case SyncPoint::mailbox_publish:
        case SyncPoint::mailbox_acknowledge:
        case SyncPoint::queue_publish:
        case SyncPoint::queue_release:
        case SyncPoint::buffer_publish:
        case SyncPoint::snapshot_publish:
        case SyncPoint::region_publish:
        case SyncPoint::epoch_publish:
        case SyncPoint::versions_publish:
        case SyncPoint::versions_overwrite:
        case SyncPoint::copy_publish:
        case SyncPoint::copy_write:
        case SyncPoint::link_post:
        case SyncPoint::link_complete:
        case SyncPoint::mode_announce:
        case SyncPoint::mode_acknowledge:
        case SyncPoint::clock_ask:
        case SyncPoint::clock_answer:
        case SyncPoint::handover_publish:
        case SyncPoint::handover_report:
        case SyncPoint::link_word_write:
        case SyncPoint::link_word_publish:
        case SyncPoint::vring_post:
        case SyncPoint::vring_complete:
            return Order::release;
        case SyncPoint::mailbox_observe:
        case SyncPoint::mailbox_observe_acknowledge:
        case SyncPoint::queue_observe:
        case SyncPoint::queue_observe_release:
        case SyncPoint::buffer_observe:
        case SyncPoint::snapshot_observe:
        case SyncPoint::region_observe:
        case SyncPoint::epoch_observe:
        case SyncPoint::versions_observe:
        case SyncPoint::versions_check:
        case SyncPoint::copy_observe:
        case SyncPoint::copy_read:
        case SyncPoint::link_fetch:
        case SyncPoint::link_reap:
        case SyncPoint::mode_observe:
        case SyncPoint::mode_observe_acknowledge:
        case SyncPoint::clock_hear:
        case SyncPoint::clock_take:
        case SyncPoint::handover_observe:
        case SyncPoint::handover_collect:
        case SyncPoint::link_word_observe:
        case SyncPoint::link_word_read:
        case SyncPoint::vring_fetch:
        case SyncPoint::vring_reap:
            return Order::acquire;
        case SyncPoint::snapshot_announce:
        case SyncPoint::snapshot_slot_read:
        case SyncPoint::snapshot_slot_write:
        case SyncPoint::snapshot_scan:
        case SyncPoint::count:
            return Order::seq_cst;
    }
    return Order::seq_cst;
}

}  // namespace consort
