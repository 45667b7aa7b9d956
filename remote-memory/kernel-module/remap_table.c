// SPDX-License-Identifier: GPL-2.0-only
/*
 * Windows and segments of the remote-memory blocks. Compiles in the kernel and as an ordinary program.
 */
#include "remap_table.h"

static const char bus_error[] = "a register access ended with an error";

/*
 * A bus whose other end is gone answers reads with ones only. Counters and addresses may have that value, the
 * block's own kind cannot.
 */
static int get(const struct remap_bus *bus, enum remap_block block, u32 at, u32 *value)
{
	u32 kind;
	int err = bus->read(bus->context, block, at, value);

	if (err || *value != ~0U)
		return err;
	err = bus->read(bus->context, block, block == REMAP_CBLOCK ? REMAP_CB_ID : REMAP_MB_ID, &kind);
	return err || kind != ~0U ? err : -EIO;
}

static int put(const struct remap_bus *bus, enum remap_block block, u32 at, u32 value)
{
	return bus->write(bus->context, block, at, value);
}

int remap_table_shape(const struct remap_bus *bus, struct remap_shape *shape, const char **why)
{
	u32 cid, mid, cblock, mblock;

	if (get(bus, REMAP_CBLOCK, REMAP_CB_ID, &cid) || get(bus, REMAP_MBLOCK, REMAP_MB_ID, &mid) ||
	    get(bus, REMAP_CBLOCK, REMAP_CB_SHAPE, &cblock) ||
	    get(bus, REMAP_MBLOCK, REMAP_MB_SHAPE, &mblock)) {
		*why = bus_error;
		return -EIO;
	}
	if (cid != REMAP_CB_ID_RESET || mid != REMAP_MB_ID_RESET) {
		*why = "no cBlock and mBlock with this register map answer";
		return -ENODEV;
	}
	shape->ports = REMAP_GET(REMAP_CB_SHAPE_PORTS, cblock);
	shape->windows = REMAP_GET(REMAP_CB_SHAPE_WINDOWS, cblock);
	shape->cblock_links = REMAP_GET(REMAP_CB_SHAPE_LINKS, cblock);
	shape->memories = REMAP_GET(REMAP_MB_SHAPE_MEMORIES, mblock);
	shape->segments = REMAP_GET(REMAP_MB_SHAPE_SEGMENTS, mblock);
	shape->mblock_links = REMAP_GET(REMAP_MB_SHAPE_LINKS, mblock);
	if (!shape->ports || shape->ports > REMAP_CB_MAX_PORTS || !shape->windows ||
	    shape->windows > REMAP_CB_MAX_WINDOWS || !shape->cblock_links ||
	    shape->cblock_links > REMAP_CB_MAX_LINKS || !shape->memories || !shape->segments ||
	    shape->segments > REMAP_MB_MAX_SEGMENTS || !shape->mblock_links ||
	    shape->mblock_links > REMAP_MB_MAX_LINKS) {
		*why = "the blocks say of themselves what this register map does not allow";
		return -ENODEV;
	}
	return 0;
}

int remap_table_enable(const struct remap_bus *bus, u32 links, u32 before[2])
{
	/* The mBlock first: a link comes up when both ends are enabled. */
	if (get(bus, REMAP_CBLOCK, REMAP_CB_ENABLE, &before[0]) ||
	    get(bus, REMAP_MBLOCK, REMAP_MB_ENABLE, &before[1]) ||
	    put(bus, REMAP_MBLOCK, REMAP_MB_ENABLE, before[1] | links) ||
	    put(bus, REMAP_CBLOCK, REMAP_CB_ENABLE, before[0] | links))
		return -EIO;
	return 0;
}

int remap_table_restore(const struct remap_bus *bus, const u32 before[2])
{
	if (put(bus, REMAP_CBLOCK, REMAP_CB_ENABLE, before[0]) ||
	    put(bus, REMAP_MBLOCK, REMAP_MB_ENABLE, before[1]))
		return -EIO;
	return 0;
}

int remap_table_link(const struct remap_bus *bus, u32 link, bool *up)
{
	u32 links;

	if (get(bus, REMAP_CBLOCK, REMAP_CB_UP, &links))
		return -EIO;
	*up = links >> link & 1;
	return 0;
}

static bool inside(u64 at, u64 size)
{
	return at < REMAP_ADDRESSES && size <= REMAP_ADDRESSES - at;
}

