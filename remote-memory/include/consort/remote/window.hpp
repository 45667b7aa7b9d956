// SPDX-License-Identifier: Apache-2.0
//
// Attaches segments of remote memory to windows of the processor's address space, through the registers of a
// cBlock and an mBlock. Freestanding.
//
// The bus is how registers are reached: `bool read(Block, std::uint32_t at, std::uint32_t& value)` and
// `bool write(Block, std::uint32_t at, std::uint32_t value)`, false where the access ends with an error.
#pragma once

#include <cstdint>

#include "consort/remote/registers.hpp"

namespace consort::remote {

enum class Block : std::uint8_t { Cblock, Mblock };

enum class WindowStatus : std::uint8_t {
    Ok,
    BusError,    // a register access ended with an error
    NotABlock,   // what answers is not a cBlock and mBlock with this register map
    BadSize,     // not a positive multiple of 4 KiB, or more than the blocks' offsets can say
    BadAddress,  // window or segment not on a page, or beyond 40 bits
    BadRights,   // neither readable nor writable
    BadPort,
    BadLink,
    BadMemory,
    LinkDown,
    Overlap,      // another window of the port has some of these addresses
    NoWindow,     // all windows of the port are in use
    NoSegment,    // all segments of the link are in use
    NotAttached,  // there is no such window
    StillBusy     // the window is closed, and accesses that it let through before are still under way
};

[[nodiscard]] constexpr const char* words(WindowStatus status) {
    switch (status) {
        case WindowStatus::Ok:
            return "done";
        case WindowStatus::BusError:
            return "a register access ended with an error";
        case WindowStatus::NotABlock:
            return "no cBlock and mBlock with this register map answer";
        case WindowStatus::BadSize:
            return "the size has to be a multiple of 4 KiB, up to 256 MiB, or as many as the blocks were "
                   "built for";
        case WindowStatus::BadAddress:
            return "window and segment have to begin on 4 KiB and lie below 2^40";
        case WindowStatus::BadRights:
            return "a window has to be readable or writable";
        case WindowStatus::BadPort:
            return "the cBlock has no such port";
        case WindowStatus::BadLink:
            return "the blocks have no such link";
        case WindowStatus::BadMemory:
            return "the mBlock has no such memory";
        case WindowStatus::LinkDown:
            return "the link is down";
        case WindowStatus::Overlap:
            return "another window of the port has some of these addresses";
        case WindowStatus::NoWindow:
            return "all windows of the port are in use";
        case WindowStatus::NoSegment:
            return "all segments of the link are in use";
        case WindowStatus::NotAttached:
            return "there is no such window";
        case WindowStatus::StillBusy:
            return "the window is closed, and accesses from before are still under way";
    }
    return "unknown";
}

struct WindowRequest {
    std::uint64_t address = 0;  // as the processor sees it
    std::uint64_t size = 0;     // bytes
    std::uint64_t offset = 0;   // in the remote memory
    std::uint32_t port = 0;
    std::uint32_t link = 0;
    std::uint32_t memory = 0;
    bool readable = true;
    bool writable = true;
};

struct Attached {
    std::uint32_t window = 0, segment = 0, generation = 0;
};

// One user at a time: nothing else may change the tables meanwhile.
template <class Bus>
class Windows {
  public:
    static constexpr std::uint64_t kPage = 4096;
    static constexpr std::uint32_t kPolls = 1'000'000;  // of detach, each three register accesses
    // The largest segment that an offset on the link can name in any build; each block's shape has its own
    // limit.
    static constexpr std::uint64_t kMaxSize = 1ULL << 38;
    static constexpr std::uint64_t kAddresses = 1ULL << 40;
    static_assert((kMaxSize / kPage) - 1 == mblock::LinkTableSegmentLast::kPageMax);
    static_assert((kAddresses / kPage) - 1 == cblock::PortWindowFirst::kPageMax);
    static_assert(cblock::PortWindowControl::kGenerationMax ==
                  mblock::LinkTableSegmentControl::kGenerationMax);

    explicit Windows(Bus& bus) : bus_(bus) {}

