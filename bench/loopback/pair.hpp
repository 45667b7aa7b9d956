// SPDX-License-Identifier: Apache-2.0
//
// Two processes on two processors, as every test here runs: master and worker over one region, under the
// supervisor that ends both.
#pragma once

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "consort/icc.hpp"
#include "consort/linux/cpus.hpp"
#include "consort/linux/json.hpp"
#include "consort/linux/program.hpp"
#include "consort/linux/realtime.hpp"
#include "consort/linux/recorder.hpp"
#include "consort/linux/shared_memory.hpp"
#include "consort/linux/watchdog.hpp"
#include "options.hpp"
#include "package.hpp"

namespace consort::bench {

namespace json = linux_port::json;
using linux_port::Clock;
using linux_port::Realtime;
using linux_port::RealtimeOptions;
using linux_port::SharedMemory;

// The system under test fails: exit status 1.
struct TestFails : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// As run_program, with TestFails as what it says.
template <class Body>
int run_test(const char* name, Body body) {
    return linux_port::run_program(name, [&] {
        try {
            return static_cast<int>(body());
        } catch (const TestFails& failure) {
            std::fprintf(stderr, "%s: %s\n", name, failure.what());
            return static_cast<int>(linux_port::system_fails);
        }
    });
}

// Command-line options of both programs.
struct PairOptions {
    int master_cpu = 0;
    int worker_cpu = 1;
    bool realtime = false;
    std::chrono::milliseconds time_limit{60'000};
    std::vector<std::string> notes;

    explicit PairOptions(const linux_port::Options& options) {
        linux_port::CpuList cpus;
        if (options.given("--cpus")) {
            cpus = linux_port::parse_cpu_list(options.text("--cpus"));
        } else {
            linux_port::CpuChoice choice = linux_port::pick_cpus(2);
            cpus = choice.cpus;
            notes = choice.notes;
        }
        if (cpus.size() != 2) {
            throw std::system_error(EINVAL, std::generic_category(),
                                    "two processors are needed, one for each process");
        }
        // The worker gets the better one (isolated, not cpu0): it is the side that does nothing else.
        worker_cpu = options.given("--cpus") ? cpus[1] : cpus[0];
        master_cpu = options.given("--cpus") ? cpus[0] : cpus[1];
        const std::string scheduling = options.text("--class", "ordinary");
        if (scheduling != "ordinary" && scheduling != "realtime") {
            throw std::invalid_argument("--class " + scheduling + ": must be ordinary or realtime");
        }
        realtime = scheduling == "realtime";
        // A parent that ends throws the recording away: nobody is left to want this one.
        if (options.given("--parent") &&
            !linux_port::die_with_parent(static_cast<pid_t>(options.number("--parent", 0.0, 1.0, 4e9)),
                                         SIGTERM)) {
            throw TestFails("the process that started this one has ended");
        }
        time_limit = std::chrono::milliseconds(
            static_cast<std::int64_t>(options.number("--seconds", 60.0, 0.1, 3600.0) * 1e3));
    }

    // Pinned in either class; the rest of the real-time set-up only where it was asked for.
    [[nodiscard]] RealtimeOptions of(int cpu) const {
        RealtimeOptions wanted;
        wanted.cpu = cpu;
        if (!realtime) {
            wanted.policy = SCHED_OTHER;
            wanted.lock_memory = false;
            wanted.cpu_dma_latency = false;
        }
        return wanted;
    }

    [[nodiscard]] json::Value to_json() const {
        return json::object({{"master_cpu", master_cpu},
                             {"worker_cpu", worker_cpu},
                             {"class", realtime ? "realtime" : "ordinary"}});
    }
};

// A word on a line of its own, with one writer.
struct alignas(line_bytes) Line {
    std::atomic<std::uint32_t> word{0};
};

// A cache line each way and nothing else: the least that a message and its answer can cost on these two
// processors. The spin loop gives the same hint as Mailbox's, so that a ratio compares like with like.
class RawSignal {
  public:
    struct Shared {
        Line to_worker;
        Line to_master;
    };

    explicit RawSignal(Shared& shared) noexcept : shared_(&shared) {}

    void call() noexcept {
        shared_->to_worker.word.store(++sequence_, std::memory_order_release);
        while (shared_->to_master.word.load(std::memory_order_acquire) != sequence_) {
            isa::relax();
        }
    }
    void answer() noexcept {
        ++sequence_;
        while (shared_->to_worker.word.load(std::memory_order_acquire) != sequence_) {
            isa::relax();
        }
        shared_->to_master.word.store(sequence_, std::memory_order_release);
    }

  private:
    Shared* shared_;
    std::uint32_t sequence_ = 0;
};

// Shared by the two processes beside the region: the raw lines, and the worker's report.
struct Common {
    RawSignal::Shared raw;
    Line content_errors;
    char worker_realtime[8192] = "";
};

template <class T>
class SharedObject {
  public:
    explicit SharedObject(const char* label) : memory_(SharedMemory::anonymous(label, sizeof(T))) {
        ::new (memory_.base()) T;
    }
    T& operator*() const noexcept { return *std::launder(static_cast<T*>(memory_.base())); }
    T* operator->() const noexcept { return &**this; }

