// SPDX-License-Identifier: Apache-2.0
// STREAM at a memory, and at memories behind the blocks: what the paper runs (10 million elements an array,
// four threads an instance), sampled, with its data. A memory may also stand directly behind its master.
#pragma once

#include <array>
#include <cstring>
#include <deque>
#include <unordered_map>
#include <vector>

#include "direct.hpp"
#include "pair.hpp"

namespace sim {

// Where an address of a port lies behind it.
inline std::uint64_t place_of(const Direct&, unsigned, std::uint64_t address) {
    return address;
}
inline std::uint64_t place_of(const Pair&, unsigned port, std::uint64_t address) {
    return Pair::kBase + (address - Pair::at(port, 0));
}

// Three arrays of 10 million doubles, one behind the other, in four parts of like size.
constexpr std::uint64_t kElements = 10'000'000;
constexpr unsigned kThreads = 4, kLineBytes = 64, kLineElements = kLineBytes / 8;
constexpr std::uint64_t kThreadLines = kElements / kThreads / kLineElements;
constexpr unsigned kA = 0, kB = 1, kC = 2;
using Line = std::array<double, kLineElements>;

// What it writes is the sum of what it reads, each with its factor.
struct Kernel {
    const char* name;
    unsigned count;
    std::array<unsigned, 2> read;
    std::array<double, 2> factor;
    unsigned written;
};
constexpr Kernel kKernels[] = {{"copy", 1, {kA}, {1}, kC},
                               {"scale", 1, {kC}, {3}, kB},
                               {"add", 2, {kA, kB}, {1, 1}, kC},
                               {"triad", 2, {kB, kC}, {1, 3}, kA}};

// Its arrays begin at an address of a port.
struct Instance {
    unsigned port;
    std::uint64_t base;
};

// Lines that the processor has under way at most.
struct InFlight {
    unsigned port;   // at each port
    unsigned total;  // at all of them
};

// What was done in the part of a kernel that is measured.
struct Window {
    std::uint64_t cycles = 0;
    std::array<std::uint64_t, 2> lines{};  // of each port
};

template <class Platform>
class Streams {
  public:
    Streams(Platform& platform, const std::vector<Instance>& instances, InFlight limit)
        : platform_(platform), instances_(instances), limit_(limit), under_way_(platform.masters.size()) {
        for (unsigned i = 0; i < instances_.size(); ++i) {
            for (unsigned t = 0; t < kThreads; ++t) threads_.push_back({.instance = i, .number = t});
        }
    }

    // All four kernels at places of the arrays that `random` draws, one for each thread in its quarter, of a
    // range that no kernel leaves.
    template <class Use>
    void sample(Random& random, unsigned lines, Use use) {
        for (Thread& thread : threads_) {
            const auto last = static_cast<std::uint32_t>(kThreadLines - lines - kWarmUp);
            thread.start = thread.number * kThreadLines + random.below(last);
        }
        for (const Kernel& kernel : kKernels) use(kernel, run(kernel, lines));
    }

    // Every line that was read or written is compared with what STREAM would leave there; how many were.
    std::uint64_t verify() {
        for (const auto& [address, line] : values_) {
            const unsigned port = port_of_.at(address);
            std::array<std::uint8_t, kLineBytes> bytes{};
            std::memcpy(bytes.data(), line.data(), kLineBytes);
            for (unsigned i = 0; i < kLineBytes; ++i) {
                if (memory(port).store.at(place_of(platform_, port, address) + i) != bytes[i])
                    fail("a line of STREAM's arrays is not what its kernels made of it");
            }
        }
        std::uint64_t stored = 0;
        for (const auto& of : platform_.memories) stored += of.bytes_written;
        if (stored != written_ * kLineBytes) fail("the memories were not written what STREAM wrote");
        return values_.size();
    }

  private:
    static constexpr unsigned kWarmUp = 200;  // lines
    // A line of each array that a kernel has, from its reads to its write.
    struct Step {
        std::uint64_t line;
        unsigned begun = 0, missing = 0;  // reads
    };
    struct Thread {
        unsigned instance, number;
        std::uint64_t start = 0, next = 0;
        std::uint64_t first = 0;  // number of the oldest step
        std::deque<Step> steps;
    };
    struct Access {
        Thread* thread;
        std::uint64_t step;
    };

