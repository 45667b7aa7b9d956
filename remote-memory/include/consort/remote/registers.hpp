// SPDX-License-Identifier: Apache-2.0
//
// Made from rtl/regs/remote.rdl by rtl/regs/registers.py: do not edit.
// Registers of the cBlock and the mBlock: places and layouts. Freestanding.
// clang-format off
#pragma once

#include <cstdint>

namespace consort::remote::cblock {

inline constexpr std::uint32_t kMaxLinks = 4;
inline constexpr std::uint32_t kMaxPorts = 4;
inline constexpr std::uint32_t kMaxWindows = 8;

// Kind of the block (ASCII "CB") and version of this register map. Read-only.
struct Id {
    static constexpr bool kWritable = false;
    static constexpr std::uint32_t kReset = 0x43420001;
    static constexpr std::uint32_t at() { return 0x0; }

    std::uint32_t bits = kReset;

    // version
    [[nodiscard]] constexpr std::uint32_t version() const { return bits & 0xFFFF; }
    // "CB"
    [[nodiscard]] constexpr std::uint32_t kind() const { return (bits >> 16) & 0xFFFF; }
};
static_assert(sizeof(Id) == 4);
static_assert(Id::at() == 0x0);

// How many there are of each. Read-only.
struct Shape {
    static constexpr bool kWritable = false;
    static constexpr std::uint32_t at() { return 0x4; }

    std::uint32_t bits = 0;

    // AXI4 ports
    [[nodiscard]] constexpr std::uint32_t ports() const { return bits & 0xFF; }
    // links
    [[nodiscard]] constexpr std::uint32_t links() const { return (bits >> 8) & 0xFF; }
    // windows of each port
    [[nodiscard]] constexpr std::uint32_t windows() const { return (bits >> 16) & 0xFF; }
    // bits of an offset in a segment beyond 28: 0 where segments are of 256 MiB at most, 10 where they are of 256 GiB
    [[nodiscard]] constexpr std::uint32_t wide() const { return (bits >> 24) & 0xFF; }
};
static_assert(sizeof(Shape) == 4);
static_assert(Shape::at() == 0x4);

// Which links work; a link comes up when both ends are enabled.
struct Enable {
    static constexpr bool kWritable = true;
    static constexpr std::uint32_t kReset = 0x0;
    static constexpr std::uint32_t at() { return 0x8; }

    std::uint32_t bits = kReset;

    // one bit for each link
    [[nodiscard]] constexpr std::uint32_t links() const { return bits & 0xF; }
    constexpr void set_links(std::uint32_t value) {
        bits = (bits & ~0xFU) | ((value) & 0xFU);
    }
    static constexpr std::uint32_t kLinksMax = 0xF;
};
static_assert(sizeof(Enable) == 4);
static_assert(Enable::at() == 0x8);

// Which links are up. Read-only.
struct Up {
    static constexpr bool kWritable = false;
    static constexpr std::uint32_t at() { return 0xC; }

    std::uint32_t bits = 0;

    // one bit for each link
    [[nodiscard]] constexpr std::uint32_t links() const { return bits & 0xF; }
};
static_assert(sizeof(Up) == 4);
static_assert(Up::at() == 0xC);

// After how many cycles without acknowledgement a frame is sent again.
struct AckTimeout {
    static constexpr bool kWritable = true;
    static constexpr std::uint32_t kReset = 0x400;
    static constexpr std::uint32_t at() { return 0x10; }

    std::uint32_t bits = kReset;

    // cycles
    [[nodiscard]] constexpr std::uint32_t cycles() const { return bits & 0xFFFF; }
    constexpr void set_cycles(std::uint32_t value) {
        bits = (bits & ~0xFFFFU) | ((value) & 0xFFFFU);
    }
    static constexpr std::uint32_t kCyclesMax = 0xFFFF;
};
static_assert(sizeof(AckTimeout) == 4);
static_assert(AckTimeout::at() == 0x10);

// After how many cycles without a good frame a link is down.
struct DownAfter {
    static constexpr bool kWritable = true;
    static constexpr std::uint32_t kReset = 0x10000;
    static constexpr std::uint32_t at() { return 0x14; }

    std::uint32_t bits = kReset;

    // cycles
    [[nodiscard]] constexpr std::uint32_t cycles() const { return bits & 0xFFFFFF; }
    constexpr void set_cycles(std::uint32_t value) {
        bits = (bits & ~0xFFFFFFU) | ((value) & 0xFFFFFFU);
    }
    static constexpr std::uint32_t kCyclesMax = 0xFFFFFF;
};
static_assert(sizeof(DownAfter) == 4);
static_assert(DownAfter::at() == 0x14);

// A fence: a 1 that is written is read back until every access that its port had begun before is answered.
struct Fence {
    static constexpr bool kWritable = true;
    static constexpr std::uint32_t kReset = 0x0;
    static constexpr std::uint32_t at() { return 0x18; }

