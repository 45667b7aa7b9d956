// SPDX-License-Identifier: Apache-2.0
//
// Measures the link's copying engine on this machine, host and engine on a processor each:
//
//   link_transfers throughput ROUNDS   packets of 64 B to 64 KiB, 1 to 64 outstanding, both directions
//   link_transfers blocking BYTES      transfers of 4 KiB to 64 MiB, in descriptors of 4 KiB and of 2 MiB;
//                                      each point moves about BYTES in all
//   link_transfers modify ROUNDS       part of each cache line of 256 MiB read, changed and written back
//
// Prints one JSON object with every sample [ns]. Contents are compared outside of the timed parts.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "consort/linux/cpus.hpp"
#include "consort/linux/json.hpp"
#include "consort/linux/link_engine.hpp"
#include "consort/linux/locked_buffer.hpp"
#include "consort/linux/port.hpp"
#include "consort/linux/program.hpp"

namespace {

using namespace consort;
using namespace consort::linux_port;
namespace json = consort::linux_port::json;
using link::Completing;
using link::Completion;
using link::Direction;
using link::Outcome;
using link::Piece;
using link::Posting;

constexpr std::uint32_t slots = 256;
using Host = link::Host<slots>;

const char* name_of(Pages pages) {
    return pages == Pages::huge ? "huge" : pages == Pages::transparent_huge ? "transparent huge" : "plain";
}
const char* name_of(Direction direction) {
    return direction == Direction::to_peer ? "to_peer" : "from_peer";
}

void fill(std::byte* at, std::size_t bytes, std::uint32_t seed) {
    for (std::size_t i = 0; i < bytes; i += 8) {
        const std::uint64_t word = seed * 0x9e3779b97f4a7c15U + i * 0x2545f4914f6cdd1dU;
        std::memcpy(at + i, &word, std::min<std::size_t>(8, bytes - i));
    }
}

// Two windows and the engine between them, on the second of two processors; this thread is on the first.
class Bench {
  public:
    explicit Bench(std::size_t bytes)
        : near_(bytes), far_(bytes), ring_(std::make_unique<link::Ring<slots>::Shared>()), bytes_(bytes) {
        const CpuChoice choice = pick_cpus(2);
        if (choice.cpus.size() < 2) {
            throw std::system_error(ENODEV, std::generic_category(), "two processors are needed");
        }
        if (!engine_.attach(0, *ring_, window(near_), window(far_))) {
            throw std::logic_error("a queue that the engine has was refused");
        }
        // A thread inherits its maker's processor.
        set_affinity({choice.cpus[1]});
        engine_.start();
        set_affinity({choice.cpus[0]});
        host_ = std::make_unique<Host>(*ring_, window(near_), static_cast<std::uint32_t>(bytes));
    }

    std::byte* source(Direction d) { return d == Direction::to_peer ? near_.data() : far_.data(); }
    std::byte* target(Direction d) { return d == Direction::to_peer ? far_.data() : near_.data(); }
    Host& host() { return *host_; }
    [[nodiscard]] Pages pages() const { return near_.pages(); }
    [[nodiscard]] std::size_t bytes() const { return bytes_; }
    std::uint32_t errors = 0;

    // Waits for the oldest transaction.
    void reap() {
        Completion done{};
        const Status status = host_->poll_until<LinuxPort>(~Ticks{0}, done);
        errors += status == Status::ok && done.outcome == Outcome::moved ? 0 : 1;
    }
    // How many bytes arrived wrong; then the target is cleared.
    void compare(Direction direction, std::size_t bytes) {
        errors += std::memcmp(source(direction), target(direction), bytes) == 0 ? 0 : 1;
        std::memset(target(direction), 0, bytes);
    }

  private:
    static link::Window window(LockedBuffer& memory) {
        return {memory.data(), static_cast<std::uint32_t>(memory.size())};
    }

