// SPDX-License-Identifier: Apache-2.0
//
// Handover: the I/O core and an application core share two partitions, and never touch one at once (E20,
// E21).

#include "consort/spm/handover.hpp"
#include "explore.hpp"

namespace {

using namespace consort;
using namespace consort::exploration;
using spm::Execution;
using spm::Outcome;
using spm::ReadyJob;

// Three jobs: the third is moved into the partition of the first. What is in a partition is plain memory.
struct ThreeJobs : rl::test_suite<ThreeJobs, 2> {
    using Handover = spm::Handover<RelacyAccess>;
    static constexpr std::uint32_t jobs = 3;
    Placed<typename Handover::Shared> shared;
    rl::var<std::uint32_t> partition[spm::partitions];

    static rl::debug_info here() { return rl::debug_info("partition"); }
    static Ticks start_of(std::uint32_t job) { return (Ticks{~job} << 32U) | job; }

    void before() {
        for (auto& one : partition) {
            one(here()) = 0;
        }
    }
    void thread(unsigned index) {
        if (index == 0) {
            io_core();
        } else {
            application_core();
        }
    }

    void io_core() {
        Handover::IoSide side(shared.get());
        std::uint32_t moved = 0;
        for (std::uint32_t taken = 0; taken < jobs;) {
            if (moved < jobs && moved - taken < spm::partitions) {
                partition[moved % spm::partitions](here()) = 10 + moved;
                side.publish({100 + moved, moved % spm::partitions, moved});
                ++moved;
                continue;
            }
            Ticks time = 0;
            const Status status = side.finished(0, time);
            check(status != Status::peer_fault, "handover: no fault");
            if (status != Status::ok) {
                Yield::relax();
                continue;
            }
            const Execution execution = side.take();
            check(time == start_of(taken) + 1 && execution.finish == time &&
                      execution.start == start_of(taken) && execution.outcome == Outcome::done,
                  "handover: the times of this job, whole");
            check(partition[taken % spm::partitions](here()) == 20 + taken, "handover: what the job wrote");
            ++taken;
        }
    }
    void application_core() {
        Handover::CoreSide side(shared.get());
        for (std::uint32_t job = 0; job < jobs;) {
            ReadyJob ready{};
            const Status status = side.next(ready);
            check(status != Status::peer_fault, "handover: no fault");
            if (status != Status::ok) {
                Yield::relax();
                continue;
            }
            check(ready.job == job && ready.task == 100 + job && ready.partition == job % spm::partitions,
                  "handover: jobs in the order of their loads");
            side.begin(start_of(job));
            check(partition[ready.partition](here()) == 10 + job, "handover: what was moved in");
            partition[ready.partition](here()) = 20 + job;
            side.end(start_of(job) + 1, Outcome::done);
            ++job;
        }
    }
};

}  // namespace

int main() {
    Report report;
    report.holds<ThreeJobs>("Handover, three jobs in two partitions", bounded(2));
    report.found<ThreeJobs>(SyncPoint::handover_publish, rl::mo_relaxed, bounded(2));
    report.found<ThreeJobs>(SyncPoint::handover_observe, rl::mo_relaxed, bounded(2));
    report.found<ThreeJobs>(SyncPoint::handover_report, rl::mo_relaxed, bounded(2));
    report.found<ThreeJobs>(SyncPoint::handover_collect, rl::mo_relaxed, bounded(2));
    return report.exit_code();
}
