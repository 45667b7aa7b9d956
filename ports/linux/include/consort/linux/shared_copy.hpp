// SPDX-License-Identifier: Apache-2.0
//
// This machine's copy of a shared region (consort/dsm): the program writes to it as to any memory, and what
// it wrote is found by the kernel's write protection. The link's engine has a mapping of its own, whose
// writes are not the program's.
#pragma once

#include <fcntl.h>

#include <cstring>
#include <memory>
#include <vector>

#include "consort/dsm/changes.hpp"
#include "consort/linux/page_scan.hpp"
#include "consort/linux/shared_memory.hpp"

namespace consort::linux_port {

class SharedCopy {
  public:
    // `window`: bytes of the link's window; the region lies at its begin and has `region` bytes, whole pages.
    // Throws std::system_error.
    SharedCopy(std::size_t window, std::size_t region)
        : engine_(SharedMemory::anonymous("consort-shared-region", window)),
          program_(SharedMemory::adopt(::fcntl(engine_.fd(), F_DUPFD_CLOEXEC, 0))),
          region_(region) {
        // No page is brought in while a side uses the region. Zeros are there already.
        for (const SharedMemory* each : {&engine_, &program_}) {
            std::memset(each->base(), 0, window);
        }
    }

    [[nodiscard]] std::byte* data() const noexcept { return static_cast<std::byte*>(program_.base()); }
    [[nodiscard]] std::byte* window() const noexcept { return static_cast<std::byte*>(engine_.base()); }
    [[nodiscard]] std::size_t bytes() const noexcept { return region_; }

  private:
    SharedMemory engine_;
    SharedMemory program_;
    std::size_t region_;
};

// Which changes a page that was written counts as.
enum class Detail : std::uint8_t {
    pages,  // all of it
    lines,  // the lines that differ from a second copy of the region, which is kept up for that
};

// A tracker (consort/dsm/host.hpp) of the program's writes to a SharedCopy. A copy of it is the same tracker.
class WrittenPages {
  public:
    // Throws std::system_error where the kernel cannot record writes: mark changes by `touch` there.
    explicit WrittenPages(SharedCopy& copy, Detail detail = Detail::pages)
        : state_(std::make_shared<State>(copy, detail)) {}

    void arm() noexcept {
        if (!state_->armed) {
            state_->armed = state_->scan.written(true, [](std::size_t, std::size_t) {});
            state_->failed = state_->failed || !state_->armed;
        }
    }
    void collect(dsm::Changes& changes) noexcept {
        State& state = *state_;
        if (state.failed) {
            changes.add_all();
            return;
        }
        if (!state.armed) {
            return;
        }
        state.armed = false;
        const bool done = state.scan.written(false, [&](std::size_t offset, std::size_t bytes) {
            for (std::size_t end = offset + bytes; offset < end; offset += dsm::page_bytes) {
                state.add(changes, static_cast<std::uint32_t>(offset / dsm::page_bytes));
            }
        });
        if (!done) {
            changes.add_all();
        }
    }
    void refreshed(const dsm::Changes& changes) noexcept {
        if (!state_->twin.empty()) {
            for (std::uint32_t page = 0; page < changes.pages(); ++page) {
                if (changes.mask(page) != 0) {
                    state_->renew(page);
                }
            }
        }
    }

  private:
    struct State {
        State(SharedCopy& of, Detail detail)
            : copy(&of), scan(of.data(), of.bytes()), twin(detail == Detail::lines ? of.bytes() : 0) {
            if (!twin.empty()) {
                std::memcpy(twin.data(), of.data(), of.bytes());
            }
        }
        void renew(std::uint32_t page) {
            const std::size_t at = std::size_t{page} * dsm::page_bytes;
            std::memcpy(twin.data() + at, copy->data() + at, dsm::page_bytes);
        }
        void add(dsm::Changes& changes, std::uint32_t page) {
            if (twin.empty()) {
                changes.add(page, ~std::uint64_t{0});
                return;
            }
            const std::size_t at = std::size_t{page} * dsm::page_bytes;
            std::uint64_t mask = 0;
            for (std::uint32_t line = 0; line < dsm::lines_of_page; ++line) {
                const std::size_t offset = at + line * dsm::tracked_bytes;
                if (std::memcmp(twin.data() + offset, copy->data() + offset, dsm::tracked_bytes) != 0) {
                    mask |= std::uint64_t{1} << line;
                }
            }
            changes.add(page, mask);
            renew(page);
        }

        SharedCopy* copy;
        PageScan scan;
        std::vector<std::byte> twin;
        bool armed = false;
        bool failed = false;
    };
    std::shared_ptr<State> state_;
};

}  // namespace consort::linux_port
