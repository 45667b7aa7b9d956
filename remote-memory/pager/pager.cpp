// SPDX-License-Identifier: Apache-2.0
//
// The faulting side. Invariant: a resident page is dirty where the program can write to it without a fault;
// `dirty` is set before write protection goes, and only by who owns the page. A dirty page may be
// write-protected, where it lies between others that are evicted.
#include "pager.hpp"

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <stdexcept>
#include <system_error>

#include "consort/port.hpp"
#include "descriptors.hpp"
#include "huge_pages.hpp"
#include "waiting.hpp"

namespace consort::remote {

namespace {

constexpr auto relaxed = std::memory_order_relaxed;
constexpr auto acquire = std::memory_order_acquire;
constexpr auto release = std::memory_order_release;
constexpr auto both = std::memory_order_acq_rel;

int shared_memory(const PagerOptions& options, const Transport& transport) {
    if (options.pages == Pages::mapped && transport.descriptor() < 0) {
        throw std::invalid_argument("only the pages of a server on this machine can be mapped");
    }
    if (options.pages == Pages::mapped &&
        is_of_huge_pages(transport.descriptor()) != (options.page == huge_page)) {
        throw std::invalid_argument(options.page == huge_page
                                        ? "the server's memory is not of huge pages: consort remote serve "
                                          "--huge-pages, or copied pages"
                                        : "the server's memory is of huge pages: page=2MiB, or copied pages");
    }
    return options.pages == Pages::mapped ? transport.descriptor() : -1;
}

}  // namespace

void Pager::check(const PagerOptions& options) {
    if (options.page != small_page && options.page != huge_page) {
        throw std::invalid_argument("a page has 4 KiB or 2 MiB");
    }
    const bool huge = options.page == huge_page;
    if (options.bytes == 0 || options.bytes % options.page != 0 || options.bytes / page_bytes >= UINT32_MAX) {
        throw std::invalid_argument(huge ? "a segment of huge pages has a multiple of 2 MiB, below 16 TiB"
                                         : "a segment has a multiple of 4 KiB, below 16 TiB");
    }
    if (options.cache_bytes < (huge ? 8 * huge_page : 256 * small_page)) {
        throw std::invalid_argument(huge ? "the cache of huge pages must have at least 16 MiB"
                                         : "the cache must have at least 1 MiB");
    }
    if (options.prefetch < 1 || options.prefetch > most_pages) {
        throw std::invalid_argument("prefetch: 1 to 64 pages");
    }
}

Pager::Pager(const PagerOptions& options, std::unique_ptr<Transport> transport, std::string name)
    : options_((check(options), options)),
      name_(std::move(name)),
      transport_(std::move(transport)),
      memory_(options.bytes, options.faults, shared_memory(options, *transport_), options.page),
      shift_(static_cast<std::uint32_t>(std::countr_zero(options.page))),
      parts_(static_cast<std::uint32_t>(options.page / page_bytes)),
      batch_(parts_ == 1 ? most_pages : 1),
      pages_(static_cast<std::uint32_t>(options.bytes >> shift_)),
      table_(new PageEntry[pages_]),
      huge_crcs_(parts_ == 1 ? nullptr : new std::uint32_t[std::size_t{pages_} * parts_]()),
      queue_(table_.get(), pages_),
      cache_pages_(static_cast<std::int64_t>(options.cache_bytes >> shift_)),
      low_(std::min(std::max<std::int64_t>(std::int64_t{2} * batch_, cache_pages_ / 32), cache_pages_ / 4)),
      high_(2 * low_),
      free_(cache_pages_),
      bounce_(new std::byte[std::max<std::size_t>(most_pages, parts_) * page_bytes]),
      recorder_(options.record ? pages_ : 0) {
    if (options_.page == huge_page && options_.pages == Pages::copied) {
        expect_huge_pages(options_.cache_bytes >> shift_);
    }
    options_.prefetch = std::min(options_.prefetch, batch_);
    clean_.reserve(batch_);
    dirty_.reserve(batch_);
    made_by_ = ::getpid();
    stop_ = out_of_the_way(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    process_ = static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0));
    if (process_ >= 0) {
        process_ = out_of_the_way(process_);
    }
    evictor_ = quiet_thread([this] { evict_until_told(); });
    const bool handles = options_.faults != Faults::in_thread;
    if (handles) {
        handler_ = quiet_thread([this] { serve_in_handler(); });
    }
    // Only then may the program do with its descriptors what it will.
    for (Patience patience; started_.load(acquire) != (handles ? 2 : 1);) {
        patience.wait();
    }
}

