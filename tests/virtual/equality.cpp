// SPDX-License-Identifier: Apache-2.0
//
// The executive in virtual time against the engine's simulator on random systems.
//
//   equality SYSTEMS [FIRST]    systems number FIRST (0) to FIRST + SYSTEMS - 1
//
// Exit status 0: no difference; 1: one, which is shown; 2: wrong arguments. Prints how many systems had each
// feature. From 1,000 systems on, a run in which less than one system in a hundred had one of them fails, and
// one that never saw something to compare (a preemption, a stop, …).
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>

#include "compare.hpp"
#include "features.hpp"

int main(int argc, char** argv) {
    using namespace virtual_tests;
    char* end = nullptr;
    const std::uint64_t systems = argc >= 2 ? std::strtoull(argv[1], &end, 10) : 0;
    const std::uint64_t first = argc >= 3 ? std::strtoull(argv[2], nullptr, 10) : 0;
    if (systems == 0 || *end != '\0' || argc > 3) {
        std::fprintf(stderr, "usage: equality SYSTEMS [FIRST]\n");
        return 2;
    }
    consort::virtual_time::Machine machine;
    Comparison sum;
    Features had{};
    for (std::uint64_t i = first; i < first + systems; ++i) {
        const Case c = Generator(i)();
        Comparison found;
        try {
            found = compare(machine, c);
        } catch (const std::exception& e) {
            found.difference = e.what();
        }
        if (!found.difference.empty()) {
            std::printf("system %" PRIu64 ": %s\n%s", i, found.difference.c_str(), to_string(c).c_str());
            return 1;
        }
        const Features of_it = features_of(c);
        for (std::size_t f = 0; f < had.size(); ++f) {
            had[f] += of_it[f];
        }
        sum.jobs += found.jobs;
        sum.slices += found.slices;
        sum.operations += found.operations;
        sum.preemptions += found.preemptions;
        sum.misses += found.misses;
        sum.unserved += found.unserved;
        sum.held += found.held;
        sum.fallbacks += found.fallbacks;
        sum.late_answers += found.late_answers;
        sum.stops += found.stops;
    }
    std::printf("%" PRIu64 " systems, 0 differences: %" PRIu64 " jobs, %" PRIu64 " slices, %" PRIu64
                " channel operations, %" PRIu64 " preemptions, %" PRIu64 " deadline misses, %" PRIu64
                " unserved, %" PRIu64 " outputs held, %" PRIu64 " fallbacks, %" PRIu64
                " late answers, %" PRIu64 " stops\n",
                systems, sum.jobs, sum.slices, sum.operations, sum.preemptions, sum.misses, sum.unserved,
                sum.held, sum.fallbacks, sum.late_answers, sum.stops);
    bool poor = false;
    for (std::size_t f = 0; f < had.size(); ++f) {
        std::printf("%10" PRIu64 "  %s\n", had[f], feature_names[f]);
        // Nothing that the comparison is about is rarer than one system in a hundred.
        poor = poor || had[f] * 100 < systems;
    }
    poor = poor || sum.operations == 0 || sum.preemptions == 0 || sum.misses == 0 || sum.unserved == 0 ||
           sum.held == 0 || sum.fallbacks == 0 || sum.late_answers == 0 || sum.stops == 0;
    if (systems >= 1000 && poor) {
        std::printf("something was too rare or never happened: the comparison says nothing about it\n");
        return 1;
    }
    return 0;
}
