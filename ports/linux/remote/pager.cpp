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
      bounce_(new std::byte[most_pages * page_bytes]) {
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
        if (handler_.joinable()) {
            handler_.detach();
        }
        return;
    }
    ending_.store(true, release);
    wanted_.store(1, release);
    wake_evictor();
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(stop_, &one, sizeof one);
    evictor_.join();
    if (handler_.joinable()) {
        handler_.join();
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
    std::uint32_t wanted = std::min(window_for(page), pages_ - page);
    std::uint32_t count = 1;
    if (wanted > 1) {
        const std::uint32_t most = 1 + take_spare_frames(wanted - 1);
        while (count < most) {
            std::uint32_t next = words_[page + count].load(acquire);
            if (Page::state(next) != PageState::away || ((next & Page::homed) != 0) != homed ||
                !words_[page + count].compare_exchange_strong(next, Page::with(next, PageState::busy),
                                                              both)) {
                break;
            }
            ++count;
        }
        give_frames(most - count);
    }
    const std::uint32_t claimed = count;
    const std::byte* source = nullptr;
    Outcome why = Outcome::good;
    const bool mapped = options_.pages == Pages::mapped;
    const bool alone = homed && transport_->serial();
    if (alone) {
        Patience patience;
        while (fetching_.test_and_set(acquire)) {
            patience.wait();
        }
    }
    if (mapped) {
        // It can be written to from now on.
        write = true;
        if (memory_.resume(page * page_bytes, count * page_bytes) != 0) {
            why = Outcome::out_of_memory;
        }
    } else if (source_of(page, homed, count, source, why)) {
        // `busy` keeps others away until all of them are there.
        if (const int error = memory_.copy(page * page_bytes, source, count * page_bytes, !write);
            error != 0) {
            why = Outcome::out_of_memory;
        }
    }
    if (alone) {
        fetching_.clear(release);
    }
    if (why != Outcome::good) {
        // Some of them may be there: nobody may take them for what they are not.
        memory_.drop(page * page_bytes, claimed * page_bytes);
        count = 0;
    }
    for (std::uint32_t i = 0; i < claimed; ++i) {
        std::uint32_t then = Page::with(words_[page + i].load(relaxed), PageState::away);
        if (i < count) {
            then = Page::with(then, PageState::resident) | (write ? Page::dirty : 0) |
                   (mapped ? Page::homed : 0);
        }
        if (i == 0 && count != 0 && homed && came_back_soon(page)) {
            then |= Page::lap;
        }
        words_[page + i].store(then, release);
        if (i < count) {
            queue_.add(page + i);
        }
    }
    give_frames(claimed - count);
    if (why != Outcome::good) {
        complain(reinterpret_cast<std::uintptr_t>(base()) + page * page_bytes, why);
        return false;
    }
    (homed ? counted_.fetched : counted_.zeroed).fetch_add(count, relaxed);
    brought(page, count);
    return true;
}

// Fewer pages were evicted after this one than the cache holds.
bool Pager::came_back_soon(std::uint32_t page) const noexcept {
    const auto evictions = static_cast<std::uint32_t>(counted_.evicted.load(relaxed));
    return evictions - evicted_at_[page] < static_cast<std::uint32_t>(cache_pages_);
}

// Where the pages' content is. `count` shrinks to the pages before the first prefetched one that is not
// whole.
bool Pager::source_of(std::uint32_t page, bool homed, std::uint32_t& count, const std::byte*& source,
                      Outcome& why) noexcept {
    if (!homed) {
        source = zeros.data();
        return true;
    }
    why = lost() ? why_lost_.load(relaxed) : transport_->fetch(page, count, bounce_.get(), source);
    if (why != Outcome::good) {
        lose(why);
        return false;
    }
    for (std::uint32_t i = 0; i < count; ++i) {
        if (page_crc(source + i * page_bytes) != crcs_[page + i]) {
            if (i == 0) {
                why = Outcome::corrupted;
                return false;
            }
            count = i;
        }
    }
    return true;
}

// How many pages a fault brings: twice as many as the fault before it where it continues a sequence.
std::uint32_t Pager::window_for(std::uint32_t page) noexcept {
    for (Stream& each : streams_) {
        if (each.next.load(relaxed) == page) {
            const std::uint32_t window = std::min(options_.prefetch, each.window.load(relaxed) * 2);
            each.window.store(window, relaxed);
            return window;
        }
    }
    Stream& oldest = streams_[next_stream_.fetch_add(1, relaxed) % streams_.size()];
    oldest.window.store(1, relaxed);
    oldest.next.store(page, relaxed);
    return 1;
}

void Pager::brought(std::uint32_t page, std::uint32_t count) noexcept {
    for (Stream& each : streams_) {
        if (each.next.load(relaxed) == page) {
            each.next.store(page + count, relaxed);
            return;
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
    std::array<char, 512> text{};
    std::size_t used = 0;
    const auto put = [&](const char* part) {
        const std::size_t length = std::min(std::strlen(part), text.size() - used);
        std::memcpy(text.data() + used, part, length);
        used += length;
    };
    put("consort remote: segment ");
    put(name_.c_str());
    put(": ");
    put(describe(why == Outcome::good ? why_lost_.load(relaxed) : why));
    if (why == Outcome::refused) {
        put(": ");
        put(describe(transport_->refusal()));
    }
    put("; SIGBUS at 0x");
    std::array<char, 17> digits{};
    for (std::size_t i = 16; i-- > 0; address >>= 4U) {
        digits[i] = "0123456789abcdef"[address & 15U];
    }
    put(digits.data());
    put("\n");
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), used);
}

void Pager::serve_in_handler() noexcept {
    keep_own_descriptors();
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
    return {counted_.faults.load(relaxed),  counted_.write_faults.load(relaxed),
            counted_.fetched.load(relaxed), counted_.zeroed.load(relaxed),
            counted_.evicted.load(relaxed), counted_.stored.load(relaxed),
            counted_.rescued.load(relaxed), counted_.waits.load(relaxed)};
}

}  // namespace consort::remote
