// SPDX-License-Identifier: Apache-2.0
//
// consort-remote-measure: how long a fault on remote memory takes on this machine, from the access until it
// goes on, while the cache evicts. `consort probe --remote` starts it. Nothing is left out: a wait for the
// server or for a free page of the cache, and an interruption of the thread, are part of their fault.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <functional>
#include <random>
#include <stdexcept>
#include <string>

#include "consort/linux/clock.hpp"
#include "consort/linux/cpus.hpp"
#include "consort/linux/json.hpp"
#include "consort/linux/program.hpp"
#include "consort/linux/remote_segment.hpp"
#include "options.hpp"
#include "probe_thread.hpp"
#include "protocol.hpp"

namespace {

using namespace consort;
namespace json = linux_port::json;
using linux_port::Clock;
using linux_port::Series;

constexpr const char* help = R"(usage: consort-remote-measure --server WHERE --key FILE [options]

Measures faults on a segment of this server; prints one JSON object, times in picoseconds.

  --server WHERE    HOST:PORT, or the path of a server's socket
  --key FILE        its key
  --cache-mib N     of which the segment has four times as much (default 4)
  --samples N       faults that bring one page (default 20000); as many pages come in longer runs
  --cpu N           where the faulting thread runs (default: the first that is usable)
  --priority P      of SCHED_FIFO, 1 to 98; 0: the ordinary class (default 80)
)";

struct Longest {
    std::uint64_t faults = 0;
    std::uint64_t ticks = 0;
};

struct Found {
    explicit Found(std::size_t samples) : page(samples), write(4 * samples) {}
    Series page;   // faults that brought one page
    Series write;  // that let a clean one be written to
    std::array<Longest, remote::most_pages + 1> runs{};
    std::uint64_t evicted = 0;
    std::uint64_t waits = 0;
};

struct Wanted {
    remote::SegmentOptions segment;
    std::size_t samples = 0;
};

class Measured {
  public:
    Measured(const Wanted& wanted, std::uint32_t prefetch) : segment_(options(wanted, prefetch)) {
        // Everything is at home afterwards, but for what the cache holds.
        std::memset(segment_.data(), 'x', segment_.bytes());
        before_ = segment_.counters();
        begun_ = before_;
    }
    // Accesses this page and notes the fault that it had, if any.
    void access(std::size_t page, bool writes, Found& found) {
        auto* at = static_cast<volatile char*>(segment_.data()) + page * remote::page_bytes;
        const std::uint64_t begun = Clock::now();
        if (writes) {
            *at = 'y';
        } else {
            static_cast<void>(*at);
        }
        const std::uint64_t took = Clock::now() - begun;
        const remote::Counters now = segment_.counters();
        if (now.faults != before_.faults) {
            const std::uint64_t came = now.fetched + now.zeroed - before_.fetched - before_.zeroed;
            Longest& run = found.runs.at(came);
            ++run.faults;
            run.ticks = std::max(run.ticks, took);
            if (came == 1) {
                found.page.add(took);
            }
        } else if (now.write_faults + now.rescued != before_.write_faults + before_.rescued) {
            found.write.add(took);
        }
        before_ = now;
    }
    void end(Found& found) const {
        found.evicted += before_.evicted - begun_.evicted;
        found.waits += before_.waits - begun_.waits;
    }
    [[nodiscard]] std::size_t pages() const { return segment_.bytes() / remote::page_bytes; }

  private:
    static remote::SegmentOptions options(const Wanted& wanted, std::uint32_t prefetch) {
        remote::SegmentOptions made = wanted.segment;
        made.prefetch = prefetch;
        return made;
    }
    remote::Segment segment_;
    remote::Counters before_;
    remote::Counters begun_;
};

// Runs `body` as a task of a run would, in the ordinary class where the other is not permitted; its name.
std::string run_at(int cpu, int priority, const std::function<void()>& body) {
    const std::string refused = linux_port::run_threads({{cpu, priority, body}});
    if (refused.empty()) {
        return priority > 0 ? "SCHED_FIFO" : "SCHED_OTHER";
    }
    if (priority == 0) {
        throw std::invalid_argument("--cpu " + std::to_string(cpu) + ": " + refused);
    }
    return run_at(cpu, 0, body);
}

int run(int argc, char** argv) {
    const linux_port::Options given(
        argc, argv, {"--server", "--key", "--cache-mib", "--samples", "--cpu", "--priority"}, {"--help"});
    if (given.given("--help")) {
        std::fputs(help, stdout);
        return linux_port::good;
    }
    Wanted wanted;
    wanted.samples = static_cast<std::size_t>(given.number("--samples", 20'000, 1, 1e8));
    wanted.segment.server = given.text("--server");
    wanted.segment.key_file = given.text("--key");
    if (wanted.segment.server.empty() || wanted.segment.key_file.empty()) {
        throw std::invalid_argument("--server and --key are needed; see --help");
    }
    wanted.segment.cache_bytes = static_cast<std::size_t>(given.number("--cache-mib", 4, 1, 1e6)) << 20U;
    wanted.segment.bytes = 4 * wanted.segment.cache_bytes;
    linux_port::CpuList others = linux_port::available_cpus();
    const int first = others.front();
    const int cpu = static_cast<int>(given.number("--cpu", first, 0, 1e6));
    const int priority = static_cast<int>(given.number("--priority", 80, 0, 98));
    // The pager's threads come from this one: theorem 32 wants them beside the faulting thread.
    others.erase(std::remove(others.begin(), others.end(), cpu), others.end());
    const bool apart = !others.empty() && linux_port::set_affinity(others);
    Found found(wanted.samples);
    std::string policy;
    {
        Measured one(wanted, 1);
        policy = run_at(cpu, priority, [&] {
            std::mt19937 random(1);
            while (found.page.size() < wanted.samples) {
                one.access(random() % one.pages(), random() % 2 == 0, found);
            }
        });
        one.end(found);
    }
    {
        Measured many(wanted, remote::most_pages);
        run_at(cpu, priority, [&] {
            for (std::size_t done = 0; done < wanted.samples; done += many.pages()) {
                // Every second time they are written to, so that there is something to write home.
                for (std::size_t page = 0; page < many.pages(); ++page) {
                    many.access(page, done / many.pages() % 2 == 0, found);
                }
            }
        });
        many.end(found);
    }
    json::Value runs = json::array();
    for (std::size_t pages = 1; pages < found.runs.size(); ++pages) {
        if (const Longest& each = found.runs.at(pages); each.faults != 0) {
            runs.append(json::object(
                {{"pages", pages}, {"n", each.faults}, {"max", Series::picoseconds(each.ticks)}}));
        }
    }
    const json::Value result = json::object({
        {"cpu", cpu},
        {"policy", policy},
        {"apart", apart},
        {"cache", wanted.segment.cache_bytes},
        {"evicted", found.evicted},
        {"waits", found.waits},
        {"page", found.page.summary()},
        {"write", found.write.summary()},
        {"runs", runs},
    });
    std::printf("%s\n", json::written(result).c_str());
    return linux_port::good;
}

}  // namespace

int main(int argc, char** argv) {
    return consort::linux_port::run_program("consort-remote-measure", [&] { return run(argc, argv); });
}