int remap_table_check(const struct remap_shape *shape, const struct remap_place *place,
		      const char **why)
{
	if (place->port >= shape->ports) {
		*why = "the cBlock has no such port";
		return -ENXIO;
	}
	if (place->link >= shape->cblock_links || place->link >= shape->mblock_links) {
		*why = "the blocks have no such link";
		return -ENXIO;
	}
	if (place->memory >= shape->memories) {
		*why = "the mBlock has no such memory";
		return -ENXIO;
	}
	if (!place->size || place->size % REMAP_PAGE_BYTES || place->address % REMAP_PAGE_BYTES ||
	    place->offset % REMAP_PAGE_BYTES) {
		*why = "address, size and offset have to be multiples of 4 KiB, and the size not 0";
		return -EINVAL;
	}
	if (place->size > shape->windows * REMAP_PART_BYTES) {
		*why = "the size is more than all windows of the port can show, 256 MiB each";
		return -E2BIG;
	}
	if (!inside(place->address, place->size) || !inside(place->offset, place->size)) {
		*why = "segment and remote memory have to lie below 2^40";
		return -ERANGE;
	}
	return 0;
}

/* Free windows of the port, in their order; an error where another shows some of these addresses. */
static int find_windows(const struct remap_bus *bus, const struct remap_shape *shape,
			const struct remap_place *place, struct remap_mapping *mapping,
			const char **why)
{
	u64 first = place->address >> REMAP_PAGE_SHIFT;
	u64 last = first + (place->size >> REMAP_PAGE_SHIFT) - 1;
	u32 i, found = 0;

	for (i = 0; i < shape->windows; i++) {
		u32 control, its_first, its_last;

		if (get(bus, REMAP_CBLOCK, REMAP_CB_PORT_WINDOW_CONTROL(place->port, i), &control) ||
		    get(bus, REMAP_CBLOCK, REMAP_CB_PORT_WINDOW_FIRST(place->port, i), &its_first) ||
		    get(bus, REMAP_CBLOCK, REMAP_CB_PORT_WINDOW_LAST(place->port, i), &its_last)) {
			*why = bus_error;
			return -EIO;
		}
		if (!REMAP_GET(REMAP_CB_PORT_WINDOW_CONTROL_VALID, control)) {
			if (found < mapping->parts)
				mapping->part[found++].window = i;
			continue;
		}
		if (first <= its_last && its_first <= last) {
			*why = "another window of the port has some of these addresses";
			return -EEXIST;
		}
	}
	if (found < mapping->parts) {
		*why = "not enough windows of the port are free";
		return -ENOSPC;
	}
	return 0;
}

static int find_segments(const struct remap_bus *bus, const struct remap_shape *shape,
			 const struct remap_place *place, struct remap_mapping *mapping,
			 const char **why)
{
	u32 i, found = 0;

	for (i = 0; i < shape->segments && found < mapping->parts; i++) {
		u32 control;

		if (get(bus, REMAP_MBLOCK, REMAP_MB_LINK_TABLE_SEGMENT_CONTROL(place->link, i),
			&control)) {
			*why = bus_error;
			return -EIO;
		}
		if (REMAP_GET(REMAP_MB_LINK_TABLE_SEGMENT_CONTROL_VALID, control))
			continue;
		mapping->part[found].segment = i;
		mapping->part[found++].generation =
			REMAP_GET(REMAP_MB_LINK_TABLE_SEGMENT_CONTROL_GENERATION, control);
	}
	if (found < mapping->parts) {
		*why = "not enough segments of the link are free";
		return -ENOSPC;
	}
	return 0;
}

/* The registers that make a window or a segment valid are written last, and read back. */
static int put_checked(const struct remap_bus *bus, enum remap_block block, u32 at, u32 value)
{
	u32 now;

	if (put(bus, block, at, value) || get(bus, block, at, &now) || now != value)
		return -EIO;
	return 0;
}