  private:
    SharedMemory memory_;
};

// One way, for the one-way benchmark, and both ways, for the loopback. The master is the client.
template <std::uint32_t N>
using Box = Mailbox<Package<N>>;
template <std::uint32_t N>
using Mail = Duplex<Package<N>, Package<N>>;

template <template <std::uint32_t> class Channel>
inline constexpr const char* channel_name = "";
template <>
inline constexpr const char* channel_name<Box> = "to-worker.";
template <>
inline constexpr const char* channel_name<Mail> = "both-ways.";

template <class T>
T taken(Result<T> result, const std::string& what) {
    if (!result) {
        throw std::runtime_error(what + ": " + to_string(result.refusal().reason));
    }
    return result.value();
}

// A region with a channel of that kind for each of the sizes.
template <template <std::uint32_t> class Channel>
SharedMemory make_region(const std::vector<std::uint32_t>& sizes) {
    SharedMemory memory = SharedMemory::anonymous("consort-loopback", std::size_t{1} << 18U);
    auto maker = taken(RegionMaker<>::begin(memory.base(), memory.bytes(),
                                            {.creator = static_cast<std::uint32_t>(::getpid()),
                                             .object_capacity = Sizes::all.size(),
                                             .leaf_capacity = 256}),
                       "region");
    for (const std::uint32_t size : sizes) {
        Sizes::with(size, [&]<std::uint32_t N>() {
            const std::string name = channel_name<Channel> + std::to_string(N);
            taken(maker.add<Channel<N>>(name), name);
        });
    }
    taken(maker.publish(), "region");
    return memory;
}

inline Region<> attach(const SharedMemory& memory) {
    return taken(Region<>::attach(memory.base(), memory.bytes()), "attach");
}

template <template <std::uint32_t> class Channel, std::uint32_t N>
typename Channel<N>::Shared& open_channel(const Region<>& region) {
    const std::string name = channel_name<Channel> + std::to_string(N);
    return *taken(region.open<Channel<N>>(name), name);
}

inline void require(Status status) {
    if (status != Status::ok) {
        throw TestFails(std::string("the channel failed: ") + to_string(status));
    }
}

// Runs `master` and `worker` (void()) in processes of their own; 0 or the exit status of a failed run.
// When the master has ended, or the worker has failed, the other one is ended too.
inline int run_pair(const char* program, const PairOptions& options, const std::function<void()>& master,
                    const std::function<void()>& worker) {
    linux_port::Supervisor supervisor({.time_limit = options.time_limit});
    supervisor.add({.name = "worker",
                    .body =
                        [&] {
                            worker();
                            // The master still writes its record; its end is this one's.
                            for (;;) {
                                ::pause();
                            }
                            return 0;
                        },
                    .ends_run = true});
    supervisor.add({.name = "master",
                    .body =
                        [&] {
                            return run_test(program, [&] {
                                master();
                                return static_cast<int>(linux_port::good);
                            });
                        },
                    .ends_run = true});
    const linux_port::Outcome outcome = supervisor.run();
    if (outcome.timed_out) {
        std::fprintf(stderr, "%s: not done after %.1f s, ended\n", program,
                     static_cast<double>(options.time_limit.count()) / 1e3);
    }
    if (outcome.good()) {
        return linux_port::good;
    }
    const linux_port::ChildStatus& m = outcome.children[1];
    const bool documented =
        m.signal == 0 && (m.code == linux_port::bad_input || m.code == linux_port::environment_lacks);
    return documented ? m.code : static_cast<int>(linux_port::system_fails);
}

inline void report_worker(Common& common, const Realtime& achieved) {
    const std::string text = json::written(linux_port::to_json(achieved));
    std::strncpy(common.worker_realtime, text.c_str(), sizeof common.worker_realtime - 1);
}

inline json::Value worker_report(const Common& common) {
    // Cut short only where the notes are longer than the buffer: then it is a text.
    try {
        return json::parsed(std::string(common.worker_realtime), "worker");
    } catch (const std::invalid_argument&) {
        return common.worker_realtime;
    }
}

struct Sample {
    std::uint64_t ticks;
};
using Samples = linux_port::Table<Sample>;

inline Samples samples(const std::string& name, std::size_t rows, const json::Value& attrs) {
    Samples table(name, rows);
    table.duration("time", &Sample::ticks);
    table.attrs = attrs;
    return table;
}

// The cost of reading the clock twice: part of every time here, and subtracted from none.
inline void measure_empty_section(Samples& table) {
    while (table.size() < table.capacity()) {
        const std::uint64_t begin = Clock::begin();
        table.push({Clock::end() - begin});
    }
}

}  // namespace consort::bench
