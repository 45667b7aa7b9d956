// SPDX-License-Identifier: Apache-2.0
//
// The run of one core of a plan on bare metal, whatever dispatches its jobs: its orders, the instant at which
// all cores begin, its tasks' records, what it reports.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

#include "consort/app/plan.hpp"
#include "consort/app/stand_in.hpp"
#include "consort/bare/clocks.hpp"
#include "consort/bare/data_flow.hpp"
#include "consort/bare/polling.hpp"
#include "consort/bare/stack.hpp"
#include "consort/bare/steps.hpp"

namespace consort::bare {

// Values: an enumeration of the core's numbers and one of each task's, each with `count` at its end, made by
// the host. The plan is an image in the window, whose times are ticks of this core's clock.
template <class Values, std::uint32_t tasks, class Timer>
class CoreRun {
  public:
    using Core = typename Values::Core;
    using Of = typename Values::Task;

    [[gnu::cold]] explicit CoreRun(const ControlBlock& block) noexcept
        : untimed_(core_value(block, Core::untimed) != 0),
          block_(block),
          lines_(window() + core_value(block, Core::lines),
                 static_cast<std::uint32_t>(core_value(block, Core::cores)),
                 static_cast<std::uint32_t>(core_value(block, Core::number))),
          image_(app::plan::Image::trusted(
              reinterpret_cast<const std::byte*>(window() + core_value(block, Core::plan)))),
          tasks_(&image_.task(0, 0)) {}

    [[nodiscard, gnu::cold, gnu::noinline]] const app::plan::Task& planned(
        std::uint32_t place) const noexcept {
        return tasks_[static_cast<std::uint32_t>(task_value(place, Of::number))];
    }
    [[nodiscard]] const app::plan::Core& own_core() const noexcept {
        return image_.core(0, static_cast<std::uint32_t>(core_value(block_, Core::number)));
    }
    [[nodiscard]] OnMiss on_miss(std::uint32_t place) const noexcept { return planned(place).on_miss; }
    [[nodiscard]] const RunLines& lines() const noexcept { return lines_; }
    // A number that the core's program has beside those of `Values`.
    [[nodiscard]] std::uint64_t extra(std::uint32_t place) const noexcept {
        return value_at(block_, static_cast<std::uint32_t>(Core::count) +
                                    tasks * static_cast<std::uint32_t>(Of::count) + place);
    }
    // Results: 0 jobs, 1 ticks a second, 2 and 3 the tick of the run's start, 4 preemptions, and the stack's;
    // of several cores in one time also those of CoreClocks.
    void report(ControlBlock& block, std::uint32_t preemptions) const noexcept {
        report_stack(block);
        block.result(0, finished_);
        block.result(1, static_cast<std::uint32_t>(ThisPort::ticks_per_second()));
        block.result(2, static_cast<std::uint32_t>(start_));
        block.result(3, static_cast<std::uint32_t>(start_ >> 32U));
        block.result(4, preemptions);
    }

  protected:
    // Calls `release_all` once all cores begin. False: the host has ended the run before all cores were
    // there.
    template <class ReleaseAll>
    [[nodiscard, gnu::cold]] bool run(const ReleaseAll& release_all) noexcept {
        start_ = ThisPort::now() + core_value(block_, Core::lead);
        if constexpr (Values::masters > 1) {
            if (!untimed_) {
                CoreClocks clocks(window() + core_value(block_, Core::clocks),
                                  static_cast<std::uint32_t>(core_value(block_, Core::masters)),
                                  static_cast<std::uint32_t>(core_value(block_, Core::number)), block_);
                if (!awaited([&] { return clocks.begin(core_value(block_, Core::lead), start_); })) {
                    return false;
                }
                release_all();
                await_others();
                return awaited([&] { return clocks.end(); });
            }
        }
        release_all();
        return true;
    }
    // From the host's numbers of a task, its ring among them; `data` has its input and output.
    [[gnu::cold, gnu::noinline]] void set_up(std::uint32_t place, const app::plan::Task& task,
                                             app::JobData& data, const Ends& ends, Runner& runner,
                                             app::RingWriter& writer) noexcept {
        const auto value = [&](Of what) { return task_value(place, what); };
        data.plan = &task;
        data.task = static_cast<std::uint16_t>(value(Of::number));
        data.core = static_cast<std::uint16_t>(core_value(block_, Core::number));
        data.row_count = value(Of::rows);
        data.rows =
            data.row_count == 0 ? nullptr : reinterpret_cast<std::byte*>(window() + value(Of::rows_at));
        data.reads = ends.reads;
        data.read_count = ends.read_count;
        data.writes = ends.writes;
        data.write_count = ends.write_count;
        auto* memory = new (window() + value(Of::ring))
            app::RingMemory{static_cast<std::uint32_t>(value(Of::ring_bytes))};
        writer = app::RingWriter(*memory);
        runner = Runner(data, writer);
    }
    void count_job() noexcept {
        check_stack();
        block_.progress(++finished_);
    }
    [[nodiscard]] static std::uint64_t core_value(const ControlBlock& block, Core what) noexcept {
        return bare::core_value<Values>(block, what);
    }
    [[nodiscard]] std::uint64_t task_value(std::uint32_t place, Of what) const noexcept {
        return value_at(block_, static_cast<std::uint32_t>(Core::count) +
                                    place * static_cast<std::uint32_t>(Of::count) +
                                    static_cast<std::uint32_t>(what));
    }

    bool untimed_;
    ControlBlock block_;
    RunLines lines_;
    app::plan::Image image_;
    const app::plan::Task* tasks_;
    Ticks start_ = 0;

  private:
    // Questions, and looks for them, would disturb the last jobs of others, where each stops the board.
    void await_others() const noexcept {
        if constexpr (requires { Timer::await([] { return true; }); }) {
            Timer::await([&] {
                return lines_.all_finished(static_cast<std::uint32_t>(core_value(block_, Core::masters))) ||
                       block_.stop_requested();
            });
        }
    }
    // Waits for other cores; some timers have to go on meanwhile.
    template <class Wait>
    static bool awaited(const Wait& wait) noexcept {
        if constexpr (requires { Timer::begin_waiting(); }) {
            Timer::begin_waiting();
            const bool done = wait();
            Timer::end_waiting();
            return done;
        } else {
            return wait();
        }
    }

    std::uint32_t finished_ = 0;
};

}  // namespace consort::bare
