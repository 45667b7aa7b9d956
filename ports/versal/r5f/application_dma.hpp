// SPDX-License-Identifier: Apache-2.0
//
// The application DMA: the segments of a load or an unload as a list that one channel of the ZDMA works
// through.
#pragma once

#include <cstdint>

#include "consort/spm/dma.hpp"
#include "consort/spm/task.hpp"
#include "consort/versal/scratchpad.hpp"
#include "consort/versal/zdma.hpp"

namespace consort::versal::scratchpad {

class ApplicationDma {
  public:
    // Busy until `lasting` after `now` at least: an emulated DMA takes no time, another one is meant. Silent:
    // never begun.
    void start(const spm::Transfer& transfer, bool silent, Ticks now, Ticks lasting) noexcept {
        silent_ = silent;
        moved_ = transfer.count == 0 && !silent;
        failed_ = false;
        active_ = true;
        end_ = now + lasting;
        if (!moved_ && !silent) {
            OnChip& shared = on_chip_shared();
            for (std::uint32_t i = 0; i < transfer.count; ++i) {
                const spm::Segment& s = transfer.segment[i];
                shared.from[i] = Zdma::descriptor(s.from, s.bytes, i + 1 == transfer.count);
                shared.to[i] = Zdma::descriptor(s.to, s.bytes, false);
            }
            channel_.start(shared.to, shared.from);
        }
    }
    spm::DmaState poll(Ticks now) noexcept {
        look();
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
        look();
        return failed_ ? 0 : active_ && moved_ ? end_ : spm::never;
    }
    bool abort() noexcept {
        const bool stopped = channel_.stop();
        active_ = active_ && !stopped;
        return stopped;
    }
    void disturb() noexcept { channel_.provoke_error(); }

  private:
    void look() noexcept {
        if (!active_ || moved_ || failed_ || silent_) {
            return;
        }
        failed_ = channel_.failed();
        moved_ = !failed_ && channel_.done();
    }

    static constexpr std::uint32_t channel_number = 0;
    Zdma channel_{channel_number};
    Ticks end_ = 0;
    bool active_ = false;
    bool moved_ = false;
    bool failed_ = false;
    bool silent_ = false;
};

}  // namespace consort::versal::scratchpad
