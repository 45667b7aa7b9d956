/* SPDX-License-Identifier: GPL-2.0-only */
/* The parts of the module among themselves. */
#ifndef REMAP_H
#define REMAP_H

#include <linux/atomic.h>
#include <linux/kobject.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/nodemask.h>

#include "remap_model.h"
#include "remap_parse.h"
#include "remap_table.h"

enum remap_state {
	REMAP_ATTACHING,
	REMAP_ATTACHED,
	REMAP_DETACHING, /* its memory is being given back */
	REMAP_DRAINING, /* its memory is gone; the blocks still have accesses of it */
};

struct remap_segment {
	struct list_head list;
	enum remap_state state;
	char name[REMAP_NAME_BYTES];
	struct remap_place place;
	struct remap_mapping mapping;
	int node;
};

struct remap {
	/*
	 * Over the registers and the list. Not held while memory is added or removed: that takes the kernel's
	 * locks of memory hotplug, and long. A segment's state keeps others off it meanwhile.
	 */
	struct mutex lock;
	struct list_head segments;
	struct remap_bus bus;
	struct remap_shape shape;
	u32 enabled_before[2];
	u64 aperture_start, aperture_size;
	/* Nodes that had neither processors nor memory when the module was loaded: for remote memory. */
	nodemask_t nodes;
	struct remap_model *model; /* NULL on hardware */
	void __iomem *registers[2];
	atomic_t attached, detached, refused, failed;
	/* Under its own lock: it is written also where the other is not to be had. */
	struct mutex last_lock;
	char last_error[192];
};

extern struct remap remap;

/* remap_main.c */
extern unsigned int remap_detach_timeout_ms, remap_drain_timeout_ms;
extern bool remap_scrub;

/* remap_segments.c: what is written to `attach` and `detach`. 0 or a negative error number. */
int remap_attach(const char *text, size_t length);
int remap_detach(const char *text, size_t length);

/* remap_memory.c: the segment as memory of this kernel. */
struct remap_online {
	u64 bytes; /* online */
	u64 movable; /* of these, in ZONE_MOVABLE */
};
int remap_memory_check(const struct remap_place *place, const char **why);
int remap_memory_add(const struct remap_segment *segment, const char **why);
int remap_memory_remove(const struct remap_segment *segment, const char **why);
void remap_memory_online(const struct remap_place *place, struct remap_online *online);
int remap_memory_clear(const struct remap_place *place, bool zero);

/* remap_sysfs.c */
extern const struct attribute_group *remap_groups[];
extern const struct attribute_group remap_model_group;

#endif
