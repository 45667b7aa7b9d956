// SPDX-License-Identifier: Apache-2.0
//
// Memory that sits elsewhere, as a range of this program's addresses: docs/how-to/remote-pager.md. Link with
// the library consort_remote (ports/linux/remote).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace consort::remote {

// Who serves a fault.
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

// What was done for a segment since it was attached: pages, and faults where it says so.
struct Counters {
    std::uint64_t faults = 0;        // on absent pages
    std::uint64_t write_faults = 0;  // on clean pages
    std::uint64_t fetched = 0;
    std::uint64_t zeroed = 0;  // first touches, which need no server
    std::uint64_t evicted = 0;
    std::uint64_t stored = 0;
    std::uint64_t rescued = 0;  // written to while they were on their way home
    std::uint64_t waits = 0;    // faults that found no free page in the cache
};

struct SegmentOptions {
    std::string server;           // HOST:PORT (TCP), or the path of a server's socket (shared memory)
    std::string key_file;         // the pre-shared key: at least 32 bytes, in a file of yours alone
    std::size_t bytes = 0;        // a multiple of 4 KiB, below 16 TiB
    std::size_t cache_bytes = 0;  // how much of it lies here at most; at least 1 MiB
    Faults faults = Faults::in_thread;
    Pages pages = Pages::copied;
    std::uint32_t prefetch = 64;               // most pages that one fault brings, 1 to 64
    std::chrono::milliseconds patience{5000};  // after which a server that does not answer is lost
};

class Pager;

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
    // Whole pages in the range [bytes] read as zeros afterwards, and take no place in the cache.
    void discard(std::size_t offset, std::size_t length) noexcept;
    // The rights of this program to whole pages of the range [bytes]: a write to what is only readable ends
    // with SIGSEGV, as with mprotect(2). False where the kernel has no memory for it, or for a range that is
    // not one of whole pages of the segment.
    [[nodiscard]] bool protect(std::size_t offset, std::size_t length, Rights rights) noexcept;
    [[nodiscard]] Counters counters() const noexcept;
    // Whether the server is lost: what is in the cache stays, all else ends with SIGBUS.
    [[nodiscard]] bool lost() const noexcept;

  private:
    std::unique_ptr<Pager> pager_;
};

}  // namespace consort::remote