    std::uint32_t bits = kReset;

    // one bit for each port
    [[nodiscard]] constexpr std::uint32_t ports() const { return bits & 0xF; }
    constexpr void set_ports(std::uint32_t value) {
        bits = (bits & ~0xFU) | ((value) & 0xFU);
    }
    static constexpr std::uint32_t kPortsMax = 0xF;
};
static_assert(sizeof(Fence) == 4);
static_assert(Fence::at() == 0x18);

// Which accesses are urgent: those whose AxQOS is at least this. They leave their ports before all others, which have one turn after nine of theirs.
struct Urgent {
    static constexpr bool kWritable = true;
    static constexpr std::uint32_t kReset = 0x0;
    static constexpr std::uint32_t at() { return 0x1C; }

    std::uint32_t bits = kReset;

    // AxQOS; 0: none is urgent
    [[nodiscard]] constexpr std::uint32_t from() const { return bits & 0xF; }
    constexpr void set_from(std::uint32_t value) {
        bits = (bits & ~0xFU) | ((value) & 0xFU);
    }
    static constexpr std::uint32_t kFromMax = 0xF;
};
static_assert(sizeof(Urgent) == 4);
static_assert(Urgent::at() == 0x1C);

// How much of each port's accesses that are not urgent may be under way. One that is longer goes alone.
struct Share {
    static constexpr bool kWritable = true;
    static constexpr std::uint32_t kReset = 0x0;
    static constexpr std::uint32_t at() { return 0x20; }

    std::uint32_t bits = kReset;

    // beats of reads, with the port's urgent ones; 0: all that there is room for
    [[nodiscard]] constexpr std::uint32_t reads() const { return bits & 0x3FF; }
    constexpr void set_reads(std::uint32_t value) {
        bits = (bits & ~0x3FFU) | ((value) & 0x3FFU);
    }
    static constexpr std::uint32_t kReadsMax = 0x3FF;
    // units of writes, 18 for 16 beats at most, with the port's urgent ones; 0: all that there are credits for
    [[nodiscard]] constexpr std::uint32_t writes() const { return (bits >> 16) & 0x3FF; }
    constexpr void set_writes(std::uint32_t value) {
        bits = (bits & ~0x3FF0000U) | ((value << 16) & 0x3FF0000U);
    }
    static constexpr std::uint32_t kWritesMax = 0x3FF;
};
static_assert(sizeof(Share) == 4);
static_assert(Share::at() == 0x20);

// How long a lender may leave an access without an answer whose request its link took: after once to twice as long that link goes down, and its accesses end with SLVERR. More than twice the mBlock's own `answer_after`, or one silent memory takes the whole link down. 0: for ever.
struct AnswerAfter {
    static constexpr bool kWritable = true;
    static constexpr std::uint32_t kReset = 0x80000;
    static constexpr std::uint32_t at() { return 0x24; }

    std::uint32_t bits = kReset;

    // cycles
    [[nodiscard]] constexpr std::uint32_t cycles() const { return bits & 0xFFFFFF; }
    constexpr void set_cycles(std::uint32_t value) {
        bits = (bits & ~0xFFFFFFU) | ((value) & 0xFFFFFFU);
    }
    static constexpr std::uint32_t kCyclesMax = 0xFFFFFF;
};
static_assert(sizeof(AnswerAfter) == 4);
static_assert(AnswerAfter::at() == 0x24);

// What went wrong since it was cleared; one bit for each cause of `fault`. Write 1 to clear.
struct IrqStatus {
    static constexpr bool kWritable = true;
    static constexpr std::uint32_t kReset = 0x0;
    static constexpr std::uint32_t at() { return 0x30; }

    std::uint32_t bits = kReset;

    // a link went down
    [[nodiscard]] constexpr std::uint32_t link_down() const { return bits & 0x1; }
    constexpr void set_link_down(std::uint32_t value) {
        bits = (bits & ~0x1U) | ((value) & 0x1U);
    }
    static constexpr std::uint32_t kLinkDownMax = 0x1;
    // faults of cause 1 to 6
    [[nodiscard]] constexpr std::uint32_t faults() const { return (bits >> 1) & 0x3F; }
    constexpr void set_faults(std::uint32_t value) {
        bits = (bits & ~0x7EU) | ((value << 1) & 0x7EU);
    }
    static constexpr std::uint32_t kFaultsMax = 0x3F;
};
static_assert(sizeof(IrqStatus) == 4);
static_assert(IrqStatus::at() == 0x30);

// For which bits of `irq_status` the block's interrupt is raised; it is high as long as one of them is set.
struct IrqEnable {
    static constexpr bool kWritable = true;
    static constexpr std::uint32_t kReset = 0x0;
    static constexpr std::uint32_t at() { return 0x34; }

    std::uint32_t bits = kReset;