    // The segment is opened before the window, so that whoever sees the window finds the segment.
    [[nodiscard]] WindowStatus attach(const WindowRequest& want, Attached& attached) {
        if (want.size == 0 || want.size % kPage != 0 || want.size > kMaxSize) return WindowStatus::BadSize;
        if (!place_good(want.address, want.size) || !place_good(want.offset, want.size))
            return WindowStatus::BadAddress;
        if (!want.readable && !want.writable) return WindowStatus::BadRights;
        if (const auto status = shape(); status != WindowStatus::Ok) return status;
        if (want.size > max_size()) return WindowStatus::BadSize;
        if (want.port >= cshape_.ports()) return WindowStatus::BadPort;
        if (want.link >= cshape_.links() || want.link >= mshape_.links()) return WindowStatus::BadLink;
        if (want.memory >= mshape_.memories()) return WindowStatus::BadMemory;
        cblock::Up up;
        if (!get(Block::Cblock, cblock::Up::at(), up)) return WindowStatus::BusError;
        if ((up.links() >> want.link & 1) == 0) return WindowStatus::LinkDown;
        if (const auto status = find_window(want, attached.window); status != WindowStatus::Ok) return status;
        if (const auto status = find_segment(want.link, attached); status != WindowStatus::Ok) return status;

        mblock::LinkTableSegmentBase base;
        base.set_page(static_cast<std::uint32_t>(want.offset / kPage));
        mblock::LinkTableSegmentLast extent;
        extent.set_page(static_cast<std::uint32_t>(want.size / kPage - 1));
        mblock::LinkTableSegmentControl segment;
        segment.set_valid(1);
        segment.set_readable(want.readable ? 1 : 0);
        segment.set_writable(want.writable ? 1 : 0);
        segment.set_memory(want.memory);
        segment.set_generation(attached.generation);
        cblock::PortWindowFirst first;
        first.set_page(static_cast<std::uint32_t>(want.address / kPage));
        cblock::PortWindowLast last;
        last.set_page(static_cast<std::uint32_t>((want.address + want.size) / kPage - 1));
        cblock::PortWindowControl window;
        window.set_valid(1);
        window.set_readable(want.readable ? 1 : 0);
        window.set_writable(want.writable ? 1 : 0);
        window.set_link(want.link);
        window.set_segment(attached.segment);
        window.set_generation(attached.generation);
        const bool good =
            bus_.write(Block::Mblock, mblock::LinkTableSegmentBase::at(want.link, attached.segment),
                       base.bits) &&
            bus_.write(Block::Mblock, mblock::LinkTableSegmentLast::at(want.link, attached.segment),
                       extent.bits) &&
            bus_.write(Block::Mblock, mblock::LinkTableSegmentControl::at(want.link, attached.segment),
                       segment.bits) &&
            bus_.write(Block::Cblock, cblock::PortWindowFirst::at(want.port, attached.window), first.bits) &&
            bus_.write(Block::Cblock, cblock::PortWindowLast::at(want.port, attached.window), last.bits) &&
            bus_.write(Block::Cblock, cblock::PortWindowControl::at(want.port, attached.window), window.bits);
        return good ? WindowStatus::Ok : WindowStatus::BusError;
    }

    // The window goes first; then the segment, with its generation moved on, so that a request still under
    // way is refused. Then it waits until what was under way has ended: after Ok nothing reaches the
    // segment's memory any more, and it may be given to others. StillBusy after kPolls looks at the
    // registers; drained() tells later. The blocks end every access in bounded time, so kPolls that take
    // longer than the link's and the memory's times are enough.
    [[nodiscard]] WindowStatus detach(std::uint32_t port, std::uint32_t index) {
        if (const auto status = shape(); status != WindowStatus::Ok) return status;
        if (port >= cshape_.ports()) return WindowStatus::BadPort;
        if (index >= cshape_.windows()) return WindowStatus::NotAttached;
        cblock::PortWindowControl window;
        if (!get(Block::Cblock, cblock::PortWindowControl::at(port, index), window))
            return WindowStatus::BusError;
        if (window.valid() == 0) return WindowStatus::NotAttached;
        mblock::LinkTableSegmentControl segment;
        segment.set_generation((window.generation() + 1) & mblock::LinkTableSegmentControl::kGenerationMax);
        const bool good =
            bus_.write(Block::Cblock, cblock::PortWindowControl::at(port, index), 0) &&
            bus_.write(Block::Mblock, mblock::LinkTableSegmentControl::at(window.link(), window.segment()),
                       segment.bits) &&
            bus_.write(Block::Cblock, cblock::Fence::at(), 1U << port);
        if (!good) return WindowStatus::BusError;
        auto status = WindowStatus::StillBusy;
        for (std::uint32_t i = 0; i < kPolls && status == WindowStatus::StillBusy; ++i)
            status = drained(port, window.link());
        return status;
    }

