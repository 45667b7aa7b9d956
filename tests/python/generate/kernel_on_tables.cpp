// SPDX-License-Identifier: Apache-2.0
//
// The kernel in virtual time on generated tables: `kernel_on_tables MS` prints core, task, jobs, the longest
// response and the deadline of each task in ns. Every job executes for its budget.
#include <cstdio>
#include <cstdlib>

#include "consort-io.hpp"
#include "simulated.hpp"

namespace {

namespace tables = consort::tables;
using consort::Ticks;
static_assert(tables::ticks_per_second == 1'000'000'000);

}  // namespace

int main(int argc, char** argv) {
    const Ticks until = static_cast<Ticks>(argc > 1 ? std::atoi(argv[1]) : 0) * 1'000'000;
    consort::spm::Planned<tables::cores, tables::most_tasks> planned;
    if (planned.read(tables::plan(), [](std::uint32_t n) { return tables::image[n]; }) != nullptr) {
        return 1;
    }
    std::vector<std::vector<simulated::Task>> cores;
    for (std::uint32_t c = 0; c < planned.cores(); ++c) {
        std::vector<simulated::Task>& tasks = cores.emplace_back();
        for (std::uint32_t t = 0; t < planned.tasks(c).count; ++t) {
            const consort::spm::Entry& entry = planned.tasks(c).entries[t];
            tasks.push_back({*entry.plan, entry.image});
        }
    }
    const consort::spm::Schedule schedule = planned.schedule(tables::tolerance);
    simulated::Behaviour behaviour;
    behaviour.execution = [&cores](std::uint32_t c, std::uint32_t t, std::uint32_t) {
        return static_cast<Ticks>(cores[c][t].plan.wcet);
    };
    // The mpc5777m's figures: 3.16 us, and 94814814 bytes a second.
    behaviour.transfer = [](std::uint32_t, const consort::spm::Transfer& transfer) {
        return 3160 + Ticks{transfer.bytes()} * tables::ticks_per_second / 94814814;
    };
    simulated::Machine machine(cores, {schedule.slots, schedule.slots + schedule.count}, schedule, behaviour,
                               tables::partition_bytes[0]);
    machine.board.on_inputs = [](std::uint32_t c, std::uint32_t t) { return tables::plain_inputs[c][t]; };
    machine.board.on_outputs = [](std::uint32_t c, std::uint32_t t) { return tables::plain_outputs[c][t]; };
    machine.run(until, [](Ticks) { return tables::tolerance; });
    for (std::uint32_t c = 0; c < tables::cores; ++c) {
        for (std::uint32_t t = 0; t < cores[c].size(); ++t) {
            Ticks longest = 0;
            unsigned jobs = 0;
            for (const consort::spm::JobRecord& job : machine.board.jobs) {
                if (job.core == c && job.task == t) {
                    ++jobs;
                    longest = std::max(longest, job.end - job.release);
                }
            }
            std::printf("%s %s %u %llu %llu\n", tables::core_name[c], tables::task_name[c][t], jobs,
                        static_cast<unsigned long long>(longest),
                        static_cast<unsigned long long>(cores[c][t].plan.deadline));
        }
    }
    for (const consort::spm::Event& event : machine.board.events) {
        if (event.kind == consort::spm::Kind::slot_missed || event.kind == consort::spm::Kind::slot_overrun) {
            std::fprintf(stderr, "a slot was lost\n");
            return 1;
        }
    }
    // The linker's places: two partitions a core, and images that are written by nothing else.
    for (std::uint32_t c = 0; c < tables::cores; ++c) {
        if (tables::partition[c][1] - tables::partition[c][0] !=
            static_cast<long>(tables::partition_bytes[c])) {
            return 1;
        }
        std::fill_n(tables::partition[c][0], 2 * tables::partition_bytes[c], std::byte{0xa5});
    }
    for (const auto& table : cores) {
        for (const simulated::Task& task : table) {
            if (std::count(task.image.code, task.image.code + task.image.size.code, std::byte{0xa5}) != 0) {
                return 1;
            }
        }
    }
    return 0;
}