    // one bit for each of irq_status
    [[nodiscard]] constexpr std::uint32_t causes() const { return bits & 0x7F; }
    constexpr void set_causes(std::uint32_t value) {
        bits = (bits & ~0x7FU) | ((value) & 0x7FU);
    }
    static constexpr std::uint32_t kCausesMax = 0x7F;
};
static_assert(sizeof(IrqEnable) == 4);
static_assert(IrqEnable::at() == 0x34);

// The first fault since the log was cleared. Write 1 to `valid` to clear it; the next fault is kept then.
struct Fault {
    static constexpr bool kWritable = true;
    static constexpr std::uint32_t kReset = 0x0;
    static constexpr std::uint32_t at() { return 0x38; }

    std::uint32_t bits = kReset;

    // there is one; all else is 0 where there is none
    [[nodiscard]] constexpr std::uint32_t valid() const { return bits & 0x1; }
    constexpr void set_valid(std::uint32_t value) {
        bits = (bits & ~0x1U) | ((value) & 0x1U);
    }
    static constexpr std::uint32_t kValidMax = 0x1;
    // more came after it
    [[nodiscard]] constexpr std::uint32_t overflow() const { return (bits >> 1) & 0x1; }
    // it was a store
    [[nodiscard]] constexpr std::uint32_t write() const { return (bits >> 2) & 0x1; }
    // the port
    [[nodiscard]] constexpr std::uint32_t port() const { return (bits >> 3) & 0x3; }
    // the window, where there was one
    [[nodiscard]] constexpr std::uint32_t window() const { return (bits >> 5) & 0xF; }
    // 1: in no window; 2: against its window's rights; 3: exclusive; 4: the link was down; 5: the link went down before the answer; 6: the other end answered with an error
    [[nodiscard]] constexpr std::uint32_t cause() const { return (bits >> 9) & 0x7; }
};
static_assert(sizeof(Fault) == 4);
static_assert(Fault::at() == 0x38);

// Faults since reset. Each access that ended with an error is one. Read-only.
struct FaultCount {
    static constexpr bool kWritable = false;
    static constexpr std::uint32_t kReset = 0x0;
    static constexpr std::uint32_t at() { return 0x3C; }

    std::uint32_t bits = kReset;

    // count
    [[nodiscard]] constexpr std::uint32_t count() const { return bits; }
};
static_assert(sizeof(FaultCount) == 4);
static_assert(FaultCount::at() == 0x3C);

// The address of the fault, as the processor sees it, lower bits; 0 where there is no fault. Read-only.
struct FaultLow {
    static constexpr bool kWritable = false;
    static constexpr std::uint32_t kReset = 0x0;
    static constexpr std::uint32_t at() { return 0x40; }

    std::uint32_t bits = kReset;

    // bits 31 to 0
    [[nodiscard]] constexpr std::uint32_t address() const { return bits; }
};
static_assert(sizeof(FaultLow) == 4);
static_assert(FaultLow::at() == 0x40);

// The address of the fault, as the processor sees it, upper bits. Read-only.
struct FaultHigh {
    static constexpr bool kWritable = false;
    static constexpr std::uint32_t kReset = 0x0;
    static constexpr std::uint32_t at() { return 0x44; }

    std::uint32_t bits = kReset;

    // bits 63 to 32
    [[nodiscard]] constexpr std::uint32_t address() const { return bits; }
};
static_assert(sizeof(FaultHigh) == 4);
static_assert(FaultHigh::at() == 0x44);

// Frames with a wrong CRC or number, since reset. Read-only.
struct LinkBadFrames {
    static constexpr bool kWritable = false;
    static constexpr std::uint32_t kReset = 0x0;
    static constexpr std::uint32_t at(std::uint32_t link) { return 0x100 + link * 0x20; }

    std::uint32_t bits = kReset;

    // count
    [[nodiscard]] constexpr std::uint32_t count() const { return bits; }
};
static_assert(sizeof(LinkBadFrames) == 4);
static_assert(LinkBadFrames::at(3) == 0x160);

// Repetitions sent, since reset. Read-only.
struct LinkReplays {
    static constexpr bool kWritable = false;
    static constexpr std::uint32_t kReset = 0x0;
    static constexpr std::uint32_t at(std::uint32_t link) { return 0x104 + link * 0x20; }

    std::uint32_t bits = kReset;

    // count
    [[nodiscard]] constexpr std::uint32_t count() const { return bits; }
};
static_assert(sizeof(LinkReplays) == 4);
static_assert(LinkReplays::at(3) == 0x164);

// How often the link went down, since reset. Read-only.
struct LinkDowns {
    static constexpr bool kWritable = false;
    static constexpr std::uint32_t kReset = 0x0;
    static constexpr std::uint32_t at(std::uint32_t link) { return 0x108 + link * 0x20; }

    std::uint32_t bits = kReset;