    // True if everything is over that the port had begun when one of its windows on this link was detached
    // last.
    [[nodiscard]] WindowStatus drained(std::uint32_t port, std::uint32_t link) {
        cblock::Fence fence;
        mblock::Up up;
        mblock::Busy busy;
        if (!get(Block::Cblock, cblock::Fence::at(), fence) || !get(Block::Mblock, mblock::Up::at(), up) ||
            !get(Block::Mblock, mblock::Busy::at(), busy))
            return WindowStatus::BusError;
        if ((fence.ports() >> port & 1) != 0) return WindowStatus::StillBusy;
        // Accesses that ended because the link went down may still be under way at the memory; before the
        // link is up again they are not.
        const bool ends = (up.links() >> link & 1) == 0 && (busy.links() >> link & 1) != 0;
        return ends ? WindowStatus::StillBusy : WindowStatus::Ok;
    }

  private:
    // By the shapes that were read last.
    [[nodiscard]] std::uint64_t max_size() const {
        const auto cwide = cshape_.wide();
        const auto mwide = mshape_.wide();
        return 1ULL << (28 + (cwide < mwide ? cwide : mwide));
    }

    static constexpr bool place_good(std::uint64_t at, std::uint64_t size) {
        return at % kPage == 0 && at < kAddresses && size <= kAddresses - at;
    }

    template <class Register>
    bool get(Block block, std::uint32_t at, Register& value) {
        return bus_.read(block, at, value.bits);
    }

    WindowStatus shape() {
        cblock::Id cid;
        mblock::Id mid;
        if (!get(Block::Cblock, cblock::Id::at(), cid) || !get(Block::Mblock, mblock::Id::at(), mid) ||
            !get(Block::Cblock, cblock::Shape::at(), cshape_) ||
            !get(Block::Mblock, mblock::Shape::at(), mshape_))
            return WindowStatus::BusError;
        const bool known = cid.bits == cblock::Id::kReset && mid.bits == mblock::Id::kReset;
        return known ? WindowStatus::Ok : WindowStatus::NotABlock;
    }

    WindowStatus find_window(const WindowRequest& want, std::uint32_t& index) {
        const std::uint64_t first = want.address / kPage;
        const std::uint64_t last = first + want.size / kPage - 1;
        bool found = false;
        for (std::uint32_t i = 0; i < cshape_.windows(); ++i) {
            cblock::PortWindowControl control;
            cblock::PortWindowFirst its_first;
            cblock::PortWindowLast its_last;
            if (!get(Block::Cblock, cblock::PortWindowControl::at(want.port, i), control) ||
                !get(Block::Cblock, cblock::PortWindowFirst::at(want.port, i), its_first) ||
                !get(Block::Cblock, cblock::PortWindowLast::at(want.port, i), its_last))
                return WindowStatus::BusError;
            if (control.valid() != 0 && first <= its_last.page() && its_first.page() <= last)
                return WindowStatus::Overlap;
            if (control.valid() == 0 && !found) {
                found = true;
                index = i;
            }
        }
        return found ? WindowStatus::Ok : WindowStatus::NoWindow;
    }

    WindowStatus find_segment(std::uint32_t link, Attached& attached) {
        for (std::uint32_t i = 0; i < mshape_.segments(); ++i) {
            mblock::LinkTableSegmentControl control;
            if (!get(Block::Mblock, mblock::LinkTableSegmentControl::at(link, i), control))
                return WindowStatus::BusError;
            if (control.valid() != 0) continue;
            attached.segment = i;
            attached.generation = control.generation();
            return WindowStatus::Ok;
        }
        return WindowStatus::NoSegment;
    }

    Bus& bus_;
    cblock::Shape cshape_;
    mblock::Shape mshape_;
};

}  // namespace consort::remote
