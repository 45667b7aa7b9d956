// SPDX-License-Identifier: Apache-2.0
//
// consort-wakeup-probe: how late a real-time thread wakes from an absolute sleep (the question that
// cyclictest asks), as one JSON object. `consort doctor` runs it for a second.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "consort/linux/clock.hpp"
#include "consort/linux/program.hpp"
#include "consort/linux/realtime.hpp"
#include "consort/linux/recorder.hpp"
#include "options.hpp"

namespace {

using namespace consort::linux_port;

constexpr const char* help =
    R"(usage: consort-wakeup-probe [--cpu N] [--seconds S] [--interval-us U] [--priority P] [--ordinary]

Sleeps until absolute times U µs apart and prints how late each wake-up was, as JSON (ns, nearest rank).

  --cpu N          processor to run on (default: the first choice for a real-time thread)
  --seconds S      length of the measurement (default 1)
  --interval-us U  distance of the wake-ups (default 500)
  --priority P     of SCHED_FIFO, 1 to 98 (default 80)
  --ordinary       stay in the ordinary scheduling class

example: consort-wakeup-probe --seconds 10
)";

std::uint64_t rank(const std::vector<std::uint64_t>& sorted, double part) {
    const auto at = static_cast<std::size_t>(part * static_cast<double>(sorted.size()));
    return sorted[std::min(at, sorted.size() - 1)];
}

int run(const Options& options) {
    if (options.given("--help")) {
        std::fputs(help, stdout);
        return good;
    }
    const double seconds = options.number("--seconds", 1.0, 0.01, 3'600.0);
    const double interval_us = options.number("--interval-us", 500.0, 50.0, 1e6);
    RealtimeOptions wanted;
    wanted.policy = options.given("--ordinary") ? SCHED_OTHER : SCHED_FIFO;
    wanted.priority = static_cast<int>(options.number("--priority", 80.0, 1.0, 98.0));
    const CpuChoice choice = pick_cpus(1);
    wanted.cpu =
        static_cast<int>(options.number("--cpu", choice.cpus.empty() ? 0.0 : choice.cpus[0], 0.0, 65'535.0));

    const auto interval = static_cast<std::uint64_t>(interval_us * 1e3);
    const auto wakeups = static_cast<std::size_t>(seconds * 1e6 / interval_us);
    std::vector<std::uint64_t> late(std::max<std::size_t>(wakeups, 1));
    // The state with no help against idle states is what an application meets that has not asked for it.
    wanted.cpu_dma_latency = false;
    Realtime achieved;
    {
        const RealtimeGuard guard(wanted);
        achieved = guard.achieved();
        std::uint64_t next = clock_ns(CLOCK_MONOTONIC) + interval;
        for (std::uint64_t& value : late) {
            timespec time{};
            time.tv_sec = static_cast<time_t>(next / 1'000'000'000U);
            time.tv_nsec = static_cast<long>(next % 1'000'000'000U);
            while (::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nullptr) != 0) {
            }
            const std::uint64_t now = clock_ns(CLOCK_MONOTONIC);
            value = now - next;
            // After a wake-up that missed later ones too, those are skipped: they would count one delay many
            // times.
            next += ((now - next) / interval + 1) * interval;
        }
    }
    std::sort(late.begin(), late.end());
    const nlohmann::json result = {{"n", late.size()},         {"unit", "ns"},
                                   {"provenance", "measured"}, {"interval_ns", interval},
                                   {"min", late.front()},      {"median", rank(late, 0.5)},
                                   {"p99", rank(late, 0.99)},  {"p999", rank(late, 0.999)},
                                   {"max", late.back()},       {"realtime", to_json(achieved)}};
    std::printf("%s\n", result.dump().c_str());
    return good;
}

}  // namespace

int main(int argc, char** argv) {
    return run_program("consort-wakeup-probe", [&] {
        return run(Options(argc, argv, {"--cpu", "--seconds", "--interval-us", "--priority"},
                           {"--ordinary", "--help"}));
    });
}
