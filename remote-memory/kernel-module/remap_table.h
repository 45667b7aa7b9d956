/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Programs the windows of a cBlock and the segments of an mBlock. It knows registers only: how they are
 * reached is the bus, and locking is the caller's (one user at a time).
 *
 * All functions return 0 or a negative error number, with the reason in *why.
 */
#ifndef REMAP_TABLE_H
#define REMAP_TABLE_H

#include "remap_port.h"
#include "remap_registers.h"

#define REMAP_PAGE_SHIFT 12
#define REMAP_PAGE_BYTES (1ULL << REMAP_PAGE_SHIFT)
/* One segment: as far as an offset on the link can say, whatever the blocks were built for. */
#define REMAP_PART_BYTES (1ULL << 28)
/* Addresses of the processor and of the remote memory. */
#define REMAP_ADDRESSES \
	((REMAP_CB_PORT_WINDOW_FIRST_PAGE_MASK + 1ULL) << REMAP_PAGE_SHIFT)

#define REMAP_GET(field, value) (((value) & field##_MASK) >> field##_SHIFT)
#define REMAP_PUT(field, value) (((u32)(value) << field##_SHIFT) & field##_MASK)

enum remap_block { REMAP_CBLOCK, REMAP_MBLOCK };

struct remap_bus {
	/* 0, or -EIO where the access ended with an error. */
	int (*read)(void *context, enum remap_block block, u32 at, u32 *value);
	int (*write)(void *context, enum remap_block block, u32 at, u32 value);
	void *context;
};

struct remap_shape {
	u32 ports, windows, cblock_links;
	u32 memories, segments, mblock_links;
};

/* What is to be mapped where. */
struct remap_place {
	u64 address; /* as the processor sees it */
	u64 size;
	u64 offset; /* in the remote memory */
	u32 port, link, memory;
};

/* The registers that a mapping occupies: a window and a segment for each REMAP_PART_BYTES. */
struct remap_mapping {
	u32 parts;
	struct {
		u32 window, segment, generation;
		/* Whether it may still be valid. One that is closed may be another's by now. */
		bool window_open, segment_open;
	} part[REMAP_CB_MAX_WINDOWS];
};

/* What a block has to tell: causes of its interrupt, and the first fault since its log was cleared. */
struct remap_event {
	u32 causes; /* bits of irq_status; 0: nothing */
	bool logged; /* what follows is there */
	bool overflow; /* other faults came after it, of which the log does not tell */
	bool write;
	u32 cause;
	u32 port, index; /* of a cBlock its port and window, of an mBlock its link and segment */
	u64 address; /* of a cBlock as the processor sees it, of an mBlock in the segment */
};

/* Causes of a cBlock's faults from which on it is not the access that is wrong: nobody answered it. */
#define REMAP_CAUSE_LINK_WAS_DOWN 4U
#define REMAP_CAUSE_LINK_WENT_DOWN 5U
#define REMAP_CAUSE_OTHER_END 6U
#define REMAP_CAUSES 7U

/* Reads what the blocks are. */
int remap_table_shape(const struct remap_bus *bus, struct remap_shape *shape, const char **why);

/* Turns links on at both blocks, or back to what they were; `before` has the two registers. */
int remap_table_enable(const struct remap_bus *bus, u32 links, u32 before[2]);
int remap_table_restore(const struct remap_bus *bus, const u32 before[2]);

/* Whether the link is up at the cBlock. */
int remap_table_link(const struct remap_bus *bus, u32 link, bool *up);

/* Whether the blocks can hold such a mapping at all. Touches no register. */
int remap_table_check(const struct remap_shape *shape, const struct remap_place *place,
		      const char **why);

/* Opens it, readable and writable: all of it or, on an error, nothing. */
int remap_table_open(const struct remap_bus *bus, const struct remap_shape *shape,
		     const struct remap_place *place, struct remap_mapping *mapping,
		     const char **why);

/*
 * Closes it and sets the fence. What was under way may still be: see remap_table_drained(). After an error it
 * can be called again, for what could not be closed.
 */
int remap_table_close(const struct remap_bus *bus, const struct remap_place *place,
		      struct remap_mapping *mapping, const char **why);

/* 0 once nothing that was under way at the last close can reach the memory; -EBUSY before. */
int remap_table_drained(const struct remap_bus *bus, const struct remap_place *place,
			const char **why);

/* Reads and writes that the mapping's windows took since the block's reset; both wrap. */
int remap_table_counts(const struct remap_bus *bus, const struct remap_place *place,
		       const struct remap_mapping *mapping, u32 *reads, u32 *writes);

/* Enables the block's interrupt for all causes, with nothing left of what was before; or disables it. */
int remap_table_listen(const struct remap_bus *bus, enum remap_block block, bool listen);

/* Takes what a block has to tell, and clears it there. */
int remap_table_event(const struct remap_bus *bus, enum remap_block block, struct remap_event *event);

/* Whether the line at the event's address is lost: it cannot be had, or what was stored did not arrive. */
bool remap_table_lost(enum remap_block block, const struct remap_event *event);

#endif
