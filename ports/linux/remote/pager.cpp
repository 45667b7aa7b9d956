// SPDX-License-Identifier: Apache-2.0
//
// The faulting side. Invariant: a resident page is dirty exactly where the program can write to it without a
// fault; `dirty` is set before write protection goes, and only by who owns the page.
#include "pager.hpp"

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <stdexcept>
#include <system_error>

#include "consort/port.hpp"
#include "descriptors.hpp"

namespace consort::remote {

namespace {

constexpr auto relaxed = std::memory_order_relaxed;
constexpr auto acquire = std::memory_order_acquire;
constexpr auto release = std::memory_order_release;
constexpr auto both = std::memory_order_acq_rel;

alignas(page_bytes) const std::array<std::byte, most_pages * page_bytes> zeros{};

// Waits for another thread for a moment: it may need this processor, and have a lower priority.
class Patience {
  public:
    void wait() noexcept {
        ++turns_;
        if (turns_ < 200) {
            isa::relax();
        } else if (turns_ < 400) {
            ::sched_yield();
        } else {
            const timespec moment{0, 50'000};
            ::nanosleep(&moment, nullptr);
        }
    }

  private:
    unsigned turns_ = 0;
};

// No signal handler of the program runs in this thread meanwhile.
class Quiet {
  public:
    Quiet() noexcept {
        sigset_t all;
        ::sigfillset(&all);
        ::pthread_sigmask(SIG_SETMASK, &all, &before_);
    }
    Quiet(const Quiet&) = delete;
    Quiet& operator=(const Quiet&) = delete;
    ~Quiet() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

