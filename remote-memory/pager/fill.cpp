// SPDX-License-Identifier: Apache-2.0
//
// How absent pages come: those of a fault, and those that come ahead of one.
#include <algorithm>
#include <cstring>

#include "pager.hpp"
#include "waiting.hpp"

namespace consort::remote {

namespace {

constexpr auto relaxed = std::memory_order_relaxed;
constexpr auto acquire = std::memory_order_acquire;
constexpr auto release = std::memory_order_release;
constexpr auto both = std::memory_order_acq_rel;

alignas(page_bytes) const std::array<std::byte, most_pages * page_bytes> zeros{};

}  // namespace

// The page is busy and has its frame in the cache.
bool Pager::bring(std::uint32_t page, std::uint32_t word, bool write) noexcept {
    const bool homed = (word & Page::homed) != 0;
    Run run = sequences_.expected(page, options_.prefetch);
    claim_more(run, homed);
    const Outcome why = fill(run, homed, write);
    if (why != Outcome::good) {
        counted_.failed.fetch_add(1, relaxed);
        complain(reinterpret_cast<std::uintptr_t>(base()) + place_of(page), why);
        return false;
    }
    if (run.count == 0) {
        return true;  // the access is repeated, in ordinary memory
    }
    sequences_.brought(run);
    if (run.count > 1) {
        counted_.prefetched.fetch_add(run.count - 1, relaxed);
    }
    return true;
}

void Pager::claim_more(Run& run, bool homed) noexcept {
    if (run.count == 1) {
        return;
    }
    const std::uint32_t most = 1 + take_spare_frames(run.count - 1);
    run.count = 1;
    while (run.count < most && run.page(run.count) < pages_) {
        std::atomic<std::uint32_t>& at = table_[run.page(run.count)].word;
        std::uint32_t next = at.load(acquire);
        if (Page::state(next) != PageState::away || ((next & Page::homed) != 0) != homed ||
            !at.compare_exchange_strong(next, Page::with(next, PageState::busy), both)) {
            break;
        }
        ++run.count;
    }
    give_frames(most - run.count);
}

Outcome Pager::fill(Run& run, bool homed, bool write) noexcept {
    const std::uint32_t claimed = run.count;
    const bool mapped = options_.pages == Pages::mapped;
    const bool alone = homed && transport_->serial();
    if (alone) {
        Patience patience;
        while (fetching_.test_and_set(acquire)) {
            patience.wait();
        }
    }
    // A mapped page can be written to from now on.
    write = write || mapped;
    Fetched found{nullptr, 0};
    bool left = false;
    Outcome why = mapped ? Outcome::good : source_of(run, homed, write, found);
    if (why == Outcome::good) {
        // Before the program goes on: a record that it asks for then has them.
        recorder_.note(run);
        reached(Step::fills);
        // `busy` keeps others away until all of them are there.
        if (place(run, found, write) != 0) {
            // Settle may have left the range meanwhile. What is absent in it then is zeros, and what other
            // threads have put there since must stay.
            left = !homed && has_left();
            why = left ? why : Outcome::out_of_memory;
        }
    }
    if (alone) {
        fetching_.clear(release);
    }
    if (why != Outcome::good) {
        // Some of them may be there: nobody may take them for what they are not.
        for (std::uint32_t i = 0; i < claimed; ++i) {
            memory_.drop(place_of(run.page(i)), page_size());
        }
    }
    if (why != Outcome::good || left) {
        run.count = 0;
    }
    for (std::uint32_t i = 0; i < claimed; ++i) {
        const std::uint32_t page = run.page(i);
        std::uint32_t then = Page::with(table_[page].word.load(relaxed), PageState::away);
        if (i < run.count) {
            then = Page::with(then, PageState::resident) | (write ? Page::dirty : 0) |
                   (mapped ? Page::homed : 0);
        }
        if (i == 0 && run.count != 0 && homed && came_back_soon(page)) {
            then |= Page::lap;
        }
        table_[page].word.store(then, release);
        if (i < run.count) {
            queue_.add(page);
        }
    }
    give_frames(claimed - run.count);
    (homed ? counted_.fetched : counted_.zeroed).fetch_add(run.count, relaxed);
    return why;
}

int Pager::place(const Run& run, const Fetched& found, bool write) noexcept {
    const bool mapped = options_.pages == Pages::mapped;
    const bool together =
        run.stride == 1 && (mapped || found.step == static_cast<std::ptrdiff_t>(page_size()));
    const std::uint32_t pages = together ? run.count : 1;
    // While frozen a page that counts as written to is protected all the same.
    const bool writable = write && !mapped && writing_.enter();
    int error = 0;
    for (std::uint32_t i = 0; error == 0 && i < run.count; i += pages) {
        const std::size_t at = place_of(run.page(i));
        error = mapped ? memory_.resume(at, place_of(pages))
                       : memory_.copy(at, found.data + i * found.step, place_of(pages), !writable);
    }
    if (writable) {
        writing_.leave();
    }
    return error;
}

// Fewer pages were evicted after this one than the cache holds.
bool Pager::came_back_soon(std::uint32_t page) const noexcept {
    const auto evictions = static_cast<std::uint32_t>(counted_.evicted.load(relaxed));
    return evictions - table_[page].evicted_at < static_cast<std::uint32_t>(cache_pages_);
}

Outcome Pager::fetch(const Run& run, std::byte* bounce, Fetched& found) noexcept {
    const Outcome why = lost() ? why_lost_.load(relaxed) : transport_->fetch(run, bounce, found);
    if (why != Outcome::good) {
        lose(why);
    }
    return why;
}

// Where the pages' content is. The run shrinks to the pages before the first prefetched one that is not
// whole.
Outcome Pager::source_of(Run& run, bool homed, bool& write, Fetched& found) noexcept {
    if (!homed) {
        found = {parts_ == 1 ? zeros.data() : memory_.huge_zeros(), static_cast<std::ptrdiff_t>(page_size())};
        return Outcome::good;
    }
    if (parts_ != 1) {
        return gather(run.first, write, found);
    }
    if (const Outcome why = fetch(run, bounce_.get(), found); why != Outcome::good) {
        return why;
    }
    const auto whole = [&](std::uint32_t i) {
        return page_crc(found.data + i * found.step) == crc_of(run.page(i));
    };
    for (std::uint32_t i = 0; i < run.count; ++i) {
        if (whole(i)) {
            continue;
        }
        if (i > 0) {
            run.count = i;
            return Outcome::good;
        }
        run.count = 1;
        return correct(run.first, bounce_.get(), write, found);
    }
    return Outcome::good;
}

Outcome Pager::correct(std::uint32_t small, std::byte* bounce, bool& write, Fetched& found) noexcept {
    for (std::uint32_t attempt = 1;; ++attempt) {
        const Outcome other = transport_->fetch_elsewhere(small, attempt, bounce, found);
        if (other == Outcome::corrupted) {
            return other;
        }
        if (other == Outcome::good && page_crc(found.data) == crc_of(small)) {
            // It counts as written to: so it goes to all of its homes again.
            write = true;
            counted_.corrected.fetch_add(1, relaxed);
            return other;
        }
    }
}

// In messages of small pages. Memory of this machine is looked at where it is, once all of it is known to be
// what was stored.
Outcome Pager::gather(std::uint32_t page, bool& write, Fetched& found) noexcept {
    const std::byte* home = transport_->home();
    const std::uint32_t begin = page * parts_;
    for (std::uint32_t done = 0; done < parts_; done += most_pages) {
        std::byte* to = bounce_.get() + std::size_t{done} * page_bytes;
        Fetched piece{};
        if (const Outcome why = fetch({begin + done, most_pages}, to, piece); why != Outcome::good) {
            return why;
        }
        for (std::uint32_t i = 0; i < most_pages; ++i) {
            const std::uint32_t small = begin + done + i;
            Fetched part{piece.data + i * piece.step, 0};
            std::byte* here = to + std::size_t{i} * page_bytes;
            if (page_crc(part.data) != crc_of(small)) {
                if (const Outcome other = correct(small, here, write, part); other != Outcome::good) {
                    return other;
                }
            }
            if (home == nullptr && part.data != here) {
                // NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): a good outcome has data.
                std::memcpy(here, part.data, page_bytes);
            }
        }
    }
    found = {home == nullptr ? bounce_.get() : home + place_of(page),
             static_cast<std::ptrdiff_t>(page_size())};
    return Outcome::good;
}

void Pager::prefetch(std::vector<std::uint32_t> pages) {
    const std::lock_guard lock(ordering_);
    if (ending_.load(acquire)) {
        return;
    }
    order_ = std::move(pages);
    if (!prefetcher_.joinable()) {
        prefetcher_ = quiet_thread([this] { prefetch_until_told(); });
    }
    ordered_.notify_all();
}

void Pager::prefetch_until_told() noexcept {
    for (;;) {
        std::vector<std::uint32_t> pages;
        {
            std::unique_lock lock(ordering_);
            ordered_.wait(lock, [&] { return !order_.empty() || ending_.load(acquire); });
            if (ending_.load(acquire)) {
                return;
            }
            pages.swap(order_);
        }
        prefetch_some(pages);
    }
}

void Pager::prefetch_some(const std::vector<std::uint32_t>& pages) noexcept {
    for (std::size_t i = 0; i < pages.size() && !ending_.load(acquire) && !lost();) {
        if (evicting_.is_closed()) {
            return;
        }
        const std::uint32_t first = pages[i];
        std::size_t end = i + 1;
        while (end < pages.size() && end - i < batch_ && pages[end] == pages[end - 1] + 1) {
            ++end;
        }
        std::uint32_t word = first < pages_ ? table_[first].word.load(acquire) : 0;
        if (first >= pages_ || Page::state(word) != PageState::away) {
            ++i;
            continue;
        }
        if (take_spare_frames(1) == 0) {
            return;  // the cache is full: what comes now would push out what came before
        }
        if (!table_[first].word.compare_exchange_strong(word, Page::with(word, PageState::busy), both)) {
            give_frames(1);
            continue;
        }
        Run run{first, static_cast<std::uint32_t>(end - i)};
        claim_more(run, (word & Page::homed) != 0);
        i += run.count;
        if (fill(run, (word & Page::homed) != 0, false) == Outcome::good) {
            counted_.prefetched.fetch_add(run.count, relaxed);
        }
    }
}

}  // namespace consort::remote