    auto& memory(unsigned port) { return platform_.memories[platform_.memories.size() > 1 ? port : 0]; }
    [[nodiscard]] std::uint64_t address(const Thread& thread, unsigned array, std::uint64_t line) const {
        return instances_[thread.instance].base + array * kElements * 8 + line * kLineBytes;
    }

    // The values of a line; each element differs from its neighbours, and from those of the other arrays.
    Line& values(const Thread& thread, unsigned array, std::uint64_t line) {
        const std::uint64_t at = address(thread, array, line);
        const auto [found, is_new] = values_.try_emplace(at);
        if (is_new) {
            const unsigned port = instances_[thread.instance].port;
            port_of_[at] = port;
            for (unsigned i = 0; i < kLineElements; ++i)
                found->second[i] =
                    static_cast<double>((thread.instance * 3 + array) * kElements + line * kLineElements + i);
            std::array<std::uint8_t, kLineBytes> bytes{};
            std::memcpy(bytes.data(), found->second.data(), kLineBytes);
            for (unsigned i = 0; i < kLineBytes; ++i) {
                memory(port).store.at(place_of(platform_, port, at) + i) = bytes[i];
                platform_.masters[port].expected.at(at + i) = bytes[i];
            }
        }
        return found->second;
    }

    Window run(const Kernel& kernel, unsigned lines) {
        for (Thread& thread : threads_) thread.next = thread.start;
        Window window;
        std::uint64_t done = 0;
        std::uint64_t begin = 0;
        begins_ = true;
        while (done < kWarmUp + lines) {
            const bool counts = done >= kWarmUp;
            for (unsigned p = 0; p < platform_.masters.size(); ++p) {
                const std::uint64_t more = take(p);
                done += more;
                if (counts) window.lines[p] += more;
            }
            if (!counts) begin = platform_.now;
            issue(kernel);
            platform_.cycle();
        }
        window.cycles = platform_.now - begin - 1;
        // What was begun is finished; the next kernel reads it.
        begins_ = false;
        for (unsigned waited = 0; busy(); ++waited) {
            if (waited > 1'000'000) fail("a line of STREAM is not answered");
            for (unsigned p = 0; p < platform_.masters.size(); ++p) take(p);
            issue(kernel);
            platform_.cycle();
        }
        return window;
    }

    [[nodiscard]] bool busy() const {
        for (const auto& accesses : under_way_) {
            if (!accesses.empty()) return true;
        }
        for (const Thread& thread : threads_) {
            if (!thread.steps.empty()) return true;
        }
        return false;
    }

    // The answers that came; how many.
    std::uint64_t take(unsigned port) {
        auto& master = platform_.masters[port];
        for (const Done& done : master.done) {
            if (done.resp != 0) fail("a line of STREAM ended with an error response");
            const Access access = under_way_[port].at(done.serial);
            under_way_[port].erase(done.serial);
            if (!done.write) --access.thread->steps[access.step - access.thread->first].missing;
        }
        const std::size_t count = master.done.size();
        master.done.clear();
        return count;
    }

    // As many as the limits let begin, of the threads in turn.
    void issue(const Kernel& kernel) {
        std::size_t total = 0;
        for (const auto& accesses : under_way_) total += accesses.size();
        for (std::size_t without = 0; without < threads_.size() && total < limit_.total;) {
            Thread& thread = threads_[turn_++ % threads_.size()];
            const bool room = under_way_[instances_[thread.instance].port].size() < limit_.port;
            const bool begun = room && issue(kernel, thread);
            total += begun;
            without = begun ? 0 : without + 1;
        }
    }

