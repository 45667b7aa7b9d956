// SPDX-License-Identifier: Apache-2.0
//
// consort-interference: the load that runs beside an application, in the ordinary scheduling class, until it
// is ordered to stop. It records how much it moved and when, so that a quiet interference is not taken for a
// harmless one.

#include <signal.h>
#include <sys/prctl.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "consort/linux/cpus.hpp"
#include "consort/linux/json.hpp"
#include "consort/linux/program.hpp"
#include "consort/linux/recorder.hpp"
#include "loopback_copy.hpp"
#include "memory_stream.hpp"
#include "options.hpp"

namespace {

using namespace consort::linux_port;

constexpr const char* help = R"(usage: consort-interference [--stream] [--loopback-copy] [options]

Loads the machine beside an application under measurement until SIGTERM, SIGINT or --seconds.

  --stream             copy and triad over arrays larger than the last-level cache
  --loopback-copy      a file copied over a TCP connection of the loopback device
  --cpus LIST          processors to use, such as 0-1,3 (default: those it may use)
  --seconds S          end after S seconds (default 600)
  --stream-threads N   streaming threads (default 1)
  --stream-mib N       size of each of the three arrays (default: twice the last-level cache, at least 32)
  --file-mib N         size of the copied file (default 64)
  --scratch DIR        where the temporary files are (default: $TMPDIR or /tmp)
  --sample-ms N        one row of the record every N ms and source (default 10)
  --raw DIR            record into this empty directory (table `activity`)

example: consort-interference --stream --loopback-copy --seconds 10
)";

struct Activity {
    std::uint64_t t;
    std::uint64_t bytes;
    std::uint32_t source;
    std::uint32_t reserved;
};

enum Source : std::uint32_t { memory_stream = 0, loopback_copy = 1 };
constexpr std::size_t sources = 2;

// The loads, each in threads of its own; the first failure of any of them stops all and is thrown by `stop`.
class Load {
  public:
    Load() = default;
    Load(const Load&) = delete;
    Load& operator=(const Load&) = delete;
    ~Load() { join(); }

    void add_stream(std::size_t bytes) {
        start([this, bytes] { MemoryStream(bytes).run(stop_, moved[memory_stream]); });
    }

    void add_copy(const std::string& folder, std::size_t bytes) {
        copy_.emplace(folder, bytes);
        start([this] { copy_->send(stop_); });
        start([this] { copy_->receive(stop_, moved[loopback_copy]); });
    }

    [[nodiscard]] bool stopped() const { return stop_.load(); }

    void stop() {
        join();
        if (failure_) {
            std::rethrow_exception(failure_);
        }
    }

    std::atomic<std::uint64_t> moved[sources] = {};

  private:
    void start(std::function<void()> body) {
        threads_.emplace_back([this, body = std::move(body)] {
            try {
                body();
            } catch (...) {
                const std::lock_guard<std::mutex> hold(mutex_);
                if (!failure_) {
                    failure_ = std::current_exception();
                }
                stop_.store(true);
            }
        });
    }

    void join() {
        stop_.store(true);
        if (copy_) {
            copy_->interrupt();
        }
        for (std::thread& thread : threads_) {
            if (thread.joinable()) {
                thread.join();
            }
        }
    }

    std::atomic<bool> stop_{false};
    std::optional<LoopbackCopy> copy_;
    std::mutex mutex_;
    std::exception_ptr failure_;
    std::vector<std::thread> threads_;
};

sigset_t ending_signals() {
    sigset_t set;
    sigemptyset(&set);
    for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
        sigaddset(&set, signal);
    }
    return set;
}

