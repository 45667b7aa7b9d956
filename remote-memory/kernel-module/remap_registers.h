/* SPDX-License-Identifier: GPL-2.0-only */
/* Made from rtl/regs/remote.rdl by rtl/regs/registers.py: do not edit. */
#ifndef REMAP_REGISTERS_H
#define REMAP_REGISTERS_H

#define REMAP_CB_MAX_LINKS 4
#define REMAP_CB_MAX_PORTS 4
#define REMAP_CB_MAX_WINDOWS 8

/* Kind of the block (ASCII "CB") and version of this register map. */
#define REMAP_CB_ID 0x000U
#define REMAP_CB_ID_RESET 0x43420001U
#define REMAP_CB_ID_VERSION_MASK 0xffffU
#define REMAP_CB_ID_VERSION_SHIFT 0
#define REMAP_CB_ID_KIND_MASK 0xffff0000U
#define REMAP_CB_ID_KIND_SHIFT 16

/* How many there are of each. */
#define REMAP_CB_SHAPE 0x004U
#define REMAP_CB_SHAPE_PORTS_MASK 0xffU
#define REMAP_CB_SHAPE_PORTS_SHIFT 0
#define REMAP_CB_SHAPE_LINKS_MASK 0xff00U
#define REMAP_CB_SHAPE_LINKS_SHIFT 8
#define REMAP_CB_SHAPE_WINDOWS_MASK 0xff0000U
#define REMAP_CB_SHAPE_WINDOWS_SHIFT 16
#define REMAP_CB_SHAPE_WIDE_MASK 0xff000000U
#define REMAP_CB_SHAPE_WIDE_SHIFT 24

/* Which links work; a link comes up when both ends are enabled. */
#define REMAP_CB_ENABLE 0x008U
#define REMAP_CB_ENABLE_RESET 0x0U
#define REMAP_CB_ENABLE_LINKS_MASK 0xfU
#define REMAP_CB_ENABLE_LINKS_SHIFT 0

/* Which links are up. */
#define REMAP_CB_UP 0x00cU
#define REMAP_CB_UP_LINKS_MASK 0xfU
#define REMAP_CB_UP_LINKS_SHIFT 0

/* After how many cycles without acknowledgement a frame is sent again. */
#define REMAP_CB_ACK_TIMEOUT 0x010U
#define REMAP_CB_ACK_TIMEOUT_RESET 0x400U
#define REMAP_CB_ACK_TIMEOUT_CYCLES_MASK 0xffffU
#define REMAP_CB_ACK_TIMEOUT_CYCLES_SHIFT 0

/* After how many cycles without a good frame a link is down. */
#define REMAP_CB_DOWN_AFTER 0x014U
#define REMAP_CB_DOWN_AFTER_RESET 0x10000U
#define REMAP_CB_DOWN_AFTER_CYCLES_MASK 0xffffffU
#define REMAP_CB_DOWN_AFTER_CYCLES_SHIFT 0

/* A fence: a 1 that is written is read back until every access that its port had begun before is answered. */
#define REMAP_CB_FENCE 0x018U
#define REMAP_CB_FENCE_RESET 0x0U
#define REMAP_CB_FENCE_PORTS_MASK 0xfU
#define REMAP_CB_FENCE_PORTS_SHIFT 0

/* Which accesses are urgent: those whose AxQOS is at least this. They leave their ports before all others, which have one turn after nine of theirs. */
#define REMAP_CB_URGENT 0x01cU
#define REMAP_CB_URGENT_RESET 0x0U
#define REMAP_CB_URGENT_FROM_MASK 0xfU
#define REMAP_CB_URGENT_FROM_SHIFT 0

/* How much of each port's accesses that are not urgent may be under way. One that is longer goes alone. */
#define REMAP_CB_SHARE 0x020U
#define REMAP_CB_SHARE_RESET 0x0U
#define REMAP_CB_SHARE_READS_MASK 0x3ffU
#define REMAP_CB_SHARE_READS_SHIFT 0
#define REMAP_CB_SHARE_WRITES_MASK 0x3ff0000U
#define REMAP_CB_SHARE_WRITES_SHIFT 16

