// SPDX-License-Identifier: Apache-2.0
//
// A channel of the ZDMA as what moves the bytes of a link (consort/link/engine.hpp): the segments of a
// transfer are a list that the channel works through by itself.
#pragma once

#include <cstdint>

#include "consort/link/transaction.hpp"
#include "consort/versal/zdma.hpp"

namespace consort::versal {

class LinkDma {
  public:
    // In memory that the channel sees as it is: uncached.
    struct Lists {
        ZdmaDescriptor to[spm::largest_transfer];
        ZdmaDescriptor from[spm::largest_transfer];
    };

    LinkDma(std::uint32_t channel, Lists& lists) noexcept : channel_(channel), lists_(&lists) {}

    void start(const spm::Transfer& transfer) noexcept {
        failed_ = false;
        busy_ = transfer.count != 0;
        for (std::uint32_t i = 0; i < transfer.count; ++i) {
            const spm::Segment& s = transfer.segment[i];
            lists_->from[i] = Zdma::descriptor(s.from, s.bytes, i + 1 == transfer.count);
            lists_->to[i] = Zdma::descriptor(s.to, s.bytes, false);
        }
        if (busy_) {
            channel_.start(lists_->to, lists_->from);
        }
    }
    [[nodiscard]] spm::DmaState state() noexcept {
        if (busy_) {
            failed_ = channel_.failed();
            busy_ = !failed_ && !channel_.done();
        }
        return failed_ ? spm::DmaState::error : busy_ ? spm::DmaState::busy : spm::DmaState::idle;
    }
    // A channel that does not stop would go on writing: it is waited for.
    void abort() noexcept {
        while (!channel_.stop()) {
        }
        busy_ = false;
    }
    // Tests: see Zdma.
    void provoke_error() noexcept { channel_.provoke_error(); }

  private:
    Zdma channel_;
    Lists* lists_;
    bool busy_ = false;
    bool failed_ = false;
};

static_assert(link::Dma<LinkDma>);

}  // namespace consort::versal
