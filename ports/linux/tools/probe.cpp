// SPDX-License-Identifier: Apache-2.0
//
// consort-probe: what this machine costs a real-time application, as one JSON object. `consort doctor` asks
// it for wake-ups and for what stops a busy thread, `consort probe` for all of it.

#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>

#include "consort/linux/cpus.hpp"
#include "consort/linux/program.hpp"
#include "consort/linux/realtime.hpp"
#include "options.hpp"
#include "probe_exchange.hpp"
#include "probe_memory.hpp"
#include "probe_series.hpp"
#include "probe_signal.hpp"
#include "probe_switch.hpp"
#include "probe_wakeup.hpp"

namespace {

using namespace consort::linux_port;

// The parts that can be measured, in the order of the result.
constexpr std::array<const char*, 6> all_parts{"wakeup", "busy", "switch", "memory", "exchange", "signal"};

constexpr const char* help = R"(usage: consort-probe [--measure LIST] [--cpus LIST] [options]

Measures what this machine costs a real-time application; prints one JSON object, times in picoseconds.

  --measure LIST    of wakeup, busy, switch, memory, exchange, signal (default: all of them)
  --cpus LIST       processors, such as 1,2-3 (default: the first choice for a real-time thread; with
                    `exchange` or `signal` the first two)
  --seconds S       length of the wake-up and busy series (default 1)
  --samples N       samples of each other series (default 20000)
  --interval-us U   distance of the wake-ups (default 250)
  --memory-mib N    size of the accessed memory (default: twice the last-level cache, 64 to 256)
  --gap-us U        what counts as a gap of the busy thread (default 20)
  --lengths N       list so many of its gaps, the longest, of each cause (default 0)
  --priority P      of SCHED_FIFO, 2 to 98 (default 80)
  --ordinary        stay in the ordinary scheduling class
  --parent PID      end with this process, which started it
  --deep-idle       do not ask the kernel to keep the processors out of deep idle states

example: consort-probe --measure wakeup,busy --seconds 2
)";

std::string listed(const char* between) {
    std::string text;
    for (const char* part : all_parts) {
        text.append(text.empty() ? "" : between).append(part);
    }
    return text;
}

std::set<std::string> parse_parts(const std::string& text) {
    const std::set<std::string> known(all_parts.begin(), all_parts.end());
    std::set<std::string> parts;
    std::istringstream list(text);
    for (std::string part; std::getline(list, part, ',');) {
        if (known.count(part) == 0) {
            throw std::invalid_argument("--measure: '" + part + "' is none of " + listed(", "));
        }
        parts.insert(part);
    }
    if (parts.empty()) {
        throw std::invalid_argument("--measure: an empty list");
    }
    return parts;
}

CpuList chosen_cpus(const Options& options, bool pairs, json::Value& notes) {
    if (options.given("--cpus")) {
        CpuList cpus = parse_cpu_list(options.text("--cpus"));
        const CpuList usable = read_topology().usable;
        for (const int cpu : cpus) {
            if (std::find(usable.begin(), usable.end(), cpu) == usable.end()) {
                throw std::invalid_argument("--cpus: this process may not use processor " +
                                            std::to_string(cpu));
            }
        }
        if (cpus.empty()) {
            throw std::invalid_argument("--cpus: an empty list");
        }
        return cpus;
    }
    const CpuChoice choice = pick_cpus(pairs ? 2 : 1);
    notes = json::of(choice.notes);
    return choice.cpus;
}

// The kernel's own end to a thread that spins on, should this program have a defect.
void bound_realtime(double seconds) {
    const auto microseconds = static_cast<rlim_t>((seconds + 10.0) * 1e6);
    const rlimit limit{microseconds, microseconds};
    ::setrlimit(RLIMIT_RTTIME, &limit);
}