    // The write whose data are there, or the next read.
    bool issue(const Kernel& kernel, Thread& thread) {
        auto& steps = thread.steps;
        const unsigned port = instances_[thread.instance].port;
        const auto shape = [&](unsigned array, std::uint64_t line) {
            return Address{.addr = address(thread, array, line),
                           .id = static_cast<std::uint16_t>(thread.instance * 16 + thread.number * 4 + array),
                           .len = kLineBytes / 16 - 1};
        };
        if (!steps.empty() && steps[0].begun == kernel.count && steps[0].missing == 0) {
            const std::uint64_t line = steps[0].line;
            Line made{};
            for (unsigned r = 0; r < kernel.count; ++r) {
                const Line& from = values(thread, kernel.read[r], line);
                for (unsigned i = 0; i < kLineElements; ++i) made[i] += kernel.factor[r] * from[i];
            }
            values(thread, kernel.written, line) = made;
            std::array<std::uint8_t, kLineBytes> bytes{};
            std::memcpy(bytes.data(), made.data(), kLineBytes);
            const auto serial =
                platform_.masters[port].write(shape(kernel.written, line), bytes.data(), kLineBytes);
            under_way_[port][serial] = {&thread, 0};
            ++written_;
            steps.pop_front();
            ++thread.first;
            return true;
        }
        if (steps.empty() || steps.back().begun == kernel.count) {
            if (!begins_) return false;
            steps.push_back({thread.next++});
        }
        Step& step = steps.back();
        const unsigned array = kernel.read[step.begun++];
        ++step.missing;
        values(thread, array, step.line);
        const auto serial = platform_.masters[port].read(shape(array, step.line));
        under_way_[port][serial] = {&thread, thread.first + steps.size() - 1};
        return true;
    }

    Platform& platform_;
    std::vector<Instance> instances_;
    InFlight limit_;
    std::deque<Thread> threads_;
    std::vector<std::unordered_map<std::uint64_t, Access>> under_way_;
    std::unordered_map<std::uint64_t, Line> values_;
    std::unordered_map<std::uint64_t, unsigned> port_of_;
    std::uint64_t written_ = 0;
    std::size_t turn_ = 0;
    bool begins_ = true;
};

// The board's figures, in cycles and shares of a beat a cycle, and how much is simulated of it.
struct Board {
    unsigned memory_latency, memory_rate, link_latency, link_rate, in_flight, samples, lines;

    static constexpr int kWords = 7;
    static constexpr const char* kUsage =
        "MEMORY-LATENCY MEMORY-RATE LINK-LATENCY LINK-RATE IN-FLIGHT SAMPLES LINES";
    static Board of(char** words) {
        const auto number = [&](int i) { return static_cast<unsigned>(std::strtoul(words[i], nullptr, 10)); };
        return {number(0), number(1), number(2), number(3), number(4), number(5), number(6)};
    }
    [[nodiscard]] MemoryBehaviour memory() const { return {.latency = memory_latency, .rate = memory_rate}; }
};

// Prints what samples of all kernels took: rows of a JSON list.
class StreamRows {
  public:
    explicit StreamRows(const Board& board) : board_(board) {}

    template <class Platform>
    void of(const char* configuration, Platform& platform, const std::vector<Instance>& instances,
            InFlight limit) {
        Streams<Platform> streams(platform, instances, limit);
        Random random(7);
        for (unsigned s = 0; s < board_.samples; ++s) {
            streams.sample(random, board_.lines, [&](const Kernel& kernel, const Window& window) {
                std::printf(
                    "%s\n{\"configuration\": \"%s\", \"kernel\": \"%s\", \"sample\": %u, "
                    "\"cycles\": %llu, \"lines\": [%llu, %llu]}",
                    rows_++ == 0 ? "" : ",", configuration, kernel.name, s,
                    static_cast<unsigned long long>(window.cycles),
                    static_cast<unsigned long long>(window.lines[0]),
                    static_cast<unsigned long long>(window.lines[1]));
            });
        }
        compared += streams.verify();
    }
    std::uint64_t compared = 0;  // lines of memory

  private:
    Board board_;
    unsigned rows_ = 0;
};

// The paper's segments, 256 MiB each: two in the memory that a port's link leads to.
constexpr std::uint64_t kSegment = 0x1000'0000;
inline std::vector<Instance> two_of(unsigned port) {
    return {{port, Pair::at(port, 0)}, {port, Pair::at(port, 0) + kSegment}};
}
inline void attach_segments(Pair& pair) {
    for (unsigned p = 0; p < kPorts; ++p) {
        for (unsigned w = 0; w < 2; ++w) {
            pair.map({.port = p,
                      .window = w,
                      .link = p,
                      .mblock = kMblocks > 1 ? p : 0,
                      .segment = w,
                      .at = Pair::at(p, 0) + w * kSegment,
                      .base = Pair::kBase + w * kSegment});
        }
    }
}

}  // namespace sim