/* How long a lender may leave an access without an answer whose request its link took: after once to twice as long that link goes down, and its accesses end with SLVERR. More than twice the mBlock's own `answer_after`, or one silent memory takes the whole link down. 0: for ever. */
#define REMAP_CB_ANSWER_AFTER 0x024U
#define REMAP_CB_ANSWER_AFTER_RESET 0x80000U
#define REMAP_CB_ANSWER_AFTER_CYCLES_MASK 0xffffffU
#define REMAP_CB_ANSWER_AFTER_CYCLES_SHIFT 0

/* What went wrong since it was cleared; one bit for each cause of `fault`. Write 1 to clear. */
#define REMAP_CB_IRQ_STATUS 0x030U
#define REMAP_CB_IRQ_STATUS_RESET 0x0U
#define REMAP_CB_IRQ_STATUS_LINK_DOWN_MASK 0x1U
#define REMAP_CB_IRQ_STATUS_LINK_DOWN_SHIFT 0
#define REMAP_CB_IRQ_STATUS_FAULTS_MASK 0x7eU
#define REMAP_CB_IRQ_STATUS_FAULTS_SHIFT 1

/* For which bits of `irq_status` the block's interrupt is raised; it is high as long as one of them is set. */
#define REMAP_CB_IRQ_ENABLE 0x034U
#define REMAP_CB_IRQ_ENABLE_RESET 0x0U
#define REMAP_CB_IRQ_ENABLE_CAUSES_MASK 0x7fU
#define REMAP_CB_IRQ_ENABLE_CAUSES_SHIFT 0

/* The first fault since the log was cleared. Write 1 to `valid` to clear it; the next fault is kept then. */
#define REMAP_CB_FAULT 0x038U
#define REMAP_CB_FAULT_RESET 0x0U
#define REMAP_CB_FAULT_VALID_MASK 0x1U
#define REMAP_CB_FAULT_VALID_SHIFT 0
#define REMAP_CB_FAULT_OVERFLOW_MASK 0x2U
#define REMAP_CB_FAULT_OVERFLOW_SHIFT 1
#define REMAP_CB_FAULT_WRITE_MASK 0x4U
#define REMAP_CB_FAULT_WRITE_SHIFT 2
#define REMAP_CB_FAULT_PORT_MASK 0x18U
#define REMAP_CB_FAULT_PORT_SHIFT 3
#define REMAP_CB_FAULT_WINDOW_MASK 0x1e0U
#define REMAP_CB_FAULT_WINDOW_SHIFT 5
#define REMAP_CB_FAULT_CAUSE_MASK 0xe00U
#define REMAP_CB_FAULT_CAUSE_SHIFT 9

/* Faults since reset. Each access that ended with an error is one. */
#define REMAP_CB_FAULT_COUNT 0x03cU
#define REMAP_CB_FAULT_COUNT_RESET 0x0U
#define REMAP_CB_FAULT_COUNT_COUNT_MASK 0xffffffffU
#define REMAP_CB_FAULT_COUNT_COUNT_SHIFT 0

/* The address of the fault, as the processor sees it, lower bits; 0 where there is no fault. */
#define REMAP_CB_FAULT_LOW 0x040U
#define REMAP_CB_FAULT_LOW_RESET 0x0U
#define REMAP_CB_FAULT_LOW_ADDRESS_MASK 0xffffffffU
#define REMAP_CB_FAULT_LOW_ADDRESS_SHIFT 0

/* The address of the fault, as the processor sees it, upper bits. */
#define REMAP_CB_FAULT_HIGH 0x044U
#define REMAP_CB_FAULT_HIGH_RESET 0x0U
#define REMAP_CB_FAULT_HIGH_ADDRESS_MASK 0xffffffffU
#define REMAP_CB_FAULT_HIGH_ADDRESS_SHIFT 0

/* Frames with a wrong CRC or number, since reset. */
#define REMAP_CB_LINK_BAD_FRAMES(link) (0x100U + (link) * 0x20U)
#define REMAP_CB_LINK_BAD_FRAMES_RESET 0x0U
#define REMAP_CB_LINK_BAD_FRAMES_COUNT_MASK 0xffffffffU
#define REMAP_CB_LINK_BAD_FRAMES_COUNT_SHIFT 0

/* Repetitions sent, since reset. */
#define REMAP_CB_LINK_REPLAYS(link) (0x104U + (link) * 0x20U)
#define REMAP_CB_LINK_REPLAYS_RESET 0x0U
#define REMAP_CB_LINK_REPLAYS_COUNT_MASK 0xffffffffU
#define REMAP_CB_LINK_REPLAYS_COUNT_SHIFT 0

