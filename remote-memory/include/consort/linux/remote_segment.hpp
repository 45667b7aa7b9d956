// SPDX-License-Identifier: Apache-2.0
//
// Memory that sits elsewhere, as a range of this program's addresses: docs/remote-pager.md. Link with
// the library consort_remote (pager).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace consort::remote {

// The server of a fault.
enum class Faults : std::uint8_t {
    in_thread,  // the faulting thread itself (SIGBUS): fastest; a system call on an absent page fails
                // (EFAULT)
    handler,    // a thread that sleeps until there is one: any access, system calls included
    polling     // the same, with a thread that never sleeps
};

// How a page of a server on this machine comes to the program.
enum class Pages : std::uint8_t {
    copied,  // and checked against its CRC
    mapped   // the page itself: faster, nothing is written back, and nothing checks what it holds
};

enum class Rights : std::uint8_t { read, read_write };

inline constexpr std::size_t small_page = 4096;
inline constexpr std::size_t huge_page = 2U << 20U;

// Counts since a segment was attached: pages of its size, and faults where it says so.
struct Counters {
    std::uint64_t faults = 0;        // on absent pages
    std::uint64_t write_faults = 0;  // on clean pages
    std::uint64_t fetched = 0;
    std::uint64_t zeroed = 0;  // first touches, which need no server
    std::uint64_t evicted = 0;
    std::uint64_t stored = 0;
    std::uint64_t rescued = 0;        // written to while they were on their way home
    std::uint64_t waits = 0;          // faults that found no free page in the cache
    std::uint64_t prefetched = 0;     // pages that came before a fault
    std::uint64_t corrected = 0;      // pages that one server had wrong and another right
    std::uint64_t reconnected = 0;    // connections that were cut and made again
    std::uint64_t replicas_lost = 0;  // servers that count no more
    std::uint64_t fault_ns = 0;       // how long faults took in all, where the options asked for it
};

struct SegmentOptions {
    std::string server;     // HOST:PORT (TCP), or the path of a server's socket (shared memory)
    std::string key_file;   // the pre-shared key: at least 32 bytes, in a file of yours alone
    std::size_t bytes = 0;  // a multiple of `page`, below 16 TiB
    // How much of it lies here at most; at least 1 MiB, and 16 MiB in pages of 2 MiB.
    std::size_t cache_bytes = 0;
    // The unit of faults and evictions: 4 KiB, or 2 MiB, of the huge pages that this machine has reserved
    // (hugetlb, Linux 5.19). `mapped` takes the page size that the server's memory has.
    std::size_t page = small_page;
    Faults faults = Faults::in_thread;
    Pages pages = Pages::copied;
    std::uint32_t prefetch = 64;  // most pages of 4 KiB that one fault brings, 1 to 64; one of 2 MiB
    std::chrono::milliseconds patience{5000};  // after which a server that does not answer is lost
    // How long a connection over TCP that was cut is tried again, with the segment kept by its server; the
    // accesses that need it wait. 0: a cut loses the server.
    std::chrono::milliseconds reconnect{0};
    bool encrypt = false;  // what goes over TCP
    // The provider of libfabric that pages go through (tcp, shm, verbs;ofi_rxm, ...); empty: none. The server
    // is HOST:PORT and offers it.
    std::string fabric{};
    // Further servers. Each group of `replicas` of all of them holds the same pages, and a page is home when
    // all of its group have it; several groups share the segment, in pieces of 2 MiB.
    std::vector<std::string> more_servers{};
    std::uint32_t replicas = 1;
    bool record = false;  // which pages come, for `recorded`
    bool timed = false;   // how long faults take, for `counters`
};

class Pager;

// A working set as a text that a person can read: `write_pages` makes it, `read_pages` takes it and throws
// std::invalid_argument where a line is wrong or a page is not below `limit`.
std::string write_pages(const std::vector<std::uint32_t>& pages);
std::vector<std::uint32_t> read_pages(const std::string& text, std::uint32_t limit);

// A segment, zero at first, attached from construction to destruction. A page that cannot be had ends the
// access with SIGBUS, after a message on standard error. A child after fork() does not have the range.
class Segment {
  public:
    // Throws std::invalid_argument where an option, the key or the server's version does not fit or the
    // server refuses the size; std::system_error where there is no server or userfaultfd cannot be had.
    explicit Segment(const SegmentOptions& options);
    Segment(const Segment&) = delete;
    Segment& operator=(const Segment&) = delete;
    Segment(Segment&& other) noexcept;
    Segment& operator=(Segment&&) = delete;
    // Nobody may use the range any more. What it holds is gone.
    ~Segment();

    [[nodiscard]] void* data() const noexcept;
    [[nodiscard]] std::size_t bytes() const noexcept;
    [[nodiscard]] std::size_t page() const noexcept;
    // Whole pages of 4 KiB in the range [bytes] read as zeros afterwards, and take no place in the cache.
    void discard(std::size_t offset, std::size_t length) noexcept;
    // The rights of this program to whole pages of the range [bytes]: a write to what is only readable ends
    // with SIGSEGV, as with mprotect(2). False where the kernel has no memory for it, or for a range that is
    // not one of whole pages, of the segment's size.
    [[nodiscard]] bool protect(std::size_t offset, std::size_t length, Rights rights) noexcept;
    [[nodiscard]] Counters counters() const noexcept;
    // The pages that came, each once, in that order, where the options asked for it.
    [[nodiscard]] std::vector<std::uint32_t> recorded() const;
    // Brings these pages in the background, while the cache has room; takes the place of such an order
    // before.
    void prefetch(std::vector<std::uint32_t> pages);
    // Ends the segment and keeps what blocks of whole pages [offset, bytes] hold: they stay where they are,
    // as ordinary memory of this process, while its threads use them. Nothing else of it may be in use; it is
    // ordinary memory, too. False where a page cannot be had: the segment is as before then. Afterwards
    // nothing but `data`, `bytes` and `counters` may be called, nor is the range unmapped.
    struct Block {
        std::size_t offset;
        std::size_t bytes;
    };
    [[nodiscard]] bool settle(const std::vector<Block>& blocks);
    // For a child that fork() is to make: from `freeze` to `thaw` nothing changes what copied pages hold, and
    // other threads that write to them, or discard some, wait. The calling thread writes to none, in no
    // signal handler either. Mapped pages change on. `freeze` is false where the kernel has no memory for it.
    [[nodiscard]] bool freeze() noexcept;
    void thaw() noexcept;
    // How many bytes of a block of whole pages hold anything but zeros; and a copy of what they hold at the
    // same offset of `to`, which is zeros. False where a page cannot be had.
    [[nodiscard]] std::size_t held(Block block) const noexcept;
    [[nodiscard]] bool copy(Block block, std::byte* to) noexcept;
    // True if the server is lost: pages in the cache stay, all others end with SIGBUS.
    [[nodiscard]] bool lost() const noexcept;

  private:
    std::unique_ptr<Pager> pager_;
};

}  // namespace consort::remote