/* The segment is opened before the window, so that whoever sees the window finds the segment. */
static int open_part(const struct remap_bus *bus, const struct remap_place *place,
		     struct remap_mapping *mapping, u32 index)
{
	u32 window = mapping->part[index].window, segment = mapping->part[index].segment;
	u32 generation = mapping->part[index].generation;
	u64 begin = index * REMAP_PART_BYTES;
	u64 size = place->size - begin < REMAP_PART_BYTES ? place->size - begin : REMAP_PART_BYTES;
	u32 pages = (u32)(size >> REMAP_PAGE_SHIFT);
	u32 base = (u32)((place->offset + begin) >> REMAP_PAGE_SHIFT);
	u32 first = (u32)((place->address + begin) >> REMAP_PAGE_SHIFT);
	u32 rights = REMAP_CB_PORT_WINDOW_CONTROL_VALID_MASK |
		     REMAP_CB_PORT_WINDOW_CONTROL_READABLE_MASK |
		     REMAP_CB_PORT_WINDOW_CONTROL_WRITABLE_MASK |
		     REMAP_PUT(REMAP_CB_PORT_WINDOW_CONTROL_LINK, place->link) |
		     REMAP_PUT(REMAP_CB_PORT_WINDOW_CONTROL_SEGMENT, segment) |
		     REMAP_PUT(REMAP_CB_PORT_WINDOW_CONTROL_GENERATION, generation);
	u32 served = REMAP_MB_LINK_TABLE_SEGMENT_CONTROL_VALID_MASK |
		     REMAP_MB_LINK_TABLE_SEGMENT_CONTROL_READABLE_MASK |
		     REMAP_MB_LINK_TABLE_SEGMENT_CONTROL_WRITABLE_MASK |
		     REMAP_PUT(REMAP_MB_LINK_TABLE_SEGMENT_CONTROL_MEMORY, place->memory) |
		     REMAP_PUT(REMAP_MB_LINK_TABLE_SEGMENT_CONTROL_GENERATION, generation);

	mapping->part[index].segment_open = true;
	mapping->part[index].window_open = true;
	if (put(bus, REMAP_MBLOCK, REMAP_MB_LINK_TABLE_SEGMENT_BASE(place->link, segment), base) ||
	    put(bus, REMAP_MBLOCK, REMAP_MB_LINK_TABLE_SEGMENT_LAST(place->link, segment),
		pages - 1) ||
	    put_checked(bus, REMAP_MBLOCK,
			REMAP_MB_LINK_TABLE_SEGMENT_CONTROL(place->link, segment), served) ||
	    put(bus, REMAP_CBLOCK, REMAP_CB_PORT_WINDOW_FIRST(place->port, window), first) ||
	    put(bus, REMAP_CBLOCK, REMAP_CB_PORT_WINDOW_LAST(place->port, window),
		first + pages - 1) ||
	    put_checked(bus, REMAP_CBLOCK, REMAP_CB_PORT_WINDOW_CONTROL(place->port, window), rights))
		return -EIO;
	return 0;
}

int remap_table_open(const struct remap_bus *bus, const struct remap_shape *shape,
		     const struct remap_place *place, struct remap_mapping *mapping,
		     const char **why)
{
	const char *ignored;
	bool up;
	u32 i;
	int err;

	err = remap_table_check(shape, place, why);
	if (err)
		return err;
	err = remap_table_link(bus, place->link, &up);
	if (err) {
		*why = bus_error;
		return err;
	}
	if (!up) {
		*why = "the link is down";
		return -ENOLINK;
	}
	memset(mapping, 0, sizeof(*mapping));
	/* Without a division: 64-bit ones are not to be had everywhere. */
	mapping->parts = (u32)((place->size + REMAP_PART_BYTES - 1) >>
			       (__builtin_ctzll(REMAP_PART_BYTES)));
	err = find_windows(bus, shape, place, mapping, why);
	if (!err)
		err = find_segments(bus, shape, place, mapping, why);
	if (err)
		return err;
	for (i = 0; i < mapping->parts; i++) {
		if (open_part(bus, place, mapping, i)) {
			/* Also the part that failed: of its two registers one may be valid. */
			remap_table_close(bus, place, mapping, &ignored);
			*why = "a register did not keep what was written to it";
			return -EIO;
		}
	}
	return 0;
}

/*
 * All windows go first; then the segments, with their generation moved on, so that a request still under way
 * is refused; then the fence. An error does not stop it: what can be closed is closed.
 */
int remap_table_close(const struct remap_bus *bus, const struct remap_place *place,
		      struct remap_mapping *mapping, const char **why)
{
	int err = 0;
	u32 i;

	for (i = 0; i < mapping->parts; i++) {
		u32 at = REMAP_CB_PORT_WINDOW_CONTROL(place->port, mapping->part[i].window);

		if (!mapping->part[i].window_open)
			continue;
		if (put_checked(bus, REMAP_CBLOCK, at, 0))
			err = -EIO;
		else
			mapping->part[i].window_open = false;
	}
	for (i = 0; i < mapping->parts; i++) {
		u32 at = REMAP_MB_LINK_TABLE_SEGMENT_CONTROL(place->link, mapping->part[i].segment);
		u32 next = REMAP_PUT(REMAP_MB_LINK_TABLE_SEGMENT_CONTROL_GENERATION,
				     mapping->part[i].generation + 1);

		if (!mapping->part[i].segment_open)
			continue;
		if (put_checked(bus, REMAP_MBLOCK, at, next))
			err = -EIO;
		else
			mapping->part[i].segment_open = false;
	}
	if (put(bus, REMAP_CBLOCK, REMAP_CB_FENCE, 1U << place->port))
		err = -EIO;
	if (err)
		*why = "a window or segment cannot be closed: a register did not keep what was written";
	return err;
}

