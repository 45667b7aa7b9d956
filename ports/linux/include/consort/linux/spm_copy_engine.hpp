// SPDX-License-Identifier: Apache-2.0
//
// The application DMA of a machine that has none to give: the I/O core copies, a piece at a time, between
// its other duties.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "consort/icc/access.hpp"
#include "consort/spm/dma.hpp"

namespace consort::linux_port {

class CopyEngine {
  public:
    // A piece is what the kernel may have to wait for at a slot's begin.
    explicit CopyEngine(std::uint32_t piece = 4096) noexcept : piece_(piece) {}

    void start(const spm::Transfer& transfer) noexcept {
        transfer_ = transfer;
        segment_ = 0;
        at_ = 0;
    }
    [[nodiscard]] spm::DmaState state() const noexcept {
        return segment_ == transfer_.count ? spm::DmaState::idle : spm::DmaState::busy;
    }
    void abort() noexcept { segment_ = transfer_.count; }

    // Copies the next piece. False: nothing was to be copied.
    bool advance() noexcept {
        if (segment_ == transfer_.count) {
            return false;
        }
        const spm::Segment& s = transfer_.segment[segment_];
        const std::uint32_t bytes = std::min(piece_, s.bytes - at_);
        if (is_word(s)) {
            move_word(s);
        } else {
            std::memcpy(s.to + at_, s.from + at_, bytes);
        }
        at_ += bytes;
        if (at_ == s.bytes) {
            ++segment_;
            at_ = 0;
        }
        return true;
    }

  private:
    // A word moves whole, behind all that was moved before it: whoever polls it finds that.
    static bool is_word(const spm::Segment& s) noexcept {
        return s.bytes == sizeof(access::SharedWord) &&
               (reinterpret_cast<std::uintptr_t>(s.from) | reinterpret_cast<std::uintptr_t>(s.to)) %
                       alignof(access::SharedWord) ==
                   0;
    }
    static void move_word(const spm::Segment& s) noexcept {
        using access::Coherent;
        const auto& from = *reinterpret_cast<const access::SharedWord*>(s.from);
        Coherent::store<SyncPoint::link_word_write>(*reinterpret_cast<access::SharedWord*>(s.to),
                                                    Coherent::load<SyncPoint::link_word_read>(from));
    }

    std::uint32_t piece_;
    spm::Transfer transfer_{};
    std::uint32_t segment_ = 0;
    std::uint32_t at_ = 0;
};

}  // namespace consort::linux_port