/* How often the link went down, since reset. */
#define REMAP_CB_LINK_DOWNS(link) (0x108U + (link) * 0x20U)
#define REMAP_CB_LINK_DOWNS_RESET 0x0U
#define REMAP_CB_LINK_DOWNS_COUNT_MASK 0xffffffffU
#define REMAP_CB_LINK_DOWNS_COUNT_SHIFT 0

/* After how many cycles without a good frame the other end is down, as it said when the link came up last. */
#define REMAP_CB_LINK_PEER_AFTER(link) (0x110U + (link) * 0x20U)
#define REMAP_CB_LINK_PEER_AFTER_RESET 0x0U
#define REMAP_CB_LINK_PEER_AFTER_CYCLES_MASK 0xffffffU
#define REMAP_CB_LINK_PEER_AFTER_CYCLES_SHIFT 0

/* Where the window begins, as the processor sees it. */
#define REMAP_CB_PORT_WINDOW_FIRST(port, window) (0x400U + (port) * 0x200U + (window) * 0x20U)
#define REMAP_CB_PORT_WINDOW_FIRST_RESET 0x0U
#define REMAP_CB_PORT_WINDOW_FIRST_PAGE_MASK 0xfffffffU
#define REMAP_CB_PORT_WINDOW_FIRST_PAGE_SHIFT 0

/* Where the window ends. */
#define REMAP_CB_PORT_WINDOW_LAST(port, window) (0x404U + (port) * 0x200U + (window) * 0x20U)
#define REMAP_CB_PORT_WINDOW_LAST_RESET 0x0U
#define REMAP_CB_PORT_WINDOW_LAST_PAGE_MASK 0xfffffffU
#define REMAP_CB_PORT_WINDOW_LAST_PAGE_SHIFT 0

/* What the window is; written last when a window is opened, first when it is closed. Of windows that overlap the first counts. One of more than an offset on the link can say (256 MiB, see `shape`) is as if it were closed. */
#define REMAP_CB_PORT_WINDOW_CONTROL(port, window) (0x408U + (port) * 0x200U + (window) * 0x20U)
#define REMAP_CB_PORT_WINDOW_CONTROL_RESET 0x0U
#define REMAP_CB_PORT_WINDOW_CONTROL_VALID_MASK 0x1U
#define REMAP_CB_PORT_WINDOW_CONTROL_VALID_SHIFT 0
#define REMAP_CB_PORT_WINDOW_CONTROL_READABLE_MASK 0x2U
#define REMAP_CB_PORT_WINDOW_CONTROL_READABLE_SHIFT 1
#define REMAP_CB_PORT_WINDOW_CONTROL_WRITABLE_MASK 0x4U
#define REMAP_CB_PORT_WINDOW_CONTROL_WRITABLE_SHIFT 2
#define REMAP_CB_PORT_WINDOW_CONTROL_LINK_MASK 0x18U
#define REMAP_CB_PORT_WINDOW_CONTROL_LINK_SHIFT 3
#define REMAP_CB_PORT_WINDOW_CONTROL_SEGMENT_MASK 0x1e0U
#define REMAP_CB_PORT_WINDOW_CONTROL_SEGMENT_SHIFT 5
#define REMAP_CB_PORT_WINDOW_CONTROL_GENERATION_MASK 0x1e00U
#define REMAP_CB_PORT_WINDOW_CONTROL_GENERATION_SHIFT 9

/* Reads that were taken in this window, since reset. */
#define REMAP_CB_PORT_WINDOW_READS(port, window) (0x40cU + (port) * 0x200U + (window) * 0x20U)
#define REMAP_CB_PORT_WINDOW_READS_RESET 0x0U
#define REMAP_CB_PORT_WINDOW_READS_COUNT_MASK 0xffffffffU
#define REMAP_CB_PORT_WINDOW_READS_COUNT_SHIFT 0

/* Writes that were taken in this window, since reset. */
#define REMAP_CB_PORT_WINDOW_WRITES(port, window) (0x410U + (port) * 0x200U + (window) * 0x20U)
#define REMAP_CB_PORT_WINDOW_WRITES_RESET 0x0U
#define REMAP_CB_PORT_WINDOW_WRITES_COUNT_MASK 0xffffffffU
#define REMAP_CB_PORT_WINDOW_WRITES_COUNT_SHIFT 0