Pager::~Pager() {
    if (::getpid() != made_by_) {
        // A child after fork(): it has neither the threads nor the range.
        for (std::thread* each : {&evictor_, &handler_, &prefetcher_}) {
            if (each->joinable()) {
                each->detach();
            }
        }
        return;
    }
    stop();
    ::close(stop_);
    if (process_ >= 0) {
        ::close(process_);
    }
}

void Pager::stop() noexcept {
    if (!evictor_.joinable()) {
        return;
    }
    {
        const std::lock_guard lock(ordering_);
        ending_.store(true, release);
    }
    ordered_.notify_all();
    transport_->give_up();
    wanted_.store(1, release);
    wake_evictor();
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(stop_, &one, sizeof one);
    evictor_.join();
    if (handler_.joinable()) {
        handler_.join();
    }
    if (prefetcher_.joinable()) {
        prefetcher_.join();
    }
}

bool Pager::serve(std::uintptr_t address, bool write) noexcept {
    if (!write) {
        return serve_admitted(address, false);
    }
    for (Patience patience; !writing_.enter(); patience.wait()) {
        if (options_.faults != Faults::in_thread) {
            return true;  // its thread waits until `thaw` wakes it, and tries again
        }
    }
    const bool served = serve_admitted(address, true);
    writing_.leave();
    return served;
}

bool Pager::serve_admitted(std::uintptr_t address, bool write) noexcept {
    const std::size_t offset = address - reinterpret_cast<std::uintptr_t>(base());
    const auto page = static_cast<std::uint32_t>(offset >> shift_);
    std::atomic<std::uint32_t>& at = table_[page].word;
    Patience patience;
    for (;;) {
        std::uint32_t word = at.load(acquire);
        switch (Page::state(word)) {
            case PageState::busy:
                patience.wait();
                break;
            case PageState::away: {
                Outcome why = why_lost_.load(relaxed);
                // Where its home is about to go, another thread brings the page.
                if ((word & Page::homed) != 0 && using_home_.enter()) {
                    transport_->expect(page * parts_);
                    using_home_.leave();
                }
                if (!take_frame()) {
                    complain(address, why);
                    return false;
                }
                if (at.compare_exchange_strong(word, Page::with(word, PageState::busy), both)) {
                    return bring(page, word, write);
                }
                give_frames(1);
                break;
            }
            case PageState::resident:
            case PageState::writing:
                // A mapped page is never protected.
                if (!write || ((word & Page::dirty) != 0 && options_.pages == Pages::mapped)) {
                    // Another thread was first; the access finds the page as it must be.
                    memory_.wake(place_of(page));
                    return true;
                }
                if (at.compare_exchange_strong(word, Page::with(word, PageState::busy), both)) {
                    if (Page::state(word) == PageState::writing) {
                        counted_.rescued.fetch_add(1, relaxed);
                    } else if ((word & Page::dirty) == 0) {
                        counted_.write_faults.fetch_add(1, relaxed);
                    }
                    make_writable(page, word);
                    return true;
                }
                break;
        }
    }
}

bool Pager::serve_timed(std::uintptr_t address, bool write) noexcept {
    if (!options_.timed) {
        return serve(address, write);
    }
    const auto now = [] {
        timespec time{};
        ::clock_gettime(CLOCK_MONOTONIC, &time);
        return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U +
               static_cast<std::uint64_t>(time.tv_nsec);
    };
    const std::uint64_t begun = now();
    const bool served = serve(address, write);
    counted_.fault_ns.fetch_add(now() - begun, relaxed);
    return served;
}

// The page is busy. What it was before is in `word`.
void Pager::make_writable(std::uint32_t page, std::uint32_t word) noexcept {
    // While frozen the page is dirty, and protected: the next write to it is a fault.
    if (writing_.enter()) {
        if (const int error = memory_.write_protect(place_of(page), page_size(), false);
            error != 0 && settled_.load(acquire) == Settled::no) {
            lose(Outcome::out_of_memory);
        }
        writing_.leave();
    }
    table_[page].word.store(Page::with(word, PageState::resident) | Page::dirty, release);
    queue_.add(page);
}

