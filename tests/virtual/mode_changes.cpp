// SPDX-License-Identifier: Apache-2.0
//
// Changes of mode of the executive in virtual time against those of the engine's simulator, on random systems
// and, on small ones, with a request at every instant.
//
//   mode_changes SYSTEMS [FIRST]    systems number FIRST (0) to FIRST + SYSTEMS - 1
//
// Exit status 0: no difference; 1: one, which is shown, or something that the comparison is about never
// happened; 2: wrong arguments.
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include "compare.hpp"

namespace {

using namespace virtual_tests;
using consort::app::ModeChanged;

struct Seen {
    std::uint64_t runs = 0;
    std::uint64_t jobs = 0;
    std::uint64_t slices = 0;
    std::uint64_t operations = 0;
    std::uint64_t changes = 0;
    std::uint64_t with_jobs_under_way = 0;
    std::uint64_t replaced = 0;  // a request took the place of one before
    std::uint64_t held = 0;      // one that came between the idle instant and the release
    std::uint64_t same = 0;      // back to the mode that was left
    std::uint64_t misses = 0;
    std::uint64_t held_outputs = 0;
    std::uint64_t fallbacks = 0;
    std::uint64_t late_answers = 0;
    std::uint64_t unserved = 0;
};

bool look(consort::virtual_time::Machine& machine, const ModeCase& c, const std::string& name, Seen& seen) {
    Comparison found;
    try {
        found = compare(machine, c);
    } catch (const std::exception& e) {
        found.difference = e.what();
    }
    if (!found.difference.empty()) {
        std::printf("%s: %s\n%s", name.c_str(), found.difference.c_str(), to_string(c).c_str());
        return false;
    }
    ++seen.runs;
    seen.jobs += found.jobs;
    seen.slices += found.slices;
    seen.operations += found.operations;
    seen.misses += found.misses;
    seen.held_outputs += found.held;
    seen.fallbacks += found.fallbacks;
    seen.late_answers += found.late_answers;
    seen.unserved += found.unserved;
    for (std::size_t i = 0; i < found.changes.size(); ++i) {
        const ModeChanged& change = found.changes[i];
        ++seen.changes;
        seen.with_jobs_under_way += change.drained > change.requested ? 1U : 0U;
        seen.replaced += change.requests > 1 ? 1U : 0U;
        seen.held += i != 0 && change.requested <= found.changes[i - 1].released ? 1U : 0U;
        seen.same += change.to == change.from ? 1U : 0U;
    }
    return true;
}

// Requests at every instant of a mode's hyperperiod and the change after it, one and two of them.
bool every_instant(consort::virtual_time::Machine& machine, Time step, Seen& seen) {
    sim::System fast;
    fast.cores.resize(2);
    fast.cores[0].context_switch = 1;
    fast.cores[1].policy = sim::Policy::worker;
    fast.tasks.resize(3);
    for (std::uint32_t t = 0; t < 3; ++t) {
        sim::Task& task = fast.tasks[t];
        task.period = task.deadline = t == 0 ? 6 : t == 1 ? 8 : 12;
        task.wcet = task.bcet = t == 2 ? 3 : 1;
        task.rank = t;
        task.until_deadline = t == 1;
    }
    sim::Task& remote = fast.tasks[2];
    remote.offloaded = true;
    remote.give_up = remote.deadline;
    remote.core = 1;
    remote.send = remote.request = remote.response = 1;
    sim::System slow = fast;
    slow.tasks[0].rests = true;
    slow.tasks[1].period = slow.tasks[1].deadline = 5;
    slow.tasks[2].offloaded = false;
    slow.tasks[2].core = 0;
    const std::vector<consort::virtual_time::Channel> channels{{1, {2}, true}, {2, {0}, false}};
    for (const Time agreement : {1, 3}) {
        for (Time first = 0; first < 26; ++first) {
            for (Time second = first; second < first + 26; second += step) {
                for (std::uint32_t to = 0; to < 2; ++to) {
                    ModeCase c;
                    c.modes = {{fast, slow}, 0, agreement, {{first, 1}, {second, to}}};
                    c.settings.duration = 70;
                    c.settings.execution = sim::Spread::worst;
                    c.channels = channels;
                    const std::string name = "requests at " + std::to_string(first) + " and " +
                                             std::to_string(second) + " to " + std::to_string(to);
                    if (!look(machine, c, name, seen)) {
                        return false;
                    }
                }
            }
        }
    }
    return true;
}

}  // namespace

int main(int argc, char** argv) {
    char* end = nullptr;
    const std::uint64_t systems = argc >= 2 ? std::strtoull(argv[1], &end, 10) : 0;
    const std::uint64_t first = argc >= 3 ? std::strtoull(argv[2], nullptr, 10) : 0;
    if (systems == 0 || *end != '\0' || argc > 3) {
        std::fprintf(stderr, "usage: mode_changes SYSTEMS [FIRST]\n");
        return 2;
    }
    consort::virtual_time::Machine machine;
    Seen small;
    // Few systems: a sanitizer watches, which finds in some instants what it finds in all.
    if (!every_instant(machine, systems >= 1000 ? 1 : 5, small)) {
        return 1;
    }
    Seen seen;
    for (std::uint64_t i = first; i < first + systems; ++i) {
        if (!look(machine, ModeGenerator(i)(), "system " + std::to_string(i), seen)) {
            return 1;
        }
    }
    const std::map<std::string, std::uint64_t> had{
        {"changes of mode", seen.changes},
        {"with jobs under way at the request", seen.with_jobs_under_way},
        {"whose request took the place of another", seen.replaced},
        {"requested between an idle instant and its release", seen.held},
        {"back to the mode that was left", seen.same},
        {"deadline misses", seen.misses},
        {"outputs held", seen.held_outputs},
        {"fallbacks", seen.fallbacks},
        {"late answers", seen.late_answers},
        {"unserved releases", seen.unserved},
        {"channel operations", seen.operations},
    };
    std::printf("%" PRIu64 " small runs with requests at every instant, %" PRIu64
                " random systems: 0 differences"
                " in %" PRIu64 " jobs and %" PRIu64 " slices\n",
                small.runs, seen.runs, small.jobs + seen.jobs, small.slices + seen.slices);
    bool poor = small.held == 0 || small.replaced == 0;
    for (const auto& [what, count] : had) {
        std::printf("%10" PRIu64 "  %s\n", count, what.c_str());
        poor = poor || count == 0;
    }
    if (systems >= 200 && poor) {
        std::printf("something never happened: the comparison says nothing about it\n");
        return 1;
    }
    return 0;
}
