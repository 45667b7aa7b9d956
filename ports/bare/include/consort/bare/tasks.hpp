// SPDX-License-Identifier: Apache-2.0
//
// The tasks of a core that releases them: computed there, or by a worker.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

#include "consort/app/task_runner.hpp"
#include "consort/bare/offload.hpp"
#include "consort/bare/program.hpp"
#include "consort/task/step.hpp"

namespace consort::bare {

using Runner = app::TaskRunner<ThisPort>;

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
class LocalTask {
  public:
    using Type = T;

    app::Computation computation(Runner& /*runner*/) noexcept {
        return {this,
                [](void* self, const std::byte* /*in*/, bool reset, Job& /*job*/) noexcept {
                    static_cast<LocalTask*>(self)->begin(reset);
                },
                [](void* self, std::byte* /*out*/, Ticks /*give_up*/, Job& job) noexcept {
                    static_cast<LocalTask*>(self)->finish(job);
                    return true;
                }};
    }
    [[nodiscard]] std::byte* in() noexcept { return reinterpret_cast<std::byte*>(&in_); }
    [[nodiscard]] std::byte* out() noexcept { return reinterpret_cast<std::byte*>(&out_); }

  private:
    void begin(bool reset) noexcept {
        if (reset) {
            state_ = typename T::State{};
        }
    }
    void finish(Job& job) noexcept {
        const Ticks begin = timestamp<ThisPort>();
        T::step(in_, state_, out_);
        job.compute = timestamp<ThisPort>() - begin;
    }

    alignas(8) typename T::In in_{};
    typename T::State state_{};
    alignas(8) typename T::Out out_{};
};

// A step on a worker, seen from the core that releases it. Its job waits on the core's stack for the answer,
// as a spinning master does in the analysis; what is more urgent preempts it where there is an interrupt.
template <class T, unsigned number>
class OffloadedTask {
  public:
    using Type = T;

    // All outlive this. `worker`: the number of its core in the plan.
    OffloadedTask(const Channels<T>& channels, Control::Master& control, OnMiss policy,
                  std::uint32_t worker) noexcept
        : master_(channels, control, policy), worker_(worker) {}

    app::Computation computation(Runner& runner) noexcept {
        runner_ = &runner;
        return {this,
                [](void* self, const std::byte* /*in*/, bool reset, Job& /*job*/) noexcept {
                    auto& task = *static_cast<OffloadedTask*>(self);
                    task.master_.begin(task.in_, reset);
                },
                [](void* self, std::byte* /*out*/, Ticks give_up, Job& /*job*/) noexcept {
                    return static_cast<OffloadedTask*>(self)->finish(give_up);
                }};
    }
    [[nodiscard]] std::byte* in() noexcept { return reinterpret_cast<std::byte*>(&in_); }
    [[nodiscard]] std::byte* out() noexcept { return reinterpret_cast<std::byte*>(&out_); }

  private:
    bool finish(Ticks give_up) noexcept {
        // No supervisor beside a bare core: a worker is alive until its pulse says otherwise.
        return runner_->answered(master_.finish(out_, give_up, [] { return true; }), worker_,
                                 Event::worker_silent);
    }

    offload::Master<T, ThisPort, Access> master_;
    std::uint32_t worker_;
    Runner* runner_ = nullptr;
    alignas(8) typename T::In in_{};
    alignas(8) typename T::Out out_{};
};

}  // namespace consort::bare
