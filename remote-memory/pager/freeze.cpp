// SPDX-License-Identifier: Apache-2.0
//
// A segment's content at one instant: the copy that a child gets after fork(). All pages are protected from
// writes; a thread that writes meanwhile waits, as after a fork of ordinary memory the writer of a page that
// both have waits for its copy.
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "pager.hpp"
#include "waiting.hpp"

namespace consort::remote {

bool Pager::freeze() noexcept {
    // In this order: who discards part of a huge page writes to it.
    discarding_.close([patience = Patience{}]() mutable { patience.wait(); });
    writing_.close([patience = Patience{}]() mutable { patience.wait(); });
    if (options_.pages == Pages::mapped || memory_.write_protect(0, bytes(), true) == 0) {
        return true;
    }
    thaw();
    return false;
}

void Pager::thaw() noexcept {
    // Dirty pages stay protected until they are written to.
    writing_.open();
    discarding_.open();
    // A fault that was put off before the gate opened has its thread woken after it.
    // ThreadSanitizer knows no fences; on the processors that it runs on, the call below is one.
#ifndef __SANITIZE_THREAD__
    std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
    memory_.wake_all();
}

bool Pager::is_zeros(std::uint32_t page) const noexcept {
    const std::uint32_t word = table_[page].word.load(std::memory_order_acquire);
    return Page::state(word) == PageState::away && (word & Page::homed) == 0;
}

std::size_t Pager::held(Range range) const noexcept {
    const auto end = static_cast<std::uint32_t>((range.offset + range.bytes + page_size() - 1) >> shift_);
    std::size_t pages = 0;
    for (auto page = static_cast<std::uint32_t>(range.offset >> shift_); page < end; ++page) {
        pages += is_zeros(page) ? 0 : 1;
    }
    return std::min(pages * page_size(), range.bytes);
}

bool Pager::copy(Range range, std::byte* to) noexcept {
    const std::size_t end = range.offset + range.bytes;
    for (std::size_t at = range.offset; at < end;) {
        const auto page = static_cast<std::uint32_t>(at >> shift_);
        const std::size_t next = std::min(end, place_of(page + 1));
        if (!is_zeros(page) && !copy_page(page, {at, next - at}, to + at)) {
            return false;
        }
        at = next;
    }
    return true;
}

bool Pager::copy_page(std::uint32_t page, Range part, std::byte* to) noexcept {
    if (options_.faults == Faults::in_thread) {
        // Beforehand: an access that finds no page would end the program.
        const auto address = reinterpret_cast<std::uintptr_t>(base()) + part.offset;
        if (Page::state(table_[page].word.load(std::memory_order_acquire)) == PageState::away &&
            !serve(address, false)) {
            return false;
        }
        std::memcpy(to, base() + part.offset, part.bytes);
        return true;
    }
    // By the kernel, which answers where there is no page.
    for (std::size_t done = 0; done < part.bytes;) {
        const iovec from{base() + part.offset + done, part.bytes - done};
        const iovec into{to + done, part.bytes - done};
        const ssize_t copied = ::process_vm_readv(::getpid(), &into, 1, &from, 1, 0);
        if (copied <= 0) {
            return false;
        }
        done += static_cast<std::size_t>(copied);
    }
    return true;
}

}  // namespace consort::remote