  private:
    sigset_t before_{};
};

// The threads of the pager take no signals of the program.
template <class Body>
std::thread quiet_thread(Body body) {
    const Quiet quiet;
    return std::thread(body);
}

int shared_memory(const PagerOptions& options, const Transport& transport) {
    if (options.pages == Pages::mapped && transport.descriptor() < 0) {
        throw std::invalid_argument("only the pages of a server on this machine can be mapped");
    }
    return options.pages == Pages::mapped ? transport.descriptor() : -1;
}

}  // namespace

void Pager::check(const PagerOptions& options) {
    if (options.bytes == 0 || options.bytes % page_bytes != 0 || options.bytes / page_bytes >= UINT32_MAX) {
        throw std::invalid_argument("a segment has a multiple of 4 KiB, below 16 TiB");
    }
    if (options.cache_bytes < 256 * page_bytes) {
        throw std::invalid_argument("the cache must have at least 1 MiB");
    }
    if (options.prefetch < 1 || options.prefetch > most_pages) {
        throw std::invalid_argument("prefetch: 1 to 64 pages");
    }
}

Pager::Pager(const PagerOptions& options, std::unique_ptr<Transport> transport, std::string name)
    : options_((check(options), options)),
      name_(std::move(name)),
      transport_(std::move(transport)),
      memory_(options.bytes, options.faults, shared_memory(options, *transport_)),
      pages_(static_cast<std::uint32_t>(options.bytes / page_bytes)),
      words_(new std::atomic<std::uint32_t>[pages_]()),
      crcs_(new std::uint32_t[pages_]()),
      evicted_at_(new std::uint32_t[pages_]()),
      queue_(pages_),
      cache_pages_(static_cast<std::int64_t>(options.cache_bytes / page_bytes)),
      low_(std::min<std::int64_t>(std::max<std::int64_t>(128, cache_pages_ / 32), cache_pages_ / 4)),
      high_(2 * low_),
      free_(cache_pages_),
      bounce_(new std::byte[most_pages * page_bytes]),
      recorder_(options.record ? pages_ : 0) {
    clean_.reserve(most_pages);
    dirty_.reserve(most_pages);
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
        evictor_.detach();
        for (std::thread* each : {&handler_, &prefetcher_}) {
            if (each->joinable()) {
                each->detach();
            }
        }
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
    ::close(stop_);
    if (process_ >= 0) {
        ::close(process_);
    }
}

bool Pager::serve(std::uintptr_t address, bool write) noexcept {
    const std::size_t offset = address - reinterpret_cast<std::uintptr_t>(base());
    const auto page = static_cast<std::uint32_t>(offset / page_bytes);
    std::atomic<std::uint32_t>& at = words_[page];
    Patience patience;
    for (;;) {
        std::uint32_t word = at.load(acquire);
        switch (Page::state(word)) {
            case PageState::busy:
                patience.wait();
                break;
            case PageState::away: {
                Outcome why = why_lost_.load(relaxed);
                if (!take_frame()) {
                    complain(address, why);
                    return false;
                }
                if (at.compare_exchange_strong(word, Page::with(word, PageState::busy), both)) {
                    counted_.faults.fetch_add(1, relaxed);
                    return bring(page, word, write);
                }
                give_frames(1);
                break;
            }
            case PageState::resident:
            case PageState::writing:
                if (!write || (word & Page::dirty) != 0) {
                    // Another thread was first; the access finds the page as it must be.
                    memory_.wake(offset & ~(page_bytes - 1));
                    return true;
                }
                if (at.compare_exchange_strong(word, Page::with(word, PageState::busy), both)) {
                    auto& counter =
                        Page::state(word) == PageState::writing ? counted_.rescued : counted_.write_faults;
                    counter.fetch_add(1, relaxed);
                    make_writable(page, word);
                    return true;
                }
                break;
        }
    }
}

// The page is busy. What it was before is in `word`.
void Pager::make_writable(std::uint32_t page, std::uint32_t word) noexcept {
    if (const int error = memory_.write_protect(page * page_bytes, page_bytes, false); error != 0) {
        lose(Outcome::out_of_memory);
    }
    words_[page].store(Page::with(word, PageState::resident) | Page::dirty, release);
    queue_.add(page);
}

// The page is busy and has its frame in the cache.
bool Pager::bring(std::uint32_t page, std::uint32_t word, bool write) noexcept {
    const bool homed = (word & Page::homed) != 0;
    Run run = sequences_.expected(page, options_.prefetch);
    claim_more(run, homed);
    const Outcome why = fill(run, homed, write);
    if (why != Outcome::good) {
        complain(reinterpret_cast<std::uintptr_t>(base()) + page * page_bytes, why);
        return false;
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
        std::atomic<std::uint32_t>& at = words_[run.page(run.count)];
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
    Outcome why = mapped ? Outcome::good : source_of(run, homed, write, found);
    // `busy` keeps others away until all of them are there.
    if (why == Outcome::good && place(run, found, write) != 0) {
        why = Outcome::out_of_memory;
    }
    if (alone) {
        fetching_.clear(release);
    }
    if (why != Outcome::good) {
        // Some of them may be there: nobody may take them for what they are not.
        for (std::uint32_t i = 0; i < claimed; ++i) {
            memory_.drop(run.page(i) * page_bytes, page_bytes);
        }
        run.count = 0;
    }
    for (std::uint32_t i = 0; i < claimed; ++i) {
        const std::uint32_t page = run.page(i);
        std::uint32_t then = Page::with(words_[page].load(relaxed), PageState::away);
        if (i < run.count) {
            then = Page::with(then, PageState::resident) | (write ? Page::dirty : 0) |
                   (mapped ? Page::homed : 0);
        }
        if (i == 0 && run.count != 0 && homed && came_back_soon(page)) {
            then |= Page::lap;
        }
        words_[page].store(then, release);
        if (i < run.count) {
            queue_.add(page);
        }
    }
    give_frames(claimed - run.count);
    (homed ? counted_.fetched : counted_.zeroed).fetch_add(run.count, relaxed);
    recorder_.note(run);
    return why;
}

int Pager::place(const Run& run, const Fetched& found, bool write) noexcept {
    const bool mapped = options_.pages == Pages::mapped;
    const bool together = run.stride == 1 && (mapped || found.step == std::ptrdiff_t{page_bytes});
    const std::uint32_t pages = together ? run.count : 1;
    for (std::uint32_t i = 0; i < run.count; i += pages) {
        const std::size_t at = run.page(i) * page_bytes;
        const int error = mapped ? memory_.resume(at, pages * page_bytes)
                                 : memory_.copy(at, found.data + i * found.step, pages * page_bytes, !write);
        if (error != 0) {
            return error;
        }
    }
    return 0;
}

// Fewer pages were evicted after this one than the cache holds.
bool Pager::came_back_soon(std::uint32_t page) const noexcept {
    const auto evictions = static_cast<std::uint32_t>(counted_.evicted.load(relaxed));
    return evictions - evicted_at_[page] < static_cast<std::uint32_t>(cache_pages_);
}

// Where the pages' content is. The run shrinks to the pages before the first prefetched one that is not
// whole.
Outcome Pager::source_of(Run& run, bool homed, bool& write, Fetched& found) noexcept {
    if (!homed) {
        found = {zeros.data(), static_cast<std::ptrdiff_t>(page_bytes)};
        return Outcome::good;
    }
    const Outcome why = lost() ? why_lost_.load(relaxed) : transport_->fetch(run, bounce_.get(), found);
    if (why != Outcome::good) {
        lose(why);
        return why;
    }
    const auto whole = [&](std::uint32_t i) {
        return page_crc(found.data + i * found.step) == crcs_[run.page(i)];
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
        for (std::uint32_t attempt = 1;; ++attempt) {
            const Outcome other = transport_->fetch_elsewhere(run.first, attempt, bounce_.get(), found);
            if (other == Outcome::corrupted) {
                return other;
            }
            if (other == Outcome::good && whole(0)) {
                // It counts as written to: so it goes to all of its homes again.
                write = true;
                counted_.corrected.fetch_add(1, relaxed);
                return other;
            }
        }
    }
    return Outcome::good;
}

void Pager::prefetch(std::vector<std::uint32_t> pages) {
    const std::lock_guard lock(ordering_);
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
        const std::uint32_t first = pages[i];
        std::size_t end = i + 1;
        while (end < pages.size() && end - i < most_pages && pages[end] == pages[end - 1] + 1) {
            ++end;
        }
        std::uint32_t word = first < pages_ ? words_[first].load(acquire) : 0;
        if (first >= pages_ || Page::state(word) != PageState::away) {
            ++i;
            continue;
        }
        if (take_spare_frames(1) == 0) {
            return;  // the cache is full: what comes now would push out what came before
        }
        if (!words_[first].compare_exchange_strong(word, Page::with(word, PageState::busy), both)) {
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
    free_.fetch_add(count, release);
}

void Pager::lose(Outcome why) noexcept {
    Outcome none = Outcome::good;
    if (why_lost_.compare_exchange_strong(none, why)) {
        lost_.store(true, release);
    }
}

bool Pager::protect(std::size_t offset, std::size_t length, bool writable) noexcept {
    return offset % page_bytes == 0 && offset <= bytes() && length <= bytes() - offset &&
           memory_.protect(offset, length, writable) == 0;
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
    // Of this thread's table of descriptors: what one of the two connects again the other uses.
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
        if (!serve(fault.address, fault.write)) {
            poisoned_.store(true, release);
            const std::uintptr_t offset = fault.address - reinterpret_cast<std::uintptr_t>(base());
            // A signal that is sent does not reach a thread that blocks it.
            if (!memory_.poison(offset & ~(page_bytes - 1))) {
                ::syscall(SYS_tgkill, ::getpid(), fault.thread, SIGBUS);
            }
        }
    }
}

void Pager::discard(std::size_t offset, std::size_t length) noexcept {
    const auto first = static_cast<std::uint32_t>((offset + page_bytes - 1) / page_bytes);
    const auto last = static_cast<std::uint32_t>((offset + length) / page_bytes);
    // A handler that touched a claimed page would wait for ever for the thread that it interrupted.
    const Quiet quiet;
    std::uint32_t claimed = 0;  // pages before `page` that are busy and resident
    const auto drop_claimed = [&](std::uint32_t end) {
        if (claimed == 0) {
            return;
        }
        memory_.drop((end - claimed) * page_bytes, claimed * page_bytes);
        clear_home(end - claimed, claimed);
        for (std::uint32_t i = end - claimed; i < end; ++i) {
            words_[i].store(static_cast<std::uint32_t>(PageState::away), release);
        }
        give_frames(claimed);
        claimed = 0;
    };
    for (std::uint32_t page = first; page < last;) {
        std::uint32_t word = words_[page].load(acquire);
        const PageState state = Page::state(word);
        if (state == PageState::busy || state == PageState::writing) {
            // The evicting thread reads a page that it writes home: it must stay.
            drop_claimed(page);
            ::sched_yield();
        } else if (state == PageState::away) {
            if (words_[page].compare_exchange_strong(word, static_cast<std::uint32_t>(PageState::away),
                                                     both)) {
                drop_claimed(page);
                if ((word & Page::homed) != 0) {
                    clear_home(page, 1);
                }
                if (poisoned_.load(acquire)) {
                    memory_.drop(page * page_bytes, page_bytes);
                }
                ++page;
            }
        } else if (words_[page].compare_exchange_strong(word, Page::with(word, PageState::busy), both)) {
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
        std::memset(transport_->home() + page * page_bytes, 0, count * page_bytes);
    }
}

Counters Pager::counters() const noexcept {
    Counters made;
    made.faults = counted_.faults.load(relaxed);
    made.write_faults = counted_.write_faults.load(relaxed);
    made.fetched = counted_.fetched.load(relaxed);
    made.zeroed = counted_.zeroed.load(relaxed);
    made.evicted = counted_.evicted.load(relaxed);
    made.stored = counted_.stored.load(relaxed);
    made.rescued = counted_.rescued.load(relaxed);
    made.waits = counted_.waits.load(relaxed);
    made.prefetched = counted_.prefetched.load(relaxed);
    made.corrected = counted_.corrected.load(relaxed);
    transport_->count(made);
    return made;
}

}  // namespace consort::remote
