// SPDX-License-Identifier: Apache-2.0
//
// The protocol of one core, run exactly: two partitions, Rule 1 and Rule 2, one DMA.
//
// At each own DMA slot: if a partition is empty and a released job is not loaded, load the highest-priority
// one (Rule 1); else, if the oldest loaded job has completed, unload it (Rule 2); else the slot is wasted.
// Jobs execute in the order of their loads, each once loaded, to completion. A job's response ends with its
// unload. A release or a completion exactly at a slot's start counts for that slot.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "spm/task.hpp"

namespace consort::engine::spm {

// Which completed job is unloaded first. The paper leaves it open; the bound needs first in, first out.
enum class Unload : std::uint8_t { fifo, lifo };

// When a core's request for the DMA is granted.
struct TdmaGrant {
    Tdma tdma;
    // The first own slot that starts at or after `wanted` and after the last operation.
    [[nodiscard]] Time operator()(Time wanted) const { return ceil_div(wanted, tdma.round) * tdma.round; }
    // A whole slot, whatever is moved in it.
    [[nodiscard]] Time load(const Task& /*task*/) const { return tdma.slot; }
    [[nodiscard]] Time unload(const Task& /*task*/) const { return tdma.slot; }
};

// Round robin over the cores: the others delay a request by at most one operation each; how much, the
// scenario says.
struct RoundRobinGrant {
    Tdma tdma;
    std::span<const Time> delays;  // each 0 … round - slot, used in turn
    std::size_t next = 0;
    [[nodiscard]] Time operator()(Time wanted) {
        const Time delay = delays[next];
        next = next + 1 == delays.size() ? 0 : next + 1;
        return wanted + delay;
    }
    [[nodiscard]] Time load(const Task& task) const { return task.load != 0 ? task.load : tdma.slot; }
    [[nodiscard]] Time unload(const Task& task) const { return task.unload != 0 ? task.unload : tdma.slot; }
};

// How the jobs of one task come and how long they execute: the first few as given, the rest as early, as
// punctually and as long as they may.
struct Arrivals {
    static constexpr std::size_t given = 6;
    Time offset = 0;
    std::array<Time, given> extra_gap{};  // beyond the period, after the job of that index
    std::array<Time, given> shortened{};  // how much less than its longest execution the job takes
    bool silent = false;                  // no job at all
    std::array<Time, given> late{};       // from when the job is due to its release, at most the jitter
};

struct JobRecord {
    std::size_t task;
    Time due;
    Time load;   // start of the slot
    Time start;  // of the execution
    Time finish;
    Time unload_end;
};

// Runs until every job released before `until` is unloaded. Calls done(JobRecord) for each job in unload
// order. Stops early when done returns false.
template <Unload order = Unload::fifo, class Grant, class Done>
void replay(std::span<const Task> tasks, std::span<const Arrivals> arrivals, Grant grant, Time until,
            Done&& done) {
    constexpr Time never = std::numeric_limits<Time>::max();
    struct State {
        Time next_due;
        Time next_release;
        std::uint32_t index;
    };
    std::array<State, largest_set> state;
    const std::size_t n = tasks.size();
    // A job due at `due` comes late as given, and never before the one before it.
    const auto place = [&](std::size_t i, Time due) {
        const Arrivals& a = arrivals[i];
        State& s = state[i];
        const Time late = s.index < Arrivals::given ? a.late[s.index] : 0;
        s.next_due = due;
        s.next_release = due >= until ? never : std::max(due + late, s.next_release);
    };
    for (std::size_t i = 0; i < n; ++i) {
        state[i] = {};
        place(i, arrivals[i].silent ? never : arrivals[i].offset);
    }
    std::array<JobRecord, 2> in_flight;
    std::size_t loaded = 0;
    Time cpu_free = 0;
    Time dma_free = 0;
    for (;;) {
        // The instant from which an operation is possible.
        Time wanted = never;
        if (loaded < 2) {
            for (std::size_t i = 0; i < n; ++i) {
                wanted = std::min(wanted, state[i].next_release);
            }
        }
        for (std::size_t k = 0; k < loaded; ++k) {
            if (order == Unload::lifo || k == 0) {
                wanted = std::min(wanted, in_flight[k].finish);
            }
        }
        if (wanted == never) {
            return;
        }
        const Time now = grant(std::max(wanted, dma_free));
        std::size_t chosen = n;
        if (loaded < 2) {
            for (std::size_t i = 0; i < n; ++i) {
                if (state[i].next_release <= now) {
                    chosen = i;
                    break;
                }
            }
        }
        if (chosen != n) {
            State& s = state[chosen];
            const Arrivals& a = arrivals[chosen];
            const std::uint32_t index = s.index++;
            const Time execution =
                tasks[chosen].execution - (index < Arrivals::given ? a.shortened[index] : Time{0});
            const Time end = now + grant.load(tasks[chosen]);
            dma_free = end;
            const Time start = std::max(end, cpu_free);
            cpu_free = start + execution;
            in_flight[loaded++] = {chosen, s.next_due, now, start, cpu_free, 0};
            const Time gap = index < Arrivals::given ? a.extra_gap[index] : Time{0};
            place(chosen, s.next_due + tasks[chosen].period + gap);
            continue;
        }
        std::size_t which = 0;
        if (order == Unload::lifo && loaded == 2 && in_flight[1].finish <= now) {
            which = 1;
        }
        const Time end = now + grant.unload(tasks[in_flight[which].task]);
        dma_free = end;
        in_flight[which].unload_end = end;
        const JobRecord finished = in_flight[which];
        if (which == 0) {
            in_flight[0] = in_flight[1];
        }
        --loaded;
        if (!done(finished)) {
            return;
        }
    }
}

}  // namespace consort::engine::spm
