// SPDX-License-Identifier: Apache-2.0
//
// The application DMA: the segments of a load or an unload one after the other on one channel of the ZDMA.
#pragma once

#include <cstdint>

#include "consort/spm/dma.hpp"
#include "consort/spm/task.hpp"
#include "consort/versal/zdma.hpp"

namespace consort::versal::scratchpad {

class ApplicationDma {
  public:
    // Busy until `lasting` after `now` at least: an emulated DMA takes no time, another one is meant. Silent:
    // never begun.
    void start(const spm::Transfer& transfer, bool silent, Ticks now, Ticks lasting) noexcept {
        transfer_ = transfer;
        at_ = 0;
        silent_ = silent;
        moved_ = transfer.count == 0 && !silent;
        failed_ = false;
        active_ = true;
        end_ = now + lasting;
        if (!moved_ && !silent) {
            next();
        }
    }
    // Called often: goes on to the next segment.
    spm::DmaState poll(Ticks now) noexcept {
        advance();
        if (failed_) {
            active_ = false;
            return spm::DmaState::error;
        }
        if (active_ && moved_ && now >= end_) {
            active_ = false;
        }
        return active_ ? spm::DmaState::busy : spm::DmaState::idle;
    }
    // When the transfer under way will have ended, as far as is known; `never` without one.
    Ticks end() noexcept {
        advance();
        return failed_ ? 0 : active_ && moved_ ? end_ : spm::never;
    }
    bool abort() noexcept {
        const bool stopped = channel_.stop();
        active_ = active_ && !stopped;
        return stopped;
    }
    void disturb() noexcept { channel_.provoke_error(); }

  private:
    void advance() noexcept {
        if (!active_ || moved_ || failed_ || silent_) {
            return;
        }
        if (channel_.failed()) {
            failed_ = true;
        } else if (channel_.done()) {
            moved_ = ++at_ == transfer_.count;
            if (!moved_) {
                next();
            }
        }
    }
    void next() noexcept {
        const spm::Segment& s = transfer_.segment[at_];
        channel_.start(s.to, s.from, s.bytes);
    }

    static constexpr std::uint32_t channel_number = 0;
    Zdma channel_{channel_number};
    spm::Transfer transfer_{};
    std::uint32_t at_ = 0;
    Ticks end_ = 0;
    bool active_ = false;
    bool moved_ = false;
    bool failed_ = false;
    bool silent_ = false;
};

}  // namespace consort::versal::scratchpad