    // count
    [[nodiscard]] constexpr std::uint32_t count() const { return bits; }
};
static_assert(sizeof(LinkDowns) == 4);
static_assert(LinkDowns::at(3) == 0x168);

// After how many cycles without a good frame the other end is down, as it said when the link came up last. Read-only.
struct LinkPeerAfter {
    static constexpr bool kWritable = false;
    static constexpr std::uint32_t kReset = 0x0;
    static constexpr std::uint32_t at(std::uint32_t link) { return 0x110 + link * 0x20; }

    std::uint32_t bits = kReset;

    // cycles; 0: it never came up
    [[nodiscard]] constexpr std::uint32_t cycles() const { return bits & 0xFFFFFF; }
};
static_assert(sizeof(LinkPeerAfter) == 4);
static_assert(LinkPeerAfter::at(3) == 0x170);

// Where the window begins, as the processor sees it.
struct PortWindowFirst {
    static constexpr bool kWritable = true;
    static constexpr std::uint32_t kReset = 0x0;
    static constexpr std::uint32_t at(std::uint32_t port, std::uint32_t window) { return 0x400 + port * 0x200 + window * 0x20; }

    std::uint32_t bits = kReset;

    // number of its first page of 4 KiB
    [[nodiscard]] constexpr std::uint32_t page() const { return bits & 0xFFFFFFF; }
    constexpr void set_page(std::uint32_t value) {
        bits = (bits & ~0xFFFFFFFU) | ((value) & 0xFFFFFFFU);
    }
    static constexpr std::uint32_t kPageMax = 0xFFFFFFF;
};
static_assert(sizeof(PortWindowFirst) == 4);
static_assert(PortWindowFirst::at(3, 7) == 0xAE0);

// Where the window ends.
struct PortWindowLast {
    static constexpr bool kWritable = true;
    static constexpr std::uint32_t kReset = 0x0;
    static constexpr std::uint32_t at(std::uint32_t port, std::uint32_t window) { return 0x404 + port * 0x200 + window * 0x20; }

    std::uint32_t bits = kReset;

    // number of its last page of 4 KiB
    [[nodiscard]] constexpr std::uint32_t page() const { return bits & 0xFFFFFFF; }
    constexpr void set_page(std::uint32_t value) {
        bits = (bits & ~0xFFFFFFFU) | ((value) & 0xFFFFFFFU);
    }
    static constexpr std::uint32_t kPageMax = 0xFFFFFFF;
};
static_assert(sizeof(PortWindowLast) == 4);
static_assert(PortWindowLast::at(3, 7) == 0xAE4);

// What the window is; written last when a window is opened, first when it is closed. Of windows that overlap the first counts. One of more than an offset on the link can say (256 MiB, see `shape`) is as if it were closed.
struct PortWindowControl {
    static constexpr bool kWritable = true;
    static constexpr std::uint32_t kReset = 0x0;
    static constexpr std::uint32_t at(std::uint32_t port, std::uint32_t window) { return 0x408 + port * 0x200 + window * 0x20; }

    std::uint32_t bits = kReset;

    // the window is there
    [[nodiscard]] constexpr std::uint32_t valid() const { return bits & 0x1; }
    constexpr void set_valid(std::uint32_t value) {
        bits = (bits & ~0x1U) | ((value) & 0x1U);
    }
    static constexpr std::uint32_t kValidMax = 0x1;
    // loads are allowed
    [[nodiscard]] constexpr std::uint32_t readable() const { return (bits >> 1) & 0x1; }
    constexpr void set_readable(std::uint32_t value) {
        bits = (bits & ~0x2U) | ((value << 1) & 0x2U);
    }
    static constexpr std::uint32_t kReadableMax = 0x1;
    // stores are allowed
    [[nodiscard]] constexpr std::uint32_t writable() const { return (bits >> 2) & 0x1; }
    constexpr void set_writable(std::uint32_t value) {
        bits = (bits & ~0x4U) | ((value << 2) & 0x4U);
    }
    static constexpr std::uint32_t kWritableMax = 0x1;
    // the link it goes over
    [[nodiscard]] constexpr std::uint32_t link() const { return (bits >> 3) & 0x3; }
    constexpr void set_link(std::uint32_t value) {
        bits = (bits & ~0x18U) | ((value << 3) & 0x18U);
    }
    static constexpr std::uint32_t kLinkMax = 0x3;
    // the segment of that link's table in the mBlock
    [[nodiscard]] constexpr std::uint32_t segment() const { return (bits >> 5) & 0xF; }
    constexpr void set_segment(std::uint32_t value) {
        bits = (bits & ~0x1E0U) | ((value << 5) & 0x1E0U);
    }
    static constexpr std::uint32_t kSegmentMax = 0xF;
    // must equal the segment's, or the mBlock refuses
    [[nodiscard]] constexpr std::uint32_t generation() const { return (bits >> 9) & 0xF; }
    constexpr void set_generation(std::uint32_t value) {
        bits = (bits & ~0x1E00U) | ((value << 9) & 0x1E00U);
    }
    static constexpr std::uint32_t kGenerationMax = 0xF;
};
static_assert(sizeof(PortWindowControl) == 4);
static_assert(PortWindowControl::at(3, 7) == 0xAE8);

// Reads that were taken in this window, since reset. Read-only.
struct PortWindowReads {
    static constexpr bool kWritable = false;
    static constexpr std::uint32_t kReset = 0x0;
    static constexpr std::uint32_t at(std::uint32_t port, std::uint32_t window) { return 0x40C + port * 0x200 + window * 0x20; }

