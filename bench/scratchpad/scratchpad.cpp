// SPDX-License-Identifier: Apache-2.0
//
// spm-centric-os, Table IV, Figures 5 and 6, Table V on this machine: `scratchpad JOBS SLOT_US PERIOD_US`.
// Prints one JSON object. Exit 1: a kernel's result came out wrong; 3: the machine lacks something.
//
// Every kernel runs in four ways: out of main memory and in three phases, each beside an idle neighbour and
// beside one that streams memory. The neighbour is the I/O core in its free time, so that two processors
// are enough. Between two jobs the core reads a buffer of twice its own cache: other tasks would have used
// it too.
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <string>
#include <vector>

#include "consort/linux/json.hpp"
#include "consort/linux/spm_machine.hpp"
#include "inputs.hpp"
#include "kernels/all.hpp"
#include "synthetic.hpp"

namespace {

namespace json = consort::linux_port::json;
using namespace consort::linux_port;
namespace spm = consort::spm;
using consort::Ticks;

struct Settings {
    std::size_t jobs;
    Ticks slot;
    Ticks period;
};

double ns(Ticks ticks) {
    return static_cast<double>(ticks) * 1e9 / static_cast<double>(Clock::ticks_per_second());
}

json::Value list_of(const std::vector<Ticks>& ticks) {
    json::Value list = json::array();
    for (const Ticks t : ticks) {
        list.append(ns(t));
    }
    return list;
}

std::vector<std::uint64_t>& displaced() {
    static std::vector<std::uint64_t> buffer = [] {
        const long cache = ::sysconf(_SC_LEVEL2_CACHE_SIZE);
        return std::vector<std::uint64_t>(static_cast<std::size_t>(cache > 0 ? cache : 1 << 20) * 2 / 8, 1);
    }();
    return buffer;
}

bool displacing = true;

void displace() {
    if (displacing) {
        for (std::size_t i = 0; i < displaced().size(); i += 8) {
            (void)*static_cast<const volatile std::uint64_t*>(&displaced()[i]);
        }
    }
}

// The neighbour's work: it copies through memory far larger than any cache, a piece at a time.
class Stream {
  public:
    Stream() : from_(bytes, std::byte{1}), to_(bytes, std::byte{2}) {}
    bool operator()() {
        std::memcpy(to_.data() + at_, from_.data() + at_, piece);
        at_ = (at_ + piece) % bytes;
        return true;
    }

  private:
    static constexpr std::size_t bytes = std::size_t{64} << 20U;
    static constexpr std::size_t piece = 4096;
    std::vector<std::byte> from_, to_;
    std::size_t at_ = 0;
};

template <class K>
using TaskOf = spm::ThreePhase<&K::step>;

// The image in main memory, and what the jobs measured. One of each kernel: a job is a plain function.
template <class K>
struct Run {
    alignas(64) static inline typename K::Constants constants;
    alignas(64) static inline typename K::State state;
    alignas(64) static inline typename K::In in;
    alignas(64) static inline typename K::Out out;
    static inline std::vector<Ticks> execution;
    static inline std::vector<Ticks> warming;

    static void reset(std::size_t jobs) {
        if constexpr (requires { K::constants(); }) {
            constants = K::constants();
        }
        inputs::fill(in);
        state = {};
        out = {};
        execution.clear();
        warming.clear();
        execution.reserve(2 * jobs + 64);
        warming.reserve(2 * jobs + 64);
    }
    static void keep(Ticks begin, Ticks warm, Ticks end) {
        if (execution.size() < execution.capacity()) {
            warming.push_back(warm - begin);
            execution.push_back(end - warm);
        }
    }

    // From wherever main memory's content is cached or not.
    static void direct(const spm::Partition& /*parts*/) {
        const Ticks begin = Clock::begin();
        K::step(constants, in, state, out);
        const Ticks end = Clock::end();
        keep(begin, begin, end);
        displace();
    }
    static void three_phase(const spm::Partition& parts) {
        const Ticks begin = Clock::begin();
        warm_partition(parts, TaskOf<K>::footprint);
        const Ticks warm = Clock::begin();
        TaskOf<K>::run(parts);
        const Ticks end = Clock::end();
        keep(begin, warm, end);
        displace();
    }

    // The state and the last output are those of so many jobs in a row.
    static bool right() {
        static typename K::State expected_state;
        static typename K::Out expected;
        expected_state = {};
        for (std::size_t i = 0; i < execution.size(); ++i) {
            K::step(constants, in, expected_state, expected);
        }
        return (std::is_empty_v<typename K::State> ||
                std::memcmp(&state, &expected_state, sizeof state) == 0) &&
               std::memcmp(&out, &expected, sizeof out) == 0;
    }