int remap_table_drained(const struct remap_bus *bus, const struct remap_place *place,
			const char **why)
{
	u32 fence, up, busy;

	if (get(bus, REMAP_CBLOCK, REMAP_CB_FENCE, &fence) || get(bus, REMAP_MBLOCK, REMAP_MB_UP, &up) ||
	    get(bus, REMAP_MBLOCK, REMAP_MB_BUSY, &busy)) {
		*why = bus_error;
		return -EIO;
	}
	/*
	 * Accesses that ended because the link went down may still be under way at the memory; before the
	 * link is up again they are not.
	 */
	if ((fence >> place->port & 1) || (!(up >> place->link & 1) && (busy >> place->link & 1))) {
		*why = "the window is closed, and accesses from before are still under way";
		return -EBUSY;
	}
	return 0;
}

int remap_table_counts(const struct remap_bus *bus, const struct remap_place *place,
		       const struct remap_mapping *mapping, u32 *reads, u32 *writes)
{
	u32 i, count;

	*reads = 0;
	*writes = 0;
	for (i = 0; i < mapping->parts; i++) {
		u32 window = mapping->part[i].window;

		if (get(bus, REMAP_CBLOCK, REMAP_CB_PORT_WINDOW_READS(place->port, window), &count))
			return -EIO;
		*reads += count;
		if (get(bus, REMAP_CBLOCK, REMAP_CB_PORT_WINDOW_WRITES(place->port, window), &count))
			return -EIO;
		*writes += count;
	}
	return 0;
}

/* Of registers that both blocks have, where the block has its own. */
#define OF(block, name) ((block) == REMAP_CBLOCK ? REMAP_CB_##name : REMAP_MB_##name)

int remap_table_listen(const struct remap_bus *bus, enum remap_block block, bool listen)
{
	u32 causes = OF(block, IRQ_ENABLE_CAUSES_MASK);

	/* What was before is nobody's who listens from now on. */
	if (put(bus, block, OF(block, IRQ_ENABLE), 0) ||
	    (listen && (put(bus, block, OF(block, IRQ_STATUS), causes) ||
			put(bus, block, OF(block, FAULT), OF(block, FAULT_VALID_MASK)) ||
			put_checked(bus, block, OF(block, IRQ_ENABLE), causes))))
		return -EIO;
	return 0;
}

int remap_table_event(const struct remap_bus *bus, enum remap_block block, struct remap_event *event)
{
	u32 fault, low, high;

	memset(event, 0, sizeof(*event));
	/* The causes go before the log: a fault that comes in between sets its cause again. */
	if (get(bus, block, OF(block, IRQ_STATUS), &event->causes))
		return -EIO;
	if (!event->causes)
		return 0;
	if (put(bus, block, OF(block, IRQ_STATUS), event->causes) ||
	    get(bus, block, OF(block, FAULT), &fault))
		return -EIO;
	if (!(fault & OF(block, FAULT_VALID_MASK)))
		return 0;
	if (get(bus, block, OF(block, FAULT_LOW), &low) || get(bus, block, OF(block, FAULT_HIGH), &high) ||
	    put(bus, block, OF(block, FAULT), OF(block, FAULT_VALID_MASK)))
		return -EIO;
	event->logged = true;
	event->overflow = fault & OF(block, FAULT_OVERFLOW_MASK);
	event->write = fault & OF(block, FAULT_WRITE_MASK);
	event->address = (u64)high << 32 | low;
	if (block == REMAP_CBLOCK) {
		event->cause = REMAP_GET(REMAP_CB_FAULT_CAUSE, fault);
		event->port = REMAP_GET(REMAP_CB_FAULT_PORT, fault);
		event->index = REMAP_GET(REMAP_CB_FAULT_WINDOW, fault);
	} else {
		event->cause = REMAP_GET(REMAP_MB_FAULT_CAUSE, fault);
		event->port = REMAP_GET(REMAP_MB_FAULT_LINK, fault);
		event->index = REMAP_GET(REMAP_MB_FAULT_SEGMENT, fault);
	}
	return 0;
}

bool remap_table_lost(enum remap_block block, const struct remap_event *event)
{
	return block == REMAP_CBLOCK && event->logged && event->cause >= REMAP_CAUSE_LINK_WAS_DOWN;
}
