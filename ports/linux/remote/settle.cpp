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
    settling_.store(true, release);
    // As large a cache as the segment: no fault waits for a page to be evicted.
    free_.fetch_add(pages_, both);
    bool all = true;
    for (const Range& range : ranges) {
        const auto end = static_cast<std::uint32_t>((range.offset + range.bytes + page_size() - 1) >> shift_);
        for (auto page = static_cast<std::uint32_t>(range.offset >> shift_); all && page < end; ++page) {
            all = bring_to_stay(page, end);
        }
    }
    // From here on no page of the ranges is absent, and none becomes so: what a thread still does to one is
    // to let it be written to, which it is anyway once the range has been left.
    settled_.store(all, release);
    if (all && memory_.leave()) {
        // Its server has the room again.
        stop();
        transport_.reset();
        return true;
    }
    settled_.store(false, release);
    free_.fetch_sub(pages_, both);
    settling_.store(false, release);
    wake_evictor();
    return false;
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
        // Nobody waited for them: they are no faults.
        counted_.prefetched.fetch_add(run.count, relaxed);
        return true;
    }
}

}  // namespace consort::remote