    std::uint32_t bits = kReset;

    // count
    [[nodiscard]] constexpr std::uint32_t count() const { return bits; }
};
static_assert(sizeof(PortWindowReads) == 4);
static_assert(PortWindowReads::at(3, 7) == 0xAEC);

// Writes that were taken in this window, since reset. Read-only.
struct PortWindowWrites {
    static constexpr bool kWritable = false;
    static constexpr std::uint32_t kReset = 0x0;
    static constexpr std::uint32_t at(std::uint32_t port, std::uint32_t window) { return 0x410 + port * 0x200 + window * 0x20; }

    std::uint32_t bits = kReset;

    // count
    [[nodiscard]] constexpr std::uint32_t count() const { return bits; }
};
static_assert(sizeof(PortWindowWrites) == 4);
static_assert(PortWindowWrites::at(3, 7) == 0xAF0);

}  // namespace consort::remote::cblock

namespace consort::remote::mblock {

inline constexpr std::uint32_t kMaxLinks = 4;
inline constexpr std::uint32_t kMaxLinkTables = 4;
inline constexpr std::uint32_t kMaxSegments = 16;

// Kind of the block (ASCII "MB") and version of this register map. Read-only.
struct Id {
    static constexpr bool kWritable = false;
    static constexpr std::uint32_t kReset = 0x4D420001;
    static constexpr std::uint32_t at() { return 0x0; }

    std::uint32_t bits = kReset;

    // version
    [[nodiscard]] constexpr std::uint32_t version() const { return bits & 0xFFFF; }
    // "MB"
    [[nodiscard]] constexpr std::uint32_t kind() const { return (bits >> 16) & 0xFFFF; }
};
static_assert(sizeof(Id) == 4);
static_assert(Id::at() == 0x0);

// How many there are of each. Read-only.
struct Shape {
    static constexpr bool kWritable = false;
    static constexpr std::uint32_t at() { return 0x4; }

    std::uint32_t bits = 0;

    // memory controllers
    [[nodiscard]] constexpr std::uint32_t memories() const { return bits & 0xFF; }
    // links
    [[nodiscard]] constexpr std::uint32_t links() const { return (bits >> 8) & 0xFF; }
    // segments of each link
    [[nodiscard]] constexpr std::uint32_t segments() const { return (bits >> 16) & 0xFF; }
    // bits of an offset in a segment beyond 28: 0 where segments are of 256 MiB at most, 10 where they are of 256 GiB
    [[nodiscard]] constexpr std::uint32_t wide() const { return (bits >> 24) & 0xFF; }
};
static_assert(sizeof(Shape) == 4);
static_assert(Shape::at() == 0x4);

// Which links work; a link comes up when both ends are enabled.
struct Enable {
    static constexpr bool kWritable = true;
    static constexpr std::uint32_t kReset = 0x0;
    static constexpr std::uint32_t at() { return 0x8; }

    std::uint32_t bits = kReset;

    // one bit for each link
    [[nodiscard]] constexpr std::uint32_t links() const { return bits & 0xF; }
    constexpr void set_links(std::uint32_t value) {
        bits = (bits & ~0xFU) | ((value) & 0xFU);
    }
    static constexpr std::uint32_t kLinksMax = 0xF;
};
static_assert(sizeof(Enable) == 4);
static_assert(Enable::at() == 0x8);

// Which links are up. Read-only.
struct Up {
    static constexpr bool kWritable = false;
    static constexpr std::uint32_t at() { return 0xC; }

    std::uint32_t bits = 0;

    // one bit for each link
    [[nodiscard]] constexpr std::uint32_t links() const { return bits & 0xF; }
};
static_assert(sizeof(Up) == 4);
static_assert(Up::at() == 0xC);

// After how many cycles without acknowledgement a frame is sent again.
struct AckTimeout {
    static constexpr bool kWritable = true;
    static constexpr std::uint32_t kReset = 0x400;
    static constexpr std::uint32_t at() { return 0x10; }

    std::uint32_t bits = kReset;