/* Of each register: place, bits, value after reset, whether it can be written, and how it is
   repeated: the array's name and stride, the outer one first. */
#define REMAP_CB_REGISTERS(X) \
	X(0x000, 0xffffffffU, 0x43420001U, 0, NONE, 0x0, NONE, 0x0) \
	X(0x004, 0xffffffffU, 0x0U, 0, NONE, 0x0, NONE, 0x0) \
	X(0x008, 0xfU, 0x0U, 1, NONE, 0x0, NONE, 0x0) \
	X(0x00c, 0xfU, 0x0U, 0, NONE, 0x0, NONE, 0x0) \
	X(0x010, 0xffffU, 0x400U, 1, NONE, 0x0, NONE, 0x0) \
	X(0x014, 0xffffffU, 0x10000U, 1, NONE, 0x0, NONE, 0x0) \
	X(0x018, 0xfU, 0x0U, 1, NONE, 0x0, NONE, 0x0) \
	X(0x01c, 0xfU, 0x0U, 1, NONE, 0x0, NONE, 0x0) \
	X(0x020, 0x3ff03ffU, 0x0U, 1, NONE, 0x0, NONE, 0x0) \
	X(0x024, 0xffffffU, 0x80000U, 1, NONE, 0x0, NONE, 0x0) \
	X(0x030, 0x7fU, 0x0U, 1, NONE, 0x0, NONE, 0x0) \
	X(0x034, 0x7fU, 0x0U, 1, NONE, 0x0, NONE, 0x0) \
	X(0x038, 0xfffU, 0x0U, 1, NONE, 0x0, NONE, 0x0) \
	X(0x03c, 0xffffffffU, 0x0U, 0, NONE, 0x0, NONE, 0x0) \
	X(0x040, 0xffffffffU, 0x0U, 0, NONE, 0x0, NONE, 0x0) \
	X(0x044, 0xffffffffU, 0x0U, 0, NONE, 0x0, NONE, 0x0) \
	X(0x100, 0xffffffffU, 0x0U, 0, LINK, 0x20, NONE, 0x0) \
	X(0x104, 0xffffffffU, 0x0U, 0, LINK, 0x20, NONE, 0x0) \
	X(0x108, 0xffffffffU, 0x0U, 0, LINK, 0x20, NONE, 0x0) \
	X(0x110, 0xffffffU, 0x0U, 0, LINK, 0x20, NONE, 0x0) \
	X(0x400, 0xfffffffU, 0x0U, 1, PORT, 0x200, WINDOW, 0x20) \
	X(0x404, 0xfffffffU, 0x0U, 1, PORT, 0x200, WINDOW, 0x20) \
	X(0x408, 0x1fffU, 0x0U, 1, PORT, 0x200, WINDOW, 0x20) \
	X(0x40c, 0xffffffffU, 0x0U, 0, PORT, 0x200, WINDOW, 0x20) \
	X(0x410, 0xffffffffU, 0x0U, 0, PORT, 0x200, WINDOW, 0x20)

#define REMAP_MB_MAX_LINKS 4
#define REMAP_MB_MAX_LINK_TABLES 4
#define REMAP_MB_MAX_SEGMENTS 16

/* Kind of the block (ASCII "MB") and version of this register map. */
#define REMAP_MB_ID 0x000U
#define REMAP_MB_ID_RESET 0x4d420001U
#define REMAP_MB_ID_VERSION_MASK 0xffffU
#define REMAP_MB_ID_VERSION_SHIFT 0
#define REMAP_MB_ID_KIND_MASK 0xffff0000U
#define REMAP_MB_ID_KIND_SHIFT 16

/* How many there are of each. */
#define REMAP_MB_SHAPE 0x004U
#define REMAP_MB_SHAPE_MEMORIES_MASK 0xffU
#define REMAP_MB_SHAPE_MEMORIES_SHIFT 0
#define REMAP_MB_SHAPE_LINKS_MASK 0xff00U
#define REMAP_MB_SHAPE_LINKS_SHIFT 8
#define REMAP_MB_SHAPE_SEGMENTS_MASK 0xff0000U
#define REMAP_MB_SHAPE_SEGMENTS_SHIFT 16
#define REMAP_MB_SHAPE_WIDE_MASK 0xff000000U
#define REMAP_MB_SHAPE_WIDE_SHIFT 24

