// SPDX-License-Identifier: Apache-2.0
//
// Devices of a description that are code: a plant (a step in the loop, advanced in logical time) and a
// driver (a class of the user's).
#pragma once

#include <cstddef>
#include <cstdint>
#include <ostream>
#include <type_traits>

#include "consort/app/device_ends.hpp"
#include "consort/linux/executive/channels.hpp"

namespace consort::linux_port {

struct Device {
    Device() = default;
    Device(const Device&) = delete;
    Device& operator=(const Device&) = delete;
    virtual ~Device() = default;
    // Before the first release. `period_ns`: of a plant's step.
    virtual void begin(Ticks start, std::uint64_t period_ns) noexcept = 0;
    // A plant's state after each `every`-th step goes to `to`.
    virtual void keep_states(std::ostream& /*to*/, std::uint64_t /*every*/) noexcept {}
};

// Rows of a plant's logical time since the start [ns] and its state, where somebody keeps them.
class StateRows {
  public:
    void keep(std::ostream& to, std::uint64_t every) noexcept {
        to_ = &to;
        every_ = every;
    }
    template <class State>
    void operator()(std::uint64_t ns, const State& state) noexcept {
        if (to_ == nullptr || steps_++ % every_ != 0) {
            return;
        }
        to_->write(reinterpret_cast<const char*>(&ns), sizeof ns);
        if constexpr (!std::is_empty_v<State>) {
            to_->write(reinterpret_cast<const char*>(&state), sizeof state);
        }
    }

  private:
    std::ostream* to_ = nullptr;
    std::uint64_t every_ = 1;
    std::uint64_t steps_ = 0;
};

template <class P>
class Plant final : public Device, public app::Plant<P, LinuxPort, StateRows> {
  public:
    void begin(Ticks start, std::uint64_t period_ns) noexcept override {
        app::Plant<P, LinuxPort, StateRows>::begin(start, period_ns);
    }
    void keep_states(std::ostream& to, std::uint64_t every) noexcept override { this->seen_.keep(to, every); }
};

// A driver D has `bool read(T&)` (false: nothing new) and `void write(const T&)`, for the member types that
// are bound to it. Both are called by the task's own thread and must never block.
template <class D>
class Driver final : public Device {
  public:
    void begin(Ticks /*start*/, std::uint64_t /*period_ns*/) noexcept override {}
    template <class Member>
    bool read_as(Member& to, std::size_t /*offset*/, Ticks /*as_of*/) noexcept {
        return driver_.read(to);
    }
    template <class Member>
    void write_as(const Member& from, std::size_t /*offset*/, Ticks /*visible*/) noexcept {
        driver_.write(from);
    }

  private:
    D driver_{};
};

}  // namespace consort::linux_port