    // cycles
    [[nodiscard]] constexpr std::uint32_t cycles() const { return bits & 0xFFFF; }
    constexpr void set_cycles(std::uint32_t value) {
        bits = (bits & ~0xFFFFU) | ((value) & 0xFFFFU);
    }
    static constexpr std::uint32_t kCyclesMax = 0xFFFF;
};
static_assert(sizeof(AckTimeout) == 4);
static_assert(AckTimeout::at() == 0x10);

// After how many cycles without a good frame a link is down.
struct DownAfter {
    static constexpr bool kWritable = true;
    static constexpr std::uint32_t kReset = 0x10000;
    static constexpr std::uint32_t at() { return 0x14; }

    std::uint32_t bits = kReset;

    // cycles
    [[nodiscard]] constexpr std::uint32_t cycles() const { return bits & 0xFFFFFF; }
    constexpr void set_cycles(std::uint32_t value) {
        bits = (bits & ~0xFFFFFFU) | ((value) & 0xFFFFFFU);
    }
    static constexpr std::uint32_t kCyclesMax = 0xFFFFFF;
};
static_assert(sizeof(DownAfter) == 4);
static_assert(DownAfter::at() == 0x14);

// How long a memory may leave accesses without an answer: after once to twice as long they end with SLVERR. 0: for ever.
struct AnswerAfter {
    static constexpr bool kWritable = true;
    static constexpr std::uint32_t kReset = 0x10000;
    static constexpr std::uint32_t at() { return 0x18; }

    std::uint32_t bits = kReset;

    // cycles
    [[nodiscard]] constexpr std::uint32_t cycles() const { return bits & 0xFFFFFF; }
    constexpr void set_cycles(std::uint32_t value) {
        bits = (bits & ~0xFFFFFFU) | ((value) & 0xFFFFFFU);
    }
    static constexpr std::uint32_t kCyclesMax = 0xFFFFFF;
};
static_assert(sizeof(AnswerAfter) == 4);
static_assert(AnswerAfter::at() == 0x18);

// Which memories are out of order: every access to one ends with SLVERR until it has answered all that it was asked before. Read-only.
struct Silent {
    static constexpr bool kWritable = false;
    static constexpr std::uint32_t kReset = 0x0;
    static constexpr std::uint32_t at() { return 0x1C; }

    std::uint32_t bits = kReset;

    // one bit for each memory
    [[nodiscard]] constexpr std::uint32_t memories() const { return bits & 0xF; }
};
static_assert(sizeof(Silent) == 4);
static_assert(Silent::at() == 0x1C);

// Of which links something is under way at the memories, also while the link is down. Read-only.
struct Busy {
    static constexpr bool kWritable = false;
    static constexpr std::uint32_t kReset = 0x0;
    static constexpr std::uint32_t at() { return 0x20; }

    std::uint32_t bits = kReset;

    // one bit for each link
    [[nodiscard]] constexpr std::uint32_t links() const { return bits & 0xF; }
};
static_assert(sizeof(Busy) == 4);
static_assert(Busy::at() == 0x20);

// What went wrong since it was cleared; one bit for each cause of `fault`. Write 1 to clear.
struct IrqStatus {
    static constexpr bool kWritable = true;
    static constexpr std::uint32_t kReset = 0x0;
    static constexpr std::uint32_t at() { return 0x30; }

    std::uint32_t bits = kReset;

    // a link went down
    [[nodiscard]] constexpr std::uint32_t link_down() const { return bits & 0x1; }
    constexpr void set_link_down(std::uint32_t value) {
        bits = (bits & ~0x1U) | ((value) & 0x1U);
    }
    static constexpr std::uint32_t kLinkDownMax = 0x1;
    // faults of cause 1 to 6
    [[nodiscard]] constexpr std::uint32_t faults() const { return (bits >> 1) & 0x3F; }
    constexpr void set_faults(std::uint32_t value) {
        bits = (bits & ~0x7EU) | ((value << 1) & 0x7EU);
    }
    static constexpr std::uint32_t kFaultsMax = 0x3F;
};
static_assert(sizeof(IrqStatus) == 4);
static_assert(IrqStatus::at() == 0x30);

// For which bits of `irq_status` the block's interrupt is raised; it is high as long as one of them is set.
struct IrqEnable {
    static constexpr bool kWritable = true;
    static constexpr std::uint32_t kReset = 0x0;
    static constexpr std::uint32_t at() { return 0x34; }

    std::uint32_t bits = kReset;

    // one bit for each of irq_status
    [[nodiscard]] constexpr std::uint32_t causes() const { return bits & 0x7F; }
    constexpr void set_causes(std::uint32_t value) {
        bits = (bits & ~0x7FU) | ((value) & 0x7FU);
    }
    static constexpr std::uint32_t kCausesMax = 0x7F;
};
static_assert(sizeof(IrqEnable) == 4);
static_assert(IrqEnable::at() == 0x34);

// The first fault since the log was cleared. Write 1 to `valid` to clear it; the next fault is kept then.
struct Fault {
    static constexpr bool kWritable = true;
    static constexpr std::uint32_t kReset = 0x0;
    static constexpr std::uint32_t at() { return 0x38; }

    std::uint32_t bits = kReset;