/* Which links work; a link comes up when both ends are enabled. */
#define REMAP_MB_ENABLE 0x008U
#define REMAP_MB_ENABLE_RESET 0x0U
#define REMAP_MB_ENABLE_LINKS_MASK 0xfU
#define REMAP_MB_ENABLE_LINKS_SHIFT 0

/* Which links are up. */
#define REMAP_MB_UP 0x00cU
#define REMAP_MB_UP_LINKS_MASK 0xfU
#define REMAP_MB_UP_LINKS_SHIFT 0

/* After how many cycles without acknowledgement a frame is sent again. */
#define REMAP_MB_ACK_TIMEOUT 0x010U
#define REMAP_MB_ACK_TIMEOUT_RESET 0x400U
#define REMAP_MB_ACK_TIMEOUT_CYCLES_MASK 0xffffU
#define REMAP_MB_ACK_TIMEOUT_CYCLES_SHIFT 0

/* After how many cycles without a good frame a link is down. */
#define REMAP_MB_DOWN_AFTER 0x014U
#define REMAP_MB_DOWN_AFTER_RESET 0x10000U
#define REMAP_MB_DOWN_AFTER_CYCLES_MASK 0xffffffU
#define REMAP_MB_DOWN_AFTER_CYCLES_SHIFT 0

/* How long a memory may leave accesses without an answer: after once to twice as long they end with SLVERR. 0: for ever. */
#define REMAP_MB_ANSWER_AFTER 0x018U
#define REMAP_MB_ANSWER_AFTER_RESET 0x10000U
#define REMAP_MB_ANSWER_AFTER_CYCLES_MASK 0xffffffU
#define REMAP_MB_ANSWER_AFTER_CYCLES_SHIFT 0

/* Which memories are out of order: every access to one ends with SLVERR until it has answered all that it was asked before. */
#define REMAP_MB_SILENT 0x01cU
#define REMAP_MB_SILENT_RESET 0x0U
#define REMAP_MB_SILENT_MEMORIES_MASK 0xfU
#define REMAP_MB_SILENT_MEMORIES_SHIFT 0

/* Of which links something is under way at the memories, also while the link is down. */
#define REMAP_MB_BUSY 0x020U
#define REMAP_MB_BUSY_RESET 0x0U
#define REMAP_MB_BUSY_LINKS_MASK 0xfU
#define REMAP_MB_BUSY_LINKS_SHIFT 0

/* What went wrong since it was cleared; one bit for each cause of `fault`. Write 1 to clear. */
#define REMAP_MB_IRQ_STATUS 0x030U
#define REMAP_MB_IRQ_STATUS_RESET 0x0U
#define REMAP_MB_IRQ_STATUS_LINK_DOWN_MASK 0x1U
#define REMAP_MB_IRQ_STATUS_LINK_DOWN_SHIFT 0
#define REMAP_MB_IRQ_STATUS_FAULTS_MASK 0x7eU
#define REMAP_MB_IRQ_STATUS_FAULTS_SHIFT 1

/* For which bits of `irq_status` the block's interrupt is raised; it is high as long as one of them is set. */
#define REMAP_MB_IRQ_ENABLE 0x034U
#define REMAP_MB_IRQ_ENABLE_RESET 0x0U
#define REMAP_MB_IRQ_ENABLE_CAUSES_MASK 0x7fU
#define REMAP_MB_IRQ_ENABLE_CAUSES_SHIFT 0

/* The first fault since the log was cleared. Write 1 to `valid` to clear it; the next fault is kept then. */
#define REMAP_MB_FAULT 0x038U
#define REMAP_MB_FAULT_RESET 0x0U
#define REMAP_MB_FAULT_VALID_MASK 0x1U
#define REMAP_MB_FAULT_VALID_SHIFT 0
#define REMAP_MB_FAULT_OVERFLOW_MASK 0x2U
#define REMAP_MB_FAULT_OVERFLOW_SHIFT 1
#define REMAP_MB_FAULT_WRITE_MASK 0x4U
#define REMAP_MB_FAULT_WRITE_SHIFT 2
#define REMAP_MB_FAULT_LINK_MASK 0x18U
#define REMAP_MB_FAULT_LINK_SHIFT 3
#define REMAP_MB_FAULT_SEGMENT_MASK 0x1e0U
#define REMAP_MB_FAULT_SEGMENT_SHIFT 5
#define REMAP_MB_FAULT_CAUSE_MASK 0xe00U
#define REMAP_MB_FAULT_CAUSE_SHIFT 9

