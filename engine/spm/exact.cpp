// SPDX-License-Identifier: Apache-2.0
#include "spm/exact.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <unordered_set>

namespace consort::engine::spm {

namespace {

constexpr std::size_t most_tasks = 5;
constexpr Time most_rounds = 126;

enum class Stage : std::uint8_t { idle, pending, loaded };

// At the start of an own slot. Times of tasks in rounds since the last release, of the CPU in ticks from now.
struct State {
    // By task. `since` saturates at most_rounds + 1: it may be released.
    std::array<Stage, most_tasks> stage{};
    std::array<std::uint8_t, most_tasks> since = [] {
        std::array<std::uint8_t, most_tasks> all{};
        all.fill(most_rounds + 1);
        return all;
    }();
    std::uint8_t loaded = 0;
    std::array<std::uint8_t, 2> job{};  // tasks in load order
    std::array<std::int32_t, 2> finish{};

    bool operator==(const State&) const = default;
};

struct Hash {
    std::size_t operator()(const State& s) const noexcept {
        std::uint64_t h = s.loaded;
        const auto mix = [&h](std::uint64_t value) {
            h = (h ^ value) * 0x9e3779b97f4a7c15U;
            h ^= h >> 29;
        };
        for (std::size_t i = 0; i < most_tasks; ++i) {
            mix(static_cast<std::uint64_t>(s.since[i]) * 4 + static_cast<std::uint64_t>(s.stage[i]));
        }
        for (std::size_t k = 0; k < 2; ++k) {
            mix(static_cast<std::uint64_t>(s.job[k]) << 32 | static_cast<std::uint32_t>(s.finish[k]));
        }
        return h;
    }
};

class Explorer {
  public:
    Explorer(std::span<const Task> tasks, Tdma tdma, bool vary, std::size_t max_states)
        : tasks_(tasks), tdma_(tdma), max_states_(max_states), vary_(vary) {
        result_.response.assign(tasks.size(), 0);
    }

    Exact run() {
        visit(State{});
        while (!work_.empty() && result_.late_task < 0) {
            if (seen_.size() > max_states_) {
                result_.states = seen_.size();
                return result_;
            }
            const State state = work_.back();
            work_.pop_back();
            decide(state);
        }
        result_.states = seen_.size();
        result_.complete = result_.late_task < 0;
        return result_;
    }

  private:
    void visit(const State& state) {
        if (seen_.insert(state).second) {
            work_.push_back(state);
        }
    }

    // The action of the I/O core in the slot that begins now.
    void decide(const State& state) {
        if (state.loaded < 2) {
            for (std::size_t i = 0; i < tasks_.size(); ++i) {
                if (state.stage[i] == Stage::pending) {
                    load(state, i, tasks_[i].execution);
                    if (vary_ && tasks_[i].execution > 1) {
                        load(state, i, 1);
                    }
                    return;
                }
            }
        }
        State next = state;
        if (state.loaded > 0 && state.finish[0] <= 0) {
            const std::size_t i = state.job[0];
            Time& worst = result_.response[i];
            worst = std::max(worst, state.since[i] * tdma_.round + tdma_.slot);
            next.stage[i] = Stage::idle;
            next.job[0] = next.job[1];
            next.finish[0] = next.finish[1];
            next.job[1] = 0;
            next.finish[1] = 0;
            --next.loaded;
        }
        release(next, 0);
    }

    void load(const State& state, std::size_t i, Time execution) {
        State next = state;
        const Time free = state.loaded > 0 ? state.finish[state.loaded - 1U] : 0;
        const Time start = std::max(tdma_.slot, free);
        next.stage[i] = Stage::loaded;
        next.job[next.loaded] = static_cast<std::uint8_t>(i);
        next.finish[next.loaded] = static_cast<std::int32_t>(start + execution);
        ++next.loaded;
        release(next, 0);
    }

    // Every choice of tasks that are released just after this slot's decision.
    void release(const State& state, std::size_t from) {
        for (std::size_t i = from; i < tasks_.size(); ++i) {
            const std::uint8_t since = state.since[i];
            if (since * tdma_.round >= tasks_[i].period || since > most_rounds) {
                if (state.stage[i] != Stage::idle) {
                    result_.late_task = static_cast<int>(i);
                    return;
                }
                State next = state;
                next.stage[i] = Stage::pending;
                next.since[i] = 0;
                release(next, i + 1);
            }
        }
        pass(state);
    }

    void pass(State state) {
        for (std::size_t i = 0; i < tasks_.size(); ++i) {
            std::uint8_t& since = state.since[i];
            if (since <= most_rounds) {
                ++since;
            }
            // Events longer ago than a period make no difference.
            if (state.stage[i] == Stage::idle && since * tdma_.round >= tasks_[i].period) {
                since = most_rounds + 1;
            }
        }
        for (std::size_t k = 0; k < state.loaded; ++k) {
            const Time left = state.finish[k] - tdma_.round;
            // The second executes after the first, so only how long ago the last one ended is forgotten.
            state.finish[k] = static_cast<std::int32_t>(std::max<Time>(left, -1));
        }
        visit(state);
    }

    std::span<const Task> tasks_;
    Tdma tdma_;
    std::size_t max_states_;
    bool vary_;
    Exact result_;
    std::unordered_set<State, Hash> seen_;
    std::vector<State> work_;
};

}  // namespace

Exact exact(std::span<const Task> tasks, Tdma tdma, bool vary, std::size_t max_states) {
    check(tasks, tdma);
    if (tasks.size() > most_tasks) {
        throw std::invalid_argument("at most " + std::to_string(most_tasks) + " tasks can be explored");
    }
    for (const Task& t : tasks) {
        if (t.period % tdma.round != 0 || t.period / tdma.round > most_rounds) {
            throw std::invalid_argument("periods must be multiples of the round, at most " +
                                        std::to_string(most_rounds) + " of it; " + std::to_string(t.period) +
                                        " is not, the round is " + std::to_string(tdma.round));
        }
    }
    return Explorer(tasks, tdma, vary, max_states).run();
}

}  // namespace consort::engine::spm