int run(const Options& given) {
    if (given.given("--help")) {
        std::fputs(help, stdout);
        return good;
    }
    if (given.given("--parent") &&
        !die_with_parent(static_cast<pid_t>(given.number("--parent", 0.0, 1.0, 4'194'304.0)))) {
        throw std::runtime_error("the process that started it has ended");
    }
    const std::set<std::string> parts = parse_parts(given.text("--measure", listed(",")));
    const auto wanted = [&](const char* part) { return parts.count(part) != 0; };
    ProbeOptions options;
    options.seconds = given.number("--seconds", 1.0, 0.01, 3'600.0);
    options.samples = static_cast<std::size_t>(given.number("--samples", 20'000.0, 1.0, 1e8));
    options.interval_us = given.number("--interval-us", 250.0, 50.0, 1e6);
    options.gap_ns = static_cast<std::uint64_t>(given.number("--gap-us", 20.0, 1.0, 1e6) * 1e3);
    options.lengths = static_cast<std::size_t>(given.number("--lengths", 0.0, 0.0, 1e6));
    options.policy = given.given("--ordinary") ? SCHED_OTHER : SCHED_FIFO;
    options.priority = static_cast<int>(given.number("--priority", 80.0, 2.0, 98.0));
    const double caches = static_cast<double>(2 * last_level_cache_bytes() >> 20U);
    options.memory_bytes =
        static_cast<std::size_t>(given.number("--memory-mib", std::clamp(caches, 64.0, 256.0), 1.0, 65'536.0))
        << 20U;
    json::Value notes = json::array();
    const CpuList cpus = chosen_cpus(given, wanted("exchange") || wanted("signal"), notes);

    bound_realtime(options.seconds);
    const ClockInfo& clock = Clock::info();
    json::Value result = json::object(
        {{"probe", 1},
         {"unit", "ps"},
         {"provenance", "measured"},
         {"cpus", cpus},

         {"clock", json::object({{"name", clock.name}, {"hz", clock.hz}, {"source", clock.source}})}});
    // The process's part of the set-up that the executive makes: memory and idle states, not this thread.
    RealtimeOptions process;
    process.policy = SCHED_OTHER;
    process.cpu_dma_latency = !given.given("--deep-idle");
    const RealtimeGuard guard(process);
    const CpuList usable = available_cpus();
    for (const int cpu : cpus) {
        const std::uint64_t shortest = shortest_interruption(cpu, options);
        if (shortest != 0 && (options.interruption_ns == 0 || shortest < options.interruption_ns)) {
            options.interruption_ns = shortest;
        }
    }
    result["interruption_ns"] = options.interruption_ns;
    for (const char* part : all_parts) {
        if (wanted(part)) {
            result[part] = json::array();
        }
    }
    for (const int cpu : cpus) {
        if (wanted("wakeup")) {
            result["wakeup"].append(probe_wakeup(cpu, options));
        }
        if (wanted("busy")) {
            result["busy"].append(probe_busy(cpu, options));
        }
        if (wanted("switch")) {
            result["switch"].append(probe_switch(cpu, options));
        }
    }
    if (wanted("memory")) {
        const LineCycle cycle(options.memory_bytes);
        for (const int cpu : cpus) {
            CpuList others;
            std::copy_if(usable.begin(), usable.end(), std::back_inserter(others),
                         [&](int other) { return other != cpu; });
            result["memory"].append(probe_memory(cpu, cycle, {}, options));
            if (!others.empty()) {
                result["memory"].append(probe_memory(cpu, cycle, others, options));
            }
        }
    }
    if (wanted("exchange")) {
        for (std::size_t i = 0; i < cpus.size(); ++i) {
            for (std::size_t j = i + 1; j < cpus.size(); ++j) {
                result["exchange"].append(probe_exchange<8>(cpus[i], cpus[j], options));
                result["exchange"].append(probe_exchange<64>(cpus[i], cpus[j], options));
                result["exchange"].append(probe_exchange<1024>(cpus[i], cpus[j], options));
                result["exchange"].append(probe_exchange<4096>(cpus[i], cpus[j], options));
            }
        }
    }
    if (wanted("signal")) {
        // Each woken by the one before it: who wakes matters less than who is woken.
        for (std::size_t i = 0; i < cpus.size() && cpus.size() > 1; ++i) {
            result["signal"].append(probe_signal(cpus[i], cpus[(i + 1) % cpus.size()], options));
        }
    }
    for (const std::string& note : guard.achieved().notes) {
        notes.append(note);
    }
    result["notes"] = notes;
    result["policy"] = policy_name(options.policy);
    result["priority"] = options.policy == SCHED_FIFO ? options.priority : 0;
    std::printf("%s\n", json::written(result).c_str());
    return good;
}

}  // namespace

int main(int argc, char** argv) {
    return run_program("consort-probe", [&] {
        return run(Options(argc, argv,
                           {"--measure", "--cpus", "--seconds", "--samples", "--interval-us", "--memory-mib",
                            "--gap-us", "--lengths", "--priority", "--parent"},
                           {"--ordinary", "--deep-idle", "--help"}));
    });
}