/* Faults since reset. Each refused request, each access that a memory answered with an error, and each time that a memory stopped answering is one. */
#define REMAP_MB_FAULT_COUNT 0x03cU
#define REMAP_MB_FAULT_COUNT_RESET 0x0U
#define REMAP_MB_FAULT_COUNT_COUNT_MASK 0xffffffffU
#define REMAP_MB_FAULT_COUNT_COUNT_SHIFT 0

/* Of causes 1 to 4 where in the segment, of others 0, lower bits; 0 where there is no fault. */
#define REMAP_MB_FAULT_LOW 0x040U
#define REMAP_MB_FAULT_LOW_RESET 0x0U
#define REMAP_MB_FAULT_LOW_ADDRESS_MASK 0xffffffffU
#define REMAP_MB_FAULT_LOW_ADDRESS_SHIFT 0

/* Of causes 1 to 4 where in the segment, of others 0, upper bits. */
#define REMAP_MB_FAULT_HIGH 0x044U
#define REMAP_MB_FAULT_HIGH_RESET 0x0U
#define REMAP_MB_FAULT_HIGH_ADDRESS_MASK 0xffffffffU
#define REMAP_MB_FAULT_HIGH_ADDRESS_SHIFT 0

/* Frames with a wrong CRC or number, since reset. */
#define REMAP_MB_LINK_BAD_FRAMES(link) (0x100U + (link) * 0x20U)
#define REMAP_MB_LINK_BAD_FRAMES_RESET 0x0U
#define REMAP_MB_LINK_BAD_FRAMES_COUNT_MASK 0xffffffffU
#define REMAP_MB_LINK_BAD_FRAMES_COUNT_SHIFT 0

/* Repetitions sent, since reset. */
#define REMAP_MB_LINK_REPLAYS(link) (0x104U + (link) * 0x20U)
#define REMAP_MB_LINK_REPLAYS_RESET 0x0U
#define REMAP_MB_LINK_REPLAYS_COUNT_MASK 0xffffffffU
#define REMAP_MB_LINK_REPLAYS_COUNT_SHIFT 0

/* How often the link went down, since reset. */
#define REMAP_MB_LINK_DOWNS(link) (0x108U + (link) * 0x20U)
#define REMAP_MB_LINK_DOWNS_RESET 0x0U
#define REMAP_MB_LINK_DOWNS_COUNT_MASK 0xffffffffU
#define REMAP_MB_LINK_DOWNS_COUNT_SHIFT 0

/* Requests that no segment allows, since reset. */
#define REMAP_MB_LINK_REFUSED(link) (0x10cU + (link) * 0x20U)
#define REMAP_MB_LINK_REFUSED_RESET 0x0U
#define REMAP_MB_LINK_REFUSED_COUNT_MASK 0xffffffffU
#define REMAP_MB_LINK_REFUSED_COUNT_SHIFT 0

/* After how many cycles without a good frame the other end is down, as it said when the link came up last. */
#define REMAP_MB_LINK_PEER_AFTER(link) (0x110U + (link) * 0x20U)
#define REMAP_MB_LINK_PEER_AFTER_RESET 0x0U
#define REMAP_MB_LINK_PEER_AFTER_CYCLES_MASK 0xffffffU
#define REMAP_MB_LINK_PEER_AFTER_CYCLES_SHIFT 0

/* Where the segment begins in the memory. */
#define REMAP_MB_LINK_TABLE_SEGMENT_BASE(link_table, segment) (0x400U + (link_table) * 0x100U + (segment) * 0x10U)
#define REMAP_MB_LINK_TABLE_SEGMENT_BASE_RESET 0x0U
#define REMAP_MB_LINK_TABLE_SEGMENT_BASE_PAGE_MASK 0xfffffffU
#define REMAP_MB_LINK_TABLE_SEGMENT_BASE_PAGE_SHIFT 0

/* Where the segment ends. */
#define REMAP_MB_LINK_TABLE_SEGMENT_LAST(link_table, segment) (0x404U + (link_table) * 0x100U + (segment) * 0x10U)
#define REMAP_MB_LINK_TABLE_SEGMENT_LAST_RESET 0x0U
#define REMAP_MB_LINK_TABLE_SEGMENT_LAST_PAGE_MASK 0x3ffffffU
#define REMAP_MB_LINK_TABLE_SEGMENT_LAST_PAGE_SHIFT 0