bool Pager::take_frame() noexcept {
    Patience patience;
    bool waited = false;
    for (;;) {
        std::int64_t left = free_.load(relaxed);
        if (left > 0) {
            if (free_.compare_exchange_weak(left, left - 1, both)) {
                if (left <= low_) {
                    wake_evictor();
                }
                return true;
            }
            continue;
        }
        if (lost()) {
            return false;
        }
        if (!waited) {
            waited = true;
            counted_.waits.fetch_add(1, relaxed);
        }
        wake_evictor();
        patience.wait();
    }
}

// Frames for pages that nobody waits for: never the last ones.
std::uint32_t Pager::take_spare_frames(std::uint32_t wanted) noexcept {
    std::int64_t left = free_.load(relaxed);
    for (;;) {
        const std::int64_t taken = std::clamp<std::int64_t>(left - low_ / 2, 0, wanted);
        if (taken == 0) {
            return 0;
        }
        if (free_.compare_exchange_weak(left, left - taken, both)) {
            if (left - taken < low_) {
                wake_evictor();
            }
            return static_cast<std::uint32_t>(taken);
        }
    }
}

void Pager::give_frames(std::uint32_t count) noexcept {
    if (count != 0) {
        free_.fetch_add(count, release);
    }
}

void Pager::lose(Outcome why) noexcept {
    Outcome none = Outcome::good;
    if (why_lost_.compare_exchange_strong(none, why)) {
        lost_.store(true, release);
    }
}

bool Pager::protect(std::size_t offset, std::size_t length, bool writable) noexcept {
    return offset % page_size() == 0 && offset <= bytes() && length <= bytes() - offset &&
           (parts_ == 1 || length % page_size() == 0) && memory_.protect(offset, length, writable) == 0;
}

void Pager::abandon() noexcept {
    abandoned_.store(true, relaxed);
    memory_.abandon();
}

void Pager::complain(std::uintptr_t address, Outcome why) noexcept {
    // No formatted output in a signal handler.
    std::array<char, 17> digits{};
    for (std::size_t i = 16; i-- > 0; address >>= 4U) {
        digits[i] = "0123456789abcdef"[address & 15U];
    }
    why = why == Outcome::good ? why_lost_.load(relaxed) : why;
    const bool refused = why == Outcome::refused;
    say({"consort remote: segment ", name_.c_str(), ": ", describe(why), refused ? ": " : "",
         refused ? describe(transport_->refusal()) : "", "; SIGBUS at 0x", digits.data(), "\n"});
}

void Pager::serve_in_handler() noexcept {
    keep_own_descriptors();
    // It shares this thread's table of descriptors: either uses what the other connects again.
    prefetcher_ = std::thread([this, table = own_table()] {
        table_of_thread = table;
        prefetch_until_told();
    });
    started_.fetch_add(1, release);
    const bool polls = options_.faults == Faults::polling;
    Fault fault{};
    while (!ending_.load(acquire)) {
        if (!memory_.next(fault)) {
            if (polls) {
                isa::relax();
            } else {
                std::array<pollfd, 2> waited{{{memory_.descriptor(), POLLIN, 0}, {stop_, POLLIN, 0}}};
                ::poll(waited.data(), waited.size(), -1);
            }
            continue;
        }
        if (!serve_timed(fault.address, fault.write)) {
            poisoned_.store(true, release);
            const std::uintptr_t offset = fault.address - reinterpret_cast<std::uintptr_t>(base());
            // A signal that is sent does not reach a thread that blocks it.
            if (!memory_.poison(offset & ~(page_size() - 1))) {
                ::syscall(SYS_tgkill, ::getpid(), fault.thread, SIGBUS);
            }
        }
    }
}

void Pager::discard(std::size_t offset, std::size_t length) noexcept {
    // Closed: settle is about to leave the range, or has left it.
    for (Patience patience; !using_home_.enter(); patience.wait()) {
        if (has_left()) {
            forget(offset, length);
            return;
        }
    }
    for (Patience patience; !discarding_.enter();) {
        patience.wait();
    }
    reached(Step::discards);
    discard_attached(offset, length);
    discarding_.leave();
    using_home_.leave();
}

// In ordinary memory.
void Pager::forget(std::size_t offset, std::size_t length) noexcept {
    const std::size_t begin = (offset + page_bytes - 1) & ~(page_bytes - 1);
    const std::size_t end = (offset + length) & ~(page_bytes - 1);
    if (begin >= end) {
        return;
    }
    if (options_.pages == Pages::mapped || parts_ != 1) {
        // Dropped pages of a file come back as they were; and no part of a huge page can be dropped.
        std::memset(base() + begin, 0, end - begin);
    } else {
        memory_.drop(begin, end - begin);
    }
}

