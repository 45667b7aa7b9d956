// SPDX-License-Identifier: Apache-2.0
//
// One segment of remote memory behind a range of this program's addresses: faults bring pages, a thread of
// its own takes them home again. No fault ever evicts; it waits only where the cache has no free page left.
#pragma once

#include <signal.h>

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "gate.hpp"
#include "page_table.hpp"
#include "prefetch.hpp"
#include "transport.hpp"
#include "userfault.hpp"

namespace consort::remote {

// Where the end of a segment meets its other threads. A test may wait there.
enum class Step {
    evicts,    // the evicting thread, before it takes pages
    fills,     // who brings pages, before they are put in place
    discards,  // a thread that discards pages, before it does
    swept,     // settle: all pages are here
    left,      // settle: the range is ordinary memory, and the home is still attached
};

struct PagerOptions {
    std::size_t bytes = 0;
    std::size_t cache_bytes = 0;
    Faults faults = Faults::in_thread;
    std::uint32_t prefetch = most_pages;  // most pages that one fault brings
    Pages pages = Pages::copied;
    bool record = false;
    bool timed = false;
    std::size_t page = small_page;
    void (*at_step)(Step) noexcept = nullptr;  // called at each step, where it is given
};

class Pager {
  public:
    // Throws std::invalid_argument for sizes that cannot be served.
    static void check(const PagerOptions& options);
    // Throws as `check` and UserFault do.
    Pager(const PagerOptions& options, std::unique_ptr<Transport> transport, std::string name);
    Pager(const Pager&) = delete;
    Pager& operator=(const Pager&) = delete;
    ~Pager();

    [[nodiscard]] std::byte* base() const noexcept { return memory_.base(); }
    [[nodiscard]] std::size_t bytes() const noexcept { return memory_.bytes(); }
    [[nodiscard]] bool covers(std::uintptr_t address) const noexcept {
        return address - reinterpret_cast<std::uintptr_t>(base()) < bytes();
    }

    // Serves one fault; false where the page cannot be had, after a message on standard error. Safe in a
    // signal handler.
    bool serve(std::uintptr_t address, bool write) noexcept;
    // The same, counting how long it takes where that was asked for.
    bool serve_timed(std::uintptr_t address, bool write) noexcept;

    [[nodiscard]] std::size_t page_size() const noexcept { return std::size_t{1} << shift_; }

    // Forgets what whole pages of 4 KiB of the range hold: they read as zeros.
    void discard(std::size_t offset, std::size_t length) noexcept;

    // Gives or takes the right to write to whole pages; see Segment::protect.
    [[nodiscard]] bool protect(std::size_t offset, std::size_t length, bool writable) noexcept;

    // Brings all pages of these ranges home to this process, while threads use them, and leaves the range to
    // it as ordinary memory; nothing outside the ranges is in use. False where a page cannot be had: all is
    // as before then. Afterwards, faults under way are served, and `discard` does as before; nothing else of
    // the pager is of use.
    struct Range {
        std::size_t offset;
        std::size_t bytes;
    };
    [[nodiscard]] bool settle(const std::vector<Range>& ranges) noexcept;

    // For a copy of what it holds at one instant, of copied pages: from here to `thaw` nothing changes them.
    // Threads that write, or discard, wait; so no signal handler of the calling thread may write. False where
    // the kernel has no memory for it: then they go on. Mapped pages change on: nothing can protect them.
    [[nodiscard]] bool freeze() noexcept;
    void thaw() noexcept;
    // Between the two: how much of this range holds anything but zeros, in whole pages; and a copy of that
    // part at the same offset of `to`, which is zeros. False where a page cannot be had.
    [[nodiscard]] std::size_t held(Range range) const noexcept;
    [[nodiscard]] bool copy(Range range, std::byte* to) noexcept;

    // In a child after fork(): accesses end with SIGBUS from now on, and nothing else comes to lie there.
    void abandon() noexcept;
    [[nodiscard]] bool abandoned() const noexcept { return abandoned_.load(std::memory_order_relaxed); }
    // One line on standard error about an access that cannot be had. Safe in a signal handler.
    void complain(std::uintptr_t address, Outcome why) noexcept;

    // Brings these pages in the background, as far as the cache has room.
    void prefetch(std::vector<std::uint32_t> pages);
    [[nodiscard]] std::vector<std::uint32_t> recorded() const { return recorder_.pages(); }

    [[nodiscard]] Counters counters() const noexcept;
    // True if its home is gone.
    [[nodiscard]] bool lost() const noexcept { return lost_.load(std::memory_order_acquire); }

  private:
    struct Victim {
        std::uint32_t page;
        std::uint32_t word;
    };
    using Victims = std::vector<Victim>;