    LockedBuffer near_;
    LockedBuffer far_;
    std::unique_ptr<link::Ring<slots>::Shared> ring_;
    std::size_t bytes_;
    LinkEngine<1, slots> engine_;
    std::unique_ptr<Host> host_;
};

std::uint64_t ns_since(Ticks begun) {
    return LinuxPort::to_ns(LinuxPort::now() - begun);
}

// `packets` packets with at most `outstanding` of them posted and not reaped.
std::uint64_t stream(Bench& bench, Direction direction, std::uint32_t packet, std::uint32_t outstanding,
                     std::uint32_t packets) {
    Host& host = bench.host();
    const auto places = static_cast<std::uint32_t>(bench.bytes() / packet);
    const Ticks begun = LinuxPort::now();
    for (std::uint32_t i = 0; i < packets; ++i) {
        if (host.in_flight() == outstanding) {
            bench.reap();
        }
        const std::uint32_t at = i % places * packet;
        const Piece piece{at, at, packet};
        bench.errors += host.try_post(direction, &piece, 1, i, Completing::by_status) == Posting::ok ? 0 : 1;
    }
    while (host.in_flight() != 0) {
        bench.reap();
    }
    return ns_since(begun);
}

// The same copies by this processor alone: what the engine's are held against.
std::uint64_t bare_copies(Bench& bench, Direction direction, std::uint32_t packet, std::uint32_t packets) {
    const auto places = static_cast<std::uint32_t>(bench.bytes() / packet);
    const Ticks begun = LinuxPort::now();
    for (std::uint32_t i = 0; i < packets; ++i) {
        const std::size_t at = std::size_t{i % places} * packet;
        std::memcpy(bench.target(direction) + at, bench.source(direction) + at, packet);
        asm volatile("" ::: "memory");
    }
    return ns_since(begun);
}

json::Value throughput(std::uint32_t rounds) {
    constexpr std::size_t window = std::size_t{4} << 20U;
    constexpr std::size_t moved = std::size_t{2} << 20U;
    Bench bench(window);
    json::Value points = json::array();
    for (const Direction direction : {Direction::to_peer, Direction::from_peer}) {
        fill(bench.source(direction), window, 1 + static_cast<std::uint32_t>(direction));
        for (std::uint32_t packet = 64; packet <= 64 * 1024; packet *= 2) {
            const auto packets =
                static_cast<std::uint32_t>(std::clamp<std::size_t>(moved / packet, 64, 4096));
            const std::size_t covered = std::min<std::size_t>(window, std::size_t{packets} * packet);
            std::vector<std::uint64_t> floor;
            for (const std::uint32_t outstanding : {1U, 4U, 16U, 64U}) {
                std::vector<std::uint64_t> ns;
                std::memset(bench.target(direction), 0, covered);
                for (std::uint32_t round = 0; round < rounds; ++round) {
                    floor.push_back(bare_copies(bench, direction, packet, packets));
                    ns.push_back(stream(bench, direction, packet, outstanding, packets));
                }
                bench.compare(direction, covered);
                points.append(json::object({{"direction", name_of(direction)},
                                            {"packet", packet},
                                            {"outstanding", outstanding},
                                            {"packets", packets},
                                            {"ns", ns}}));
            }
            points.append(json::object({{"direction", name_of(direction)},
                                        {"packet", packet},
                                        {"outstanding", 0},
                                        {"packets", packets},
                                        {"ns", floor}}));
        }
    }
    return json::object(
        {{"points", points}, {"content_errors", bench.errors}, {"pages", name_of(bench.pages())}});
}

// One transfer, cut into descriptors of `piece`, all of them posted as the ring has room; returns when the
// last byte has arrived.
void block(Bench& bench, Direction direction, std::uint32_t size, std::uint32_t piece) {
    constexpr std::uint32_t most = 64;
    Host& host = bench.host();
    Piece pieces[most];
    for (std::uint32_t at = 0; at < size;) {
        std::uint32_t count = 0;
        for (std::uint32_t next = at; next < size && count < most; next += piece) {
            pieces[count++] = {next, next, std::min(piece, size - next)};
        }
        Posting posting = Posting::full;
        while ((posting = host.try_post(direction, pieces, count, at, Completing::by_status)) ==
               Posting::full) {
            bench.reap();
        }
        bench.errors += posting == Posting::ok ? 0 : 1;
        at = pieces[count - 1].local + pieces[count - 1].bytes;
    }
    while (host.in_flight() != 0) {
        bench.reap();
    }
}

json::Value blocking(std::uint64_t bytes) {
    constexpr std::uint32_t largest = 64U << 20U;
    // As many as in the paper, where that is not more than `bytes`.
    constexpr std::uint64_t iterations = 1024;
    Bench bench(largest);
    json::Value points = json::array();
    for (const Direction direction : {Direction::to_peer, Direction::from_peer}) {
        fill(bench.source(direction), largest, 3 + static_cast<std::uint32_t>(direction));
        for (std::uint32_t size = 4096; size <= largest; size *= 2) {
            const std::uint64_t times = std::clamp<std::uint64_t>(bytes / size, 3, iterations);
            std::vector<std::uint64_t> small;
            std::vector<std::uint64_t> large;
            // The first one of each brings code and pages in.
            for (std::uint64_t i = 0; i <= times; ++i) {
                for (auto* const samples : {&small, &large}) {
                    const Ticks begun = LinuxPort::now();
                    block(bench, direction, size, samples == &small ? 4096 : 2U << 20U);
                    if (i != 0) {
                        samples->push_back(ns_since(begun));
                    }
                }
            }
            bench.compare(direction, size);
            points.append(json::object({{"direction", name_of(direction)},
                                        {"bytes", size},
                                        {"small_ns", small},
                                        {"large_ns", large}}));
        }
    }
    return json::object(
        {{"points", points}, {"content_errors", bench.errors}, {"pages", name_of(bench.pages())}});
}

json::Value modify(std::uint32_t rounds) {
    constexpr std::size_t bytes = std::size_t{256} << 20U;
    LockedBuffer memory(bytes);
    set_affinity({pick_cpus(1).cpus.at(0)});
    std::vector<std::uint64_t> ns;
    for (std::uint32_t round = 0; round < rounds; ++round) {
        const Ticks begun = LinuxPort::now();
        for (std::size_t at = 0; at < bytes; at += 64) {
            auto& word = *reinterpret_cast<volatile std::uint64_t*>(memory.data() + at);
            word = word + 1;
        }
        ns.push_back(ns_since(begun));
    }
    std::uint32_t errors = 0;
    for (std::size_t at = 0; at < bytes; at += 64) {
        std::uint64_t word = 0;
        std::memcpy(&word, memory.data() + at, sizeof(word));
        errors += word == rounds ? 0 : 1;
    }
    return json::object({{"bytes", bytes},
                         {"ns", ns},
                         {"pages", name_of(memory.pages())},
                         {"notes", memory.notes()},
                         {"content_errors", errors}});
}

}  // namespace

int main(int argc, char** argv) {
    return run_program("link_transfers", [&] {
        const std::string what = argc == 3 ? argv[1] : "";
        const std::uint64_t number = argc == 3 ? std::strtoull(argv[2], nullptr, 10) : 0;
        if (number == 0 || number > (1ULL << 40U)) {
            throw std::invalid_argument("give throughput, blocking or modify, and a number above 0");
        }
        json::Value result;
        if (what == "throughput") {
            result = throughput(static_cast<std::uint32_t>(std::min<std::uint64_t>(number, 100'000)));
        } else if (what == "blocking") {
            result = blocking(number);
        } else if (what == "modify") {
            result = modify(static_cast<std::uint32_t>(std::min<std::uint64_t>(number, 100'000)));
        } else {
            throw std::invalid_argument("'" + what + "' is none of throughput, blocking, modify");
        }
        std::puts(json::written(result).c_str());
        return static_cast<int>(good);
    });
}
