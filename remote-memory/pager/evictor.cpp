// SPDX-License-Identifier: Apache-2.0
//
// The evicting thread: first in, first out, but for pages that came back soon after their last eviction,
// which stay for one lap more, and with each page its neighbours, so that one call protects them all. Clean
// pages are dropped; dirty ones are write-protected, copied home in batches, and dropped where the program
// has not written to them meanwhile.
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>

#include "descriptors.hpp"
#include "pager.hpp"

#ifndef MADV_DONTNEED_LOCKED  // headers before Linux 5.18
#define MADV_DONTNEED_LOCKED 24
#endif

namespace consort::remote {

namespace {

constexpr auto relaxed = std::memory_order_relaxed;
constexpr auto acquire = std::memory_order_acquire;
constexpr auto release = std::memory_order_release;
constexpr auto both = std::memory_order_acq_rel;

// Aligned pages that are evicted together. Each call that protects or drops a range interrupts the other
// processors, which costs a fault there more than what it then has to look up again: with 32 pages a tenth of
// the faults under eviction took three times as long as with 128.
constexpr std::uint32_t neighbourhood = 128;

// Calls `body(first, count)` for each run of consecutive pages.
template <class Victims, class Body>
void for_runs(const Victims& victims, Body body) {
    for (std::size_t i = 0; i < victims.size();) {
        std::size_t end = i + 1;
        while (end < victims.size() && victims[end].page == victims[end - 1].page + 1) {
            ++end;
        }
        body(victims[i].page, end - i);
        i = end;
    }
}

// Calls `body(first, count)` for each stretch from a victim to the last one of its neighbourhood: the pages
// between them are in it.
template <class Victims, class Body>
void for_neighbourhoods(const Victims& victims, Body body) {
    for (std::size_t i = 0; i < victims.size();) {
        std::size_t end = i + 1;
        while (end < victims.size() && victims[end].page / neighbourhood == victims[i].page / neighbourhood) {
            ++end;
        }
        body(victims[i].page, std::size_t{victims[end - 1].page} - victims[i].page + 1);
        i = end;
    }
}

}  // namespace

void Pager::wake_evictor() noexcept {
    if (wanted_.exchange(1, both) == 0 || ending_.load(relaxed)) {
        ::syscall(SYS_futex, &wanted_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
    }
}

void Pager::evict_until_told() noexcept {
    keep_own_descriptors();
    started_.fetch_add(1, release);
    while (!ending_.load(acquire)) {
        if (free_.load(relaxed) < high_ && !lost() && evicting_.enter()) {
            reached(Step::evicts);
            const bool evicted = evict_batch();
            evicting_.leave();
            if (evicted) {
                continue;
            }
            // Every resident page is busy.
            const timespec moment{0, 50'000};
            ::nanosleep(&moment, nullptr);
            continue;
        }
        wanted_.store(0, std::memory_order_seq_cst);
        const bool evicts = !lost() && !evicting_.is_closed();
        if ((free_.load(std::memory_order_seq_cst) < low_ && evicts) || ending_.load(acquire)) {
            continue;
        }
        ::syscall(SYS_futex, &wanted_, FUTEX_WAIT_PRIVATE, 0, nullptr, nullptr, 0);
    }
}

bool Pager::evict_batch() noexcept {
    collect(clean_, dirty_);
    const auto by_page = [](const Victim& a, const Victim& b) { return a.page < b.page; };
    std::sort(clean_.begin(), clean_.end(), by_page);
    std::sort(dirty_.begin(), dirty_.end(), by_page);
    if (clean_.empty() && dirty_.empty()) {
        return false;
    }
    drop(clean_);
    write_home(dirty_);
    drop(dirty_);
    return true;
}

// Takes a resident page that has no lap left: it is busy afterwards.
bool Pager::claim(std::uint32_t page, Victims& clean, Victims& dirty) noexcept {
    std::uint32_t word = table_[page].word.load(std::memory_order_seq_cst);
    if (Page::state(word) != PageState::resident || (word & Page::lap) != 0 ||
        !table_[page].word.compare_exchange_strong(word, Page::with(word, PageState::busy), both)) {
        return false;
    }
    // A mapped page is at home as it is.
    const bool goes_home = (word & Page::dirty) != 0 && options_.pages != Pages::mapped;
    (goes_home ? dirty : clean).push_back({page, word});
    return true;
}

// Takes up to a batch of resident pages: they are busy afterwards.
void Pager::collect(Victims& clean, Victims& dirty) noexcept {
    clean.clear();
    dirty.clear();
    std::uint32_t page = 0;
    // Each page may stay once: a bound on how many are looked at.
    for (std::uint64_t looks = 0; looks < 2 * std::uint64_t{pages_}; ++looks) {
        if (clean.size() + dirty.size() == batch_ || !queue_.take(page)) {
            break;
        }
        const std::uint32_t word = table_[page].word.load(std::memory_order_seq_cst);
        switch (Page::state(word)) {
            case PageState::away:
                // The program discarded it, or it went with a neighbour.
                break;
            case PageState::busy:
            case PageState::writing:
                queue_.add(page);
                if (looks > most_pages) {
                    return;
                }
                break;
            case PageState::resident:
                if ((word & Page::lap) != 0) {
                    std::uint32_t last = word;
                    table_[page].word.compare_exchange_strong(last, word & ~Page::lap, both);
                    queue_.add(page);
                } else if (!claim(page, clean, dirty)) {
                    queue_.add(page);
                } else {
                    const std::uint32_t first = page - page % neighbourhood;
                    const std::uint32_t end = std::min(first + neighbourhood, pages_);
                    for (std::uint32_t next = first; next < end && clean.size() + dirty.size() < batch_;
                         ++next) {
                        // Its own place in the queue stays.
                        claim(next, clean, dirty);
                    }
                }
                break;
        }
    }
}

// Leaves those that are home now, and busy; the program, or a failure, has taken back the others.
void Pager::write_home(Victims& dirty) noexcept {
    if (dirty.empty()) {
        return;
    }
    bool failed = lost();
    // Each call interrupts the other processors. Pages between victims that the program may write to are
    // protected with them: its next write there is a fault that makes the page writable again.
    for_neighbourhoods(dirty, [&](std::uint32_t first, std::size_t count) {
        failed = failed || memory_.write_protect(place_of(first), count << shift_, true) != 0;
    });
    std::array<StoredPage, most_pages> pages{};
    std::array<const std::byte*, most_pages> sources{};
    for (std::size_t i = 0; i < dirty.size(); ++i) {
        pages[i].page = dirty[i].page;
        sources[i] = base() + place_of(dirty[i].page);
        // Only now that nothing can change it unseen: from here on a write takes the page back.
        dirty[i].word = Page::with(dirty[i].word & ~Page::dirty, PageState::writing);
        table_[dirty[i].page].word.store(dirty[i].word, release);
    }
    const auto count = static_cast<std::uint32_t>(dirty.size());
    const Outcome outcome = failed        ? Outcome::out_of_memory
                            : parts_ == 1 ? transport_->store(pages.data(), sources.data(), count)
                                          : store(dirty[0].page, pages.data(), sources.data());
    std::size_t kept = 0;
    for (std::size_t i = 0; i < count; ++i) {
        std::uint32_t word = dirty[i].word;
        if (!table_[dirty[i].page].word.compare_exchange_strong(word, Page::with(word, PageState::busy),
                                                                both)) {
            // The program wrote to it.
            continue;
        }
        if (outcome != Outcome::good) {
            make_writable(dirty[i].page, word);
            continue;
        }
        if (parts_ == 1) {
            table_[dirty[i].page].crc = pages[i].crc;
        }
        dirty[kept++] = {dirty[i].page, word | Page::homed};
    }
    dirty.resize(kept);
    if (outcome == Outcome::good) {
        counted_.stored.fetch_add(count, relaxed);
    } else {
        lose(outcome);
    }
}

// A huge page, in messages of small ones. What the program writes meanwhile takes the page back, and all of
// it goes home again.
Outcome Pager::store(std::uint32_t page, StoredPage* pages, const std::byte** sources) noexcept {
    for (std::uint32_t done = 0; done < parts_; done += most_pages) {
        for (std::uint32_t i = 0; i < most_pages; ++i) {
            pages[i].page = page * parts_ + done + i;
            sources[i] = base() + std::size_t{pages[i].page} * page_bytes;
        }
        if (const Outcome outcome = transport_->store(pages, sources, most_pages); outcome != Outcome::good) {
            return outcome;
        }
        for (std::uint32_t i = 0; i < most_pages; ++i) {
            crc_of(pages[i].page) = pages[i].crc;
        }
    }
    return Outcome::good;
}

// The victims are busy, and home has what they hold.
void Pager::drop(Victims& victims) noexcept {
    if (victims.empty()) {
        return;
    }
    std::array<iovec, most_pages> ranges{};
    std::size_t used = 0;
    for_runs(victims, [&](std::uint32_t first, std::size_t count) {
        ranges[used++] = {base() + place_of(first), count << shift_};
    });
    // One call, so that other processors are interrupted once; kernels before 6.13 take one range at a time.
    if (used == 1 || process_ < 0 ||
        ::syscall(SYS_process_madvise, process_, ranges.data(), used, MADV_DONTNEED_LOCKED, 0) !=
            static_cast<long>(victims.size() << shift_)) {
        for_runs(victims, [&](std::uint32_t first, std::size_t count) {
            memory_.drop(place_of(first), count << shift_);
        });
    }
    std::uint64_t now = counted_.evicted.load(relaxed);
    for (const Victim& each : victims) {
        table_[each.page].evicted_at = static_cast<std::uint32_t>(++now);
        table_[each.page].word.store(Page::with(each.word & ~Page::dirty, PageState::away), release);
    }
    counted_.evicted.store(now, relaxed);
    give_frames(static_cast<std::uint32_t>(victims.size()));
}

}  // namespace consort::remote
