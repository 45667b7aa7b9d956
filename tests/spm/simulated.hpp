// SPDX-License-Identifier: Apache-2.0
//
// The kernel on a machine of virtual time: cores and a DMA that take as long as they are ordered to.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "consort/spm.hpp"

namespace simulated {

using namespace consort::spm;
using consort::Status;
using consort::Ticks;

// Possible faults, and durations. Cores, tasks, jobs as the kernel numbers them.
struct Behaviour {
    std::function<Ticks(std::uint32_t core, std::uint32_t task, std::uint32_t job)> execution;
    // The duration of the n-th transfer.
    std::function<Ticks(std::uint32_t n, const Transfer&)> transfer = [](std::uint32_t, const Transfer&) {
        return Ticks{1};
    };
    std::function<bool(std::uint32_t n)> transfer_error = [](std::uint32_t) { return false; };
    std::function<Outcome(std::uint32_t core, std::uint32_t task, std::uint32_t job)> outcome =
        [](std::uint32_t, std::uint32_t, std::uint32_t) { return Outcome::done; };
    bool can_abort = true;
    // Called where a job executes, at its end.
    std::function<void(std::uint32_t core, std::uint32_t task, std::uint32_t job, const Partition&)> compute;
};

using consort::app::plan::OnLate;
using consort::app::plan::OnOverrun;

// A task with its own row of the plan: periodic, and unwatched.
struct Task {
    consort::app::plan::Task plan{};
    Image image{};
};

struct Request {
    Ticks at;
    std::uint32_t core;
    std::uint32_t task;
};

class Board {
  public:
    Board(Behaviour& behaviour, std::uint32_t cores) : behaviour_(&behaviour), stop_(cores, 0) {}

    void dma_start(const Transfer& transfer) noexcept {
        const std::uint32_t n = transfers++;
        pending_ = transfer;
        error_ = behaviour_->transfer_error(n);
        busy_until_ = now + behaviour_->transfer(n, transfer);
        moved_ = false;
    }
    [[nodiscard]] DmaState dma_state() noexcept {
        if (now < busy_until_) {
            return DmaState::busy;
        }
        if (error_) {
            return DmaState::error;
        }
        if (!moved_) {
            for (std::uint32_t i = 0; i < pending_.count; ++i) {
                const Segment& s = pending_.segment[i];
                std::copy_n(s.from, s.bytes, s.to);
            }
            moved_ = true;
        }
        return DmaState::idle;
    }
    [[nodiscard]] bool dma_abort() noexcept {
        if (behaviour_->can_abort) {
            busy_until_ = now;
            moved_ = true;
        }
        return behaviour_->can_abort;
    }
    [[nodiscard]] const std::byte* inputs(std::uint32_t core, std::uint32_t task) noexcept {
        return on_inputs ? on_inputs(core, task) : nullptr;
    }
    [[nodiscard]] std::byte* outputs(std::uint32_t core, std::uint32_t task) noexcept {
        return on_outputs ? on_outputs(core, task) : nullptr;
    }
    void delivered(std::uint32_t core, std::uint32_t task) noexcept {
        if (on_delivered) {
            on_delivered(core, task);
        }
    }
    void stop_job(std::uint32_t core, std::uint32_t /*task*/, std::uint32_t /*job*/) noexcept {
        stop_[core] = 1;
    }
    void record(const Event& event) noexcept { events.push_back(event); }
    void finished(const JobRecord& job) noexcept { jobs.push_back(job); }

    [[nodiscard]] Ticks dma_end() const { return busy_until_ > now ? busy_until_ : never; }
    [[nodiscard]] bool take_stop(std::uint32_t core) { return std::exchange(stop_[core], 0) != 0; }
    [[nodiscard]] std::size_t count(Kind kind) const {
        return static_cast<std::size_t>(
            std::count_if(events.begin(), events.end(), [kind](const Event& e) { return e.kind == kind; }));
    }

    Ticks now = 0;
    std::uint32_t transfers = 0;
    std::vector<Event> events;
    std::vector<JobRecord> jobs;
    std::function<const std::byte*(std::uint32_t, std::uint32_t)> on_inputs;
    std::function<std::byte*(std::uint32_t, std::uint32_t)> on_outputs;
    std::function<void(std::uint32_t, std::uint32_t)> on_delivered;