/* What the segment is; written last when a segment is opened, first when it is closed. */
#define REMAP_MB_LINK_TABLE_SEGMENT_CONTROL(link_table, segment) (0x408U + (link_table) * 0x100U + (segment) * 0x10U)
#define REMAP_MB_LINK_TABLE_SEGMENT_CONTROL_RESET 0x0U
#define REMAP_MB_LINK_TABLE_SEGMENT_CONTROL_VALID_MASK 0x1U
#define REMAP_MB_LINK_TABLE_SEGMENT_CONTROL_VALID_SHIFT 0
#define REMAP_MB_LINK_TABLE_SEGMENT_CONTROL_READABLE_MASK 0x2U
#define REMAP_MB_LINK_TABLE_SEGMENT_CONTROL_READABLE_SHIFT 1
#define REMAP_MB_LINK_TABLE_SEGMENT_CONTROL_WRITABLE_MASK 0x4U
#define REMAP_MB_LINK_TABLE_SEGMENT_CONTROL_WRITABLE_SHIFT 2
#define REMAP_MB_LINK_TABLE_SEGMENT_CONTROL_MEMORY_MASK 0x18U
#define REMAP_MB_LINK_TABLE_SEGMENT_CONTROL_MEMORY_SHIFT 3
#define REMAP_MB_LINK_TABLE_SEGMENT_CONTROL_GENERATION_MASK 0x1e0U
#define REMAP_MB_LINK_TABLE_SEGMENT_CONTROL_GENERATION_SHIFT 5

/* Of each register: place, bits, value after reset, whether it can be written, and how it is
   repeated: the array's name and stride, the outer one first. */
#define REMAP_MB_REGISTERS(X) \
	X(0x000, 0xffffffffU, 0x4d420001U, 0, NONE, 0x0, NONE, 0x0) \
	X(0x004, 0xffffffffU, 0x0U, 0, NONE, 0x0, NONE, 0x0) \
	X(0x008, 0xfU, 0x0U, 1, NONE, 0x0, NONE, 0x0) \
	X(0x00c, 0xfU, 0x0U, 0, NONE, 0x0, NONE, 0x0) \
	X(0x010, 0xffffU, 0x400U, 1, NONE, 0x0, NONE, 0x0) \
	X(0x014, 0xffffffU, 0x10000U, 1, NONE, 0x0, NONE, 0x0) \
	X(0x018, 0xffffffU, 0x10000U, 1, NONE, 0x0, NONE, 0x0) \
	X(0x01c, 0xfU, 0x0U, 0, NONE, 0x0, NONE, 0x0) \
	X(0x020, 0xfU, 0x0U, 0, NONE, 0x0, NONE, 0x0) \
	X(0x030, 0x7fU, 0x0U, 1, NONE, 0x0, NONE, 0x0) \
	X(0x034, 0x7fU, 0x0U, 1, NONE, 0x0, NONE, 0x0) \
	X(0x038, 0xfffU, 0x0U, 1, NONE, 0x0, NONE, 0x0) \
	X(0x03c, 0xffffffffU, 0x0U, 0, NONE, 0x0, NONE, 0x0) \
	X(0x040, 0xffffffffU, 0x0U, 0, NONE, 0x0, NONE, 0x0) \
	X(0x044, 0xffffffffU, 0x0U, 0, NONE, 0x0, NONE, 0x0) \
	X(0x100, 0xffffffffU, 0x0U, 0, LINK, 0x20, NONE, 0x0) \
	X(0x104, 0xffffffffU, 0x0U, 0, LINK, 0x20, NONE, 0x0) \
	X(0x108, 0xffffffffU, 0x0U, 0, LINK, 0x20, NONE, 0x0) \
	X(0x10c, 0xffffffffU, 0x0U, 0, LINK, 0x20, NONE, 0x0) \
	X(0x110, 0xffffffU, 0x0U, 0, LINK, 0x20, NONE, 0x0) \
	X(0x400, 0xfffffffU, 0x0U, 1, LINK_TABLE, 0x100, SEGMENT, 0x10) \
	X(0x404, 0x3ffffffU, 0x0U, 1, LINK_TABLE, 0x100, SEGMENT, 0x10) \
	X(0x408, 0x1ffU, 0x0U, 1, LINK_TABLE, 0x100, SEGMENT, 0x10)

#endif
