// SPDX-License-Identifier: Apache-2.0
//
// What the processes of one run share beside the region: logs that outlive who wrote them, and what the
// supervisor sees.
//
// This is the Linux side's own memory between processes of one program, not subject to the wire rules.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <sstream>
#include <string>
#include <vector>

#include "consort/linux/realtime.hpp"
#include "consort/linux/shared_memory.hpp"

namespace consort::linux_port {

// An append-only log of plain records with one writer; what was appended can be read after the writer has
// died.
template <class Record>
class SharedLog {
  public:
    SharedLog(const char* label, std::size_t capacity)
        : memory_(SharedMemory::anonymous(label, sizeof(Head) + capacity * sizeof(Record))),
          capacity_(capacity) {
        // Touched now, so that the writer never faults on it.
        std::memset(memory_.base(), 0, memory_.bytes());
        ::new (memory_.base()) Head;
    }

    void append(const Record& record) noexcept {
        const std::uint64_t at = head().count.load(std::memory_order_relaxed);
        if (at >= capacity_) {
            head().lost.fetch_add(1, std::memory_order_relaxed);
            return;
        }
        std::memcpy(records() + at * sizeof(Record), &record, sizeof(Record));
        head().count.store(at + 1, std::memory_order_release);
    }

    [[nodiscard]] std::uint64_t size() const noexcept { return head().count.load(std::memory_order_acquire); }
    [[nodiscard]] std::uint64_t lost() const noexcept { return head().lost.load(std::memory_order_relaxed); }
    [[nodiscard]] Record operator[](std::uint64_t at) const noexcept {
        Record record;
        std::memcpy(&record, records() + at * sizeof(Record), sizeof(Record));
        return record;
    }

  private:
    struct alignas(64) Head {
        std::atomic<std::uint64_t> count{0};
        std::atomic<std::uint64_t> lost{0};
    };
    [[nodiscard]] Head& head() const noexcept { return *std::launder(static_cast<Head*>(memory_.base())); }
    [[nodiscard]] unsigned char* records() const noexcept {
        return static_cast<unsigned char*>(memory_.base()) + sizeof(Head);
    }

    SharedMemory memory_;
    std::size_t capacity_;
};

// What the supervisor saw, in its own words.
struct ProcessEvent {
    enum Kind : std::uint32_t { started = 0, ended = 1 };
    std::uint64_t tick;
    std::uint32_t kind;
    std::uint32_t worker;
    std::int32_t pid;
    std::int32_t signal;
    std::int32_t code;
    std::uint32_t restarts;
};

// What a worker's real-time set-up achieved: a process that may die writes it, the master records it.
struct WorkerRealtime {
    std::int32_t cpu;
    std::int32_t priority;
    std::uint32_t mlockall;
    std::uint32_t cpu_dma_latency;
    char policy[16];
    // One a line. Each names one of at most five things that can be refused; what is longer is cut.
    char notes[1264];

    static WorkerRealtime of(const Realtime& achieved) {
        WorkerRealtime made{};
        made.cpu = achieved.cpu;
        made.priority = achieved.priority;
        made.mlockall = achieved.mlockall ? 1U : 0U;
        made.cpu_dma_latency = achieved.cpu_dma_latency ? 1U : 0U;
        achieved.policy.copy(made.policy, sizeof made.policy - 1);
        std::string lines;
        for (const std::string& note : achieved.notes) {
            lines += (lines.empty() ? "" : "\n") + note;
        }
        lines.copy(made.notes, sizeof made.notes - 1);
        return made;
    }

    [[nodiscard]] Realtime realtime() const {
        Realtime made;
        made.cpu = cpu;
        made.priority = priority;
        made.mlockall = mlockall != 0;
        made.cpu_dma_latency = cpu_dma_latency != 0;
        made.policy = policy;
        std::istringstream lines(notes);
        for (std::string line; std::getline(lines, line);) {
            made.notes.push_back(line);
        }
        return made;
    }
};

// Which workers the supervisor knows to be running; read by the master when an answer is missing.
class Liveness {
  public:
    explicit Liveness(std::size_t workers)
        : memory_(SharedMemory::anonymous("consort-liveness", (workers + 1) * sizeof(Line))) {
        for (std::size_t i = 0; i <= workers; ++i) {
            ::new (static_cast<void*>(lines() + i)) Line;
        }
    }
    void set(std::size_t worker, bool alive) noexcept { lines()[worker].alive.store(alive ? 1 : 0); }
    [[nodiscard]] bool alive(std::size_t worker) const noexcept { return lines()[worker].alive.load() != 0; }

  private:
    struct alignas(64) Line {
        std::atomic<std::uint32_t> alive{0};
    };
    [[nodiscard]] Line* lines() const noexcept { return static_cast<Line*>(memory_.base()); }

    SharedMemory memory_;
};

}  // namespace consort::linux_port
