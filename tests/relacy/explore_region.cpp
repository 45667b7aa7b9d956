// SPDX-License-Identifier: Apache-2.0
//
// E8 on the words that the region uses, with a cell for its header, tables and objects (a real region's
// tables are plain memory, which Relacy cannot watch). E9 on the Mailbox itself.

#include "explore.hpp"

namespace {

using namespace consort;
using namespace consort::exploration;

struct Attach : rl::test_suite<Attach, 2> {
    struct Region {
        RelacyAccess::Word magic;
        RelacyAccess::Cell<std::uint32_t> line;
        RelacyAccess::Word state;
        RelacyAccess::Cell<std::uint32_t> content;
    };
    Placed<Region> region;

    void thread(unsigned index) {
        if (index == 0) {
            region.get().line.put(64);
            RelacyAccess::store<SyncPoint::region_publish>(region.get().magic, 1);
            region.get().content.put(7);
            RelacyAccess::store<SyncPoint::region_publish>(region.get().state, 1);
        } else {
            if (RelacyAccess::load<SyncPoint::region_observe>(region.get().magic) == 1) {
                std::uint32_t line = 0;
                region.get().line.get(line);
                check(line == 64, "region: a line size where there is a magic number");
            }
            while (RelacyAccess::load<SyncPoint::region_observe>(region.get().state) != 1) {
                Yield::relax();
            }
            std::uint32_t got = 0;
            check(RelacyAccess::load<SyncPoint::region_observe>(region.get().magic) == 1,
                  "region: magic before ready");
            region.get().content.get(got);
            check(got == 7, "region: complete when attached to");
        }
    }
};

// A reader restarts and discards the message that its predecessor left. The writer that sees the restart sees
// the mailbox empty.
struct Restart : rl::test_suite<Restart, 2> {
    using Box = Mailbox<std::uint32_t, RelacyAccess>;
    Placed<Box::Shared> shared;
    std::optional<Box::Writer> writer;
    std::optional<Box::Reader> reader;

    void before() {
        writer.emplace(shared.get());
        check(writer->try_write(1) == Status::ok, "mailbox: write answers ok");
    }
    void thread(unsigned index) {
        if (index == 0) {
            while (writer->peer_epoch() == 0) {
                Yield::relax();
            }
            check(writer->empty(), "epoch: what the restarted side took over is seen");
        } else {
            reader.emplace(shared.get(), Resume::discard);
        }
    }
};

}  // namespace

int main() {
    Report report;
    report.holds<Attach>("Region, attach while it is made", full);
    report.holds<Restart>("Mailbox, restart of the reader", full);
    for (const SyncPoint point : {SyncPoint::region_publish, SyncPoint::region_observe}) {
        report.found<Attach>(point, rl::mo_relaxed, full);
    }
    for (const SyncPoint point : {SyncPoint::epoch_publish, SyncPoint::epoch_observe}) {
        report.found<Restart>(point, rl::mo_relaxed, full);
    }
    return report.exit_code();
}
