// SPDX-License-Identifier: Apache-2.0
//
// Every memory ordering of the channels, in one table.
//
// Each access to a shared word names its edge. The happens-before edge that it makes, and the reason that it
// is no weaker and no stronger, stand here; the exploration in tests/relacy weakens each one to relaxed and
// shows the check that then fails.
#pragma once

#include <cstdint>

namespace consort {

enum class Order : std::uint8_t { relaxed, acquire, release, seq_cst };

enum class Edge : std::uint8_t {
    // A side reads back a word that only it writes, or reads a diagnostic word. Orders nothing.
    own,
    diagnostic,

    // E1  mailbox_publish -> mailbox_observe: the writer's copy into the payload happens before the reader's
    // copy out
    //     of it. In a Duplex it also carries the reverse mailbox's acknowledgement.
    mailbox_publish,
    mailbox_observe,
    // E2  mailbox_acknowledge -> mailbox_observe_acknowledge: the reader's copy out of the payload happens
    // before the
    //     writer's next copy into it.
    mailbox_acknowledge,
    mailbox_observe_acknowledge,

    // E3  queue_publish -> queue_observe: as E1, for the cells up to the published head.
    queue_publish,
    queue_observe,
    // E4  queue_release -> queue_observe_release: as E2, for the cells up to the released tail.
    queue_release,
    queue_observe_release,

    // E5  buffer_publish -> buffer_observe: the writer's copy into the now active buffer happens before a
    // reader's copy
    //     out of it. Nothing orders a reader's copy before the second update after it: the stated limit of
    //     the
    //     double buffer.
    buffer_publish,
    buffer_observe,

    // E6  snapshot_publish -> snapshot_observe: the pair's content and its slot word happen before the reader
    // uses the
    //     pair (so that a pair seen for the first time is initialised).
    snapshot_publish,
    snapshot_observe,
    // E7  snapshot_announce -> snapshot_slot_read against snapshot_slot_write -> snapshot_scan:
    // store-then-load on both
    //     sides (Dekker), so all four are sequentially consistent. Either the reader's slot read sees the
    //     slot
    //     that the writer has just completed, or the writer's next scan sees the announcement; else the
    //     writer could fill the slot being read. snapshot_slot_write -> snapshot_slot_read is also the
    //     release -> acquire edge of the slot's content, and snapshot_announce -> snapshot_scan that from the
    //     reader's copy of its former pair to the writer's reuse of it.
    snapshot_announce,
    snapshot_slot_read,
    snapshot_slot_write,
    snapshot_scan,

    // E8  region_publish -> region_observe: header, table and initial content of all objects happen before
    // any attach; and a region's line size and version before its magic number is seen.
    region_publish,
    region_observe,

    // E9  epoch_publish -> epoch_observe: what an attaching side took over happens before its peer sees it
    // restarted.
    epoch_publish,
    epoch_observe,

    count,
};

[[nodiscard]] constexpr Order order_of(Edge edge) noexcept {
    switch (edge) {
        case Edge::own:
        case Edge::diagnostic:
            return Order::relaxed;
        case Edge::mailbox_publish:
        case Edge::mailbox_acknowledge:
        case Edge::queue_publish:
        case Edge::queue_release:
        case Edge::buffer_publish:
        case Edge::snapshot_publish:
        case Edge::region_publish:
        case Edge::epoch_publish:
            return Order::release;
        case Edge::mailbox_observe:
        case Edge::mailbox_observe_acknowledge:
        case Edge::queue_observe:
        case Edge::queue_observe_release:
        case Edge::buffer_observe:
        case Edge::snapshot_observe:
        case Edge::region_observe:
        case Edge::epoch_observe:
            return Order::acquire;
        case Edge::snapshot_announce:
        case Edge::snapshot_slot_read:
        case Edge::snapshot_slot_write:
        case Edge::snapshot_scan:
        case Edge::count:
            return Order::seq_cst;
    }
    return Order::seq_cst;
}

}  // namespace consort