    bool serve_admitted(std::uintptr_t address, bool write) noexcept;
    [[nodiscard]] bool is_zeros(std::uint32_t page) const noexcept;
    bool copy_page(std::uint32_t page, Range part, std::byte* to) noexcept;
    bool bring(std::uint32_t page, std::uint32_t word, bool write) noexcept;
    // Claims further pages of the run, behind its first: at most as many as it says, with their frames.
    void claim_more(Run& run, bool homed) noexcept;
    // Fills claimed pages, as many as can be had: `run.count` of them.
    Outcome fill(Run& run, bool homed, bool write) noexcept;
    // From home, of small pages; the segment is lost where they cannot be had.
    Outcome fetch(const Run& run, std::byte* bounce, Fetched& found) noexcept;
    Outcome source_of(Run& run, bool homed, bool& write, Fetched& found) noexcept;
    // Where all of a huge page's content is, that its home has.
    Outcome gather(std::uint32_t page, bool& write, Fetched& found) noexcept;
    // Corrects a small page that came with other content than was stored: from another of its homes.
    Outcome correct(std::uint32_t small, std::byte* bounce, bool& write, Fetched& found) noexcept;
    Outcome store(std::uint32_t page, StoredPage* pages, const std::byte** sources) noexcept;
    void discard_attached(std::size_t offset, std::size_t length) noexcept;
    void forget(std::size_t offset, std::size_t length) noexcept;
    void discard_pages(std::uint32_t first, std::uint32_t last) noexcept;
    void clear(std::size_t offset, std::size_t length) noexcept;
    [[nodiscard]] std::size_t place_of(std::uint32_t page) const noexcept {
        return std::size_t{page} << shift_;
    }
    // The CRC of small page number `small` as its home has it.
    [[nodiscard]] std::uint32_t& crc_of(std::uint32_t small) noexcept {
        return huge_crcs_ ? huge_crcs_[small] : table_[small].crc;
    }
    int place(const Run& run, const Fetched& found, bool write) noexcept;
    void prefetch_until_told() noexcept;
    void prefetch_some(const std::vector<std::uint32_t>& pages) noexcept;
    [[nodiscard]] bool came_back_soon(std::uint32_t page) const noexcept;
    bool take_frame() noexcept;
    std::uint32_t take_spare_frames(std::uint32_t wanted) noexcept;
    void give_frames(std::uint32_t count) noexcept;
    void clear_home(std::uint32_t page, std::uint32_t count) noexcept;
    void make_writable(std::uint32_t page, std::uint32_t word) noexcept;
    void lose(Outcome why) noexcept;
    void stop() noexcept;
    bool bring_to_stay(std::uint32_t page, std::uint32_t end) noexcept;

    void reached(Step step) const noexcept {
        if (options_.at_step != nullptr) {
            options_.at_step(step);
        }
    }
    // True if the range is ordinary memory; waits for a settle that is about to know it.
    [[nodiscard]] bool has_left() const noexcept;

    void evict_until_told() noexcept;
    bool evict_batch() noexcept;
    void collect(Victims& clean, Victims& dirty) noexcept;
    bool claim(std::uint32_t page, Victims& clean, Victims& dirty) noexcept;
    void write_home(Victims& dirty) noexcept;
    void drop(Victims& victims) noexcept;
    void wake_evictor() noexcept;
    void serve_in_handler() noexcept;

    PagerOptions options_;
    std::string name_;
    std::unique_ptr<Transport> transport_;
    UserFault memory_;
    std::uint32_t shift_;  // a page has 1 << shift_ bytes
    std::uint32_t parts_;  // and so many small ones, in which it travels
    std::uint32_t batch_;  // most pages at a time
    std::uint32_t pages_;
    std::unique_ptr<PageEntry[]> table_;
    std::unique_ptr<std::uint32_t[]> huge_crcs_;  // of each small page, where pages are huge
    ResidentQueue queue_;
    std::int64_t cache_pages_;
    std::int64_t low_;   // free pages below which the evicting thread works
    std::int64_t high_;  // and up to which
    alignas(64) std::atomic<std::int64_t> free_;
    alignas(64) std::atomic<std::uint32_t> wanted_{0};  // futex: the evicting thread sleeps at 0
    std::atomic<int> started_{0};                       // threads that hold their descriptors
    std::atomic<bool> ending_{false};
    std::atomic<bool> lost_{false};
    Gate evicting_;            // closed: nothing is evicted, nor prefetched in the background
    Gate writing_;             // closed: no page becomes such that the program can write to it
    Gate discarding_;          // closed: none is discarded
    mutable Gate using_home_;  // closed: `transport_` is about to go
    enum class Settled { no, leaving, left };
    std::atomic<Settled> settled_{Settled::no};  // left: the range is ordinary memory
    std::atomic<bool> abandoned_{false};
    std::atomic<bool> poisoned_{false};  // absent pages may be marked as such that cannot be had
    std::atomic<Outcome> why_lost_{Outcome::good};
    std::atomic_flag fetching_ = ATOMIC_FLAG_INIT;
    std::unique_ptr<std::byte[]> bounce_;
    Sequences sequences_;
    Recorder recorder_;
    struct {
        std::atomic<std::uint64_t> failed{0}, write_faults{0}, fetched{0}, zeroed{0}, evicted{0}, stored{0},
            rescued{0}, waits{0}, prefetched{0}, corrected{0}, fault_ns{0};
    } counted_;
    // The evicting thread's, made beforehand: it allocates nothing.
    Victims clean_;
    Victims dirty_;
    int stop_ = -1;     // eventfd that ends the handler thread
    int process_ = -1;  // pidfd of this process
    int made_by_;
    std::thread evictor_;
    std::thread handler_;
    // The orders of `prefetch`; its thread shares the table of descriptors with the other fetchers.
    std::mutex ordering_;
    std::condition_variable ordered_;
    std::vector<std::uint32_t> order_;
    std::thread prefetcher_;
};

// Finds the pager of an address, and serves SIGBUS of those whose faults come to the faulting thread; in a
// child after fork(), of all.
namespace fault_signal {

// Throws std::system_error where there are 64 already.
void add(Pager* pager, bool in_thread);
void remove(Pager* pager) noexcept;
// The program's sigaction(2) for SIGBUS: its action gets the signals of no segment. False where no segment
// needs SIGBUS.
bool set_program_action(const struct sigaction* action, struct sigaction* previous) noexcept;

}  // namespace fault_signal

}  // namespace consort::remote
