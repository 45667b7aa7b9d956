// SPDX-License-Identifier: Apache-2.0
//
// consort-bench-channels: floors, channels and peers in interleaved blocks; the latest value under a writer
// that never pauses.

#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "consort/linux/cpus.hpp"
#include "consort/linux/program.hpp"
#include "harness.hpp"
#include "latest_value.hpp"
#include "links.hpp"

namespace {

namespace json = consort::linux_port::json;
using bench::Link;
using Links = std::vector<std::unique_ptr<Link>>;

template <class T, class Spin>
using Queue64 = bench::QueueEnds<T, Spin>;
#ifdef CONSORT_BENCH_BOOST
template <class T, class Spin>
using Boost64 = bench::BoostEnds<T, Spin>;
#endif

template <template <class, class> class Ends, std::size_t N, class Spin>
void add(Links& links, const char* what, const char* spin) {
    using T = bench::Payload<N>;
    links.push_back(std::make_unique<bench::Sided<T, Ends<T, Spin>>>(what, spin, bench::spinning));
}

// A block takes less than a time slice, so that most are not interrupted; both queues have the same capacity.
template <std::size_t N, std::uint32_t Capacity>
void add_stream(Links& links) {
    using T = bench::Payload<N>;
    using consort::spin::Relaxed;
    constexpr std::uint32_t messages = N <= 64 ? 20'000 : N <= 128 ? 8'000 : 2'000;
    links.push_back(std::make_unique<bench::Stream<T, bench::QueueEnds<T, Relaxed, Capacity>, Capacity>>(
        "Queue", messages));
#ifdef CONSORT_BENCH_BOOST
    links.push_back(std::make_unique<bench::Stream<T, bench::BoostEnds<T, Relaxed, Capacity>, Capacity>>(
        "Boost.Lockfree spsc_queue", messages));
#endif
}

template <std::size_t N, class Spin>
void add_size(Links& links, const char* spin) {
    add<bench::CopyEnds, N, Spin>(links, "copy", spin);
    add<bench::DuplexEnds, N, Spin>(links, "Duplex", spin);
    add<bench::MailboxEnds, N, Spin>(links, "Mailbox", spin);
    add<Queue64, N, Spin>(links, "Queue", spin);
    add<bench::SnapshotEnds, N, Spin>(links, "Snapshot", spin);
#ifdef CONSORT_BENCH_BOOST
    add<Boost64, N, Spin>(links, "Boost.Lockfree spsc_queue", spin);
#endif
}

template <std::size_t N>
void add_kernel(Links& links) {
    using T = bench::Payload<N>;
    links.push_back(std::make_unique<bench::Sided<T, bench::PipeEnds>>("pipe", "sleep", bench::sleeping));
    links.push_back(
        std::make_unique<bench::Sided<T, bench::SocketEnds>>("Unix socket", "sleep", bench::sleeping));
    try {
        links.push_back(
            std::make_unique<bench::Sided<T, bench::MqEnds<N>>>("POSIX mq", "sleep", bench::sleeping));
    } catch (const std::system_error& error) {
        std::fprintf(stderr, "POSIX mq is left out: %s\n", error.what());
    }
    if constexpr (N == 8) {
        links.push_back(
            std::make_unique<bench::Sided<T, bench::EventfdEnds>>("eventfd", "sleep", bench::sleeping));
    }
}

template <class Cell>
void latest(consort::linux_port::RawWriter& writer, const std::string& name, std::size_t reads,
            double seconds, int writer_cpu) {
    auto result = bench::measure_latest<Cell>(name, reads, seconds, writer_cpu);
    writer.table(result.idle);
    writer.table(result.flat);
    writer.counter(name + "_torn", result.torn);
    writer.counter(name + "_backward", result.backward);
    writer.counter(name + "_max_retries", result.max_retries);
    writer.counter(name + "_updates", result.updates);
}

struct Arguments {
    std::string raw;
    consort::linux_port::CpuList cpus;
    double seconds = 20;
};

Arguments read(int argc, char** argv) {
    Arguments a;
    for (int i = 1; i < argc; i += 2) {
        const std::string key = argv[i];
        if (i + 1 == argc) {
            throw std::invalid_argument(key + " needs a value");
        }
        if (key == "--raw") {
            a.raw = argv[i + 1];
        } else if (key == "--cpus") {
            a.cpus = consort::linux_port::parse_cpu_list(argv[i + 1]);
        } else if (key == "--seconds") {
            a.seconds = std::strtod(argv[i + 1], nullptr);
        } else {
            throw std::invalid_argument("unknown argument " + key +
                                        "; usage: --raw DIR --cpus A,B --seconds S");
        }
    }
    if (a.raw.empty() || a.cpus.size() != 2 || !(a.seconds > 0 && a.seconds <= 600)) {
        throw std::invalid_argument("usage: --raw DIR --cpus A,B --seconds S (0 < S <= 600)");
    }
    return a;
}

// Which cache slice a line falls to decides several nanoseconds, so one placement in memory would favour one
// link by chance: each link exists this many times, and the rounds take turns.
constexpr int places = 8;
constexpr int sleeping_rounds = 8;
constexpr int stream_turns = 4;

Links all_links() {
    using consort::spin::Bare;
    using consort::spin::Relaxed;
    Links links;
    links.push_back(std::make_unique<bench::Floor<Bare>>("bare"));
    links.push_back(std::make_unique<bench::Floor<Relaxed>>("pause"));
    links.push_back(std::make_unique<bench::Floor<Bare, 32>>("bare"));
    links.push_back(std::make_unique<bench::Floor<Relaxed, 32>>("pause"));
    add_size<8, Bare>(links, "bare");
    add_size<8, Relaxed>(links, "pause");
    add_size<48, Bare>(links, "bare");
    add_size<48, Relaxed>(links, "pause");
    add_size<128, Bare>(links, "bare");
    add_size<128, Relaxed>(links, "pause");
    add_size<512, Bare>(links, "bare");
    add_size<512, Relaxed>(links, "pause");
    add_size<1024, Bare>(links, "bare");
    add_size<1024, Relaxed>(links, "pause");
    add_size<24, Bare>(links, "bare");
    add_size<24, Relaxed>(links, "pause");
    add_stream<8, 64>(links);
    add_stream<8, 256>(links);
    add_stream<48, 64>(links);
    add_stream<48, 256>(links);
    add_stream<128, 64>(links);
    add_stream<128, 256>(links);
    add_stream<1024, 64>(links);
    add_stream<1024, 256>(links);
    add_kernel<8>(links);
    add_kernel<1024>(links);
    return links;
}

int run(const Arguments& arguments) {
    const consort::linux_port::ClockInfo clock = bench::Clock::info();
    static_cast<void>(::setpriority(PRIO_PROCESS, 0, -20));
    consort::linux_port::RawWriter writer(arguments.raw, "consort-bench-channels");
    consort::linux_port::RealtimeOptions options;
    options.cpu = arguments.cpus[0];
    options.policy = SCHED_OTHER;
    options.priority = 0;
    const consort::linux_port::RealtimeGuard pinned(options);

    std::vector<Links> links;
    for (int place = 0; place < places; ++place) {
        links.push_back(all_links());
    }
    std::uint64_t errors = 0;
    {
        bench::Runner runner(arguments.cpus[1], 40'000'000, 100'000);
        const std::uint64_t end =
            bench::Clock::now() + bench::Clock::from_ns(static_cast<std::uint64_t>(arguments.seconds * 1e9));
        // At least two whole rounds, so that every row has a block.
        for (int round = 0; (round < 2 || bench::Clock::now() < end) && runner.room(); ++round) {
            auto& here = links[static_cast<std::size_t>(round % places)];
            runner.block(here, 0);
            for (std::uint32_t link = 1; link < here.size() && runner.room(); ++link) {
                const Link& l = *here[link];
                // A link that sleeps takes a hundred times as long, and moves less from block to block.
                if (l.spin() == "sleep" && round % sleeping_rounds != 0 && round != 1) {
                    continue;
                }
                // A stream's block is one sample.
                for (int turn = 0; turn < (l.stream_capacity() == 0 ? 1 : stream_turns); ++turn) {
                    runner.block(here, link);
                    runner.block(here, 0);
                }
            }
        }
        writer.table(runner.samples());
        writer.table(runner.blocks());
    }
    json::Value described = json::array();
    for (const auto& link : links[0]) {
        described.append(json::object({{"what", link->what()},
                                       {"bytes", link->bytes()},
                                       {"spin", link->spin()},
                                       {"messages", link->messages()},
                                       {"stream_capacity", link->stream_capacity()}}));
    }
    for (const Links& placed : links) {
        for (const auto& link : placed) {
            errors += link->content_errors;
        }
    }
    writer.config =
        json::object({{"links", described}, {"cpus", arguments.cpus}, {"seconds", arguments.seconds}});
    writer.counter("content_errors", errors);
    const auto reads = static_cast<std::size_t>(arguments.seconds < 5 ? 20'000 : 300'000);
    const double part = arguments.seconds < 5 ? 1.0 : 5.0;
    latest<bench::SnapshotCell>(writer, "snapshot", reads, part, arguments.cpus[1]);
    latest<bench::SeqlockCell>(writer, "seqlock", reads, part, arguments.cpus[1]);
    latest<bench::DoubleBufferCell>(writer, "double_buffer", reads, part, arguments.cpus[1]);
    writer.realtime(pinned.achieved());
    writer.finish();
    static_cast<void>(clock);
    return consort::linux_port::good;
}

}  // namespace

int main(int argc, char** argv) {
    return consort::linux_port::run_program("consort-bench-channels", [&] { return run(read(argc, argv)); });
}