void Pager::discard_attached(std::size_t offset, std::size_t length) noexcept {
    // Small pages are what programs know, and what they give back: huge ones may be of several blocks.
    const std::size_t begin = (offset + page_bytes - 1) & ~(page_bytes - 1);
    const std::size_t end = (offset + length) & ~(page_bytes - 1);
    if (begin >= end) {
        return;
    }
    const std::size_t first = (begin + page_size() - 1) & ~(page_size() - 1);
    const std::size_t last = end & ~(page_size() - 1);
    if (first > last) {
        clear(begin, end - begin);
        return;
    }
    clear(begin, first - begin);
    clear(last, end - last);
    discard_pages(static_cast<std::uint32_t>(first >> shift_), static_cast<std::uint32_t>(last >> shift_));
}

// Zeros to part of a huge page, which is in use beside it.
void Pager::clear(std::size_t offset, std::size_t length) noexcept {
    if (length == 0) {
        return;
    }
    const std::uint32_t word = table_[offset >> shift_].word.load(acquire);
    const bool is_zeros = (word & Page::homed) == 0;
    if (Page::state(word) == PageState::away && (is_zeros || lost())) {
        return;  // what cannot be had need not be forgotten
    }
    std::memset(base() + offset, 0, length);
}

void Pager::discard_pages(std::uint32_t first, std::uint32_t last) noexcept {
    // A handler that touched a claimed page would wait for ever for the thread that it interrupted.
    const Quiet quiet;
    std::uint32_t claimed = 0;  // pages before `page` that are busy and resident
    const auto drop_claimed = [&](std::uint32_t end) {
        if (claimed == 0) {
            return;
        }
        memory_.drop(place_of(end - claimed), place_of(claimed));
        clear_home(end - claimed, claimed);
        for (std::uint32_t i = end - claimed; i < end; ++i) {
            table_[i].word.store(static_cast<std::uint32_t>(PageState::away), release);
        }
        give_frames(claimed);
        claimed = 0;
    };
    for (std::uint32_t page = first; page < last;) {
        std::uint32_t word = table_[page].word.load(acquire);
        const PageState state = Page::state(word);
        if (state == PageState::busy || state == PageState::writing) {
            // The evicting thread reads a page that it writes home: it must stay.
            drop_claimed(page);
            ::sched_yield();
        } else if (state == PageState::away) {
            if (table_[page].word.compare_exchange_strong(word, static_cast<std::uint32_t>(PageState::away),
                                                          both)) {
                drop_claimed(page);
                if ((word & Page::homed) != 0) {
                    clear_home(page, 1);
                }
                if (poisoned_.load(acquire)) {
                    memory_.drop(place_of(page), page_size());
                }
                ++page;
            }
        } else if (table_[page].word.compare_exchange_strong(word, Page::with(word, PageState::busy), both)) {
            ++claimed;
            ++page;
        }
    }
    drop_claimed(last);
}

// A mapped page that the program has seen is zeros again. The others need nothing: the server has none of
// them.
void Pager::clear_home(std::uint32_t page, std::uint32_t count) noexcept {
    if (options_.pages == Pages::mapped) {
        std::memset(transport_->home() + place_of(page), 0, place_of(count));
    }
}

Counters Pager::counters() const noexcept {
    Counters made;
    made.write_faults = counted_.write_faults.load(relaxed);
    made.fetched = counted_.fetched.load(relaxed);
    made.zeroed = counted_.zeroed.load(relaxed);
    made.evicted = counted_.evicted.load(relaxed);
    made.stored = counted_.stored.load(relaxed);
    made.rescued = counted_.rescued.load(relaxed);
    made.waits = counted_.waits.load(relaxed);
    made.prefetched = counted_.prefetched.load(relaxed);
    // Every page came by a fault of its own or ahead of one.
    made.faults = counted_.failed.load(relaxed) + made.fetched + made.zeroed - made.prefetched;
    made.corrected = counted_.corrected.load(relaxed);
    made.fault_ns = counted_.fault_ns.load(relaxed);
    if (using_home_.enter()) {
        transport_->count(made);
        using_home_.leave();
    }
    return made;
}

}  // namespace consort::remote