    // there is one; all else is 0 where there is none
    [[nodiscard]] constexpr std::uint32_t valid() const { return bits & 0x1; }
    constexpr void set_valid(std::uint32_t value) {
        bits = (bits & ~0x1U) | ((value) & 0x1U);
    }
    static constexpr std::uint32_t kValidMax = 0x1;
    // more came after it
    [[nodiscard]] constexpr std::uint32_t overflow() const { return (bits >> 1) & 0x1; }
    // it was a store
    [[nodiscard]] constexpr std::uint32_t write() const { return (bits >> 2) & 0x1; }
    // the link; of cause 6 the memory
    [[nodiscard]] constexpr std::uint32_t link() const { return (bits >> 3) & 0x3; }
    // the segment that was named; 0 of causes 5 and 6
    [[nodiscard]] constexpr std::uint32_t segment() const { return (bits >> 5) & 0xF; }
    // 1: no open segment of this generation; 2: against its rights; 3: beyond its end; 4: no burst that AXI4 has; 5: the memory answered with an error; 6: the memory did not answer in time
    [[nodiscard]] constexpr std::uint32_t cause() const { return (bits >> 9) & 0x7; }
};
static_assert(sizeof(Fault) == 4);
static_assert(Fault::at() == 0x38);

// Faults since reset. Each refused request, each access that a memory answered with an error, and each time that a memory stopped answering is one. Read-only.
struct FaultCount {
    static constexpr bool kWritable = false;
    static constexpr std::uint32_t kReset = 0x0;
    static constexpr std::uint32_t at() { return 0x3C; }

    std::uint32_t bits = kReset;

    // count
    [[nodiscard]] constexpr std::uint32_t count() const { return bits; }
};
static_assert(sizeof(FaultCount) == 4);
static_assert(FaultCount::at() == 0x3C);

// Of causes 1 to 4 where in the segment, of others 0, lower bits; 0 where there is no fault. Read-only.
struct FaultLow {
    static constexpr bool kWritable = false;
    static constexpr std::uint32_t kReset = 0x0;
    static constexpr std::uint32_t at() { return 0x40; }

    std::uint32_t bits = kReset;

    // bits 31 to 0
    [[nodiscard]] constexpr std::uint32_t address() const { return bits; }
};
static_assert(sizeof(FaultLow) == 4);
static_assert(FaultLow::at() == 0x40);

// Of causes 1 to 4 where in the segment, of others 0, upper bits. Read-only.
struct FaultHigh {
    static constexpr bool kWritable = false;
    static constexpr std::uint32_t kReset = 0x0;
    static constexpr std::uint32_t at() { return 0x44; }

    std::uint32_t bits = kReset;

    // bits 63 to 32
    [[nodiscard]] constexpr std::uint32_t address() const { return bits; }
};
static_assert(sizeof(FaultHigh) == 4);
static_assert(FaultHigh::at() == 0x44);

// Frames with a wrong CRC or number, since reset. Read-only.
struct LinkBadFrames {
    static constexpr bool kWritable = false;
    static constexpr std::uint32_t kReset = 0x0;
    static constexpr std::uint32_t at(std::uint32_t link) { return 0x100 + link * 0x20; }

    std::uint32_t bits = kReset;

    // count
    [[nodiscard]] constexpr std::uint32_t count() const { return bits; }
};
static_assert(sizeof(LinkBadFrames) == 4);
static_assert(LinkBadFrames::at(3) == 0x160);

// Repetitions sent, since reset. Read-only.
struct LinkReplays {
    static constexpr bool kWritable = false;
    static constexpr std::uint32_t kReset = 0x0;
    static constexpr std::uint32_t at(std::uint32_t link) { return 0x104 + link * 0x20; }

    std::uint32_t bits = kReset;

    // count
    [[nodiscard]] constexpr std::uint32_t count() const { return bits; }
};
static_assert(sizeof(LinkReplays) == 4);
static_assert(LinkReplays::at(3) == 0x164);

// How often the link went down, since reset. Read-only.
struct LinkDowns {
    static constexpr bool kWritable = false;
    static constexpr std::uint32_t kReset = 0x0;
    static constexpr std::uint32_t at(std::uint32_t link) { return 0x108 + link * 0x20; }

    std::uint32_t bits = kReset;

    // count
    [[nodiscard]] constexpr std::uint32_t count() const { return bits; }
};
static_assert(sizeof(LinkDowns) == 4);
static_assert(LinkDowns::at(3) == 0x168);

// Requests that no segment allows, since reset. Read-only.
struct LinkRefused {
    static constexpr bool kWritable = false;
    static constexpr std::uint32_t kReset = 0x0;
    static constexpr std::uint32_t at(std::uint32_t link) { return 0x10C + link * 0x20; }

    std::uint32_t bits = kReset;

