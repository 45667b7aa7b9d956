// SPDX-License-Identifier: Apache-2.0
#include "compare.hpp"

#include <map>
#include <sstream>
#include <tuple>
#include <utility>

namespace virtual_tests {

namespace {

using consort::Operation;
using consort::Ticks;
using consort::virtual_time::Channel;

auto key(const sim::JobRow& r) {
    return std::tie(r.task, r.seq, r.release, r.ready, r.start, r.finish, r.deadline, r.sent,
                    r.worker_receive, r.worker_send, r.received, r.compute, r.status, r.preemptions);
}
auto key(const consort::Slice& r) {
    return std::tie(r.core, r.task, r.seq, r.doing, r.begin, r.end);
}
auto key(const Operation& o) {
    return std::tie(o.channel, o.task, o.seq, o.kind, o.time, o.sequence);
}

std::string text(const sim::JobRow& r) {
    std::ostringstream s;
    s << "job " << r.task << '/' << r.seq << " release " << r.release << " ready " << r.ready << " start "
      << r.start << " sent " << r.sent << " worker " << r.worker_receive << ".." << r.worker_send
      << " received " << r.received << " finish " << r.finish << " deadline " << r.deadline << " compute "
      << r.compute << " status " << r.status << " preemptions " << r.preemptions;
    return s.str();
}
std::string text(const consort::Slice& r) {
    static constexpr const char* names[] = {"execute", "context switch", "load",     "unload",
                                            "send",    "receive",        "fallback", "wait"};
    std::ostringstream s;
    s << "slice of core " << r.core << ", job " << r.task << '/' << r.seq << ' '
      << names[static_cast<std::size_t>(r.doing)] << ' ' << r.begin << ".." << r.end;
    return s.str();
}
std::string text(const Operation& o) {
    std::ostringstream s;
    s << "operation on channel " << o.channel << ", job " << o.task << '/' << o.seq << " kind " << o.kind
      << " at " << o.time << " block " << o.sequence;
    return s.str();
}

// The first row that is not in both; empty: none.
template <class Row>
std::string first_difference(std::vector<Row>& simulated, std::vector<Row>& virtual_time) {
    const auto less = [](const Row& a, const Row& b) { return key(a) < key(b); };
    std::sort(simulated.begin(), simulated.end(), less);
    std::sort(virtual_time.begin(), virtual_time.end(), less);
    const std::size_t n = std::max(simulated.size(), virtual_time.size());
    for (std::size_t i = 0; i < n; ++i) {
        if (i < simulated.size() && i < virtual_time.size() && key(simulated[i]) == key(virtual_time[i])) {
            continue;
        }
        std::string found = "simulator: ";
        found += i < simulated.size() ? text(simulated[i]) : "nothing";
        found += "\nvirtual time: ";
        found += i < virtual_time.size() ? text(virtual_time[i]) : "nothing";
        return found;
    }
    return {};
}

// Stretches that follow one another without a break as one: the simulator records a new one where a job that
// waits gets its answer during a context switch.
void join(std::vector<consort::Slice>& slices) {
    std::sort(slices.begin(), slices.end(), [](const auto& a, const auto& b) { return key(a) < key(b); });
    std::vector<consort::Slice> joined;
    for (const consort::Slice& s : slices) {
        if (!joined.empty()) {
            consort::Slice& last = joined.back();
            if (std::tie(last.core, last.task, last.seq, last.doing, last.end) ==
                std::tie(s.core, s.task, s.seq, s.doing, s.begin)) {
                last.end = s.end;
                continue;
            }
        }
        joined.push_back(s);
    }
    slices = std::move(joined);
}

// The operations of the simulator's jobs by the rules, by counting: docs/explanation/simulator.md, "Chains".
std::vector<Operation> operations_of(const std::vector<Channel>& channels, const sim::Trace& trace) {
    std::map<std::pair<std::uint32_t, std::uint32_t>, Time> loads;
    for (const consort::Slice& s : trace.slices) {
        if (s.doing == consort::Doing::load) {
            loads[{s.task, s.seq}] = s.begin;
        }
    }
    std::vector<Operation> found;
    for (std::uint16_t n = 0; n < channels.size(); ++n) {
        const Channel& channel = channels[n];
        std::map<std::uint32_t, std::pair<Time, bool>> written;  // by job: when it is there, whether too late
        for (const sim::JobRow& r : trace.jobs) {
            if (r.task == channel.writer &&
                (r.status & (consort::job_status::held | consort::job_status::unserved)) == 0) {
                written[r.seq] = {channel.let ? std::max(r.finish, r.deadline) : r.finish,
                                  channel.let && r.finish > r.deadline};
            }
        }
        const auto add = [&](Time at, std::uint64_t sequence, std::uint32_t seq, std::uint32_t task,
                             std::uint16_t kind) {
            found.push_back({static_cast<Ticks>(at + consort::virtual_time::origin), sequence, seq,
                             static_cast<std::uint16_t>(task), n, kind, 1, 0});
        };
        std::uint64_t sequence = 0;
        for (const auto& [seq, block] : written) {
            add(block.first, ++sequence, seq, channel.writer,
                block.second ? Operation::write_late : Operation::write);
        }
        for (const sim::JobRow& r : trace.jobs) {
            const bool reads = std::count(channel.readers.begin(), channel.readers.end(), r.task) != 0;
            if (!reads || (r.status & consort::job_status::unserved) != 0) {
                continue;
            }
            const auto load = loads.find({r.task, r.seq});
            const Time at = channel.let ? r.release : load != loads.end() ? load->second : r.start;
            const auto there = std::count_if(written.begin(), written.end(),
                                             [at](const auto& block) { return block.second.first <= at; });
            add(at, static_cast<std::uint64_t>(there), r.seq, r.task, Operation::read);
        }
    }
    return found;
}

Comparison compare_rows(const std::vector<Channel>& channels, sim::Trace& simulated, sim::Trace& executed,
                        std::vector<Operation>& operations) {
    Comparison found;
    found.jobs = simulated.jobs.size();
    for (const sim::JobRow& r : simulated.jobs) {
        found.preemptions += r.preemptions;
        found.misses += (r.status & consort::job_status::missed) != 0 ? 1U : 0U;
        found.unserved += (r.status & consort::job_status::unserved) != 0 ? 1U : 0U;
        found.held += (r.status & consort::job_status::held) != 0 ? 1U : 0U;
        found.fallbacks += (r.status & consort::job_status::fallback) != 0 ? 1U : 0U;
        found.late_answers += (r.status & consort::job_status::late_answer) != 0 ? 1U : 0U;
    }
    std::vector<Operation> expected = operations_of(channels, simulated);
    found.operations = expected.size();
    found.difference = first_difference(simulated.jobs, executed.jobs);
    if (found.difference.empty()) {
        join(simulated.slices);
        join(executed.slices);
        found.slices = simulated.slices.size();
        found.difference = first_difference(simulated.slices, executed.slices);
    }
    if (found.difference.empty()) {
        found.difference = first_difference(expected, operations);
    }
    return found;
}

std::string text(const consort::app::ModeChanged& c) {
    std::ostringstream s;
    s << "mode " << c.from << " -> " << c.to << " requested " << c.requested << " drained " << c.drained
      << " released " << c.released << " requests " << c.requests;
    return s.str();
}

}  // namespace

Comparison compare(consort::virtual_time::Machine& machine, const ModeCase& c) {
    sim::Trace simulated;
    const sim::ModesOutcome a = sim::run_modes(c.modes, c.settings, &simulated);
    sim::Trace executed;
    std::vector<Operation> operations;
    const sim::ModesOutcome b =
        sim::run_in_virtual_time(machine, c.modes, c.settings, &executed, c.channels, &operations);
    Comparison found = compare_rows(c.channels, simulated, executed, operations);
    found.changes = a.changes;
    for (std::size_t i = 0; i < std::max(a.changes.size(), b.changes.size()); ++i) {
        const std::string one = i < a.changes.size() ? text(a.changes[i]) : "none";
        const std::string other = i < b.changes.size() ? text(b.changes[i]) : "none";
        if (one != other) {
            // The first difference comes first: the rows differ for it.
            found.difference = "change " + std::to_string(i) + "\nsimulator: " + one +
                               "\nvirtual time: " + other + '\n' + found.difference;
            break;
        }
    }
    return found;
}

Comparison compare(consort::virtual_time::Machine& machine, const Case& c) {
    sim::Trace simulated;
    const sim::Outcome a = sim::run(c.system, c.settings, &simulated);
    sim::Trace executed;
    std::vector<Operation> operations;
    const sim::Outcome b =
        sim::run_in_virtual_time(machine, c.system, c.settings, &executed, c.channels, &operations);
    Comparison found = compare_rows(c.channels, simulated, executed, operations);
    found.stops = a.stopped != sim::never ? 1U : 0U;
    if (found.difference.empty() && a.stopped != b.stopped) {
        found.difference = "stopped at " + std::to_string(a.stopped) + " and " + std::to_string(b.stopped);
    }
    return found;
}

std::string to_string(const Case& c) {
    std::ostringstream s;
    s << "duration " << c.settings.duration << " seed " << c.settings.seed << " execution "
      << static_cast<int>(c.settings.execution) << " arrival " << static_cast<int>(c.settings.arrival)
      << '\n';
    for (std::size_t i = 0; i < c.system.cores.size(); ++i) {
        const sim::Core& k = c.system.cores[i];
        s << "core " << i << ": policy " << static_cast<int>(k.policy) << " switch " << k.context_switch
          << " keeps " << k.keeps << " by rank " << k.by_rank << " dma " << k.dma << " slot " << k.slot
          << " at " << k.slot_phase << '\n';
    }
    for (std::size_t i = 0; i < c.system.dmas.size(); ++i) {
        s << "dma " << i << ": round robin " << c.system.dmas[i].round_robin << " round "
          << c.system.dmas[i].round << '\n';
    }
    for (std::size_t i = 0; i < c.system.tasks.size(); ++i) {
        const sim::Task& t = c.system.tasks[i];
        s << "task " << i << ": core " << t.core << " master " << t.master << " period " << t.period << '+'
          << t.extra_gap << " offset " << t.offset << " jitter " << t.jitter << " deadline " << t.deadline
          << " rank " << t.rank << '/' << t.threshold.value_or(t.rank) << '/' << t.worker_rank
          << " execution " << t.bcet << ".." << t.wcet << " suspension " << t.suspension << " offloaded "
          << t.offloaded << " on miss " << static_cast<int>(t.on_miss) << " send " << t.send << " receive "
          << t.receive << " request " << t.request << " response " << t.response << " fallback " << t.fallback
          << " load " << t.load << " unload " << t.unload << " skip " << t.skip << " one in flight "
          << t.one_in_flight << " releases";
        if (t.rests) {
            s << " (rests)";
        }
        for (const Time r : t.releases) {
            s << ' ' << r;
        }
        s << " executions";
        for (const Time e : t.executions) {
            s << ' ' << e;
        }
        s << '\n';
    }
    for (const Channel& k : c.channels) {
        s << "channel " << k.writer << " ->";
        for (const std::uint32_t r : k.readers) {
            s << ' ' << r;
        }
        s << (k.let ? " LET\n" : " implicit\n");
    }
    return s.str();
}

std::string to_string(const ModeCase& c) {
    std::ostringstream s;
    s << "first mode " << c.modes.first << ", agreement " << c.modes.agreement << ", requests";
    for (const sim::ModeRequest& request : c.modes.requests) {
        s << ' ' << request.at << "->" << request.to;
    }
    s << '\n';
    for (std::size_t m = 0; m < c.modes.modes.size(); ++m) {
        s << "mode " << m << ": " << to_string(Case{c.modes.modes[m], c.settings, c.channels});
    }
    return s.str();
}

}  // namespace virtual_tests
