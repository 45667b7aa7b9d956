// SPDX-License-Identifier: Apache-2.0
//
// The end of a segment whose pages stay: all of them come, while the program goes on, and the range becomes
// ordinary memory.
#include <algorithm>

#include "pager.hpp"
#include "waiting.hpp"

namespace consort::remote {

namespace {

constexpr auto relaxed = std::memory_order_relaxed;
constexpr auto acquire = std::memory_order_acquire;
constexpr auto release = std::memory_order_release;
constexpr auto both = std::memory_order_acq_rel;

}  // namespace

bool Pager::settle(const std::vector<Range>& ranges) noexcept {
    if (settled_.load(acquire) == Settled::left) {
        return true;
    }
    // The evicting thread may have looked before this, and be about to evict what is swept.
    evicting_.close([patience = Patience{}]() mutable { patience.wait(); });
    // As large a cache as the segment: no fault waits for a page to be evicted.
    free_.fetch_add(pages_, both);
    bool all = true;
    for (const Range& range : ranges) {
        const auto end = static_cast<std::uint32_t>((range.offset + range.bytes + page_size() - 1) >> shift_);
        for (auto page = static_cast<std::uint32_t>(range.offset >> shift_); all && page < end; ++page) {
            all = bring_to_stay(page, end);
        }
    }
    // From here on no page of the ranges is absent but what the program discards, which is zeros, in ordinary
    // memory, too. What a thread still does to the others is to let them be written to, which they are anyway
    // once the range has been left.
    if (all) {
        reached(Step::swept);
        // In this order: who waits for `leaving` to end holds pages that a thread in the gate may wait for.
        using_home_.close([patience = Patience{}]() mutable { patience.wait(); });
        settled_.store(Settled::leaving, release);
        all = memory_.leave();
        settled_.store(all ? Settled::left : Settled::no, release);
    }
    if (all) {
        reached(Step::left);
        // Its server has the room again.
        stop();
        transport_.reset();
        return true;
    }
    using_home_.open();
    free_.fetch_sub(pages_, both);
    evicting_.open();
    wake_evictor();
    return false;
}

bool Pager::has_left() const noexcept {
    Patience patience;
    for (;;) {
        const Settled now = settled_.load(acquire);
        if (now != Settled::leaving) {
            return now == Settled::left;
        }
        patience.wait();
    }
}

// Until the page is here, and nobody is bringing or evicting it.
bool Pager::bring_to_stay(std::uint32_t page, std::uint32_t end) noexcept {
    Patience patience;
    for (;;) {
        std::uint32_t word = table_[page].word.load(acquire);
        const PageState state = Page::state(word);
        if (state == PageState::resident) {
            return true;
        }
        if (state != PageState::away) {
            patience.wait();
            continue;
        }
        if (lost()) {
            return false;
        }
        // No handler of the program may touch what this thread is bringing.
        const Quiet quiet;
        if (!table_[page].word.compare_exchange_strong(word, Page::with(word, PageState::busy), both)) {
            continue;
        }
        free_.fetch_sub(1, both);
        const bool homed = (word & Page::homed) != 0;
        Run run{page, std::min(batch_, end - page)};
        claim_more(run, homed);
        if (fill(run, homed, false) != Outcome::good) {
            return false;
        }
        // Nobody waited for them: they are not faults.
        counted_.prefetched.fetch_add(run.count, relaxed);
        return true;
    }
}

}  // namespace consort::remote
