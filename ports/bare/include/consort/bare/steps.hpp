// SPDX-License-Identifier: Apache-2.0
//
// The steps of a core that releases their tasks: computed there, or by a worker.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

#include "consort/app/job_runner.hpp"
#include "consort/bare/offload.hpp"
#include "consort/bare/program.hpp"
#include "consort/task/step.hpp"

namespace consort::bare {

using Runner = app::JobRunner<ThisPort>;

// Memory of an object that is made when the program begins: nothing runs constructors of global objects.
template <class T>
class Storage {
  public:
    template <class... Arguments>
    T& make(Arguments&&... arguments) noexcept {
        return *new (memory_) T(static_cast<Arguments&&>(arguments)...);
    }
    [[nodiscard]] T& operator*() noexcept { return *std::launder(reinterpret_cast<T*>(memory_)); }
    [[nodiscard]] T* operator->() noexcept { return &**this; }

  private:
    alignas(T) std::byte memory_[sizeof(T)];
};

// A step on the core that releases it. `number`: the task's in the plan, which tells the functions of its job
// from those of others (python/consort/board/stack.py).
template <class T, unsigned number>
class LocalStep {
  public:
    using Type = T;
    static constexpr bool leaves = false;

    // A job of `self`, from its first input to its record. False: the run is to end.
    static bool computation(void* self, Runner& runner) noexcept {
        auto& task = *static_cast<LocalStep*>(self);
        if (runner.start()) {
            task.state_ = typename T::State{};
        }
        const auto begin = mark<ThisPort>();
        T::step(task.in_, task.state_, task.out_);
        runner.job().compute = since<ThisPort>(begin);
        return runner.ended(true);
    }
    [[nodiscard]] std::byte* in() noexcept { return reinterpret_cast<std::byte*>(&in_); }
    [[nodiscard]] std::byte* out() noexcept { return reinterpret_cast<std::byte*>(&out_); }

  private:
    alignas(8) typename T::In in_{};
    typename T::State state_{};
    alignas(8) typename T::Out out_{};
};

// A step on a worker, seen from the core that releases it. Its job waits on the core's stack for the answer,
// as a spinning master does in the analysis; what is more urgent preempts it where there is an interrupt.
// That of a master that sleeps is two parts, and the core executes other jobs in between.
template <class T, unsigned number, bool sleeps>
class OffloadedStep {
  public:
    using Type = T;
    // Whether its jobs leave the core while they wait.
    static constexpr bool leaves = sleeps;

    // All outlive this. `worker`: the number of its core in the plan.
    OffloadedStep(const Channels<T>& channels, Control::Master& control, OnMiss policy,
                  std::uint32_t worker) noexcept
        : master_(channels, control, policy), worker_(worker) {}

    // The first part: the request is on its way.
    static void departure(void* self, Runner& runner) noexcept requires(sleeps) {
        auto& task = *static_cast<OffloadedStep*>(self);
        task.here_ = false;
        task.master_.begin(task.in_, runner.start());
    }
    // True if the answer is there, or none is awaited.
    static bool answered(void* self) noexcept requires(sleeps) {
        auto& task = *static_cast<OffloadedStep*>(self);
        task.here_ = task.master_.answered();
        return task.here_;
    }
    // The job, or its second part: the answer is there, or is given up. False: the run is to end.
    static bool computation(void* self, Runner& runner) noexcept {
        auto& task = *static_cast<OffloadedStep*>(self);
        if constexpr (!sleeps) {
            task.master_.begin(task.in_, runner.start());
        }
        // No supervisor beside a bare core: a worker is alive until its pulse says otherwise.
        constexpr auto alive = [] { return true; };
        const auto report = sleeps && task.here_ ? task.master_.finish_answered(task.out_, alive)
                                                 : task.master_.finish(task.out_, runner.give_up(), alive);
        return runner.ended(runner.answered(report, task.worker_, Event::worker_silent));
    }
    [[nodiscard]] std::byte* in() noexcept { return reinterpret_cast<std::byte*>(&in_); }
    [[nodiscard]] std::byte* out() noexcept { return reinterpret_cast<std::byte*>(&out_); }

  private:
    offload::Master<T, ThisPort, Access> master_;
    std::uint32_t worker_;
    bool here_ = false;
    alignas(8) typename T::In in_{};
    alignas(8) typename T::Out out_{};
};

}  // namespace consort::bare
