// SPDX-License-Identifier: Apache-2.0
//
// A stream through a shared region: the host adds to each word of 16 MiB, or of every 16th page of it, and
// the peer adds up all of that, in turn, on a processor each. In one run
//
//   local     both on one memory, handed over by a mailbox
//   touch     a shared region whose changes the host marks
//   pages     one whose changes are found by write protection
//   lines     the same, and only the lines that differ are sent
//   link      the same bytes moved by the link alone
//
//   shared_stream ROUNDS
//
// Prints one JSON object with the time of each round [ns]. The peer's core moves the bytes.

#include <atomic>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <system_error>
#include <thread>
#include <vector>

#include "consort/dsm.hpp"
#include "consort/link.hpp"
#include "consort/linux/cpus.hpp"
#include "consort/linux/json.hpp"
#include "consort/linux/locked_buffer.hpp"
#include "consort/linux/port.hpp"
#include "consort/linux/program.hpp"
#include "consort/linux/shared_copy.hpp"
#include "consort/linux/spm_copy_engine.hpp"

namespace {

using namespace consort;
using namespace consort::linux_port;
using dsm::Outcome;
using dsm::page_bytes;
using dsm::Right;
namespace json = consort::linux_port::json;

constexpr std::uint32_t pages = 4096;
constexpr std::uint32_t bytes = pages * page_bytes;
constexpr std::uint32_t window = bytes + pages * 8;
constexpr std::uint32_t slots = 256;
constexpr std::uint32_t piece = 256 * 1024;

std::uint64_t since(Ticks begun) {
    return LinuxPort::to_ns(LinuxPort::now() - begun);
}

// Every `stride`-th page is the work of a round.
void change(std::byte* region, std::uint32_t stride) {
    for (std::uint32_t page = 0; page < pages; page += stride) {
        auto* words = reinterpret_cast<std::uint64_t*>(region + std::size_t{page} * page_bytes);
        for (std::uint32_t i = 0; i < page_bytes / 8; ++i) {
            words[i] += i + page;
        }
    }
}
std::uint64_t add_up(const std::byte* region, std::uint32_t stride) {
    std::uint64_t sum = 0;
    for (std::uint32_t page = 0; page < pages; page += stride) {
        const auto* words = reinterpret_cast<const std::uint64_t*>(region + std::size_t{page} * page_bytes);
        for (std::uint32_t i = 0; i < page_bytes / 8; ++i) {
            sum += words[i];
        }
    }
    return sum;
}

// The end of a peer's thread, and its result.
struct Result {
    std::vector<std::uint64_t> ns;
    std::uint32_t wrong = 0;
};

// `produce(round)` on this thread, `consume(round)` on the other processor, which answers a sum.
struct Turn {
    Mailbox<std::uint32_t>::Shared there{};
    Mailbox<std::uint64_t>::Shared back{};
};

template <class Produce, class Consume, class Idle>
Result rounds_of(std::uint32_t rounds, int cpu, Produce&& produce, Consume&& consume, Idle&& idle,
                 const std::vector<std::uint64_t>& sums) {
    auto turn = std::make_unique<Turn>();
    std::atomic<bool> stop{false};
    std::thread other([&] {
        set_affinity({cpu});
        Mailbox<std::uint32_t>::Reader in(turn->there);
        Mailbox<std::uint64_t>::Writer out(turn->back);
        while (!stop.load(std::memory_order_relaxed)) {
            std::uint32_t round = 0;
            if (in.try_read(round) == Status::ok) {
                static_cast<void>(out.write(consume(round)));
            } else {
                idle();
            }
        }
    });
    Mailbox<std::uint32_t>::Writer out(turn->there);
    Mailbox<std::uint64_t>::Reader in(turn->back);
    Result result;
    // The first round brings pages in, and what the other side's copy lacks.
    for (std::uint32_t round = 0; round <= rounds; ++round) {
        const Ticks begun = LinuxPort::now();
        produce(round);
        static_cast<void>(out.write(round));
        std::uint64_t sum = 0;
        // The engine moves the other side's bytes, this side answers what it asks.
        while (in.try_read(sum) != Status::ok) {
            produce(~0U);
        }
        if (round != 0) {
            result.ns.push_back(since(begun));
        }
        result.wrong += sum == sums.at(round) ? 0 : 1;
    }
    stop = true;
    other.join();
    return result;
}

// The sums that each round has to have.
std::vector<std::uint64_t> expected(std::uint32_t rounds, std::uint32_t stride) {
    std::vector<std::uint64_t> sums;
    std::uint64_t added = 0;
    for (std::uint32_t page = 0; page < pages; page += stride) {
        for (std::uint32_t i = 0; i < page_bytes / 8; ++i) {
            added += i + page;
        }
    }
    for (std::uint32_t round = 0; round <= rounds; ++round) {
        sums.push_back(added * (round + 1));
    }
    return sums;
}

struct Cpus {
    int host;
    int peer;
};

Result local(std::uint32_t rounds, std::uint32_t stride, Cpus cpus) {
    LockedBuffer memory(bytes, false);
    const auto produce = [&](std::uint32_t round) {
        if (round != ~0U) {
            change(memory.data(), stride);
        }
    };
    const auto consume = [&](std::uint32_t) { return add_up(memory.data(), stride); };
    return rounds_of(
        rounds, cpus.peer, produce, consume, [] { isa::relax(); }, expected(rounds, stride));
}

// `tracker`: of the host's copy, or none: then it marks its changes.
template <class Tracker>
json::Value shared(std::uint32_t rounds, std::uint32_t stride, Cpus cpus, SharedCopy& copy, Tracker tracker) {
    constexpr bool marks = std::is_same_v<Tracker, dsm::NoTracker>;
    using Queue = link::Host<slots>;
    using Host = dsm::Host<Queue, access::Coherent, Tracker>;
    auto ring = std::make_unique<link::Ring<slots>::Shared>();
    auto to_peer = std::make_unique<typename Host::Mail::Shared>();
    auto to_host = std::make_unique<typename Host::Mail::Shared>();
    LockedBuffer far(window, false);
    CopyEngine dma{piece};
    link::Engine<CopyEngine, 1, slots> engine{dma};
    if (!engine.attach(0, *ring, {copy.window(), window}, {far.data(), window})) {
        throw std::logic_error("a queue that the engine has was refused");
    }
    std::vector<std::uint64_t> own(pages);
    std::vector<std::uint64_t> last(pages);
    Queue queue(*ring, {copy.window(), window}, window);
    Host host(*to_peer, *to_host, queue, {0, 0, bytes, bytes}, {own.data(), pages}, {last.data(), pages},
              {reinterpret_cast<std::uint64_t*>(copy.window() + bytes), pages}, Right::write, {}, tracker);
    dsm::Peer<> peer(*to_host, *to_peer, far.data(), reinterpret_cast<std::uint64_t*>(far.data() + bytes),
                     pages);
    std::uint32_t refused = 0;
    const auto produce = [&](std::uint32_t round) {
        if (round == ~0U) {
            static_cast<void>(host.serve());
            return;
        }
        const Ticks end = LinuxPort::now() + 10 * LinuxPort::ticks_per_second();
        refused += host.template acquire<LinuxPort>(Right::write, end) == Outcome::ok ? 0 : 1;
        change(copy.data(), stride);
        if constexpr (marks) {
            for (std::uint32_t page = 0; page < pages; page += stride) {
                host.touch(page * page_bytes, page_bytes);
            }
        }
        host.release();
    };
    const auto consume = [&](std::uint32_t) {
        while (!peer.try_acquire(Right::read)) {
            static_cast<void>(engine.step(LinuxPort::now()));
        }
        const std::uint64_t sum = add_up(far.data(), stride);
        peer.release();
        return sum;
    };
    const auto idle = [&] {
        static_cast<void>(engine.step(LinuxPort::now()));
        static_cast<void>(peer.serve());
    };
    const std::uint64_t before = host.moved().bytes_out;
    const Result result = rounds_of(rounds, cpus.peer, produce, consume, idle, expected(rounds, stride));
    return json::object({{"ns", result.ns},
                         {"wrong", result.wrong + refused},
                         {"bytes_out", host.moved().bytes_out - before},
                         {"pieces", host.moved().pieces}});
}

// The bytes of a round, moved by the engine alone.
json::Value link_alone(std::uint32_t rounds, std::uint32_t stride) {
    LockedBuffer near(bytes, false);
    LockedBuffer far(bytes, false);
    std::vector<std::uint64_t> ns;
    for (std::uint32_t round = 0; round <= rounds; ++round) {
        const Ticks begun = LinuxPort::now();
        const std::uint32_t run = stride == 1 ? piece : page_bytes;
        for (std::uint32_t at = 0; at < bytes; at += run * (stride == 1 ? 1 : stride)) {
            std::memcpy(far.data() + at, near.data() + at, run);
            asm volatile("" ::: "memory");
        }
        if (round != 0) {
            ns.push_back(since(begun));
        }
    }
    return json::object({{"ns", ns}, {"wrong", 0}});
}

json::Value measured(std::uint32_t rounds, std::uint32_t stride, Cpus cpus) {
    json::Value rows;
    const Result plain = local(rounds, stride, cpus);
    rows["local"] = json::object({{"ns", plain.ns}, {"wrong", plain.wrong}});
    // What is compared comes at once after what it is compared with: the machine is not always as fast.
    {
        SharedCopy copy(window, bytes);
        rows["touch"] = shared(rounds, stride, cpus, copy, dsm::NoTracker{});
    }
    rows["link"] = link_alone(rounds, stride);
    for (const auto& [name, detail] :
         {std::pair{"pages", Detail::pages}, std::pair{"lines", Detail::lines}}) {
        SharedCopy copy(window, bytes);
        try {
            rows[name] = shared(rounds, stride, cpus, copy, WrittenPages(copy, detail));
        } catch (const std::system_error& error) {
            rows[name] = json::object({{"lacks", error.what()}});
        }
    }
    return rows;
}

}  // namespace

int main(int argc, char** argv) {
    return run_program("shared_stream", [&] {
        const auto rounds = static_cast<std::uint32_t>(std::stoul(argc > 1 ? argv[1] : "20"));
        const CpuChoice choice = pick_cpus(2);
        if (choice.cpus.size() < 2) {
            throw std::system_error(ENODEV, std::generic_category(), "two processors are needed");
        }
        const Cpus cpus{choice.cpus[0], choice.cpus[1]};
        set_affinity({cpus.host});
        const json::Value all = json::object(
            {{"bytes", bytes}, {"whole", measured(rounds, 1, cpus)}, {"sparse", measured(rounds, 16, cpus)}});
        std::printf("%s\n", json::written(all).c_str());
        return 0;
    });
}
