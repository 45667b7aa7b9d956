// SPDX-License-Identifier: Apache-2.0
//
// Peer: the side of a shared region to and from which the link moves bytes. It posts nothing: a bare core
// needs no more than a mailbox in each direction and its memory.
#pragma once

#include <cstdint>

#include "consort/dsm/changes.hpp"
#include "consort/dsm/host.hpp"
#include "consort/dsm/side.hpp"

namespace consort::dsm {

template <class A = access::Coherent, class Tracker = NoTracker>
class Peer : public Side<Peer<A, Tracker>, A> {
    using Base = Side<Peer, A>;
    friend Base;

  public:
    using Mail = typename Base::Mail;

    // `region`: the peer's copy; `own`: its masks of changes, in memory that the link reaches. `right`: none;
    // write only where the region begins here.
    Peer(typename Mail::Shared& out, typename Mail::Shared& in, std::byte* region, std::uint64_t* masks,
         std::uint32_t pages, Right right = Right::none, Tracker tracker = {}) noexcept
        : Base(out, in, false, right),
          region_(region),
          masks_(masks),
          own_(masks, pages),
          tracker_(tracker) {}

    void touch(std::uint32_t offset, std::uint32_t bytes) noexcept { own_.touch(offset, bytes); }

  private:
    void began(Right use) noexcept {
        if (use == Right::write) {
            tracker_.arm();
            number_ += 1;
        }
    }
    void resend_all() noexcept {
        own_.add_all();
        number_ += 1;
    }
    void stop_handing_over() noexcept {}

    bool hand_over() noexcept {
        tracker_.collect(own_);
        for (std::uint32_t page = 0; page < own_.pages(); ++page) {
            if (own_.mask(page) != 0) {
                A::publish_range(region_ + std::size_t{page} * page_bytes, page_bytes);
            }
        }
        A::publish_range(masks_, own_.pages() * sizeof(std::uint64_t));
        this->announce(own_.changed_pages(), number_);
        return true;
    }

    bool take(const Message& /*grant*/) noexcept {
        // The host has fetched what was changed here, or sent all of it anew.
        own_.clear();
        A::observe_range(region_, std::size_t{own_.pages()} * page_bytes);
        return true;
    }

    std::byte* region_;
    std::uint64_t* masks_;
    Changes own_;
    Tracker tracker_;
    std::uint32_t number_ = 0;
};

}  // namespace consort::dsm