int run(const Options& options) {
    if (options.given("--help")) {
        std::fputs(help, stdout);
        return good;
    }
    if (!options.given("--stream") && !options.given("--loopback-copy")) {
        throw std::invalid_argument("nothing to do: give --stream, --loopback-copy or both");
    }
    const double seconds = options.number("--seconds", 600.0, 0.001, 86'400.0);
    const double sample_ms = options.number("--sample-ms", 10.0, 1.0, 1e4);
    const auto mib = [&](const char* name, double otherwise) {
        return static_cast<std::size_t>(options.number(name, otherwise, 1.0, 65'536.0)) << 20U;
    };
    const double two_caches = static_cast<double>(2 * last_level_cache_bytes() >> 20U);
    const std::size_t stream_bytes = mib("--stream-mib", std::max(32.0, two_caches));
    const std::size_t file_bytes = mib("--file-mib", 64.0);
    const auto stream_threads = static_cast<int>(options.number("--stream-threads", 1.0, 1.0, 1024.0));
    const char* temporary = std::getenv("TMPDIR");
    const std::string scratch = options.text("--scratch", temporary != nullptr ? temporary : "/tmp");

    // The load must never outlive its starter, nor compete in the real-time class, whatever it inherited.
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    const sched_param ordinary{};
    ::sched_setscheduler(0, SCHED_OTHER, &ordinary);
    const sigset_t ending = ending_signals();
    ::sigprocmask(SIG_BLOCK, &ending, nullptr);
    // The copy is ended by shutting its connection down while the sender may be in the middle of a call.
    ::signal(SIGPIPE, SIG_IGN);
    if (options.given("--cpus") && !set_affinity(parse_cpu_list(options.text("--cpus")))) {
        throw std::invalid_argument("--cpus " + options.text("--cpus") +
                                    ": this process may not use any of them");
    }

    std::unique_ptr<RawWriter> writer;
    if (options.given("--raw")) {
        writer = std::make_unique<RawWriter>(options.text("--raw"), "consort-interference");
    }
    Clock::info();
    const auto rows = static_cast<std::size_t>(seconds * 1e3 / sample_ms) + 16;
    Table<Activity> activity("activity", writer ? rows * sources : 0);
    activity.timestamp("t", &Activity::t)
        .field("bytes", &Activity::bytes, "B")
        .field("source", &Activity::source);
    activity.attrs["sources"] =
        json::of(std::array<std::string_view, 3>{"memory stream", "loopback copy", "stress-ng"});

    Load load;
    if (options.given("--stream")) {
        for (int i = 0; i < stream_threads; ++i) {
            load.add_stream(stream_bytes);
        }
    }
    if (options.given("--loopback-copy")) {
        load.add_copy(scratch, file_bytes);
    }

    std::uint64_t total[sources] = {};
    const auto sample = [&] {
        const std::uint64_t now = Clock::now();
        for (std::uint32_t source = 0; source < sources; ++source) {
            if (!options.given(source == memory_stream ? "--stream" : "--loopback-copy")) {
                continue;
            }
            const std::uint64_t moved = load.moved[source].load(std::memory_order_relaxed);
            if (writer) {
                activity.push({now, moved - total[source], source, 0});
            }
            total[source] = moved;
        }
    };
    const std::uint64_t began = Clock::now();
    const std::uint64_t end = began + Clock::from_ns(static_cast<std::uint64_t>(seconds * 1e9));
    timespec pause{};
    pause.tv_sec = static_cast<time_t>(sample_ms / 1e3);
    pause.tv_nsec = static_cast<long>((sample_ms - static_cast<double>(pause.tv_sec) * 1e3) * 1e6);
    while (!load.stopped() && Clock::now() < end) {
        if (::sigtimedwait(&ending, nullptr, &pause) > 0) {
            break;
        }
        sample();
    }
    load.stop();
    sample();
    const double lasted = static_cast<double>(Clock::to_ns(Clock::now() - began)) / 1e9;
    std::fprintf(stderr, "consort-interference: %.3f s, memory stream %.1f MB, loopback copy %.1f MB\n",
                 lasted, static_cast<double>(total[memory_stream]) / 1e6,
                 static_cast<double>(total[loopback_copy]) / 1e6);
    if (writer) {
        writer->config = json::object({{"stream", options.given("--stream")},
                                       {"loopback_copy", options.given("--loopback-copy")},
                                       {"cpus", available_cpus()},
                                       {"stream_bytes", stream_bytes},
                                       {"stream_threads", stream_threads},
                                       {"file_bytes", file_bytes}});
        writer->table(activity);
        writer->counter("memory_stream_bytes", total[memory_stream]);
        writer->counter("loopback_copy_bytes", total[loopback_copy]);
        writer->finish();
    }
    return good;
}

}  // namespace

int main(int argc, char** argv) {
    return run_program("consort-interference", [&] {
        return run(Options(argc, argv,
                           {"--cpus", "--seconds", "--stream-threads", "--stream-mib", "--file-mib",
                            "--scratch", "--sample-ms", "--raw"},
                           {"--stream", "--loopback-copy", "--help"}));
    });
}
