// SPDX-License-Identifier: Apache-2.0
//
// A fault that a test asks for: the process dies in a job of a task, after so many of the job's steps beside
// its computation. A step: a word of the checkpoint, a channel's write, the job's rows.
#pragma once

#include <signal.h>
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "consort/linux/executive/channels.hpp"
#include "consort/linux/executive/config.hpp"

namespace consort::linux_port {

class DiesInJob {
  public:
    DiesInJob() = default;
    DiesInJob(const RunConfig& config, std::uint16_t task) {
        for (const FaultConfig& fault : config.faults) {
            if (fault.task == task) {
                fault_ = &fault;
            }
        }
    }
    [[nodiscard]] bool asked() const noexcept { return fault_ != nullptr; }
    void begins(std::uint64_t job) noexcept {
        job_ = job;
        steps_ = 0;
    }
    void step() noexcept {
        if (fault_ != nullptr && job_ == fault_->job && steps_++ == fault_->step) {
            ::kill(::getpid(), SIGKILL);
        }
    }

  private:
    const FaultConfig* fault_ = nullptr;
    std::uint64_t job_ = ~std::uint64_t{0};
    std::uint32_t steps_ = 0;
};

// A step before each write, and one after it.
class WriteThatDies final : public WriteTarget {
  public:
    WriteThatDies(std::shared_ptr<WriteTarget> target, DiesInJob& dies)
        : target_(std::move(target)), dies_(&dies) {}
    Transferred write(const std::byte* from, Ticks visible) noexcept override {
        dies_->step();
        const Transferred done = target_->write(from, visible);
        dies_->step();
        return done;
    }
    std::span<std::byte> kept() noexcept override { return target_->kept(); }
    void take_over() noexcept override { target_->take_over(); }
    void passed() noexcept override { target_->passed(); }

  private:
    std::shared_ptr<WriteTarget> target_;
    DiesInJob* dies_;
};

}  // namespace consort::linux_port
