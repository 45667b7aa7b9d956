// SPDX-License-Identifier: Apache-2.0
//
// Devices of a description that are code: a plant (a step in the loop, advanced in logical time) and a
// driver (a class of the user's).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "consort/linux/executive/channels.hpp"
#include "consort/task.hpp"

namespace consort::linux_port {

struct Device {
    Device() = default;
    Device(const Device&) = delete;
    Device& operator=(const Device&) = delete;
    virtual ~Device() = default;
    // Before the first release. `period_ns`: of a plant's step.
    virtual void begin(Ticks start, std::uint64_t period_ns) noexcept = 0;
};

// A plant P is a Task. Its step number i is made at the logical instant start + i * period, with the command
// that was visible then: a job's command is visible from its deadline on, whenever it was really computed.
// So a closed loop gives the same values on every machine, whatever the machine's delays.
template <class P>
class Plant final : public Device {
  public:
    void begin(Ticks start, std::uint64_t period_ns) noexcept override {
        start_ = start;
        period_ns_ = period_ns;
        steps_ = 0;
        next_ = start;
    }

    const typename P::Out& at(Ticks instant) noexcept {
        while (next_ <= instant) {
            take_commands(next_);
            P::step(in_, state_, out_);
            next_ = start_ + Clock::from_ns(++steps_ * period_ns_);
        }
        return out_;
    }
    // A part of the command, visible from `instant` on.
    void command(const void* from, std::size_t offset, std::size_t bytes, Ticks instant) noexcept {
        if (count_ == 0 || pending_[(head_ + count_ - 1) % pending_.size()].visible != instant) {
            if (count_ == pending_.size()) {
                take(pending_[head_]);
            }
            Command& fresh = pending_[(head_ + count_) % pending_.size()];
            fresh.in = count_ == 0 ? in_ : pending_[(head_ + count_ - 1) % pending_.size()].in;
            fresh.visible = instant;
            ++count_;
        }
        Command& last = pending_[(head_ + count_ - 1) % pending_.size()];
        std::memcpy(reinterpret_cast<std::byte*>(&last.in) + offset, from, bytes);
    }

    // DeviceReader and DeviceWriter.
    bool read(void* to, std::size_t offset, std::size_t bytes, Ticks as_of) noexcept {
        std::memcpy(to, reinterpret_cast<const std::byte*>(&at(as_of)) + offset, bytes);
        return true;
    }
    void write(const void* from, std::size_t offset, std::size_t bytes, Ticks visible) noexcept {
        command(from, offset, bytes, visible);
    }
    template <class Member>
    bool read_as(Member& to, std::size_t offset, Ticks as_of) noexcept {
        return read(&to, offset, sizeof to, as_of);
    }
    template <class Member>
    void write_as(const Member& from, std::size_t offset, Ticks visible) noexcept {
        write(&from, offset, sizeof from, visible);
    }

  private:
    struct Command {
        Ticks visible;
        typename P::In in;
    };
    void take(const Command& command) noexcept {
        in_ = command.in;
        head_ = (head_ + 1) % pending_.size();
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
    std::array<Command, 16> pending_{};
    std::size_t head_ = 0;
    std::size_t count_ = 0;
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

template <class D, class Member>
class DeviceReader final : public ReadSource {
  public:
    DeviceReader(D& device, std::size_t offset) : device_(&device), offset_(offset) {}
    Transferred read(std::byte* to, Ticks as_of) noexcept override {
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
class DeviceWriter final : public WriteTarget {
  public:
    DeviceWriter(D& device, std::size_t offset) : device_(&device), offset_(offset) {}
    Transferred write(const std::byte* from, Ticks visible) noexcept override {
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

}  // namespace consort::linux_port