    static SpmStep task(const Settings& settings, bool phases) {
        SpmStep t;
        t.name = K::name;
        t.plan.period = t.plan.deadline = static_cast<consort::app::Time>(settings.period);
        t.job = phases ? &three_phase : &direct;
        if (phases) {
            t.image.size = TaskOf<K>::footprint;
            t.image.code = reinterpret_cast<const std::byte*>(&constants);
            t.image.data = reinterpret_cast<std::byte*>(&state);
        }
        return t;
    }
};

SpmOptions options_of(const Settings& settings) {
    SpmOptions options;
    options.slot = settings.slot;
    options.warm = false;
    options.records = settings.jobs * 64 + 4096;
    return options;
}

std::size_t count(const SpmRun& run, spm::Kind kind) {
    std::size_t n = 0;
    for (const spm::Event& e : run.events) {
        n += e.kind == kind ? 1 : 0;
    }
    return n;
}

// One kernel in one way.
template <class K>
bool measure(const Settings& settings, Stream& stream, json::Value& rows) {
    bool right = true;
    for (const bool streaming : {false, true}) {
        for (const bool phases : {false, true}) {
            Run<K>::reset(settings.jobs);
            SpmMachine machine({{Run<K>::task(settings, phases)}}, options_of(settings));
            machine.connect(
                [](std::uint32_t, std::uint32_t) { return reinterpret_cast<const std::byte*>(&Run<K>::in); },
                [](std::uint32_t, std::uint32_t) { return reinterpret_cast<std::byte*>(&Run<K>::out); },
                nullptr, [&stream, streaming] { return streaming && stream(); });
            const SpmRun run = machine.run(settings.period * settings.jobs);
            right = right && Run<K>::right();
            rows.append(json::object({{"kernel", K::name},
                                      {"three_phase", phases},
                                      {"streaming", streaming},
                                      {"bytes", spm::layout_of(TaskOf<K>::footprint).bytes},
                                      {"execution_ns", list_of(Run<K>::execution)},
                                      {"warming_ns", list_of(Run<K>::warming)},
                                      {"slots_missed", count(run, spm::Kind::slot_missed)}}));
        }
    }
    if (!right) {
        std::fprintf(stderr, "%s: wrong result\n", K::name);
    }
    return right;
}

// Table IV: a partition of 40 KiB loaded and unloaded, the kernel's step that begins it, and from one job's
// finish to the next one's start.
struct Partition40 {
    static constexpr std::uint32_t bytes = 40U << 10U;
    alignas(64) static inline std::byte image[bytes];
};

json::Value overheads(const Settings& settings) {
    SpmStep t;
    t.name = "partition";
    t.plan.period = t.plan.deadline = static_cast<consort::app::Time>(settings.period);
    t.image.size.data = Partition40::bytes;
    t.image.data = Partition40::image;
    t.job = [](const spm::Partition&) {};
    SpmOptions options = options_of(settings);
    // Each operation ends when it ends: its time shows.
    options.arbitration = spm::Arbitration::round_robin;
    options.slot = Clock::from_ns(1'000'000'000);
    SpmRun run = SpmMachine({{t}}, options).run(settings.period * settings.jobs);
    std::vector<Ticks> load;
    std::vector<Ticks> unload;
    for (const spm::JobRecord& j : run.jobs) {
        load.push_back(j.ready - j.load);
        unload.push_back(j.end - j.unload);
    }
    json::Value result = json::object({{"load_ns", list_of(load)}, {"unload_ns", list_of(unload)}});
    // Two short tasks that come together and one that holds the core meanwhile: the next job is ready when
    // the one before finishes.
    SpmStep small = t;
    small.image.size = {};
    small.image.data = nullptr;
    SpmStep holder = small;
    holder.job = [](const spm::Partition&) {
        const Ticks end = Clock::now() + Clock::from_ns(300'000);
        while (Clock::now() < end) {
        }
    };
    options = options_of(settings);
    options.slot = Clock::from_ns(50'000);
    const Ticks period = std::max(settings.period, Clock::from_ns(1'000'000));
    holder.plan.period = holder.plan.deadline = small.plan.period = small.plan.deadline =
        static_cast<consort::app::Time>(period);
    run = SpmMachine({{holder, small}}, options).run(period * settings.jobs);
    std::vector<Ticks> change;
    for (std::size_t i = 1; i < run.jobs.size(); ++i) {
        if (run.jobs[i].ready <= run.jobs[i - 1].finish) {
            change.push_back(run.jobs[i].start - run.jobs[i - 1].finish);
        }
    }
    result["switch_ns"] = list_of(change);
    result["step_ns"] = list_of(run.steps);
    result["step_slot_ns"] = ns(options.slot);
    return result;
}

// All fourteen on one core under TDMA, beside the streaming neighbour: responses for the bound.
bool together(const Settings& settings, Stream& stream, json::Value& result) {
    std::vector<SpmStep> tasks;
    std::vector<const std::byte*> ins;
    std::vector<std::byte*> outs;
    displacing = false;  // they displace each other
    const Ticks slot = settings.slot;
    std::uint32_t at = 0;
    automotive::for_each_kernel([&]<class K>() {
        Run<K>::reset(settings.jobs);
        SpmStep t = Run<K>::task(settings, true);
        // Room for every task in every period: 4 slots each, and again.
        t.plan.period = t.plan.deadline = static_cast<consort::app::Time>(slot * (80 + 8 * at++));
        tasks.push_back(t);
        ins.push_back(reinterpret_cast<const std::byte*>(&Run<K>::in));
        outs.push_back(reinterpret_cast<std::byte*>(&Run<K>::out));
    });
    const std::vector<SpmStep> table = tasks;
    SpmOptions options = options_of(settings);
    SpmMachine machine({tasks}, options);
    machine.connect([&ins](std::uint32_t, std::uint32_t t) { return ins[t]; },
                    [&outs](std::uint32_t, std::uint32_t t) { return outs[t]; }, nullptr,
                    [&stream] { return stream(); });
    const SpmRun run = machine.run(slot * 80 * settings.jobs / 4);
    bool right = true;
    automotive::for_each_kernel([&]<class K>() { right = right && Run<K>::right(); });
    json::Value rows = json::array();
    for (std::uint32_t i = 0; i < table.size(); ++i) {
        Ticks execution = 0;
        Ticks response = 0;
        std::size_t jobs = 0;
        for (const spm::JobRecord& j : run.jobs) {
            if (j.task == i) {
                ++jobs;
                execution = std::max(execution, j.finish - j.start);
                response = std::max(response, j.end - j.release);
            }
        }
        rows.append(json::object({{"task", table[i].name},
                                  {"jobs", jobs},
                                  {"period", table[i].plan.period},
                                  {"execution", execution},
                                  {"response", response}}));
    }
    // In ticks: the bound takes integers.
    result = json::object({{"slot", slot},
                           {"tasks", rows},
                           {"slots_missed", count(run, spm::Kind::slot_missed)},
                           {"slots_overrun", count(run, spm::Kind::slot_overrun)},
                           {"releases_lost", count(run, spm::Kind::release_lost)},
                           {"step_ns", list_of(run.steps)},
                           {"slot_ns", ns(slot)},
                           {"cpus", run.cpus},
                           {"notes", run.notes}});
    return right;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 4) {
        std::fprintf(stderr, "usage: scratchpad JOBS SLOT_US PERIOD_US\n");
        return 2;
    }
    const auto number = [argv](int i) { return std::strtoull(argv[i], nullptr, 10); };
    const Settings settings{number(1), Clock::from_ns(number(2) * 1000), Clock::from_ns(number(3) * 1000)};
    if (settings.jobs == 0 || settings.slot == 0 || settings.period < 4 * settings.slot) {
        std::fprintf(stderr, "JOBS and SLOT_US must be positive, PERIOD_US at least four slots\n");
        return 2;
    }
    try {
        Stream stream;
        displace();
        json::Value result;
        bool right = true;
        result["overheads"] = overheads(settings);
        json::Value kernels = json::array();
        automotive::for_each_kernel(
            [&]<class K>() { right = measure<K>(settings, stream, kernels) && right; });
        json::Value patterns = json::array();
        const auto each = [&]<class... K>() {
            ((right = measure<K>(settings, stream, patterns) && right), ...);
        };
        each.template
        operator()<synthetic::Locality, synthetic::Instructions, synthetic::Data, synthetic::Both>();
        result["kernels"] = std::move(kernels);
        result["patterns"] = std::move(patterns);
        right = together(settings, stream, result["together"]) && right;
        result["right"] = right;
        std::cout << result << '\n';
        return right ? 0 : 1;
    } catch (const TooFewProcessors& e) {
        std::fprintf(stderr, "%s\n", e.what());
        return 3;
    }
}