  private:
    Behaviour* behaviour_;
    std::vector<char> stop_;  // of each core: leave the job
    Transfer pending_{};
    Ticks busy_until_ = 0;
    bool error_ = false;
    bool moved_ = true;
};

inline constexpr std::size_t most_cores = 8;
inline constexpr std::size_t most_tasks = 16;
using Kernel = IoCore<Board, most_cores, most_tasks, consort::access::Coherent, 64>;
using Hand = Handover<consort::access::Coherent>;

class Machine {
  public:
    // One task table a core. Partitions of `partition_bytes`.
    Machine(std::vector<std::vector<Task>> tables, std::vector<Slot> slots, Schedule schedule,
            Behaviour behaviour, std::size_t partition_bytes = 4096)
        : behaviour(std::move(behaviour)),
          board(this->behaviour, static_cast<std::uint32_t>(tables.size())),
          tables_(std::move(tables)),
          entries_(tables_.size()),
          slots_(std::move(slots)),
          shared_(std::make_unique<Hand::Shared[]>(tables_.size())),
          memory_(tables_.size() * partitions * partition_bytes) {
        schedule.slots = slots_.data();
        schedule.count = static_cast<std::uint32_t>(slots_.size());
        std::vector<CoreSetup<consort::access::Coherent>> setups(tables_.size());
        for (std::size_t c = 0; c < tables_.size(); ++c) {
            for (const Task& task : tables_[c]) {
                entries_[c].push_back({&task.plan, task.image});
            }
            setups[c].tasks = {entries_[c].data(), static_cast<std::uint32_t>(entries_[c].size())};
            setups[c].handover = &shared_[c];
            for (std::size_t p = 0; p < partitions; ++p) {
                setups[c].partition[p] = memory_.data() + (c * partitions + p) * partition_bytes;
            }
            cores_.emplace_back(shared_[c], setups[c].partition[0], setups[c].partition[1]);
        }
        kernel = std::make_unique<Kernel>(board, setups.data(), static_cast<std::uint32_t>(setups.size()),
                                          schedule);
    }

    // Sporadic requests in any order.
    void request(Ticks at, std::uint32_t core, std::uint32_t task) { requests_.push_back({at, core, task}); }

    // Until every job is over; `enough` is for those that never are.
    void run_until_empty(Ticks enough) {
        for (Ticks until = 1000; until < enough && (!requests_.empty() || until == 1000 || !kernel->empty());
             until += until / 4) {
            run(until);
        }
    }

    // `late(t)`: how late the kernel is called for the instant t.
    void run(Ticks until, const std::function<Ticks(Ticks)>& late = nullptr) {
        std::stable_sort(requests_.begin(), requests_.end(),
                         [](const Request& a, const Request& b) { return a.at < b.at; });
        for (;;) {
            Ticks now =
                std::min({kernel_at_, board.dma_end(), requests_.empty() ? never : requests_.front().at});
            for (const Core& core : cores_) {
                now = std::min(now, core.busy_until);
            }
            if (now > until) {
                return;
            }
            board.now = now;
            for (std::uint32_t c = 0; c < cores_.size(); ++c) {
                end_job(c);
            }
            while (!requests_.empty() && requests_.front().at <= now) {
                kernel->request(requests_.front().core, requests_.front().task, now);
                requests_.pop_front();
            }
            const Ticks next = kernel->step(now);
            kernel_at_ = next == never || !late ? next : next + late(next);
            for (std::uint32_t c = 0; c < cores_.size(); ++c) {
                if (board.take_stop(c)) {
                    cores_[c].hand.end(now, Outcome::stopped);
                    cores_[c].busy_until = never;
                }
                begin_job(c);
            }
        }
    }

    [[nodiscard]] Hand::Shared& shared(std::size_t core) { return shared_[core]; }

    Behaviour behaviour;
    Board board;
    std::unique_ptr<Kernel> kernel;

  private:
    struct Core {
        Core(Hand::Shared& shared, std::byte* first, std::byte* second)
            : hand(shared), partition{first, second} {}
        Hand::CoreSide hand;
        std::byte* partition[partitions];
        ReadyJob ready{};
        Ticks busy_until = never;
    };

    void end_job(std::uint32_t c) {
        Core& core = cores_[c];
        if (core.busy_until != board.now) {
            return;
        }
        if (behaviour.compute) {
            const Task& task = tables_[c][core.ready.task];
            behaviour.compute(c, core.ready.task, core.ready.job,
                              parts_of(core.partition[core.ready.partition], task.image.size));
        }
        core.hand.end(board.now, behaviour.outcome(c, core.ready.task, core.ready.job));
        core.busy_until = never;
        begin_job(c);
    }
    void begin_job(std::uint32_t c) {
        Core& core = cores_[c];
        if (core.busy_until == never && core.hand.next(core.ready) == Status::ok) {
            core.hand.begin(board.now);
            const Ticks length = behaviour.execution(c, core.ready.task, core.ready.job);
            core.busy_until = length == never ? never - 1 : board.now + length;
        }
    }

    std::vector<std::vector<Task>> tables_;
    std::vector<std::vector<Entry>> entries_;
    std::vector<Slot> slots_;
    std::unique_ptr<Hand::Shared[]> shared_;
    std::vector<std::byte> memory_;
    std::vector<Core> cores_;
    std::deque<Request> requests_;
    Ticks kernel_at_ = 0;
};

inline std::vector<Slot> equal_slots(std::uint32_t cores, Ticks length) {
    std::vector<Slot> slots;
    for (std::uint32_t c = 0; c < cores; ++c) {
        slots.push_back({c, length});
    }
    return slots;
}

inline Task sporadic(Ticks period, Ticks deadline) {
    Task task;
    task.plan.period = static_cast<consort::app::Time>(period);
    task.plan.deadline = static_cast<consort::app::Time>(deadline);
    task.plan.on_request = true;
    return task;
}

}  // namespace simulated