    // count
    [[nodiscard]] constexpr std::uint32_t count() const { return bits; }
};
static_assert(sizeof(LinkRefused) == 4);
static_assert(LinkRefused::at(3) == 0x16C);

// After how many cycles without a good frame the other end is down, as it said when the link came up last. Read-only.
struct LinkPeerAfter {
    static constexpr bool kWritable = false;
    static constexpr std::uint32_t kReset = 0x0;
    static constexpr std::uint32_t at(std::uint32_t link) { return 0x110 + link * 0x20; }

    std::uint32_t bits = kReset;

    // cycles; 0: it never came up
    [[nodiscard]] constexpr std::uint32_t cycles() const { return bits & 0xFFFFFF; }
};
static_assert(sizeof(LinkPeerAfter) == 4);
static_assert(LinkPeerAfter::at(3) == 0x170);

// Where the segment begins in the memory.
struct LinkTableSegmentBase {
    static constexpr bool kWritable = true;
    static constexpr std::uint32_t kReset = 0x0;
    static constexpr std::uint32_t at(std::uint32_t link_table, std::uint32_t segment) { return 0x400 + link_table * 0x100 + segment * 0x10; }

    std::uint32_t bits = kReset;

    // number of its first page of 4 KiB
    [[nodiscard]] constexpr std::uint32_t page() const { return bits & 0xFFFFFFF; }
    constexpr void set_page(std::uint32_t value) {
        bits = (bits & ~0xFFFFFFFU) | ((value) & 0xFFFFFFFU);
    }
    static constexpr std::uint32_t kPageMax = 0xFFFFFFF;
};
static_assert(sizeof(LinkTableSegmentBase) == 4);
static_assert(LinkTableSegmentBase::at(3, 15) == 0x7F0);

// Where the segment ends.
struct LinkTableSegmentLast {
    static constexpr bool kWritable = true;
    static constexpr std::uint32_t kReset = 0x0;
    static constexpr std::uint32_t at(std::uint32_t link_table, std::uint32_t segment) { return 0x404 + link_table * 0x100 + segment * 0x10; }

    std::uint32_t bits = kReset;

    // its last page, counted from its first; of 16 bits, and `wide` of `shape` more
    [[nodiscard]] constexpr std::uint32_t page() const { return bits & 0x3FFFFFF; }
    constexpr void set_page(std::uint32_t value) {
        bits = (bits & ~0x3FFFFFFU) | ((value) & 0x3FFFFFFU);
    }
    static constexpr std::uint32_t kPageMax = 0x3FFFFFF;
};
static_assert(sizeof(LinkTableSegmentLast) == 4);
static_assert(LinkTableSegmentLast::at(3, 15) == 0x7F4);

// What the segment is; written last when a segment is opened, first when it is closed.
struct LinkTableSegmentControl {
    static constexpr bool kWritable = true;
    static constexpr std::uint32_t kReset = 0x0;
    static constexpr std::uint32_t at(std::uint32_t link_table, std::uint32_t segment) { return 0x408 + link_table * 0x100 + segment * 0x10; }

    std::uint32_t bits = kReset;

    // the segment is there
    [[nodiscard]] constexpr std::uint32_t valid() const { return bits & 0x1; }
    constexpr void set_valid(std::uint32_t value) {
        bits = (bits & ~0x1U) | ((value) & 0x1U);
    }
    static constexpr std::uint32_t kValidMax = 0x1;
    // loads are allowed
    [[nodiscard]] constexpr std::uint32_t readable() const { return (bits >> 1) & 0x1; }
    constexpr void set_readable(std::uint32_t value) {
        bits = (bits & ~0x2U) | ((value << 1) & 0x2U);
    }
    static constexpr std::uint32_t kReadableMax = 0x1;
    // stores are allowed
    [[nodiscard]] constexpr std::uint32_t writable() const { return (bits >> 2) & 0x1; }
    constexpr void set_writable(std::uint32_t value) {
        bits = (bits & ~0x4U) | ((value << 2) & 0x4U);
    }
    static constexpr std::uint32_t kWritableMax = 0x1;
    // the memory controller it lies behind
    [[nodiscard]] constexpr std::uint32_t memory() const { return (bits >> 3) & 0x3; }
    constexpr void set_memory(std::uint32_t value) {
        bits = (bits & ~0x18U) | ((value << 3) & 0x18U);
    }
    static constexpr std::uint32_t kMemoryMax = 0x3;
    // a request with another is refused; change it to shut out late ones
    [[nodiscard]] constexpr std::uint32_t generation() const { return (bits >> 5) & 0xF; }
    constexpr void set_generation(std::uint32_t value) {
        bits = (bits & ~0x1E0U) | ((value << 5) & 0x1E0U);
    }
    static constexpr std::uint32_t kGenerationMax = 0xF;
};
static_assert(sizeof(LinkTableSegmentControl) == 4);
static_assert(LinkTableSegmentControl::at(3, 15) == 0x7F8);

}  // namespace consort::remote::mblock
