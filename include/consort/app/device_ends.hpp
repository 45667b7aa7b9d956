// SPDX-License-Identifier: Apache-2.0
//
// Devices that are code or data, on every target: a plant (a step in the loop, advanced in logical time) and
// a recording; and the ends by which a task reads and writes a device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "consort/app/job_runner.hpp"

namespace consort::app {

// A plant P is a Task. Its step number i is made at the logical instant start + i * period, with the command
// that was visible then: a job's command is visible from its deadline on, whenever it was really computed.
// So a closed loop gives the same values on every machine, whatever the machine's delays.
// Clock: from_ns(). After each step Seen is called with the step's logical time since the start [ns] and the
// plant's state.
struct NobodySees {
    template <class State>
    void operator()(std::uint64_t /*ns*/, const State& /*state*/) const noexcept {}
};
template <class P, class Clock, class Seen = NobodySees>
class Plant {
  public:
    // Before the first release. `period_ns`: of the plant's step.
    void begin(Ticks start, std::uint64_t period_ns) noexcept {
        start_ = start;
        period_ns_ = period_ns;
        steps_ = 0;
        next_ = start;
    }

    const typename P::Out& at(Ticks instant) noexcept {
        while (next_ <= instant) {
            take_commands(next_);
            P::step(in_, state_, out_);
            seen_(steps_ * period_ns_, state_);
            next_ = start_ + Clock::from_ns(++steps_ * period_ns_);
        }
        return out_;
    }
    // A part of the command, visible from `instant` on.
    void command(const void* from, std::size_t offset, std::size_t bytes, Ticks instant) noexcept {
        if (count_ == 0 || pending_[(head_ + count_ - 1) % most_pending].visible != instant) {
            if (count_ == most_pending) {
                take(pending_[head_]);
            }
            Command& fresh = pending_[(head_ + count_) % most_pending];
            fresh.in = count_ == 0 ? in_ : pending_[(head_ + count_ - 1) % most_pending].in;
            fresh.visible = instant;
            ++count_;
        }
        Command& last = pending_[(head_ + count_ - 1) % most_pending];
        std::memcpy(reinterpret_cast<std::byte*>(&last.in) + offset, from, bytes);
    }

    // The interface for DeviceReader and DeviceWriter.
    template <class Member>
    bool read_as(Member& to, std::size_t offset, Ticks as_of) noexcept {
        std::memcpy(&to, reinterpret_cast<const std::byte*>(&at(as_of)) + offset, sizeof to);
        return true;
    }
    template <class Member>
    void write_as(const Member& from, std::size_t offset, Ticks visible) noexcept {
        command(&from, offset, sizeof from, visible);
    }

  protected:
    [[no_unique_address]] Seen seen_{};

  private:
    struct Command {
        Ticks visible;
        typename P::In in;
    };
    void take(const Command& command) noexcept {
        in_ = command.in;
        head_ = (head_ + 1) % most_pending;
        --count_;
    }
    void take_commands(Ticks instant) noexcept {
        while (count_ != 0 && pending_[head_].visible <= instant) {
            take(pending_[head_]);
        }
    }

    typename P::In in_{};
    typename P::State state_{};
    typename P::Out out_{};
    Ticks start_ = 0;
    std::uint64_t period_ns_ = 1;
    std::uint64_t steps_ = 0;
    Ticks next_ = 0;
    // Commands that are computed and not visible yet: more than one where a deadline is above the period.
    static constexpr std::size_t most_pending = 16;
    Command pending_[most_pending]{};
    std::size_t head_ = 0;
    std::size_t count_ = 0;
};

// A recording bound to one member: a row a job, from the first again at the end.
class RowsReader {
  public:
    RowsReader(const std::byte* rows, std::uint64_t count, std::uint32_t bytes) noexcept
        : rows_(rows), count_(count), bytes_(bytes) {}
    Transferred read(std::byte* to, Ticks /*as_of*/) noexcept {
        std::memcpy(to, rows_ + (next_ % count_) * bytes_, bytes_);
        ++next_;
        return {next_, 1, Operation::read};
    }
    // How many rows were read.
    [[nodiscard]] std::uint64_t& position() noexcept { return next_; }

  private:
    const std::byte* rows_;
    std::uint64_t count_;
    std::uint32_t bytes_;
    std::uint64_t next_ = 0;
};

template <class D, class Member>
class DeviceReader {
  public:
    DeviceReader(D& device, std::size_t offset) noexcept : device_(&device), offset_(offset) {}
    Transferred read(std::byte* to, Ticks as_of) noexcept {
        Member value{};
        if (device_->read_as(value, offset_, as_of)) {
            std::memcpy(to, &value, sizeof value);
            ++sequence_;
        }
        return {sequence_, 1, Operation::read};
    }

  private:
    D* device_;
    std::size_t offset_;
    std::uint64_t sequence_ = 0;
};

template <class D, class Member>
class DeviceWriter {
  public:
    DeviceWriter(D& device, std::size_t offset) noexcept : device_(&device), offset_(offset) {}
    Transferred write(const std::byte* from, Ticks visible) noexcept {
        Member value{};
        std::memcpy(&value, from, sizeof value);
        device_->write_as(value, offset_, visible);
        return {++sequence_, 1, Operation::write};
    }

  private:
    D* device_;
    std::size_t offset_;
    std::uint64_t sequence_ = 0;
};

}  // namespace consort::app
